//! Tests of the whole path from an answer to merged findings.

mod blocks;
mod check;
mod coverage;
mod deepen;
mod merge;
pub(crate) mod sample;
mod verdict;
