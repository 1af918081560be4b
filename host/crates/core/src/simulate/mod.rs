//! Whole runs under a virtual clock: the real dispatcher against scripted services, stores and crashes, and the laws that
//! every run has to keep. A seed is all the randomness there is, so that every run can be replayed.

mod random;
mod scenario;
mod scenario_lane;
mod scenario_check;
mod generate;
mod service;
mod true_window;
mod course;
mod store;
mod host;
mod carrying;
mod world;
mod laws;
mod limit_law;
mod bound;
mod replay;
mod waves;
mod wave_schedule;

pub use replay::{Figures, HostEnd, Replay, TaskCount, Violation};
pub use scenario::{Hosts, RunLimits, Scenario, Spread, Trace};
pub use scenario_check::ScenarioFault;
pub use scenario_lane::{Failures, LanePacing, LanePrice, Refill, RequestCount, Service, SimulatedLane, TrueLimit};
pub use waves::{WaveReplay, run_waves};
pub use world::run;

#[cfg(test)]
mod tests;
