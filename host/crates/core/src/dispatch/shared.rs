//! What runs on one machine share: the windows and what is remembered of lanes.

use std::collections::BTreeMap;

use super::engine::Dispatch;
use super::lane::LaneMemory;
use super::window::{Dimension, Window, WindowKey};

/// Windows and lanes as they are kept outside of a run.
///
/// Reservations live in the levels themselves: what a process that died had reserved comes back by refill. Concurrency is
/// not shared, because nothing would give it back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SharedState {
    /// Every window but those of concurrency.
    pub windows: BTreeMap<WindowKey, Window>,
    /// Lanes by name.
    pub lanes: BTreeMap<String, LaneMemory>,
}

/// A window as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub struct WindowView {
    /// Which.
    pub key: WindowKey,
    /// What is left now; negative when more was drawn than expected.
    pub level: f64,
    /// What it holds when it is full, less the margin; absent when no limit is known.
    pub capacity: Option<f64>,
    /// The limit.
    pub limit: Option<u64>,
    /// When it is full again, milliseconds since the Unix epoch.
    pub resets_at_ms: Option<u64>,
    /// When the service was last heard, milliseconds since the Unix epoch.
    pub read_ms: Option<u64>,
    /// Whether the configuration names it.
    pub declared: bool,
}

impl Dispatch {
    /// Takes over the shared state, which another run may have changed. To be called before `handle`.
    pub fn absorb(&mut self, shared: &SharedState, now_ms: u64) {
        self.windows.0.retain(|key, _| key.dimension == Dimension::Concurrency);
        let others = shared.windows.iter().filter(|(key, _)| key.dimension != Dimension::Concurrency);
        self.windows.0.extend(others.map(|(key, window)| (key.clone(), window.clone())));
        self.windows.declare(self.lanes.iter().map(|lane| &lane.spec));
        for lane in &mut self.lanes {
            if let Some(memory) = shared.lanes.get(&lane.spec.name) {
                lane.remember(memory, now_ms);
            }
        }
    }

    /// The state to be shared. To be called after `handle`.
    pub fn share(&self) -> SharedState {
        let windows = self.windows.0.iter().filter(|(key, _)| key.dimension != Dimension::Concurrency);
        SharedState {
            windows: windows.map(|(key, window)| (key.clone(), window.clone())).collect(),
            lanes: self.lanes.iter().map(|lane| (lane.spec.name.clone(), lane.memory())).collect(),
        }
    }

    /// The windows as they are at an instant.
    pub fn windows(&self, now_ms: u64) -> Vec<WindowView> {
        let view = |(key, window): (&WindowKey, &Window)| WindowView {
            key: key.clone(),
            level: window.level_at(now_ms),
            capacity: (window.limit().is_some() || window.largest_seen > 0).then(|| window.capacity()),
            limit: window.limit(),
            resets_at_ms: window.resets_at_ms.filter(|at| *at > now_ms),
            read_ms: window.read_ms,
            declared: window.declared.is_some(),
        };
        self.windows.0.iter().map(view).collect()
    }
}
