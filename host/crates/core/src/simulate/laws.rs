//! What every run has to keep, watched while it happens. A law that is broken is noted as data; nothing here panics.

use std::collections::BTreeMap;

use super::limit_law::{LimitLaw, largest_prompt, laws_of};
use super::replay::Violation;
use super::scenario::{BEGIN_MS, Scenario};
use super::scenario_lane::SimulatedLane;
use crate::dispatch::WindowKey;
use crate::plugin::Reading;

/// Violations that are kept; one that repeats says nothing new.
const MOST_VIOLATIONS: usize = 20;
/// The shortest cooldown that the service has not named: a minute less its jitter.
const SHORTEST_GUESS_MS: u64 = 54_000;
/// The same where no limit was met: five seconds less its jitter.
const SHORTEST_OVERLOAD_MS: u64 = 4_500;
/// Tokens of a prompt over their estimate up to which a budget holds.
const BUDGET_HEADROOM: f64 = 1.25;

/// When a lane gets nothing.
#[derive(Clone, Copy, Debug, Default)]
struct Cooling {
    since_ms: u64,
    until_ms: u64,
}

/// How often a lane has run into a limit.
#[derive(Clone, Copy, Debug, Default)]
struct Run {
    episodes: u64,
    /// The period in which the last one began, and those that began in it.
    period: (u64, u64),
    /// When the dispatcher last heard of a refusal.
    heard_ms: u64,
}

/// A rate outcome of which the dispatcher hears.
#[derive(Clone, Debug)]
pub(super) struct RateNews {
    pub(super) lane: usize,
    pub(super) reading: Reading,
    /// The window that refused; absent when the service was overloaded.
    pub(super) by: Option<WindowKey>,
    /// When what was refused had been sent.
    pub(super) sent_ms: u64,
    /// When what was refused had begun.
    pub(super) began_ms: u64,
}

/// The laws of a run, and what was seen so far.
#[derive(Debug)]
pub(super) struct Laws {
    pub(super) violations: Vec<Violation>,
    limits: BTreeMap<WindowKey, LimitLaw>,
    cooling: BTreeMap<String, Cooling>,
    runs: BTreeMap<(String, WindowKey), Run>,
    budgets_hold: bool,
}

impl Laws {
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self {
            violations: Vec::new(),
            limits: laws_of(scenario),
            cooling: BTreeMap::new(),
            runs: BTreeMap::new(),
            budgets_hold: scenario.lanes.iter().all(|lane| is_bounded(scenario, lane)),
        }
    }

    /// Notes a violation unless the law holds.
    pub(super) fn check(&mut self, holds: bool, law: &'static str, now_ms: u64, detail: impl FnOnce() -> String) {
        if !holds && self.violations.len() < MOST_VIOLATIONS {
            self.violations.push(Violation { law, at_ms: now_ms.saturating_sub(BEGIN_MS), detail: detail() });
        }
    }

    /// A limit has refused a request that has just arrived.
    pub(super) fn refused(&mut self, lane: &str, by: &WindowKey, now_ms: u64) {
        let law = self.limits.get(by).copied().unwrap_or(LimitLaw::Unknown);
        self.check(law != LimitLaw::Never, "a limit that is configured is never overdrawn", now_ms, || {
            format!("lane {lane}: {by:?}")
        });
    }

    /// The dispatcher hears of a rate outcome.
    pub(super) fn heard(&mut self, lane: &str, heard: &RateNews, now_ms: u64) {
        if let Some(by) = &heard.by {
            self.count(lane, by, heard.sent_ms, now_ms);
        }
        let cooling = self.cooling.entry(lane.to_owned()).or_default();
        let is_open = cooling.until_ms <= now_ms;
        let until_ms = match heard.reading.retry_after_ms {
            Some(after) => now_ms.saturating_add(after),
            // A reset may have been named, which only the dispatcher reads.
            None if !heard.reading.limits.is_empty() => return,
            None if is_open && heard.began_ms > cooling.since_ms => {
                now_ms + if heard.by.is_some() { SHORTEST_GUESS_MS } else { SHORTEST_OVERLOAD_MS }
            }
            None => return,
        };
        if until_ms > cooling.until_ms {
            let since_ms = if is_open { now_ms } else { cooling.since_ms };
            *cooling = Cooling { since_ms, until_ms };
        }
    }

    fn count(&mut self, lane: &str, by: &WindowKey, sent_ms: u64, now_ms: u64) {
        let run = self.runs.entry((lane.to_owned(), by.clone())).or_default();
        if run.episodes == 0 || sent_ms > run.heard_ms {
            run.episodes += 1;
            let period = sent_ms.saturating_sub(BEGIN_MS) / by.period_ms.max(1);
            run.period = (period, if run.period.0 == period { run.period.1 + 1 } else { 1 });
        }
        run.heard_ms = now_ms;
        let (episodes, in_period) = (run.episodes, run.period.1);
        let law = self.limits.get(by).copied().unwrap_or(LimitLaw::Unknown);
        let holds = match law {
            LimitLaw::Never | LimitLaw::Unknown => true,
            LimitLaw::Once => episodes <= 1,
            LimitLaw::OncePerPeriod => in_period <= 1,
        };
        self.check(holds, "a limit that is told is learned at once", now_ms, || {
            format!("lane {lane} runs into {by:?}: {episodes} times, {in_period} times in this period")
        });
    }

    /// Something goes to a lane.
    pub(super) fn sends(&mut self, lane: &str, now_ms: u64) {
        let until_ms = self.cooling.get(lane).map_or(0, |cooling| cooling.until_ms);
        self.check(until_ms <= now_ms, "nothing goes to a lane that cools down", now_ms, || {
            format!("lane {lane} cools down for {} ms more", until_ms - now_ms)
        });
    }

    /// What one life of a host has really spent.
    pub(super) fn spends(&mut self, scenario: &Scenario, tokens: u64, micro_usd: u64, now_ms: u64) {
        if !self.budgets_hold {
            return;
        }
        let within = |limit: Option<u64>, spent: u64| limit.is_none_or(|limit| spent <= limit);
        self.check(within(scenario.limits.tokens, tokens), "a budget is never overspent", now_ms, || {
            format!("{tokens} tokens")
        });
        let priced = scenario.lanes.iter().all(|lane| lane.price.is_some());
        let holds = !priced || within(scenario.limits.micro_usd, micro_usd);
        self.check(holds, "a budget is never overspent", now_ms, || format!("{micro_usd} millionths of a dollar"));
    }

    pub(super) fn episodes(&self) -> u64 {
        self.runs.values().map(|run| run.episodes).sum()
    }
}

/// Whether anybody could say beforehand what a launch of this lane draws at most. Of an agent nobody can.
fn is_bounded(scenario: &Scenario, lane: &SimulatedLane) -> bool {
    let service = &lane.service;
    let Some(prompt) = largest_prompt(scenario, lane) else { return false };
    let answer = lane.output_tokens > 0 && prompt * service.output_share <= lane.output_tokens as f64;
    let ratio = service.tokens_ratio.largest().is_some_and(|ratio| ratio <= BUDGET_HEADROOM);
    !lane.agent && service.tells_usage && service.requests.most == 1 && answer && ratio
}
