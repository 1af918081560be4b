//! Reads the limits that OpenAI's services tell, and those of services with the same interface: counts in headers, the
//! windows of ChatGPT plans, error bodies and the sentences in them.
//!
//! Sentences of programs are not read here: they are another reader's, which knows whole programs.

mod body;
mod codex;
#[cfg(target_family = "wasm")]
mod component;
mod describe;
mod github;
mod openrouter;
mod read;
mod sentence;
mod windows;

pub use describe::OpenAi;
pub use read::read_evidence;
