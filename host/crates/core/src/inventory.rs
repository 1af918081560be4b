//! The inventory: a row for every entry of the repository, with what becomes of it and why.

use serde::{Deserialize, Serialize};

use crate::id::Digest;

/// What becomes of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileStatus {
    /// It is reviewed.
    Auditable,
    /// It is left out for the reason beside it.
    Excluded,
    /// It could not be read, or is too large to be parsed.
    Unreadable,
    /// It is not a plain file: a socket, device, FIFO or symlink that is not followed.
    Special,
}

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FileKind {
    /// Source code of the program.
    Source,
    /// Test code.
    Test,
    /// Configuration.
    Config,
    /// Continuous integration.
    Ci,
    /// Infrastructure: containers, orchestration, provisioning.
    Infra,
    /// Schemas, migrations, interface descriptions.
    Schema,
    /// Scripts and build recipes.
    Script,
    /// Prose.
    Doc,
    /// Anything else.
    Other,
}

/// How the bytes of a file are text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encoding {
    /// UTF-8 without a byte order mark; ASCII too.
    Utf8,
    /// UTF-8 behind a byte order mark.
    Utf8Bom,
    /// UTF-16, little endian.
    Utf16Le,
    /// UTF-16, big endian.
    Utf16Be,
    /// Not UTF-8 but text all the same, most likely latin-1.
    Latin1,
    /// Not text.
    Binary,
    /// Not read.
    Unknown,
}

/// One entry of the repository.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileRow {
    /// Repository-relative, `/` between parts. Where the name is not UTF-8, its odd bytes are written as `\xHH`.
    pub path: String,
    /// The exact bytes of the path, only where it is not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw: Option<Vec<u8>>,
    /// What becomes of it.
    pub status: FileStatus,
    /// Machine reason, kebab-case: `source`, `vcs-ignored`, `lock-file`, `permission`, `too-large`, …
    pub reason: String,
    /// What it is for.
    pub kind: FileKind,
    /// Language, lower case: `rust`, `typescript`, `c`, …; empty when unknown.
    pub language: String,
    /// Bytes.
    pub size: u64,
    /// BLAKE3 of the bytes; absent when they were not read.
    pub digest: Option<Digest>,
    /// LF bytes, plus one when the last byte is not LF; absent when unknown, never a guess.
    pub lines: Option<u64>,
    /// Bytes of the longest line.
    pub longest_line: Option<u64>,
    /// How it is text.
    pub encoding: Encoding,
    /// Whether an executable bit is set.
    pub executable: bool,
    /// Modification time in nanoseconds since the Unix epoch, for the cache that spares reading.
    pub mtime_ns: i64,
    /// Inode, for the same.
    pub inode: u64,
}

impl FileRow {
    /// Whether it is reviewed.
    pub fn is_auditable(&self) -> bool {
        self.status == FileStatus::Auditable
    }
}

/// How git sees the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VcsKind {
    /// No version control.
    None,
    /// An ordinary git checkout.
    Git,
    /// A linked git worktree.
    GitWorktree,
    /// A git submodule's checkout.
    GitSubmodule,
    /// A bare git repository: there is nothing checked out to audit.
    GitBare,
}

/// What is known of the repository as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Vcs {
    /// How git sees it.
    pub kind: VcsKind,
    /// Whether its history is cut off.
    pub shallow: bool,
    /// Commit that is checked out, 40 or 64 hex digits, when there is one.
    pub head: Option<String>,
}

/// All rows, sorted by the bytes of their paths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inventory {
    /// Name of the repository: its directory's.
    pub name: String,
    /// How git sees it.
    pub vcs: Vcs,
    /// The rows.
    pub rows: Vec<FileRow>,
}

impl Inventory {
    /// The rows that are reviewed.
    pub fn auditable(&self) -> impl Iterator<Item = &FileRow> {
        self.rows.iter().filter(|row| row.is_auditable())
    }

    /// Digest of all that later stages depend on: paths, what becomes of them, and their content, but no times.
    pub fn content_digest(&self) -> Digest {
        let rows = self.rows.iter().map(|row| {
            let content = row.digest.map(|digest| digest.to_string()).unwrap_or_default();
            format!("{}\0{:?}\0{}\0{:?}\0{}\0{content}", row.path, row.status, row.reason, row.kind, row.language)
        });
        let rows: Vec<String> = rows.collect();
        Digest::of_parts(rows.iter().map(String::as_bytes))
    }

    /// The row of a path.
    pub fn row(&self, path: &str) -> Option<&FileRow> {
        self.rows.binary_search_by(|row| row.path.as_bytes().cmp(path.as_bytes())).ok().map(|at| &self.rows[at])
    }
}
