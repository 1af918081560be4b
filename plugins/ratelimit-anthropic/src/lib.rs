//! Reads the limits that Anthropic's services and Claude Code tell: response headers, error bodies, structured events
//! and the sentences in which the program says that a limit was hit.
//!
//! Text counts only in forms in which an error is reported. Sources, paths and findings that speak of limits say nothing.

#[cfg(target_family = "wasm")]
mod component;
mod describe;
mod event;
mod header;
mod log;
mod read;

pub use describe::Anthropic;
pub use read::read_evidence;
