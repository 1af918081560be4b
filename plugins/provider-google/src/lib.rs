//! Reviews by the Gemini API: streamed, with a function that reads files and the answer as text.

mod api;
mod body;
#[cfg(target_family = "wasm")]
mod component;
mod config;
mod refusal;
mod reply;

pub use api::GoogleApi;
pub use body::{Form, render_body};
pub use config::{CONFIG_SCHEMA, Config};
pub use refusal::judge_error;
pub use reply::read_chunks;
