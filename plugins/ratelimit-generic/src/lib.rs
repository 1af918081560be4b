//! Reads limits of services that have no reader of their own: `RateLimit` and `RateLimit-Policy` of every draft,
//! `X-RateLimit-*`, `Retry-After`, the error bodies that many share, and the sentences of a few that have no headers.

mod body;
#[cfg(target_family = "wasm")]
mod component;
mod describe;
mod header;
mod ietf;
mod read;

pub use describe::Generic;
pub use read::read_evidence;
