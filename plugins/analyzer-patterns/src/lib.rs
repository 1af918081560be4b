//! Finds secrets, conflict markers, keys, permissions and dangerous calls in text of any language, and resolves imports.
//!
//! No regular expressions: the host makes a new instance for each file, so nothing may be built at start. Words are
//! looked up in a table that the compiler made, and hand-written recognisers look closer only where a word asks for it.

pub mod config;
pub mod facts;
pub mod inspect;
pub mod relate;

mod assignments;
mod collector;
mod describe;
mod imports;
mod language;
mod lexer;
mod outline;
mod routes;
mod rules;
mod suppressions;
mod text;
mod tokens;
mod words;

#[cfg(target_family = "wasm")]
mod component;

pub use describe::{CONFIG_SCHEMA, NAME, SUMMARY};

#[cfg(test)]
mod tests;
