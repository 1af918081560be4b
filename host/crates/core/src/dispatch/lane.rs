//! One lane: its width, its cooldown, its health and whether it is open.

use serde::{Deserialize, Serialize};

use super::command::End;
use super::cooldown::{Cooldown, guessed_end, staggered_ms};
use super::draw::Draws;
use super::event::{RequestKey, SlotKey};
use super::refusal::Refusal;
use super::spec::LaneSpec;
use crate::plugin::Outcome;

/// Rate outcomes in a row after which a lane is closed for the run: it would only burn time.
const MOST_RATE_OUTCOMES: u32 = 12;
/// Time in which what was learned of a width loses half of its weight.
const WIDTH_HALF_LIFE_MS: f64 = 24.0 * 60.0 * 60_000.0;
/// Weight of the newest outcome in a lane's health.
const NEWEST: f64 = 0.3;

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
    /// Requests of launched programs that are held.
    pub requests_waiting: usize,
}

/// What is kept of a lane between runs, and shared by runs at one time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LaneMemory {
    /// Launches at once, the last good number.
    pub width: u32,
    /// When that was learned, milliseconds since the Unix epoch; 0 when nothing was.
    pub width_at_ms: u64,
    /// The cooldown that is in force.
    pub cooldown: Option<Cooldown>,
    /// Rate outcomes in a row.
    pub rate_outcomes: u32,
    /// What launches drew.
    pub draws: Draws,
}

/// The one thing that goes first after a cooldown that nobody named the end of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Probe {
    /// No need.
    None,
    /// The next launch or request.
    Due,
    /// This launch.
    Launch(SlotKey),
    /// This request.
    Request(SlotKey, RequestKey),
}

/// A rate outcome, and what it says.
pub(super) struct RateOutcome<'a> {
    /// The cooldowns that the lane had when the launch or request began.
    pub(super) epoch: u64,
    /// The end that the service named.
    pub(super) hint_ms: Option<u64>,
    pub(super) jitter: f64,
    pub(super) reason: &'a str,
    /// The service had too much to do; no limit was met.
    pub(super) overloaded: bool,
}

/// A lane.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    pub(super) spec: LaneSpec,
    pub(super) state: LaneState,
    pub(super) in_flight: u32,
    pub(super) draws: Draws,
    pub(super) probe: Probe,
    /// Cooldowns so far. What began in an earlier epoch says nothing of this one.
    pub(super) epoch: u64,
    /// Whether a request of this run has ended.
    pub(super) was_answered: bool,
    /// What was noted last as a reason to give it nothing.
    pub(super) last_refusal: Option<Refusal>,
    /// Outlives the run although the lane is closed in it.
    spent_until: Option<Cooldown>,
    width: u32,
    width_at_ms: u64,
    /// Launches since the width last changed, without a rate outcome.
    good_in_round: u32,
    rate_outcomes: u32,
    /// Share of recent launches that failed, from 0 to 1.
    failing: f64,
    remembered: bool,
    /// Where this host stands among those that come back after one instant, from 0 to 1.
    pub(super) stagger: f64,
    /// How much later than its end this host leaves the cooldown.
    late_ms: u64,
}

impl Lane {
    pub(super) fn new(spec: LaneSpec) -> Self {
        Self {
            state: LaneState::Open,
            in_flight: 0,
            draws: Draws::default(),
            probe: Probe::None,
            epoch: 0,
            was_answered: false,
            last_refusal: None,
            spent_until: None,
            width: spec.width.clamp(1, spec.widest.max(1)),
            width_at_ms: 0,
            good_in_round: 0,
            rate_outcomes: 0,
            failing: 0.0,
            remembered: false,
            stagger: 0.0,
            late_ms: 0,
            spec,
        }
    }

    pub(super) fn view(&self, requests_waiting: usize) -> LaneView {
        let (name, state) = (self.spec.name.clone(), self.state.clone());
        LaneView { name, state, width: self.width, in_flight: self.in_flight, requests_waiting }
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(self.state, LaneState::Closed(_))
    }

    pub(super) fn is_open(&self) -> bool {
        self.state == LaneState::Open
    }

    /// Opens the lane when its cooldown is over.
    pub(super) fn refresh(&mut self, now_ms: u64) {
        if let LaneState::Cooling(cooldown) = &self.state
            && cooldown.until_ms.saturating_add(self.late_ms) <= now_ms
        {
            self.probe = if cooldown.hinted { Probe::None } else { Probe::Due };
            self.state = LaneState::Open;
        }
    }

    /// Whether it takes one more launch now.
    pub(super) fn has_room(&self) -> bool {
        let probing = matches!(self.probe, Probe::Launch(_) | Probe::Request(..));
        self.is_open() && self.in_flight < self.width && !probing
    }

    /// Whether a request of a launched program may go now.
    pub(super) fn takes_request_of(&self, slot: SlotKey) -> bool {
        let after_probe = match self.probe {
            Probe::None | Probe::Due => true,
            Probe::Launch(probing) => probing == slot,
            Probe::Request(..) => false,
        };
        !matches!(self.state, LaneState::Cooling(_)) && after_probe
    }

    /// When a cooling lane opens again.
    pub(super) fn opens_at(&self) -> Option<u64> {
        match &self.state {
            LaneState::Cooling(cooldown) => Some(cooldown.until_ms.saturating_add(self.late_ms)),
            LaneState::Open | LaneState::Closed(_) => None,
        }
    }

    /// The end of the cooldown as all hosts know it.
    fn cools_until(&self) -> Option<u64> {
        match &self.state {
            LaneState::Cooling(cooldown) => Some(cooldown.until_ms),
            LaneState::Open | LaneState::Closed(_) => None,
        }
    }

    /// Whether the model's context takes a prompt of so many tokens.
    pub(super) fn fits(&self, tokens: u64) -> bool {
        self.most_prompt_tokens().is_none_or(|most| tokens <= most)
    }

    /// Tokens that a prompt may have, if the context is known.
    pub(super) fn most_prompt_tokens(&self) -> Option<u64> {
        let rest = self.spec.overhead_tokens.saturating_add(self.spec.output_tokens);
        self.spec.context_tokens.map(|context| context.saturating_sub(rest))
    }

    /// Lower is better: how much fails, then how full it is. Both are coarse, so that the order does not flicker.
    pub(super) fn rank(&self, place: usize) -> (u32, u32, u32, usize) {
        let rank = self.spec.rank.unwrap_or(u32::try_from(place).unwrap_or(u32::MAX));
        let load = u64::from(self.in_flight) * 100 / u64::from(self.width.max(1));
        (rank, (self.failing * 4.0) as u32, u32::try_from(load).unwrap_or(u32::MAX), place)
    }

    pub(super) fn close(&mut self, reason: String) {
        self.state = LaneState::Closed(reason);
        self.probe = Probe::None;
    }

    /// Keeps the end of a spent plan for the runs to come.
    pub(super) fn remember_spent(&mut self, until_ms: u64, reason: &str) {
        self.spent_until = Some(Cooldown { until_ms, reason: reason.to_owned(), hinted: true, spent: true });
    }

    /// A limit said no. Everything that was under way when it first did counts as one outcome.
    pub(super) fn throttle(&mut self, outcome: &RateOutcome<'_>, now_ms: u64) {
        let news = self.is_open() && outcome.epoch == self.epoch;
        if news {
            self.epoch += 1;
            self.rate_outcomes = self.rate_outcomes.saturating_add(1);
            self.good_in_round = 0;
            self.set_width((self.width / 2).max(1), now_ms);
            self.probe = Probe::None;
        }
        let guessed = news.then(|| guessed_end(self.rate_outcomes, outcome.overloaded, outcome.jitter, now_ms));
        let Some(until_ms) = outcome.hint_ms.or(guessed) else { return };
        let (reason, hinted) = (outcome.reason.to_owned(), outcome.hint_ms.is_some());
        let cooldown = Cooldown { until_ms, reason, hinted, spent: false };
        if news && self.rate_outcomes >= MOST_RATE_OUTCOMES {
            // That it is closed is this run's decision; when it may be tried again is for all runs to know.
            self.spent_until = Some(cooldown);
            return self.close(format!("{} rate outcomes in a row", self.rate_outcomes));
        }
        self.cool(cooldown, now_ms);
    }

    /// A launch ended without a rate outcome. Only answers of launches that began after the last cooldown widen the lane;
    /// crashes and timeouts never narrow it.
    pub(super) fn learn(&mut self, outcome: Outcome, epoch: u64, now_ms: u64) {
        if let Some(failed) = is_failure(outcome) {
            self.failing += NEWEST * (f64::from(u8::from(failed)) - self.failing);
        }
        if outcome != Outcome::Completed || !self.is_open() || epoch != self.epoch {
            return;
        }
        self.rate_outcomes = 0;
        self.good_in_round = self.good_in_round.saturating_add(1);
        if self.good_in_round >= self.width && self.width < self.spec.widest {
            self.set_width(self.width + 1, now_ms);
            self.good_in_round = 0;
        }
    }

    pub(super) fn memory(&self) -> LaneMemory {
        let cooldown = match &self.state {
            LaneState::Cooling(cooldown) => Some(cooldown.clone()),
            LaneState::Open | LaneState::Closed(_) => self.spent_until.clone(),
        };
        LaneMemory {
            width: self.width,
            width_at_ms: self.width_at_ms,
            cooldown,
            rate_outcomes: self.rate_outcomes,
            draws: self.draws.clone(),
        }
    }

    /// Takes over what an earlier run, or another one at this time, has learned.
    pub(super) fn remember(&mut self, memory: &LaneMemory, now_ms: u64) {
        let first = !std::mem::replace(&mut self.remembered, true);
        let cooling = memory.cooldown.as_ref().filter(|cooldown| cooldown.until_ms > now_ms);
        if first && memory.width_at_ms > 0 && cooling.is_none() {
            let age = now_ms.saturating_sub(memory.width_at_ms) as f64;
            let cold = f64::from(self.width);
            let width = cold + (f64::from(memory.width) - cold) * 0.5_f64.powf(age / WIDTH_HALF_LIFE_MS);
            self.width = (width.max(cold).round() as u32).clamp(1, self.spec.widest.max(1));
            self.width_at_ms = memory.width_at_ms;
        } else if memory.width_at_ms > self.width_at_ms {
            // What was learned a moment ago, by another run or before a cooldown that still lasts, holds as it is.
            self.width = memory.width.clamp(1, self.spec.widest.max(1));
            self.width_at_ms = memory.width_at_ms;
            self.good_in_round = 0;
        }
        self.draws = memory.draws.clone();
        self.rate_outcomes = if first && cooling.is_none() { 0 } else { memory.rate_outcomes };
        if self.is_closed() {
            // It is told again, so that another run's cooldown is not lost by this one.
            let known = self.spent_until.as_ref().map_or(0, |spent| spent.until_ms);
            self.spent_until =
                cooling.filter(|cooldown| cooldown.until_ms > known).cloned().or(self.spent_until.take());
        } else if let Some(cooldown) = cooling.filter(|cooldown| first && cooldown.spent) {
            let left = cooldown.until_ms.saturating_sub(now_ms).div_ceil(1_000);
            self.spent_until = Some(cooldown.clone());
            self.close(format!(
                "{}: it was spent before, and is full again in {left} s; if it is not spent any more, forget that with \
                 assize quota reset {}",
                cooldown.reason, self.spec.name
            ));
        } else if let Some(cooldown) = cooling
            && self.cools_until().is_none_or(|at| at < cooldown.until_ms)
        {
            self.epoch += u64::from(self.is_open());
            self.cool(cooldown.clone(), now_ms);
        }
    }

    fn set_width(&mut self, width: u32, now_ms: u64) {
        self.width = width;
        self.width_at_ms = now_ms;
    }

    /// The later end wins: nothing shortens a cooldown but its own end.
    fn cool(&mut self, cooldown: Cooldown, now_ms: u64) {
        if !self.is_closed() && self.cools_until().is_none_or(|at| at < cooldown.until_ms) {
            // An end that was guessed is spread already.
            let pause = if cooldown.hinted { cooldown.until_ms.saturating_sub(now_ms) } else { 0 };
            self.late_ms = staggered_ms(pause, self.stagger, self.epoch);
            self.state = LaneState::Cooling(cooldown);
        }
    }
}

/// Why a run without an open lane is over.
pub(super) fn blocked(lanes: &[Lane]) -> End {
    let mut causes: Vec<String> = lanes
        .iter()
        .filter_map(|lane| match &lane.state {
            LaneState::Closed(reason) => Some(format!("{}: {reason}", lane.spec.name)),
            LaneState::Open | LaneState::Cooling(_) => None,
        })
        .collect();
    if causes.is_empty() {
        causes.push("no lane can take what is left".to_owned());
    }
    End::Blocked(causes)
}

/// Whether an outcome speaks for or against the health of a lane, if it speaks of it at all.
fn is_failure(outcome: Outcome) -> Option<bool> {
    match outcome {
        Outcome::Completed => Some(false),
        Outcome::NoResults | Outcome::TimedOut | Outcome::Crashed => Some(true),
        Outcome::RateLimited
        | Outcome::Overloaded
        | Outcome::QuotaExhausted
        | Outcome::Unauthenticated
        | Outcome::Refused
        | Outcome::ContextExceeded
        | Outcome::Interrupted
        | Outcome::Misconfigured => None,
    }
}
