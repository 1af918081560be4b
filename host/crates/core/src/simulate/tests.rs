//! Thousands of random runs, a crash at every step, and laws that are seen to bite.

#![allow(clippy::unwrap_used, reason = "tests")]

mod biting;
mod crashes;
mod seeds;
mod worked;

use super::scenario_lane::{Failures, LanePacing, Refill, RequestCount, Service, TrueLimit};
use super::*;
use crate::dispatch::Dimension;

const MINUTE: u64 = 60_000;

/// A lane of one width whose launches take ten seconds and never fail.
fn lane(name: &str, width: u32) -> SimulatedLane {
    SimulatedLane {
        name: name.to_owned(),
        account: None,
        model: None,
        rank: None,
        width,
        widest: None,
        agent: false,
        pacing: LanePacing::Launch,
        margin: 0.8,
        context_tokens: None,
        output_tokens: 1_000,
        overhead_tokens: 0,
        price: None,
        limits: Vec::new(),
        service: Service {
            latency_ms: Spread::always(10_000.0),
            windows: Vec::new(),
            tells_limits: false,
            tells_retry_after: false,
            tells_usage: true,
            requests: RequestCount::default(),
            tokens_ratio: Spread::always(1.0),
            output_share: 0.1,
            context_tokens: None,
            timeout_ms: 120_000,
            failures: Failures::default(),
        },
    }
}

/// So many tasks of a thousand tokens each, on these lanes.
fn scenario(tasks: u32, workers: u32, lanes: Vec<SimulatedLane>) -> Scenario {
    Scenario {
        seed: 1,
        seeds: 1,
        trace: Trace {
            tasks,
            tokens: Spread::always(1_000.0),
            token_list: Vec::new(),
            per_packet: 1,
            smallest_part: 200,
        },
        limits: RunLimits {
            workers,
            attempts: 3,
            launches: None,
            tokens: None,
            micro_usd: None,
            deadline_ms: None,
            drain_ms: None,
        },
        hosts: Hosts::default(),
        lanes,
    }
}

fn requests(limit: u64) -> TrueLimit {
    let (dimension, period_ms) = (Dimension::Requests, MINUTE);
    TrueLimit { dimension, limit, period_ms, refill: Refill::Bucket, of_model: false }
}
