//! Launches opencode without a terminal, read-only, and judges the launch by the program's own events.

mod access;
#[cfg(target_family = "wasm")]
mod component;
mod config;
mod launch;
mod models;
mod plan;
mod refusal;
mod settings;
mod stream;
mod verdict;

pub use access::Access;
pub use config::{CONFIG_SCHEMA, Config, Login, Protocol};
pub use launch::OpencodeLaunch;
pub use models::{Models, read_models};
pub use plan::plan_program;
pub use refusal::{Refusal, read_refusal};
pub use settings::plan_settings;
pub use stream::{Ending, Stream, read_stream};
pub use verdict::{Verdict, judge_launch};
