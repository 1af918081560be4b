//! What Rust provider plugins share: the interface as plain data, the glue that turns a [`Launch`] into a component,
//! and a kit that replays transcripts natively.
//!
//! A plugin's logic sees only this plain data, so its tests run in milliseconds without a host. Whatever touches the
//! generated bindings is compiled for components alone.

mod conclude;
mod describe;
pub mod dialogue;
mod effect;
mod event;
mod launch;
mod models;
mod sse;
mod text;

#[cfg(target_family = "wasm")]
pub mod component;
#[cfg(not(target_family = "wasm"))]
pub mod transcript;

pub use conclude::{conclude_failure, conclude_missing_secret, unexpected_event};
pub use describe::{Description, Extra, PluginError, Request, Service};
pub use effect::{Analyze, Effect, Gateway, Piece, PlacedFile, ReadSources, RunProgram, SendRequest, Stdin, Value};
pub use event::{Event, Exited, Failure, Finding, Observation, Responded, Source, Span};
pub use launch::{Conclusion, Evidence, Launch, LaunchRequest, Outcome, Step, Task, TaskFile, Usage, extra_value};
pub use models::{ModelFacts, Tokens, find_model_facts, matches_pattern};
pub use sse::{ServerEvent, read_events};
pub use text::{derive_one_line, derive_tail, strip_escapes};
