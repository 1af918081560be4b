//! What a scenario must be, beyond its shape, so that a run of it has a meaning and an end.

use std::collections::{BTreeMap, BTreeSet};

use super::scenario::{Scenario, Spread};
use super::scenario_lane::{Refill, SimulatedLane, TrueLimit};
use crate::dispatch::{Dimension, WindowKey};

/// Tasks that are simulated at most.
const MOST_TASKS: usize = 20_000;
/// Lanes, and hosts.
const MOST_PARTIES: usize = 16;
/// Longest time that a scenario may name: a month.
const LONGEST_MS: u64 = 32 * 24 * 60 * 60_000;
/// Largest number of tokens that a scenario may name.
const MOST_TOKENS: f64 = 1e9;

/// What is wrong with a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {message}")]
pub struct ScenarioFault {
    /// Key, with the name of its lane.
    pub place: String,
    /// What is wrong, and what would be right.
    pub message: String,
}

struct Faults(Vec<ScenarioFault>);

impl Faults {
    fn unless(&mut self, holds: bool, place: &str, message: &str) {
        if !holds {
            self.0.push(ScenarioFault { place: place.to_owned(), message: message.to_owned() });
        }
    }

    fn spread(&mut self, spread: &Spread, most: f64, place: &str) {
        let in_range = |value: f64| value.is_finite() && (0.0..=most).contains(&value);
        self.unless(
            in_range(spread.median) && spread.median > 0.0,
            place,
            "median must be above 0, and not beyond reason",
        );
        self.unless((0.0..=4.0).contains(&spread.sigma), place, "sigma must be from 0 to 4");
        let (least, top) = (spread.least.unwrap_or(0.0), spread.most.unwrap_or(most));
        self.unless(in_range(least) && in_range(top) && least <= top, place, "least must not be above most");
    }

    fn share(&mut self, share: f64, place: &str) {
        self.unless((0.0..=1.0).contains(&share), place, "must be from 0 to 1");
    }
}

impl Scenario {
    /// What is wrong with it; empty when it can be run.
    pub fn faults(&self) -> Vec<ScenarioFault> {
        let mut faults = Faults(Vec::new());
        self.check_trace(&mut faults);
        let workers = (1..=1_000).contains(&self.limits.workers);
        faults.unless(workers, "limits.workers", "must be from 1 to 1000");
        faults.unless((1..=100).contains(&self.limits.attempts), "limits.attempts", "must be from 1 to 100");
        self.check_hosts(&mut faults);
        faults.unless((1..=100_000).contains(&self.seeds), "seeds", "must be from 1 to 100000");
        faults.unless((1..=MOST_PARTIES).contains(&self.lanes.len()), "lanes", "there must be 1 to 16 of them");
        let mut names = BTreeSet::new();
        for lane in &self.lanes {
            let place = format!("lane {}", lane.name);
            faults.unless(!lane.name.is_empty() && names.insert(&lane.name), &place, "its name must be its own");
            check_lane(lane, &place, &mut faults);
        }
        self.check_windows(&mut faults);
        faults.0
    }

    fn check_trace(&self, faults: &mut Faults) {
        let trace = &self.trace;
        let count = trace.token_list.len().max(trace.tasks as usize);
        faults.unless((1..=MOST_TASKS).contains(&count), "trace.tasks", "must be from 1 to 20000");
        let both = trace.tasks > 0 && !trace.token_list.is_empty();
        faults.unless(!both, "trace.token_list", "stands in the place of trace.tasks; leave one of them out");
        faults.spread(&trace.tokens, MOST_TOKENS, "trace.tokens");
        let listed = trace.token_list.iter().all(|tokens| (1..=1_000_000_000).contains(tokens));
        faults.unless(listed, "trace.token_list", "every number must be from 1 to 1000000000");
        faults.unless((1..=1_000).contains(&trace.per_packet), "trace.per_packet", "must be from 1 to 1000");
        faults.unless(trace.smallest_part > 0, "trace.smallest_part", "must be above 0");
    }

    fn check_hosts(&self, faults: &mut Faults) {
        let hosts = &self.hosts;
        faults.unless((1..=MOST_PARTIES).contains(&(hosts.count as usize)), "hosts.count", "must be from 1 to 16");
        faults.share(hosts.crash_share, "hosts.crash_share");
        faults.unless(hosts.crash_at_step != Some(0), "hosts.crash_at_step", "steps are counted from 1");
        faults.unless(hosts.most_crashes <= 1_000, "hosts.most_crashes", "must be at most 1000");
        faults.unless(hosts.restart_ms <= LONGEST_MS, "hosts.restart_ms", "must be at most a month");
    }

    /// Lanes of one account must not contradict each other.
    fn check_windows(&self, faults: &mut Faults) {
        let mut known: BTreeMap<WindowKey, &TrueLimit> = BTreeMap::new();
        for (lane, limit) in self.lanes.iter().flat_map(|lane| lane.service.windows.iter().map(move |w| (lane, w))) {
            let key = key_of_limit(lane, limit);
            let same = known.entry(key).or_insert(limit);
            let place = format!("lane {}.service.windows", lane.name);
            faults.unless(*same == limit, &place, "another lane of this account says otherwise of the same window");
        }
    }
}

/// Which window a limit is.
pub(super) fn key_of_limit(lane: &SimulatedLane, limit: &TrueLimit) -> WindowKey {
    WindowKey { holder: lane.holder(limit), dimension: limit.dimension, period_ms: limit.period_ms }
}

fn check_lane(lane: &SimulatedLane, place: &str, faults: &mut Faults) {
    let at = |key: &str| format!("{place}.{key}");
    faults.unless((1..=1_000).contains(&lane.width) && lane.widest() <= 1_000, &at("width"), "must be from 1 to 1000");
    faults.unless(lane.widest() >= lane.width, &at("widest"), "must not be below width");
    faults.unless(lane.margin > 0.0 && lane.margin <= 1.0, &at("margin"), "must be above 0 and at most 1");
    lane.limits.iter().for_each(|limit| check_limit(limit, &at("limits"), faults));
    lane.service.windows.iter().for_each(|limit| check_limit(limit, &at("service.windows"), faults));
    let service = &lane.service;
    faults.spread(&service.latency_ms, LONGEST_MS as f64, &at("service.latency_ms"));
    faults.spread(&service.tokens_ratio, 1_000.0, &at("service.tokens_ratio"));
    faults.unless(
        (0.0..=1_000.0).contains(&service.output_share),
        &at("service.output_share"),
        "must be from 0 to 1000",
    );
    let requests = service.requests;
    let ordered = requests.least >= 1 && requests.least <= requests.most && requests.most <= 1_000;
    faults.unless(ordered, &at("service.requests"), "must be 1 <= least <= most <= 1000");
    let timeout = (1..=LONGEST_MS).contains(&service.timeout_ms);
    faults.unless(timeout, &at("service.timeout_ms"), "must be from 1 to a month");
    let shares = service.failures.shares();
    for (key, share) in shares {
        faults.share(share, &at(&format!("service.failures.{key}")));
    }
    let sum: f64 = shares.iter().map(|(_, share)| share).sum();
    faults.unless(sum <= 1.0, &at("service.failures"), "the shares must not be more than 1 together");
}

fn check_limit(limit: &TrueLimit, place: &str, faults: &mut Faults) {
    faults.unless(limit.limit > 0, place, "limit must be above 0");
    let concurrency = limit.dimension == Dimension::Concurrency;
    let period = if concurrency { limit.period_ms == 0 } else { (1_000..=LONGEST_MS).contains(&limit.period_ms) };
    faults.unless(period, place, "period_ms must be from 1000 to a month, or 0 for concurrency");
    faults.unless(!concurrency || limit.refill == Refill::Bucket, place, "concurrency has no refill");
    faults.unless(limit.dimension != Dimension::Spend, place, "no service limits spend here; use limits.micro_usd");
}
