//! Surveys of small trees that hold what hurts.

mod cache;
mod content;
mod git;
mod reading;
pub(crate) mod scratch;
mod tree;
