//! Runs an audit: obligations in order, and launches through one `select!`. Each launch owns its own state; the driver
//! alone settles, and alone tells the reporter.

mod contract;
mod dispatcher;
mod effects;
mod launching;
mod metering;
mod network;
mod ping;
mod preflight;
mod readers;
mod recovery;
mod requests;
mod run;
mod settling;
mod sharing;
mod signals;
mod values;

pub use ping::{Pong, ping_lane};
pub use run::{RunEnd, RunOutcome, run_audit, tell_problems};
pub use sharing::quota_file;
pub use signals::interrupts;

/// A number from 0 to 1 that a name stands for, so that a run can be told again exactly.
fn jitter(name: &str) -> f64 {
    f64::from(blake3::hash(name.as_bytes()).as_bytes()[0]) / 255.0
}
