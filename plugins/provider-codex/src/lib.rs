//! Launches Codex without a terminal, read-only, and judges the launch by the program's own events.

mod access;
#[cfg(target_family = "wasm")]
mod component;
mod config;
mod headers;
mod launch;
mod plan;
mod refusal;
mod stream;
mod verdict;

pub use access::Access;
pub use config::{CONFIG_SCHEMA, Config, CredentialStore, Effort, Login};
pub use headers::{Response, read_responses};
pub use launch::CodexLaunch;
pub use plan::plan_program;
pub use refusal::{Refusal, read_refusal};
pub use stream::{Ending, Stream, read_stream};
pub use verdict::{Verdict, judge_launch};
