//! What can go wrong with the store; one enum for the whole crate.

use std::io;
use std::path::PathBuf;

use assize_core::id::{LaunchId, TaskId};
use rusqlite::ErrorCode;

use crate::slots::LaunchState;

/// What can go wrong with the store. Every refusal leaves the store as it was.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file system said no.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// What was tried.
        operation: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A name that belongs to the store is a symbolic link or something else that the store never makes.
    #[error("refused {}: {why}", path.display())]
    NotOurs {
        /// The name.
        path: PathBuf,
        /// What it is instead.
        why: &'static str,
    },
    /// There is no store yet, and the caller only reads.
    #[error("no store at {}", path.display())]
    Missing {
        /// Where it would be.
        path: PathBuf,
    },
    /// The database cannot be read as one.
    #[error("damaged store {}: {why}", path.display())]
    Damaged {
        /// The database.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// A later version of the program made it.
    #[error("store {} has schema version {found}, this program knows up to {known}", path.display())]
    Newer {
        /// The database.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The newest version that is understood.
        known: i64,
    },
    /// An earlier version of the program made it, and the caller only reads.
    #[error("store {} has schema version {found} and must be brought to {known} by a command that writes", path.display())]
    Older {
        /// The database.
        path: PathBuf,
        /// Its version.
        found: i64,
        /// The version that it must have.
        known: i64,
    },
    /// Another process wrote for longer than the store waits.
    #[error("store {} is busy: cannot {operation}", path.display())]
    Busy {
        /// What was tried.
        operation: &'static str,
        /// The database.
        path: PathBuf,
    },
    /// No room is left.
    #[error("no space left for store {}: cannot {operation}", path.display())]
    Full {
        /// What was tried.
        operation: &'static str,
        /// The database.
        path: PathBuf,
    },
    /// The store was opened for reading.
    #[error("store {} is open for reading: cannot {operation}", path.display())]
    ReadOnly {
        /// What was tried.
        operation: &'static str,
        /// The database.
        path: PathBuf,
    },
    /// Any other answer of SQLite.
    #[error("cannot {operation} in store {}: {source}", path.display())]
    Sql {
        /// What was tried.
        operation: &'static str,
        /// The database.
        path: PathBuf,
        /// The answer.
        source: rusqlite::Error,
    },
    /// A value that JSON cannot carry.
    #[error("cannot {operation}: {source}")]
    Encode {
        /// What was tried.
        operation: &'static str,
        /// Why not.
        source: serde_json::Error,
    },
    /// The task is not in the store.
    #[error("unknown task {task}")]
    UnknownTask {
        /// The task.
        task: TaskId,
    },
    /// The task cannot be leased now.
    #[error("task {task} is {state}, not pending")]
    TaskNotPending {
        /// The task.
        task: TaskId,
        /// Its state.
        state: String,
    },
    /// The task does not belong to the launch.
    #[error("task {task} is not one of launch {launch}")]
    TaskNotOfLaunch {
        /// The task.
        task: TaskId,
        /// The launch.
        launch: LaunchId,
    },
    /// The launch is not in the store.
    #[error("unknown launch {launch}")]
    UnknownLaunch {
        /// The launch.
        launch: LaunchId,
    },
    /// The launch's state does not allow the step.
    #[error("launch {launch} is {}: cannot {operation}", state.as_str())]
    WrongLaunchState {
        /// What was tried.
        operation: &'static str,
        /// The launch.
        launch: LaunchId,
        /// Its state.
        state: LaunchState,
    },
    /// The launch is already there.
    #[error("launch {launch} exists already")]
    LaunchExists {
        /// The launch.
        launch: LaunchId,
    },
    /// The id cannot be the name of a directory.
    #[error("launch id {launch:?} cannot name a run directory")]
    BadLaunchId {
        /// The id.
        launch: String,
    },
    /// Another process holds the store.
    #[error("the store is in use by process {}", pid.map_or_else(|| "(unknown)".to_owned(), |pid| pid.to_string()))]
    InUse {
        /// Its process id, when the lock file tells it.
        pid: Option<u32>,
    },
}

impl StoreError {
    /// What a person can do about it, where there is something.
    pub fn hint(&self) -> Option<String> {
        match self {
            StoreError::Damaged { path, .. } => Some(format!(
                "move {} and its -wal and -shm files aside, or run `assize clean`; the next run starts a new store",
                path.display()
            )),
            StoreError::Newer { path, .. } => {
                Some(format!("use the newer program, or another --state-dir than that of {}", path.display()))
            }
            StoreError::Older { .. } => Some("run `assize run` once; it migrates the store".to_owned()),
            StoreError::Missing { .. } => Some("run `assize run` first, or name the store with --state-dir".to_owned()),
            StoreError::NotOurs { path, .. } => {
                Some(format!("remove {}, or choose another --state-dir", path.display()))
            }
            StoreError::Busy { .. } | StoreError::InUse { .. } => {
                Some("wait for the other process, or end it".to_owned())
            }
            StoreError::Full { .. } => Some("make room on the disk; nothing was lost".to_owned()),
            _ => None,
        }
    }
}

/// What can go wrong inside one operation, before the operation's name and the database's path are known.
#[derive(Debug)]
pub(crate) enum Fault {
    /// SQLite's answer.
    Sql(rusqlite::Error),
    /// A stored value is not what the store wrote.
    Row(String),
    /// A value cannot be encoded.
    Encode(serde_json::Error),
    /// Complete already.
    Refused(StoreError),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Fault::Sql(error)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Fault::Refused(error)
    }
}

impl Fault {
    /// Adds what only the store knows.
    pub(crate) fn named(self, operation: &'static str, path: PathBuf) -> StoreError {
        match self {
            Fault::Refused(error) => error,
            Fault::Row(why) => StoreError::Damaged { path, why },
            Fault::Encode(source) => StoreError::Encode { operation, source },
            Fault::Sql(source) => name_sql(source, operation, path),
        }
    }
}

/// Tells the answers of SQLite apart that a person can do something about.
fn name_sql(source: rusqlite::Error, operation: &'static str, path: PathBuf) -> StoreError {
    match source.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
            StoreError::Damaged { path, why: source.to_string() }
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { operation, path },
        Some(ErrorCode::DiskFull) => StoreError::Full { operation, path },
        Some(ErrorCode::ReadOnly) => StoreError::ReadOnly { operation, path },
        _ => match source {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..) => StoreError::Damaged { path, why: source.to_string() },
            source => StoreError::Sql { operation, path, source },
        },
    }
}
