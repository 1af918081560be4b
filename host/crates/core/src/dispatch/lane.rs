//! One lane: its width, its cooldown and whether it is open.

use serde::Serialize;

use crate::plugin::{Outcome, Reading};

/// Rate outcomes in a row after which a lane is closed for the run: it would only burn time.
const MOST_RATE_OUTCOMES: u32 = 12;
/// First cooldown without any hint, doubled each time.
const FIRST_COOLDOWN_MS: u64 = 60_000;
/// Longest cooldown without any hint.
const LONGEST_COOLDOWN_MS: u64 = 15 * 60_000;

/// Why a lane gets nothing until an instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cooldown {
    /// Milliseconds since the Unix epoch.
    pub until_ms: u64,
    /// One line.
    pub reason: String,
}

/// Whether a lane takes launches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LaneState {
    /// It does.
    Open,
    /// Not before the end of the cooldown.
    Cooling(Cooldown),
    /// Not in this run.
    Closed(String),
}

/// A lane as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LaneView {
    /// Name.
    pub name: String,
    /// State.
    pub state: LaneState,
    /// Launches at once.
    pub width: u32,
    /// Launches that run now.
    pub in_flight: u32,
}

/// A lane.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub(super) name: String,
    pub(super) state: LaneState,
    pub(super) in_flight: u32,
    width: u32,
    widest: u32,
    /// Launches since the width last changed, without a rate outcome.
    good_in_round: u32,
    rate_outcomes: u32,
}

impl Lane {
    pub(super) fn new(name: String, width: u32, widest: u32) -> Self {
        let widest = widest.max(1);
        Self {
            name,
            state: LaneState::Open,
            in_flight: 0,
            width: width.clamp(1, widest),
            widest,
            good_in_round: 0,
            rate_outcomes: 0,
        }
    }

    pub(super) fn view(&self) -> LaneView {
        LaneView { name: self.name.clone(), state: self.state.clone(), width: self.width, in_flight: self.in_flight }
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(self.state, LaneState::Closed(_))
    }

    /// Opens the lane when its cooldown is over.
    pub(super) fn refresh(&mut self, now_ms: u64) {
        if self.opens_at().is_some_and(|at| at <= now_ms) {
            self.state = LaneState::Open;
        }
    }

    /// Whether it takes one more launch now.
    pub(super) fn has_room(&self) -> bool {
        self.state == LaneState::Open && self.in_flight < self.width
    }

    /// When a cooling lane opens again.
    pub(super) fn opens_at(&self) -> Option<u64> {
        match &self.state {
            LaneState::Cooling(cooldown) => Some(cooldown.until_ms),
            LaneState::Open | LaneState::Closed(_) => None,
        }
    }

    pub(super) fn close(&mut self, reason: String) {
        self.state = LaneState::Closed(reason);
    }

    /// What the end of a launch says of the lane's limits. Only rate outcomes narrow it; crashes and timeouts never do.
    pub(super) fn learn(&mut self, outcome: Outcome, readings: &[Reading], now_ms: u64, jitter: f64) {
        let throttled = matches!(outcome, Outcome::RateLimited | Outcome::Overloaded);
        if throttled {
            self.rate_outcomes += 1;
            self.good_in_round = 0;
            self.width = (self.width / 2).max(1);
            if self.rate_outcomes >= MOST_RATE_OUTCOMES {
                self.close(format!("{} rate outcomes in a row", self.rate_outcomes));
                return;
            }
            let until_ms = hinted_end(readings, now_ms)
                .unwrap_or_else(|| now_ms + jittered(backoff_ms(self.rate_outcomes), jitter));
            self.cool(until_ms, outcome.as_str());
            return;
        }
        if let Some(until_ms) = spent_until(readings, now_ms) {
            self.cool(until_ms, "a window is spent");
        }
        // During a cooldown the width is held: what ends then was started before the limit was met.
        if outcome == Outcome::Completed && self.state == LaneState::Open {
            self.rate_outcomes = 0;
            self.good_in_round += 1;
            if self.good_in_round >= self.width && self.width < self.widest {
                self.width += 1;
                self.good_in_round = 0;
            }
        }
    }

    /// The later end wins: nothing shortens a cooldown but its own end.
    fn cool(&mut self, until_ms: u64, reason: &str) {
        if self.is_closed() || self.opens_at().is_some_and(|at| at >= until_ms) {
            return;
        }
        self.state = LaneState::Cooling(Cooldown { until_ms, reason: reason.to_owned() });
    }
}

/// The latest instant that any explicit hint names: `retry-after`, or the reset of a window that is spent.
fn hinted_end(readings: &[Reading], now_ms: u64) -> Option<u64> {
    let retry = readings.iter().filter_map(|r| r.retry_after_ms).map(|ms| now_ms.saturating_add(ms));
    let resets = readings
        .iter()
        .flat_map(|r| {
            let only_limit = r.limits.len() == 1;
            r.limits.iter().filter(move |limit| limit.remaining == Some(0) || (only_limit && r.throttled))
        })
        .filter_map(|limit| limit.resets_at_ms)
        .filter(|at| *at > now_ms);
    retry.chain(resets).max()
}

/// When a window that was read as empty is full again, though the launch itself went well.
fn spent_until(readings: &[Reading], now_ms: u64) -> Option<u64> {
    readings
        .iter()
        .flat_map(|r| &r.limits)
        .filter(|limit| limit.remaining == Some(0))
        .filter_map(|limit| limit.resets_at_ms)
        .filter(|at| *at > now_ms)
        .max()
}

fn backoff_ms(rate_outcomes: u32) -> u64 {
    let doublings = rate_outcomes.saturating_sub(1).min(8);
    (FIRST_COOLDOWN_MS << doublings).min(LONGEST_COOLDOWN_MS)
}

/// Ten per cent either way, so that lanes and hosts do not come back in step.
fn jittered(ms: u64, jitter: f64) -> u64 {
    let factor = 0.9 + 0.2 * jitter.clamp(0.0, 1.0);
    (ms as f64 * factor) as u64
}
