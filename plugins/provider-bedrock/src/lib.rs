//! Reviews by the Converse API of Amazon Bedrock. The host signs the requests; the plugin never has a key.

mod api;
mod body;
#[cfg(target_family = "wasm")]
mod component;
mod config;
mod refusal;
mod reply;

pub use api::BedrockApi;
pub use body::render_body;
pub use config::{CONFIG_SCHEMA, Config};
pub use refusal::read_refusal;
pub use reply::read_output;
