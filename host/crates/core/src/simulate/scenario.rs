//! What is simulated, as a file says it: the tasks, the limits of the run, its hosts, and the lanes with their services.

use serde::{Deserialize, Serialize};

use super::random::Random;
use super::scenario_lane::SimulatedLane;
use crate::dispatch::Limits;

/// A simulation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// First seed.
    #[serde(default)]
    pub seed: u64,
    /// Seeds to replay, each after the one before.
    #[serde(default = "one")]
    pub seeds: u64,
    /// What is to be reviewed.
    pub trace: Trace,
    /// What a run may do and spend.
    pub limits: RunLimits,
    /// Who dispatches.
    #[serde(default)]
    pub hosts: Hosts,
    /// Lanes in order of preference.
    pub lanes: Vec<SimulatedLane>,
}

/// The tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// How many; not beside `token_list`.
    #[serde(default)]
    pub tasks: u32,
    /// Estimated tokens of a task's prompt.
    #[serde(default = "Trace::usual_tokens")]
    pub tokens: Spread,
    /// The estimates one by one, in the place of `tasks` and `tokens`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub token_list: Vec<u64>,
    /// Tasks that go to one reviewer together.
    #[serde(default = "one_task")]
    pub per_packet: u32,
    /// A task of at most so many tokens cannot be split further.
    #[serde(default = "Trace::usual_smallest")]
    pub smallest_part: u64,
}

impl Trace {
    fn usual_tokens() -> Spread {
        Spread { median: 6_000.0, sigma: 0.5, least: None, most: None }
    }

    fn usual_smallest() -> u64 {
        400
    }

    /// Estimated tokens of each task.
    pub(super) fn sizes(&self, seed: u64) -> Vec<u64> {
        if !self.token_list.is_empty() {
            return self.token_list.clone();
        }
        let size = |at: u32| self.tokens.whole(&mut Random::of(&[seed, TRACE, u64::from(at)])).max(1);
        (0..self.tasks).map(size).collect()
    }

    /// The largest estimate that occurs, if the trace bounds it.
    pub(super) fn largest(&self) -> Option<f64> {
        match self.token_list.iter().max() {
            Some(largest) => Some(*largest as f64),
            None => self.tokens.largest(),
        }
    }
}

/// Tells the randomness of the trace from every other one.
const TRACE: u64 = 0x7472_6163;

/// A lognormal distribution, cut where that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// Half of the values lie above it.
    pub median: f64,
    /// Deviation of the logarithm; 0 means that every value is the median.
    #[serde(default)]
    pub sigma: f64,
    /// Nothing lies below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// Nothing lies above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
}

impl Spread {
    /// Always this value.
    pub fn always(value: f64) -> Self {
        Self { median: value, sigma: 0.0, least: None, most: None }
    }

    pub(super) fn draw(&self, random: &mut Random) -> f64 {
        let value = if self.sigma > 0.0 { self.median * (self.sigma * random.normal()).exp() } else { self.median };
        value.min(self.most.unwrap_or(f64::MAX)).max(self.least.unwrap_or(0.0))
    }

    pub(super) fn whole(&self, random: &mut Random) -> u64 {
        self.draw(random).round() as u64
    }

    /// The largest value that occurs, if it is bounded.
    pub(super) fn largest(&self) -> Option<f64> {
        let bound = if self.sigma > 0.0 { self.most } else { Some(self.median.min(self.most.unwrap_or(f64::MAX))) };
        bound.map(|bound| bound.max(self.least.unwrap_or(0.0)))
    }
}

/// What a run may do and spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunLimits {
    /// Launches at once, for each host.
    pub workers: u32,
    /// Tries of a task before it is parked.
    #[serde(default = "RunLimits::usual_attempts")]
    pub attempts: u32,
    /// Launches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launches: Option<u32>,
    /// Tokens, in and out together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Millionths of a US dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_usd: Option<u64>,
    /// Nothing starts so many milliseconds after the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// A person asks for the end so many milliseconds after the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain_ms: Option<u64>,
}

impl RunLimits {
    fn usual_attempts() -> u32 {
        3
    }

    pub(super) fn of_engine(&self) -> Limits {
        Limits {
            workers: self.workers,
            attempts: self.attempts,
            launches: self.launches,
            tokens: self.tokens,
            micro_usd: self.micro_usd,
            deadline_ms: self.deadline_ms.map(|after| BEGIN_MS.saturating_add(after)),
        }
    }
}

/// The instant at which a run begins, in milliseconds since the Unix epoch. It is not 0, because readings count from there.
pub(super) const BEGIN_MS: u64 = 1_000_000_000;

/// Who dispatches: hosts with stores of their own that share the accounts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// How many; the packets are dealt out to them.
    #[serde(default = "one_task")]
    pub count: u32,
    /// The first host dies at this step, counted from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub crash_at_step: Option<u64>,
    /// Probability that a host dies at a step: between any two commands, and around every transaction.
    #[serde(default)]
    pub crash_share: f64,
    /// Times that one host dies.
    #[serde(default = "one_task")]
    pub most_crashes: u32,
    /// Milliseconds after which a dead host is started again.
    #[serde(default = "Hosts::usual_restart")]
    pub restart_ms: u64,
}

impl Hosts {
    fn usual_restart() -> u64 {
        5_000
    }
}

impl Default for Hosts {
    fn default() -> Self {
        Self { count: 1, crash_at_step: None, crash_share: 0.0, most_crashes: 1, restart_ms: Self::usual_restart() }
    }
}

fn one() -> u64 {
    1
}

fn one_task() -> u32 {
    1
}
