//! The lock of a store: one process works on it, and the next one is told which.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::StoreError;
use crate::files::{LOCK, StateDir, io, open_own};

/// A process, so that it is told apart from a later one with the same id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// Process id.
    pub pid: u32,
    /// When it started, in whatever form the caller compares.
    pub started: String,
    /// Host name; a process id says nothing on another host.
    pub host: String,
}

/// Somebody else has the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its process id; absent in the instant before the holder has written it.
    pub pid: Option<u32>,
    /// The holder as it described itself.
    pub holder: Option<Holder>,
}

/// Why the lock was not taken.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else has it.
    #[error("{}", in_use(.0))]
    Held(Held),
    /// The lock file cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The sentence about a store that is in use.
fn in_use(held: &Held) -> StoreError {
    StoreError::InUse { pid: held.pid }
}

impl From<LockError> for StoreError {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Held(held) => in_use(&held),
            LockError::Store(error) => error,
        }
    }
}

/// The right to work on a store. The operating system ends it with the process, however that dies; the file that stays
/// means nothing.
#[derive(Debug)]
pub struct StoreLock {
    file: File,
    described: bool,
}

/// Lock files with more than this are not ours.
const LONGEST_HOLDER: u64 = 4096;

impl StoreLock {
    /// Takes the lock of the store in `dir`, making the directory if need be, and says in the file who has it.
    ///
    /// # Errors
    /// [`LockError::Held`] at once when another process, or another value in this one, has it;
    /// [`StoreError::NotOurs`] where the file has something else in it.
    pub fn acquire(dir: &Path, holder: &Holder) -> Result<Self, LockError> {
        let state = StateDir::make(dir)?;
        let mut lock = Self::take(&state)?;
        if !is_lock_text(&read_text(&mut lock.file)) {
            return Err(StoreError::NotOurs { path: state.path().join(LOCK), why: "another program wrote it" }.into());
        }
        lock.describe(holder).map_err(io("write", &dir.join(LOCK)))?;
        Ok(lock)
    }

    /// Who has the lock of the store in `dir`; none when it is free.
    ///
    /// # Errors
    /// Where the directory or its lock file cannot be used.
    pub fn held(dir: &Path) -> Result<Option<Held>, StoreError> {
        match Self::take(&StateDir::existing(dir)?) {
            Ok(_) => Ok(None),
            Err(LockError::Held(held)) => Ok(Some(held)),
            Err(LockError::Store(error)) => Err(error),
        }
    }

    /// Takes the lock without a word about who has it.
    pub(crate) fn take(dir: &StateDir) -> Result<Self, LockError> {
        let path = dir.path().join(LOCK);
        let mut file = open_own(&path)?;
        match file.try_lock() {
            Ok(()) => Ok(Self { file, described: false }),
            Err(TryLockError::WouldBlock) => Err(LockError::Held(read_holder(&mut file))),
            Err(TryLockError::Error(source)) => Err(StoreError::Io { operation: "lock", path, source }.into()),
        }
    }

    fn describe(&mut self, holder: &Holder) -> std::io::Result<()> {
        self.described = true;
        let mut text = serde_json::to_vec(holder)?;
        text.push(b'\n');
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(&text)
    }
}

impl Drop for StoreLock {
    fn drop(&mut self) {
        // Both are courtesies: closing the file ends the lock, and what a free lock file says is never read.
        if self.described {
            let _ = self.file.set_len(0);
        }
        let _ = self.file.unlock();
    }
}

/// Who has the lock, as its file tells it. The answer may be old when it arrives.
fn read_holder(file: &mut File) -> Held {
    let holder: Option<Holder> = serde_json::from_slice(&read_text(file)).ok();
    Held { pid: holder.as_ref().map(|holder| holder.pid), holder }
}

/// What the file says; nothing where it cannot be read.
fn read_text(file: &mut File) -> Vec<u8> {
    let mut text = Vec::new();
    match file.take(LONGEST_HOLDER).read_to_end(&mut text) {
        Ok(_) => text,
        Err(_) => Vec::new(),
    }
}

/// Whether a lock file's content is what this program writes, in whole or, after a crash, in part.
pub(crate) fn is_lock_text(text: &[u8]) -> bool {
    text.is_empty() || text.starts_with(b"{\"pid\":")
}
