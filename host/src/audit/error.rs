//! Why an audit cannot go on.

use assize_store::{LockError, StoreError};
use assize_survey::SurveyError;

use crate::components::CatalogError;
use crate::config::ConfigError;

/// A fault that ends the command. Each kind has its exit code.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// A setting cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A component cannot be used.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The repository cannot be surveyed.
    #[error(transparent)]
    Survey(#[from] SurveyError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Somebody else works on the store, or its lock cannot be taken.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// What was asked for is not there.
    #[error("{0}")]
    NotFound(String),
    /// A file cannot be read or written.
    #[error("cannot {operation} {path}: {source}")]
    File {
        /// `read` or `write`.
        operation: &'static str,
        /// File.
        path: std::path::PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// A record of the store does not read back.
    #[error("the record `{name}` of the store does not read back: {message}; run `assize clean` and audit again")]
    Record {
        /// Name of the artifact.
        name: String,
        /// Cause.
        message: String,
    },
    /// The state directory was not made by this user at this place.
    #[error(
        "{0} was not made by you at this place: it may have come with the repository; remove it, name another one with \
         --state-dir, or take it over with --adopt"
    )]
    ForeignState(std::path::PathBuf),
    /// Something happened that must not: a fault of this program.
    #[error("{0}; this is a fault of assize, please report it")]
    Fault(String),
    /// The network cannot be reached as it is configured.
    #[error("the network cannot be used as configured: {0}")]
    Network(#[from] assize_wire::WireError),
    /// The copy in which programs work cannot be made.
    #[error(
        "the copy of the repository that programs work in cannot be made: {0}; free the place, or say --no-snapshot"
    )]
    Snapshot(String),
    /// Programs cannot be run so that nothing of them is left over.
    #[error("programs cannot be contained here, so none was launched: {0}")]
    Containment(String),
    /// Nothing is left to review.
    #[error("there is no file to audit in {0}; `assize plan --json` says why each one was left out")]
    NothingToAudit(std::path::PathBuf),
}

impl AuditError {
    /// A line about the mend, where there is one that the message does not say.
    pub fn hint(&self) -> Option<String> {
        match self {
            AuditError::Survey(error) => error.hint().map(str::to_owned),
            AuditError::Store(StoreError::Io { source, .. })
            | AuditError::Lock(LockError::Store(StoreError::Io { source, .. }))
                if is_read_only(source) =>
            {
                Some("name a directory for the audit's state that you can write to, with --state-dir DIR".to_owned())
            }
            AuditError::Store(error) | AuditError::Lock(LockError::Store(error)) => error.hint(),
            _ => None,
        }
    }

    /// The program's exit code for it; the table is in the README.
    pub fn exit_code(&self) -> u8 {
        match self {
            AuditError::Config(_)
            | AuditError::Catalog(_)
            | AuditError::Survey(_)
            | AuditError::NotFound(_)
            | AuditError::NothingToAudit(_)
            | AuditError::ForeignState(_)
            | AuditError::Network(_)
            | AuditError::Snapshot(_)
            | AuditError::Containment(_)
            | AuditError::Lock(LockError::Held(_)) => 2,
            AuditError::Store(StoreError::InUse { .. }) => 2,
            AuditError::Store(StoreError::Io { source, .. })
            | AuditError::Lock(LockError::Store(StoreError::Io { source, .. }))
                if is_read_only(source) =>
            {
                2
            }
            AuditError::Store(_)
            | AuditError::Lock(LockError::Store(_))
            | AuditError::Record { .. }
            | AuditError::Fault(_) => 5,
            AuditError::File { operation, .. } => {
                if *operation == "read" {
                    2
                } else {
                    5
                }
            }
        }
    }
}

/// Whether the state directory is a place where nothing may be written.
fn is_read_only(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem)
}
