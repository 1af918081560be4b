//! Asks models through OpenAI's Chat Completions and Responses, or whatever speaks one of the two, and judges each answer
//! by what the service itself says of it.

mod chat;
#[cfg(target_family = "wasm")]
mod component;
mod config;
mod endpoint;
mod evidence;
mod features;
mod judge;
mod launch;
mod plan;
mod reading;
mod reply;
mod responses;
mod service_error;
mod spend;

pub use config::{Api, CONFIG_SCHEMA, Config, Format, Secret};
pub use launch::OpenAiLaunch;
pub use reply::{Call, Counted, Finish, Reply};
pub use service_error::ServiceError;
