//! Whole runs under a virtual clock: the real dispatcher against scripted services, stores and crashes, and the laws that
//! every run has to keep. A seed is all the randomness there is, so that every run can be replayed.

mod bound;
mod carrying;
mod course;
mod ending;
mod generate;
mod host;
mod launching;
mod laws;
mod limit_law;
mod random;
mod replay;
mod scenario;
mod scenario_check;
mod scenario_lane;
mod sending;
mod service;
mod store;
mod true_window;
mod wave_schedule;
mod waves;
mod world;

pub use replay::{Figures, HostEnd, Replay, TaskCount, Violation};
pub use scenario::{Hosts, RunLimits, Scenario, Spread, Trace};
pub use scenario_check::ScenarioFault;
pub use scenario_lane::{Failures, LanePacing, LanePrice, Refill, RequestCount, Service, SimulatedLane, TrueLimit};
pub use waves::{WaveReplay, run_waves};
pub use world::run;

#[cfg(test)]
mod tests;
