//! What can go wrong: for the survey as a whole, for one entry of it, and for reading one file afterwards.

use std::io;
use std::path::PathBuf;

/// Why there is no survey at all.
#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    /// The root is not there.
    #[error("no such directory: {}", path.display())]
    RootMissing {
        /// The root as it was given.
        path: PathBuf,
    },
    /// The root is a file or something else that has no entries.
    #[error("not a directory: {}", path.display())]
    RootNotDirectory {
        /// The root as it was given.
        path: PathBuf,
    },
    /// The root is there but cannot be listed.
    #[error("cannot list {}: {source}", path.display())]
    RootUnreadable {
        /// The root as it was given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The root is a git repository without a checkout, or the inside of a `.git` directory.
    #[error("bare git repository, nothing is checked out: {}", path.display())]
    BareRepository {
        /// The root as it was given.
        path: PathBuf,
    },
    /// An `exclude` or `include` glob cannot be understood.
    #[error("bad glob {glob:?}: {message}")]
    BadGlob {
        /// The glob.
        glob: String,
        /// What is wrong with it.
        message: String,
    },
}

impl SurveyError {
    /// What the user can do about it, where something plain can be said.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::RootNotDirectory { .. } => Some("name the directory that contains the file"),
            Self::BareRepository { .. } => Some("check it out beside it with `git worktree add DIR` and audit DIR"),
            Self::RootUnreadable { .. } => Some("make the directory readable for this user"),
            Self::RootMissing { .. } | Self::BadGlob { .. } => None,
        }
    }
}

/// Something that the survey got over, and the entry it concerns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Path as in the inventory's rows; empty for the repository as a whole.
    pub path: String,
    /// What is wrong, as a lowercase fragment.
    pub message: String,
}

impl Problem {
    pub(crate) fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), message: message.into() }
    }
}

/// Why the text of a row cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The path leaves the root, lexically or through a link.
    #[error("path leaves the repository: {path}")]
    Outside {
        /// The row's path.
        path: String,
    },
    /// It is a link, directory, socket or the like.
    #[error("not a plain file: {path}")]
    NotAFile {
        /// The row's path.
        path: String,
    },
    /// It is not text.
    #[error("not text: {path}")]
    NotText {
        /// The row's path.
        path: String,
    },
    /// It is larger than what is read into memory.
    #[error("too large to be read whole: {path}")]
    TooLarge {
        /// The row's path.
        path: String,
    },
    /// Its bytes are not those that the row was made of; survey again.
    #[error("changed since the survey: {path}")]
    Changed {
        /// The row's path.
        path: String,
    },
    /// It cannot be opened or read.
    #[error("cannot read {path}: {source}")]
    Io {
        /// The row's path.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}
