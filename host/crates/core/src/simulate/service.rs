//! The services behind the lanes: what they let through, what they refuse, and what they say of it.

use super::scenario::{BEGIN_MS, Scenario};
use super::scenario_check::key_of_limit;
use super::scenario_lane::SimulatedLane;
use super::true_window::TrueWindow;
use crate::dispatch::{Dimension, WindowKey};
use crate::plugin::{Outcome, Reading};

/// A request as it arrives.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) input_tokens: u64,
    pub(super) output_tokens: u64,
    /// Tokens of the prompt, which the model has to take.
    pub(super) prompt_tokens: u64,
}

impl Arrival {
    fn amount(&self, dimension: Dimension) -> f64 {
        match dimension {
            Dimension::Requests | Dimension::Concurrency => 1.0,
            Dimension::Tokens => self.input_tokens.saturating_add(self.output_tokens) as f64,
            Dimension::InputTokens => self.input_tokens as f64,
            Dimension::OutputTokens => self.output_tokens as f64,
            Dimension::Spend => 0.0,
        }
    }
}

/// What a service does with a request.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// It works on it; the reading comes with the response.
    Taken(Reading),
    /// It does not.
    Refused {
        /// Why, in the words of a provider.
        outcome: Outcome,
        reading: Reading,
        /// The window that did not take it.
        by: Option<WindowKey>,
    },
}

/// All services of a scenario.
#[derive(Clone, Debug)]
pub(super) struct Services {
    pub(super) windows: Vec<TrueWindow>,
    /// For each lane the windows that it draws on.
    of_lane: Vec<Vec<usize>>,
}

impl Services {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let mut windows: Vec<TrueWindow> = Vec::new();
        for lane in &scenario.lanes {
            for limit in &lane.service.windows {
                let key = key_of_limit(lane, limit);
                if !windows.iter().any(|window| window.key == key) {
                    windows.push(TrueWindow::new(key, *limit));
                }
            }
        }
        let of = |lane: &SimulatedLane| (0..windows.len()).filter(|at| draws_on(lane, &windows[*at])).collect();
        Self { of_lane: scenario.lanes.iter().map(of).collect(), windows }
    }

    /// The windows that a lane draws on.
    pub(super) fn of_lane(&self, lane: usize) -> impl Iterator<Item = &TrueWindow> {
        self.of_lane[lane].iter().map(|at| &self.windows[*at])
    }

    /// A request arrives.
    pub(super) fn arrive(&mut self, at: usize, lane: &SimulatedLane, arrival: Arrival, now_ms: u64) -> Answer {
        if let Some(outcome) = turned_away(lane, &arrival, now_ms) {
            return Answer::Refused { outcome, reading: Reading::default(), by: None };
        }
        let refusing = |window: &&TrueWindow| !window.fits(arrival.amount(window.key.dimension), now_ms);
        let by = self.of_lane(at).find(refusing).map(|window| window.key.clone());
        if by.is_some() {
            let wait = |window: &TrueWindow| window.fits_after_ms(arrival.amount(window.key.dimension), now_ms);
            let longest = self.of_lane(at).map(wait).max().unwrap_or(0);
            let mut reading = self.reading(at, lane, now_ms);
            reading.throttled = true;
            // Whole seconds, as the header has it.
            reading.retry_after_ms = lane.service.tells_retry_after.then(|| longest.div_ceil(1_000).max(1) * 1_000);
            return Answer::Refused { outcome: Outcome::RateLimited, reading, by };
        }
        for window in &self.of_lane[at] {
            let window = &mut self.windows[*window];
            window.take(arrival.amount(window.key.dimension), now_ms);
        }
        Answer::Taken(self.reading(at, lane, now_ms))
    }

    /// A request that was taken is over.
    pub(super) fn leave(&mut self, at: usize) {
        for window in &self.of_lane[at] {
            self.windows[*window].release();
        }
    }

    fn reading(&self, at: usize, lane: &SimulatedLane, now_ms: u64) -> Reading {
        let told = lane.service.tells_limits;
        let limits = self.of_lane(at).filter(|_| told).filter_map(|window| window.told(now_ms)).collect();
        Reading { limits, ..Reading::default() }
    }
}

/// Whether a service answers for a reason that has nothing to do with its windows.
fn turned_away(lane: &SimulatedLane, arrival: &Arrival, now_ms: u64) -> Option<Outcome> {
    let failures = &lane.service.failures;
    let since = |after: Option<u64>| after.is_some_and(|after| now_ms >= BEGIN_MS.saturating_add(after));
    if since(failures.unauthenticated_at_ms) {
        return Some(Outcome::Unauthenticated);
    }
    if since(failures.quota_exhausted_at_ms) {
        return Some(Outcome::QuotaExhausted);
    }
    let most = lane.service.context_tokens.or(lane.context_tokens);
    most.is_some_and(|most| arrival.prompt_tokens > most).then_some(Outcome::ContextExceeded)
}

fn draws_on(lane: &SimulatedLane, window: &TrueWindow) -> bool {
    match (&lane.model, window.limit.of_model) {
        (Some(model), true) => window.key.holder == format!("{}/{model}", lane.account()),
        _ => window.key.holder == lane.account(),
    }
}
