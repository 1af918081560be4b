//! What the tests of the real binary share: where it is, how it is run, what it is run on, and who answers it.
#![allow(clippy::disallowed_methods, reason = "tests start the real binary")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod binary;
mod machine;
mod names;
mod processes;
mod repository;
mod run;
mod sources;
mod wait;

pub mod answer;
pub mod http;
pub mod prompt;

pub use binary::{assize, cache_dir, program};
pub use machine::Machine;
pub use processes::processes_of;
pub use repository::{Random, generate};
pub use run::{Assize, Ended, Running};
pub use wait::until;
