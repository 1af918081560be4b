//! Reports: SARIF by its own schema, the findings file by ours, Markdown as people read it, and quotes that stand in the
//! files.
#![allow(clippy::disallowed_methods, reason = "tests ask cargo where the schema lies")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod findings_file;
mod markdown;
mod sarif;
mod schema;
mod trees;
