//! What a launch's requests cost: each is admitted by the driver before it goes, and told to it when it has ended.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use assize_core::dispatch::{RequestAsked, RequestEnded, RequestKey, SlotKey};
use assize_core::id::LaunchId;
use assize_core::plugin::{Evidence, Usage};
use assize_wire::{BoxFuture, Meter, Refused, RequestAsk, RequestSeen, Verdict};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use super::readers::Readers;
use crate::clock;

/// Tokens that an answer is expected to have at most when the request does not say.
const ANSWER_TOKENS: u64 = 4_096;

/// What launches tell the driver while they run.
pub(super) enum Traffic {
    /// A request waits for its turn.
    Asked(RequestAsked, oneshot::Sender<Verdict>),
    /// A request has ended, or was given up before it went; the sight of it is for the ledger.
    Ended(Box<RequestEnded>, Option<(LaunchId, Box<RequestSeen>)>),
    /// A request that went nowhere: for the log.
    Refused(LaunchId, Refused),
}

/// What the requests of one launch came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    /// Requests that went.
    pub requests: u64,
    /// Tokens in, cached ones included; estimated where nobody told.
    pub input: u64,
    /// Tokens out; estimated where nobody told.
    pub output: u64,
    /// Tokens in that came from a cache.
    pub cached: u64,
    /// Model that answered last.
    pub model: Option<String>,
    /// Requests that found no room and went nowhere.
    pub turned_away: u64,
    /// Status of the first request that the service refused.
    pub refused: Option<u16>,
}

impl Tally {
    /// The usage of a launch: what its provider said, completed by what was seen.
    pub(super) fn complete(&self, said: Option<Usage>) -> Option<Usage> {
        if self.requests == 0 {
            // What we turned away reached no service, whatever its sender thinks.
            return said.filter(|_| self.turned_away == 0);
        }
        let mut usage = said.unwrap_or_default();
        let fresh = self.input.saturating_sub(self.cached);
        usage.input_tokens = usage.input_tokens.or(Some(fresh));
        usage.output_tokens = usage.output_tokens.or(Some(self.output));
        usage.cached_input_tokens = usage.cached_input_tokens.or(Some(self.cached));
        usage.model = usage.model.or_else(|| self.model.clone());
        // What passed through the gateway is counted here; a program counts its turns, not its side requests.
        usage.requests = Some(u32::try_from(self.requests).unwrap_or(u32::MAX));
        Some(usage)
    }
}

/// The meter of one launch.
pub(super) struct LaunchMeter {
    slot: SlotKey,
    launch: LaunchId,
    provider: String,
    model: Option<String>,
    until_ms: u64,
    readers: Arc<Readers>,
    driver: mpsc::UnboundedSender<Traffic>,
    next: AtomicU64,
    tally: Arc<Mutex<Tally>>,
    /// Readings that are being made; a launch ends after its last one.
    reading: Mutex<Vec<JoinHandle<()>>>,
    /// Requests that may go, when there is a limit of its own.
    most: Option<u64>,
}

/// Whose requests a meter counts.
pub(super) struct Metered {
    pub(super) slot: SlotKey,
    pub(super) launch: LaunchId,
    pub(super) provider: String,
    pub(super) model: Option<String>,
    /// When the launch gives up, milliseconds since the Unix epoch.
    pub(super) until_ms: u64,
    /// Requests at most; none means as many as it likes.
    pub(super) most: Option<u64>,
}

impl LaunchMeter {
    pub(super) fn new(metered: Metered, readers: Arc<Readers>, driver: mpsc::UnboundedSender<Traffic>) -> Self {
        let Metered { slot, launch, provider, model, until_ms, most } = metered;
        Self {
            slot,
            launch,
            provider,
            model,
            until_ms,
            readers,
            driver,
            next: AtomicU64::new(1),
            tally: Arc::default(),
            reading: Mutex::default(),
            most,
        }
    }

    /// What its requests came to, when the last of them has been told to the driver.
    pub(super) async fn finish(&self) -> Tally {
        loop {
            let reading = std::mem::take(&mut *lock(&self.reading));
            if reading.is_empty() {
                break;
            }
            for task in reading {
                // A reading that failed costs its reading only.
                let _ = task.await;
            }
        }
        lock(&self.tally).clone()
    }

    async fn ask(&self, ask: RequestAsk) -> Verdict {
        let request = RequestKey(self.next.fetch_add(1, Ordering::Relaxed));
        if self.most.is_some_and(|most| request.0 > most) {
            let message = "this launch may send no more requests".to_owned();
            return Verdict::Refuse { retry_after_ms: 3_600_000, message };
        }
        let asked = RequestAsked {
            slot: self.slot,
            request,
            input_tokens: ask.estimated_input_tokens,
            output_tokens: ask.max_output_tokens.map_or(ANSWER_TOKENS, |most| most.min(ANSWER_TOKENS)),
            until_ms: self.until_ms,
        };
        let (reply, answer) = oneshot::channel();
        let mut waiting = Waiting { meter: self, request, over: false };
        let gone = || Verdict::Refuse { retry_after_ms: 60_000, message: "the run is over".to_owned() };
        if self.driver.send(Traffic::Asked(asked, reply)).is_err() {
            waiting.over = true;
            return gone();
        }
        let verdict = answer.await.unwrap_or_else(|_| gone());
        waiting.over = true;
        match verdict {
            Verdict::Go(_) => {
                lock(&self.tally).requests += 1;
                Verdict::Go(request.0)
            }
            refused => {
                lock(&self.tally).turned_away += 1;
                refused
            }
        }
    }

    fn ended(&self, seen: RequestSeen) {
        let (input, output) = count(&mut lock(&self.tally), &seen);
        let evidence = Evidence {
            provider: self.provider.clone(),
            model: self.model.clone(),
            status: seen.status,
            headers: seen.headers.clone(),
            text: seen.error_text.clone().unwrap_or_default(),
            received_at_ms: clock::now_ms(),
            extra: Vec::new(),
        };
        let (readers, driver) = (self.readers.clone(), self.driver.clone());
        let (slot, launch) = (self.slot, self.launch.clone());
        let read = async move {
            let readings = readers.read(&evidence).await;
            let ended = RequestEnded {
                slot,
                request: RequestKey(seen.ticket),
                // That a service is overloaded is told by the end of the launch, which knows how it went on.
                rate_limited: seen.status == Some(429),
                readings,
                input_tokens: Some(input),
                output_tokens: Some(output),
                jitter: super::jitter(&format!("{launch} {}", seen.ticket)),
            };
            let _ = driver.send(Traffic::Ended(Box::new(ended), Some((launch, Box::new(seen)))));
        };
        lock(&self.reading).push(tokio::spawn(read));
    }
}

impl Meter for LaunchMeter {
    fn admit(&self, ask: RequestAsk) -> BoxFuture<'_, Verdict> {
        Box::pin(self.ask(ask))
    }

    fn saw(&self, seen: RequestSeen) {
        self.ended(seen);
    }

    fn refused(&self, refusal: Refused) {
        let _ = self.driver.send(Traffic::Refused(self.launch.clone(), refusal));
    }
}

/// A request in the queue. Whoever asked may leave before the answer; its place is then given back.
struct Waiting<'a> {
    meter: &'a LaunchMeter,
    request: RequestKey,
    over: bool,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let ended = RequestEnded {
            slot: self.meter.slot,
            request: self.request,
            rate_limited: false,
            readings: Vec::new(),
            input_tokens: Some(0),
            output_tokens: Some(0),
            jitter: 0.5,
        };
        let _ = self.meter.driver.send(Traffic::Ended(Box::new(ended), None));
    }
}

/// Adds one request; gives its tokens in and out.
fn count(tally: &mut Tally, seen: &RequestSeen) -> (u64, u64) {
    // A request that was refused costs a request and no tokens.
    let refused = seen.status.is_none_or(|status| status >= 400);
    tally.refused = tally.refused.or(seen.status.filter(|status| *status >= 400));
    let (input, output) = match &seen.usage {
        Some(counted) => (counted.input, counted.output),
        None if refused => (0, 0),
        None => (seen.request_bytes / 4, seen.estimated_output_tokens),
    };
    tally.input = tally.input.saturating_add(input);
    tally.output = tally.output.saturating_add(output);
    if let Some(counted) = &seen.usage {
        tally.cached = tally.cached.saturating_add(counted.cached);
        tally.model = counted.model.clone().or_else(|| tally.model.take());
    }
    (input, output)
}

/// What the ledger keeps of a request: where it went, how much, and digests; never a body.
pub(super) fn ledger_form(seen: &RequestSeen) -> serde_json::Value {
    serde_json::json!({
        "method": seen.method,
        "host": seen.host,
        "path": seen.path,
        "status": seen.status,
        "request_bytes": seen.request_bytes,
        "request_digest": seen.request_digest,
        "response_bytes": seen.response_bytes,
        "response_digest": seen.response_digest,
        "wall_ms": seen.wall_ms,
        "complete": seen.complete,
    })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
