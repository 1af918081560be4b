//! Reads what agent programs say of limits: the walls of plans with their resets in zones and dates, reports of refused
//! requests, and the events in which they stand.
//!
//! A line counts from its beginning and in known forms only, so that sources and findings that quote one say nothing.
//! Responses are not read here: whoever has a status or headers has more than a sentence.

#[cfg(target_family = "wasm")]
mod component;
mod describe;
mod event;
mod line;
mod read;
mod wrapper;

pub use describe::Cli;
pub use read::read_evidence;
