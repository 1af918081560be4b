//! Reads a repository into an inventory: walking, ignore rules, git's files, hashing, classification.
//!
//! Nothing here writes, starts a program, reads a clock or follows a link out of the repository. Whatever is found gets
//! a row; what cannot be read gets a row that says so.

mod ambiguity;
mod confine;
mod disposition;
mod encoding;
mod error;
mod git;
mod inspect;
mod language;
mod language_table;
mod links;
mod names;
mod open;
mod options;
mod path_text;
mod purpose;
mod rules;
mod scan;
mod selection;
mod survey;
mod text;
mod walk;

#[cfg(test)]
mod tests;

pub use confine::{case_folds, is_inside};
pub use error::{Problem, ReadError, SurveyError};
pub use inspect::UNTRUSTED_MTIME;
pub use options::SurveyOptions;
pub use path_text::fs_path;
pub use survey::{Survey, check_survey, survey};
pub use text::{DecodedText, read_bytes, read_text};
