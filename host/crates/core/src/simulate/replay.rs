//! What one run of a scenario came to.

use serde::Serialize;

/// The outcome of a run from one seed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Replay {
    /// The seed.
    pub seed: u64,
    /// How each host ended.
    pub ends: Vec<HostEnd>,
    /// What became of the tasks.
    pub tasks: TaskCount,
    /// How fast it was.
    pub figures: Figures,
    /// Laws that were broken; a sound dispatcher leaves this empty.
    pub violations: Vec<Violation>,
}

/// How a host ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostEnd {
    /// Which, from 0.
    pub host: usize,
    /// In the dispatcher's words; absent when it never ended.
    pub end: Option<String>,
    /// Times that it died before.
    pub crashes: u32,
    /// Tasks that are left for another run.
    pub left: usize,
}

/// What became of the tasks of all hosts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskCount {
    /// Tasks, parts of split ones included.
    pub all: usize,
    /// With a result.
    pub done: usize,
    /// Given up, with a reason.
    pub parked: usize,
    /// Replaced by parts.
    pub split: usize,
    /// Left, because the run ended before.
    pub left: usize,
}

/// How fast a run was.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// From the beginning to the last end of a launch, milliseconds.
    pub makespan_ms: u64,
    /// No schedule could have done the same launches in less, milliseconds.
    pub bound_ms: u64,
    /// What makes the bound: a window, a width or the longest launch.
    pub bound_by: String,
    /// Makespan over bound; 0 where nothing was launched.
    pub ratio: f64,
    /// Share of the places of all hosts that services kept busy.
    pub utilisation: f64,
    /// Launches.
    pub launches: u64,
    /// Requests that services took.
    pub requests: u64,
    /// Requests that a limit refused.
    pub rate_limited: u64,
    /// The same, where all that were under way when the first became known count as one.
    pub rate_episodes: u64,
    /// Requests that the dispatcher itself sent back.
    pub sent_back: u64,
    /// Waits for an instant.
    pub waits: u64,
    /// Waits that were over without anything to do.
    pub idle_wakes: u64,
    /// Milliseconds in which a host had work and nothing in flight.
    pub idle_ms: u64,
    /// Deaths of hosts.
    pub crashes: u64,
}

/// A law that was broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The law, in a few words.
    pub law: &'static str,
    /// Milliseconds after the beginning.
    pub at_ms: u64,
    /// What happened.
    pub detail: String,
}
