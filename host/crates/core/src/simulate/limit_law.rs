//! How often a limit may be run into, given what the dispatcher can know of it.

use std::collections::BTreeMap;

use super::scenario::Scenario;
use super::scenario_check::key_of_limit;
use super::scenario_lane::{LanePacing, Refill, SimulatedLane, TrueLimit};
use crate::dispatch::{Dimension, WindowKey};

/// Largest margin that leaves room for estimates that are rounded to whole tokens.
const MARGIN_FOR_TOKENS: f64 = 0.95;

/// How often a lane may run into a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LimitLaw {
    /// Not once: the configuration names the limit, it is a bucket, and every draw is known before.
    Never,
    /// Once, while nobody has told the limit yet. Whatever was sent before that refusal was known counts with it.
    Once,
    /// Once in a period: the window fills up when its period ends, which the dispatcher learns anew in each of them; a
    /// refusal says when that is.
    OncePerPeriod,
    /// As often as it takes: the service keeps its limit to itself, or what a launch draws cannot be known before.
    /// Cooldowns bound it.
    Unknown,
}

/// The law of every limit of a scenario.
pub(super) fn laws_of(scenario: &Scenario) -> BTreeMap<WindowKey, LimitLaw> {
    let named = scenario.lanes.iter().flat_map(|lane| lane.service.windows.iter().map(move |limit| (lane, limit)));
    named.map(|(lane, limit)| (key_of_limit(lane, limit), law_of(scenario, lane, limit))).collect()
}

fn law_of(scenario: &Scenario, owner: &SimulatedLane, limit: &TrueLimit) -> LimitLaw {
    let key = key_of_limit(owner, limit);
    let draws = |lane: &&SimulatedLane| {
        lane.account() == owner.account() && (!limit.of_model || owner.model.is_none() || lane.model == owner.model)
    };
    let lanes = || scenario.lanes.iter().filter(draws);
    let concurrency = limit.dimension == Dimension::Concurrency;
    if limit.refill == Refill::Fixed {
        let tells_end = |lane: &SimulatedLane| {
            lane.service.tells_retry_after || (lane.service.tells_limits && limit.dimension == Dimension::Requests)
        };
        // A launch that nobody paces goes on to send requests after the refusal of another one.
        let is_held = |lane: &SimulatedLane| lane.service.requests.most == 1 || lane.pacing == LanePacing::Request;
        let once = lanes().all(|lane| tells_end(lane) && is_held(lane));
        return if once { LimitLaw::OncePerPeriod } else { LimitLaw::Unknown };
    }
    if concurrency && scenario.hosts.count > 1 {
        return LimitLaw::Unknown;
    }
    if !lanes().all(|lane| draws_are_known(scenario, lane, limit)) {
        return LimitLaw::Unknown;
    }
    let names = |lane: &SimulatedLane| {
        lane.limits.iter().any(|named| key_of_limit(lane, named) == key && named.limit <= limit.limit)
    };
    if lanes().any(names) {
        return LimitLaw::Never;
    }
    let told = !concurrency && lanes().all(|lane| lane.service.tells_limits);
    if told { LimitLaw::Once } else { LimitLaw::Unknown }
}

/// Whether what a launch or request draws is never more than the dispatcher takes beforehand.
fn draws_are_known(scenario: &Scenario, lane: &SimulatedLane, limit: &TrueLimit) -> bool {
    let one_request = lane.service.requests.most == 1;
    let by_request = lane.pacing == LanePacing::Request;
    match limit.dimension {
        Dimension::Concurrency => true,
        // Later requests of a launch arrive when the windows have filled up again and others have drawn on them.
        Dimension::Requests => one_request || by_request,
        Dimension::Spend => false,
        Dimension::Tokens | Dimension::InputTokens | Dimension::OutputTokens => {
            let Some(prompt) = largest_prompt(scenario, lane) else { return false };
            let Some(ratio) = lane.service.tokens_ratio.largest() else { return false };
            let even = lane.service.tokens_ratio.sigma == 0.0 && ratio <= 1.0;
            let bounded = prompt * lane.service.output_share <= lane.output_tokens as f64;
            let fits = prompt * (ratio + lane.service.output_share) <= limit.limit as f64;
            let estimated = one_request && even && bounded && lane.service.output_share <= 1.0;
            fits && lane.margin <= MARGIN_FOR_TOKENS && (by_request || estimated)
        }
    }
}

/// Tokens of the largest prompt, if the trace bounds them.
pub(super) fn largest_prompt(scenario: &Scenario, lane: &SimulatedLane) -> Option<f64> {
    let tasks = f64::from(scenario.trace.per_packet);
    scenario.trace.largest().map(|largest| (largest * tasks).max(1.0) + lane.overhead_tokens as f64)
}
