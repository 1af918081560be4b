//! Reviews by the Anthropic Messages API: streamed, with a tool that takes the answer and a tool that reads files.

mod api;
mod body;
#[cfg(target_family = "wasm")]
mod component;
mod config;
mod refusal;
mod reply;

pub use api::AnthropicApi;
pub use body::{Features, render_body};
pub use config::{CONFIG_SCHEMA, Config};
pub use refusal::judge_error;
pub use reply::read_message;
