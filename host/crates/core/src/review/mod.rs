//! From a reviewer's answer to findings that can be traced: validation, coverage, identity, second opinions, merging
//! and work blocks.

mod blocks;
mod check;
mod coverage;
mod deepen;
mod extract;
mod finding;
mod identity;
mod members;
mod merge;
mod path;
mod problem;
mod quote;
mod same;
mod verdict;
mod verification;
mod words;

#[cfg(test)]
pub(crate) mod tests;

pub use blocks::{BLOCK_FILES, BLOCK_FINDINGS, BlockRole, WorkBlock, derive_blocks};
pub use check::{Accepted, CheckOptions, Checked, Rejected, SourceText, check_answer};
pub use coverage::{Coverage, CoverageOptions, CoveragePair, CoverageSummary, PairState, Waiver, derive_coverage};
pub use deepen::{DEEPENING_ROUNDS, DeepeningInput, plan_deepening};
pub use identity::{KnownFinding, derive_findings, finding_id, result_digest};
pub use merge::{FindingSource, MergedFinding, merge_findings};
pub use problem::Problem;
pub use verdict::{Judge, VerificationState, apply_verdicts};

pub(crate) use merge::{lenses_of, severity_counts};
pub(crate) use words::normal_category;
