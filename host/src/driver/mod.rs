//! Runs an audit: obligations in order, and launches through one `select!`. Each launch owns its own state; the driver
//! alone settles, and alone tells the reporter.

mod contract;
mod dispatcher;
mod effects;
mod launching;
mod recovery;
mod run;
mod signals;

pub use run::{RunEnd, RunOutcome, run_audit, tell_problems};
pub use signals::interrupts;
