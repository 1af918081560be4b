//! Scratch directories, and git's files written by hand.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use assize_core::inventory::{FileRow, FileStatus};

use crate::{Survey, SurveyOptions, survey};

/// A time after every modification that a test makes.
pub(crate) const LATER: i64 = 4_000_000_000_000_000_000;
/// A commit.
pub(crate) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A directory that is removed with the value.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("assize-survey-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).expect("scratch directory");
        Self(path.canonicalize().expect("scratch directory"))
    }

    /// A scratch directory with these files.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let scratch = Self::new();
        files.iter().for_each(|(path, text)| scratch.write(path, text));
        scratch
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, path: impl AsRef<OsStr>, bytes: impl AsRef<[u8]>) {
        let file = self.0.join(path.as_ref());
        fs::create_dir_all(file.parent().expect("parent")).expect("directory");
        fs::write(file, bytes).expect("file");
    }

    pub(crate) fn write_raw(&self, path: &[u8], bytes: &[u8]) {
        self.write(OsStr::from_bytes(path), bytes);
    }

    pub(crate) fn link(&self, target: &str, path: &str) {
        let link = self.0.join(path);
        fs::create_dir_all(link.parent().expect("parent")).expect("directory");
        std::os::unix::fs::symlink(target, link).expect("link");
    }

    /// Makes it a git checkout that tracks these paths; those that end with `/` are submodules.
    pub(crate) fn git(&self, tracked: &[&str]) {
        self.write(".git/HEAD", "ref: refs/heads/main\n");
        self.write(".git/refs/heads/main", format!("{COMMIT}\n"));
        let entries: Vec<_> = tracked
            .iter()
            .map(|path| match path.strip_suffix('/') {
                Some(path) => (0o160_000, path),
                None => (0o100_644, *path),
            })
            .collect();
        self.write(".git/index", index_bytes(&entries));
    }

    pub(crate) fn survey(&self) -> Survey {
        self.survey_with(&options())
    }

    pub(crate) fn survey_with(&self, options: &SurveyOptions) -> Survey {
        survey(&self.0, options, &|_| None).expect("survey")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn options() -> SurveyOptions {
    SurveyOptions { now_ns: LATER, ..SurveyOptions::default() }
}

/// The row of a path.
pub(crate) fn row<'a>(survey: &'a Survey, path: &str) -> &'a FileRow {
    survey.inventory.row(path).unwrap_or_else(|| panic!("no row {path:?} among {:?}", paths(survey)))
}

/// Machine reason of a path.
pub(crate) fn reason<'a>(survey: &'a Survey, path: &str) -> &'a str {
    &row(survey, path).reason
}

/// All paths.
pub(crate) fn paths(survey: &Survey) -> Vec<&str> {
    survey.inventory.rows.iter().map(|row| row.path.as_str()).collect()
}

/// Paths that are reviewed.
pub(crate) fn auditable(survey: &Survey) -> Vec<&str> {
    survey
        .inventory
        .rows
        .iter()
        .filter(|row| row.status == FileStatus::Auditable)
        .map(|row| row.path.as_str())
        .collect()
}

/// An index of git of these modes and paths.
pub(crate) fn index_bytes(entries: &[(u32, &str)]) -> Vec<u8> {
    let mut entries = entries.to_vec();
    entries.sort_by_key(|(_, path)| *path);
    let mut bytes = b"DIRC\0\0\0\x02".to_vec();
    bytes.extend((entries.len() as u32).to_be_bytes());
    for (mode, path) in entries {
        let start = bytes.len();
        bytes.extend([0; 24]);
        bytes.extend(mode.to_be_bytes());
        bytes.extend([0; 12 + 20]);
        bytes.extend((path.len() as u16).to_be_bytes());
        bytes.extend(path.as_bytes());
        bytes.resize(start + ((bytes.len() - start + 8) & !7), 0);
    }
    bytes.extend([0; 20]);
    bytes
}
