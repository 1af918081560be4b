//! `assize`: audits a repository through sandboxed plugins. This library is the wiring behind the binary; what is decided
//! purely lives in `assize-core`.

pub mod audit;
pub mod cli;
pub mod clock;
pub mod components;
pub mod config;
pub mod driver;
pub mod launch;
pub mod reporters;
pub mod user_key;
