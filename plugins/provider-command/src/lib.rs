//! Launches a command that the user configured, as an argument template without a shell, and judges what it left behind.
//!
//! The program finds its work in files that the host writes before the launch and answers in the results file.

mod channels;
#[cfg(target_family = "wasm")]
mod component;
mod config;
mod launch;
mod template;

pub use channels::{Refusal, classify_channels};
pub use config::{CONFIG_SCHEMA, Config};
pub use launch::CommandLaunch;
pub use template::{PLACEHOLDERS, TemplateValues, render_template};
