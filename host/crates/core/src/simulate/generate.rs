//! Scenarios from a seed: small, and of every kind, so that thousands of them find what a person would not think of.

use super::random::Random;
use super::scenario::{Hosts, RunLimits, Scenario, Spread, Trace};
use super::scenario_lane::{Failures, LanePacing, LanePrice, Refill, RequestCount, Service, SimulatedLane, TrueLimit};
use crate::dispatch::Dimension;

/// Tells the randomness of scenarios from every other one.
const SCENARIO: u64 = 0x7363_656e;
const MINUTE_MS: u64 = 60_000;

impl Scenario {
    /// A scenario of a few lanes and tasks; the same seed gives the same one.
    pub fn random(seed: u64) -> Self {
        let mut random = Random::of(&[seed, SCENARIO]);
        let trace = trace(&mut random);
        let is_stormy = random.one_in(3);
        let count = 1 + random.below(3);
        let mut lanes: Vec<SimulatedLane> = Vec::new();
        for at in 0..count {
            let shares = at > 0 && random.one_in(3);
            let mut lane = lane(at, &trace, is_stormy, &mut random);
            if let Some(first) = lanes.first().filter(|_| shares) {
                lane.account = Some(first.account().to_owned());
                lane.limits = first.limits.clone();
                lane.service.windows = first.service.windows.clone();
            }
            lanes.push(lane);
        }
        Self { seed, seeds: 1, trace, limits: limits(&mut random), hosts: hosts(&mut random), lanes }
    }
}

fn trace(random: &mut Random) -> Trace {
    let median = 200.0 + random.below(6_000) as f64;
    Trace {
        tasks: 2 + random.below(random.clone().between(4, 30)) as u32,
        tokens: Spread { median, sigma: random.share(), least: Some(50.0), most: Some(median * 4.0) },
        token_list: Vec::new(),
        per_packet: 1 + random.below(4) as u32,
        smallest_part: 200 + (median / 4.0) as u64,
    }
}

fn hosts(random: &mut Random) -> Hosts {
    let crashes = random.one_in(3);
    Hosts {
        count: if random.one_in(4) { 2 + random.below(2) as u32 } else { 1 },
        crash_at_step: random.one_in(6).then(|| 1 + random.below(60)),
        crash_share: if crashes { 0.05 * random.share() } else { 0.0 },
        most_crashes: 1 + random.below(4) as u32,
        restart_ms: random.below(90_000),
    }
}

fn limits(random: &mut Random) -> RunLimits {
    let mut limits = RunLimits {
        workers: 1 + random.below(8) as u32,
        attempts: 1 + random.below(4) as u32,
        launches: None,
        tokens: None,
        micro_usd: None,
        deadline_ms: None,
        drain_ms: None,
    };
    match random.below(12) {
        0 => limits.launches = Some(1 + random.below(12) as u32),
        1 => limits.tokens = Some(2_000 + random.below(60_000)),
        2 => limits.micro_usd = Some(5_000 + random.below(300_000)),
        3 => limits.deadline_ms = Some(1 + random.below(400_000)),
        4 => limits.drain_ms = Some(random.below(300_000)),
        _ => {}
    }
    limits
}

fn lane(at: u64, trace: &Trace, is_stormy: bool, random: &mut Random) -> SimulatedLane {
    let width = 1 + random.below(5) as u32;
    let agent = random.one_in(4);
    let prompt = trace.tokens.largest().unwrap_or(0.0) * f64::from(trace.per_packet);
    let output_share = 0.3 * random.share();
    let service = service(trace, agent, output_share, is_stormy, random);
    let is_told = random.one_in(2);
    SimulatedLane {
        name: format!("lane-{at}"),
        account: None,
        model: random.one_in(2).then(|| format!("model-{at}")),
        rank: random.one_in(3).then_some(0),
        width,
        widest: random.one_in(2).then(|| width + random.below(8) as u32),
        agent,
        pacing: if random.one_in(3) { LanePacing::Request } else { LanePacing::Launch },
        margin: *[0.8, 0.8, 0.9, 1.0, 0.5].get(random.below(5) as usize).unwrap_or(&0.8),
        context_tokens: random.one_in(3).then(|| (prompt * (0.2 + random.share())) as u64 + 400),
        output_tokens: if random.one_in(4) { 100 } else { (prompt * output_share).ceil() as u64 + 50 },
        overhead_tokens: if agent { random.below(2_000) } else { 0 },
        price: random.one_in(2).then(|| LanePrice {
            input_micro_usd_per_million: 1_000_000 + random.below(4_000_000),
            output_micro_usd_per_million: 5_000_000 + random.below(20_000_000),
        }),
        limits: if is_told { service.windows.clone() } else { Vec::new() },
        service,
    }
}

fn service(trace: &Trace, agent: bool, output_share: f64, is_stormy: bool, random: &mut Random) -> Service {
    let most = if agent { 1 + random.below(6) as u32 } else { 1 };
    let even = random.one_in(2);
    Service {
        latency_ms: Spread {
            median: 500.0 + random.below(40_000) as f64,
            sigma: random.share(),
            least: Some(50.0),
            most: Some(400_000.0),
        },
        windows: windows(trace, random),
        tells_limits: random.one_in(2),
        tells_retry_after: random.one_in(2),
        tells_usage: !random.one_in(4),
        requests: RequestCount { least: 1 + random.below(u64::from(most)) as u32, most },
        tokens_ratio: Spread {
            median: 0.3 + random.share() * if even { 0.7 } else { 2.0 },
            sigma: if even { 0.0 } else { 0.4 },
            least: None,
            most: Some(6.0),
        },
        output_share,
        context_tokens: random.one_in(6).then(|| 500 + random.below(12_000)),
        timeout_ms: 30_000 + random.below(600_000),
        failures: failures(is_stormy, random),
    }
}

fn windows(trace: &Trace, random: &mut Random) -> Vec<TrueLimit> {
    let mut windows = Vec::new();
    let period_ms = MINUTE_MS * if random.one_in(8) { 60 } else { 1 };
    let refill = if random.one_in(4) { Refill::Fixed } else { Refill::Bucket };
    let limit = |dimension, limit, period_ms| TrueLimit { dimension, limit, period_ms, refill, of_model: false };
    if random.one_in(2) {
        let one =
            TrueLimit { of_model: random.one_in(4), ..limit(Dimension::Requests, 1 + random.below(30), period_ms) };
        windows.push(one);
    }
    if random.one_in(2) {
        let kinds = [Dimension::Tokens, Dimension::InputTokens, Dimension::OutputTokens];
        let dimension = *kinds.get(random.below(3) as usize).unwrap_or(&Dimension::Tokens);
        let packet = trace.tokens.largest().unwrap_or(1_000.0) as u64 * u64::from(trace.per_packet);
        windows.push(limit(dimension, 1 + packet * (1 + random.below(12)) / 4, MINUTE_MS));
    }
    if random.one_in(5) {
        let at_once = limit(Dimension::Concurrency, 1 + random.below(6), 0);
        windows.push(TrueLimit { refill: Refill::Bucket, ..at_once });
    }
    windows
}

fn failures(is_stormy: bool, random: &mut Random) -> Failures {
    let most = if is_stormy { 0.14 } else { 0.03 };
    let mut share = || if random.one_in(2) { most * random.share() } else { 0.0 };
    let mut failures = Failures {
        crash: share(),
        plugin: share(),
        hang: share(),
        no_results: share(),
        partial: share(),
        refused: share(),
        overloaded: share(),
        quota_exhausted_at_ms: None,
        unauthenticated_at_ms: None,
    };
    match random.below(16) {
        0 => failures.quota_exhausted_at_ms = Some(random.below(600_000)),
        1 => failures.unauthenticated_at_ms = Some(random.below(600_000)),
        _ => {}
    }
    failures
}
