//! What no schedule could beat: the same draws against the same windows, the same time in the same places.

use super::scenario::Scenario;
use super::scenario_lane::Refill;
use super::service::Services;
use super::true_window::TrueWindow;
use crate::dispatch::Dimension;

/// What the launches of a run needed of their services.
#[derive(Clone, Debug, Default)]
pub(super) struct Busy {
    /// Milliseconds in the service, for each lane.
    pub(super) by_lane: Vec<u64>,
    /// The longest launch.
    pub(super) longest_ms: u64,
}

impl Busy {
    pub(super) fn all(&self) -> u64 {
        self.by_lane.iter().sum()
    }
}

/// The shortest time in milliseconds, and what makes it.
pub(super) fn bound(scenario: &Scenario, services: &Services, busy: &Busy) -> (u64, String) {
    let hosts = u64::from(scenario.hosts.count.max(1));
    let mut best = (busy.longest_ms, "the longest launch".to_owned());
    let mut raise = |ms: u64, by: String| {
        if ms > best.0 {
            best = (ms, by);
        }
    };
    raise(busy.all() / (u64::from(scenario.limits.workers.max(1)) * hosts), "the workers".to_owned());
    for (at, lane) in scenario.lanes.iter().enumerate() {
        let width = u64::from(lane.widest()) * hosts;
        raise(busy.by_lane.get(at).copied().unwrap_or(0) / width, format!("the width of {}", lane.name));
    }
    for window in &services.windows {
        let on_it = |at: &usize| services.of_lane(*at).any(|other| other.key == window.key);
        let held: u64 = (0..scenario.lanes.len()).filter(on_it).filter_map(|at| busy.by_lane.get(at)).sum();
        let (dimension, holder) = (window.key.dimension.as_str(), &window.key.holder);
        raise(window_ms(window, held), format!("{dimension} of {holder}"));
    }
    best
}

/// The shortest time in which a window gives what was drawn; what it held at the beginning is free.
fn window_ms(window: &TrueWindow, held_ms: u64) -> u64 {
    let limit = window.limit.limit as f64;
    match (window.key.dimension, window.limit.refill) {
        (Dimension::Concurrency, _) => held_ms / window.limit.limit.max(1),
        (_, Refill::Bucket) => ((window.drawn - limit).max(0.0) / window.rate()) as u64,
        (_, Refill::Fixed) => {
            let periods = (window.drawn / limit).ceil().max(1.0) as u64;
            (periods - 1).saturating_mul(window.limit.period_ms)
        }
    }
}
