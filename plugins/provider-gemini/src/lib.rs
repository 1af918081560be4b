//! Launches Gemini CLI and Qwen Code, which is made from it, without a terminal and read-only, and judges the launch by
//! the program's own events.

mod cli;
#[cfg(target_family = "wasm")]
mod component;
mod config;
mod launch;
mod models;
mod plan;
mod signs;
mod told;
mod verdict;

pub use cli::Cli;
pub use config::{CONFIG_SCHEMA, Config, Login};
pub use launch::GeminiLaunch;
pub use models::{default_model, derive_models};
pub use plan::{Key, Route, plan_program};
pub use told::{Ending, Retry, Told, read_gemini, read_qwen};
pub use verdict::{Asked, Verdict, judge_launch};
