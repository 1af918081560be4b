//! What the connections of a server share.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::asked::Asked;
use crate::journal::{Entry, Journal};
use crate::limits::{Cause, Meter, Told};
use crate::scenario::Scenario;
use crate::send::Pause;

/// What the connections share.
#[derive(Debug)]
pub struct Shared {
    started: Instant,
    /// Milliseconds since 1970 at the start: fixed windows follow the clock on the wall, though it is read only once.
    started_unix_ms: u64,
    default_scenario: Scenario,
    elsewhere: String,
    digests: RandomState,
    ended: Mutex<bool>,
    end: Condvar,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    requests: u64,
    /// Generation requests by scenario and tag, with the time of the first one.
    seen: HashMap<String, Seen>,
    /// Meters by scenario, tag and credential.
    meters: HashMap<MeterKey, Meter>,
    journal: Journal,
}

type MeterKey = (String, String);

#[derive(Debug)]
struct Seen {
    count: u64,
    let_in: u64,
    first_ms: u64,
}

/// What a generation request meets.
#[derive(Debug)]
pub struct Met {
    /// Requests of the same scenario and tag before it.
    pub earlier: u64,
    /// Those of them that a limit or a storm did not turn away.
    pub let_in: u64,
    /// Milliseconds for which a storm goes on.
    pub storm_ms: u64,
    /// What is told of the limits, and why the request is not let in where it is not.
    pub told: (Option<Cause>, Told),
    /// The place that it takes, where a limit is kept and it was let in.
    pub admission: Option<Admission>,
}

impl Met {
    /// Whether neither a limit nor a storm turns it away.
    pub fn is_let_in(&self) -> bool {
        self.storm_ms == 0 && self.told.0.is_none()
    }
}

/// A place among the requests of a credential, with what was reserved for it.
#[derive(Debug)]
pub struct Admission {
    key: MeterKey,
    reserved: u64,
}

impl Shared {
    /// What a new server shares; `elsewhere` is the address that clients are sent to who are sent away.
    pub fn new(default_scenario: Scenario, elsewhere: String) -> Self {
        Self {
            started: Instant::now(),
            started_unix_ms: u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0),
            default_scenario,
            elsewhere,
            digests: RandomState::new(),
            ended: Mutex::new(false),
            end: Condvar::new(),
            state: Mutex::default(),
        }
    }

    /// The scenario of addresses that name none.
    pub fn default_scenario(&self) -> &Scenario {
        &self.default_scenario
    }

    /// Where clients are sent who are sent away.
    pub fn elsewhere(&self) -> &str {
        &self.elsewhere
    }

    /// Ends the server: nobody waits any longer.
    pub fn finish(&self) {
        *lock(&self.ended) = true;
        self.end.notify_all();
    }

    /// Whether the server has ended.
    pub fn has_ended(&self) -> bool {
        *lock(&self.ended)
    }

    /// Milliseconds since the start.
    pub fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// Tells credentials apart without keeping them; empty for none.
    pub fn digest(&self, credential: &str) -> String {
        if credential.is_empty() { String::new() } else { format!("{:016x}", self.digests.hash_one(credential)) }
    }

    /// Number of a new request.
    pub fn next_number(&self) -> u64 {
        let mut state = self.state();
        state.requests += 1;
        state.requests
    }

    /// Counts a generation request, and gives what it meets.
    pub fn meet(&self, scenario: &Scenario, asked: &Asked, name: &str, credential: &str) -> Met {
        let (elapsed_ms, mut guard) = (self.elapsed_ms(), self.state());
        let state = &mut *guard;
        let new = Seen { count: 0, let_in: 0, first_ms: elapsed_ms };
        let seen = state.seen.entry(name.to_owned()).or_insert(new);
        let storm_end_ms = scenario.storm_ms.map_or(0, |ms| seen.first_ms.saturating_add(ms));
        let storm_ms = storm_end_ms.saturating_sub(elapsed_ms);
        let mut met =
            Met { earlier: seen.count, let_in: seen.let_in, storm_ms, told: (None, Told::EASY), admission: None };
        if let Some(rule) = scenario.rule.filter(|_| storm_ms == 0) {
            let now_ms = self.started_unix_ms.saturating_add(elapsed_ms);
            let key = (name.to_owned(), credential.to_owned());
            let meter = state.meters.entry(key.clone()).or_insert_with(|| Meter::full(rule, now_ms));
            let reserved = if rule.reserve { asked.max_tokens } else { 0 };
            met.told = meter.admit(asked.input_tokens().saturating_add(reserved), now_ms);
            met.admission = met.told.0.is_none().then_some(Admission { key, reserved });
        }
        seen.count += 1;
        seen.let_in += u64::from(met.is_let_in());
        met
    }

    /// Notes a request.
    pub fn note(&self, entry: Entry) {
        self.state().journal.add(entry);
    }

    /// Notes the end of a request, and counts the tokens of its answer.
    pub fn end(&self, number: u64, admission: Option<Admission>, output_tokens: u64) {
        let (elapsed_ms, mut state) = (self.elapsed_ms(), self.state());
        state.journal.end(number, elapsed_ms);
        if let Some(Admission { key, reserved }) = admission
            && let Some(meter) = state.meters.get_mut(&key)
        {
            meter.settle(reserved, output_tokens, self.started_unix_ms.saturating_add(elapsed_ms));
        }
    }

    /// How many requests were replied to with a status.
    pub fn answered(&self, status: u16) -> usize {
        self.state().journal.answered(status)
    }

    /// All requests.
    pub fn entries(&self) -> Vec<Entry> {
        self.state().journal.entries()
    }

    /// All requests as JSON.
    pub fn journal(&self) -> serde_json::Value {
        self.state().journal.render()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Pause for Shared {
    fn pause(&self, time: Duration) -> bool {
        let ended = lock(&self.ended);
        let waited = self.end.wait_timeout_while(ended, time, |ended| !*ended);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// A thread that panicked has at worst left a count too low; the others go on.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
