//! Reads the limits that Google's Gemini services tell. They stand in error bodies only: quota failures with their
//! windows, the delay before a retry, and the reasons of the service behind a Google login.

#[cfg(target_family = "wasm")]
mod component;
mod describe;
mod detail;
mod read;

pub use describe::Google;
pub use read::read_evidence;
