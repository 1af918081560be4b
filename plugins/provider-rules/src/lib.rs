//! The reviewer that needs no model: it asks the analyzers for their observations on each task's files and answers with
//! those that fall under the task's lens and lines.
//!
//! It starts no program, sends nothing and holds nothing, so it asks for no grant.

mod answer;
#[cfg(target_family = "wasm")]
mod component;
mod review;

pub use answer::{AuditResult, Outside, render_result};
pub use review::Review;
