//! Launches GitHub Copilot CLI without a terminal and read-only, with a key of the user's own or the user's login, and
//! judges the launch by the program's own events.

#[cfg(target_family = "wasm")]
mod component;
mod config;
mod launch;
mod models;
mod plan;
mod signs;
mod stream;
mod verdict;

pub use config::{CONFIG_SCHEMA, Config, Login, Protocol, WireApi};
pub use launch::CopilotLaunch;
pub use models::{default_model, derive_models};
pub use plan::{Key, Route, plan_program};
pub use stream::{Refusal, Stream, read_stream};
pub use verdict::{Verdict, judge_launch};
