//! Runs plugins: components are admitted once, then called under limits, each call in a store of its own.
//! It performs no effect and knows no grant; what a plugin wants done comes back as plain data of `assize_core::plugin`.

mod admit;
mod analyzer;
mod bindings;
mod cache;
mod call;
mod convert;
mod describe;
mod engine;
mod error;
mod guest;
mod inert;
mod limits;
mod logs;
mod names;
mod plugin;
mod provider;
mod ratelimit;
mod sandbox;

pub use analyzer::Inspector;
pub use cache::CacheEvent;
pub use call::CallContext;
pub use error::{CallError, Refused, SandboxError};
pub use limits::{LimitName, Limits};
pub use logs::{CallLogs, LogLevel, LogLine, LogSink};
pub use plugin::Plugin;
pub use provider::Launch;
pub use sandbox::{Sandbox, SandboxOptions};
