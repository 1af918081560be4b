//! Launches Claude Code without a terminal, read-only, and judges the launch by the program's own events.

mod access;
#[cfg(target_family = "wasm")]
mod component;
mod config;
mod launch;
mod plan;
mod stream;
mod verdict;

pub use access::Access;
pub use config::{CONFIG_SCHEMA, Config, Login};
pub use launch::ClaudeLaunch;
pub use plan::plan_program;
pub use stream::{ApiError, Ending, Stream, read_stream};
pub use verdict::{Verdict, judge_launch};
