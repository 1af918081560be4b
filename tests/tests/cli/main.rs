//! The command line: what is refused and how, what goes to which stream, what each command prints as JSON, and exit codes.
#![allow(clippy::disallowed_methods, reason = "tests start the program with odd streams")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod clean;
mod exit_codes;
mod explain;
mod help;
mod import;
mod json;
mod ledger;
mod paths;
mod stop;
mod streams;
mod values;
