//! Launches nobody: says where prompt and answer of a packet lie, for a person or an assistant in a conversation, and
//! leaves the tasks waiting.

#[cfg(target_family = "wasm")]
mod component;
mod config;
mod instructions;
mod launch;

pub use config::{CONFIG_SCHEMA, Config};
pub use instructions::render_instructions;
pub use launch::HandOffLaunch;
