//! What a survey may be told.

use std::path::PathBuf;

/// Choices of one survey. The default honours ignore rules, restricts nothing and trusts no earlier row.
#[derive(Clone, Debug)]
pub struct SurveyOptions {
    /// Whether `.gitignore`, `.git/info/exclude` and `.assizeignore` are passed over.
    pub no_ignore: bool,
    /// Globs of entries to leave out (`user-ignored`). A glob without `/` matches a name at any depth, one with `/` matches
    /// from the root; what lies below a match matches too.
    pub exclude: Vec<String>,
    /// Globs of the only files to take, read like `exclude`; the others are `not-included`. Empty takes all.
    pub include: Vec<String>,
    /// The program's own state directory (`own-output`), when it is not `.assize/` in the root.
    pub state_dir: Option<PathBuf>,
    /// Bytes above which a file is hashed and counted but not offered for parsing (`too-large`).
    pub max_parse_bytes: u64,
    /// Threads that read files; 0 takes as many as the machine offers. The result does not depend on it.
    pub threads: usize,
    /// The time at which the survey starts, nanoseconds since the Unix epoch.
    pub now_ns: i64,
}

impl Default for SurveyOptions {
    fn default() -> Self {
        Self {
            no_ignore: false,
            exclude: Vec::new(),
            include: Vec::new(),
            state_dir: None,
            max_parse_bytes: 16 * 1024 * 1024,
            threads: 0,
            // The epoch: every modification is newer than that, so no earlier row is trusted unless the caller gives the time.
            now_ns: 0,
        }
    }
}
