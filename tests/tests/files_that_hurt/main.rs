//! Files, names and trees that break tools: each is audited, or left out with its reason in the plan and the report.
//! Nothing outside the tree is read, nothing in it is written but the audit's own state, and nothing blocks.
#![allow(clippy::disallowed_methods, reason = "tests call git, mkfifo and setpriv")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod audited;
mod contents;
mod git;
mod names;
mod nobody;
mod permissions;
mod sizes;
mod special;
mod traces;
