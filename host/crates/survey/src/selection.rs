//! The user's own globs: what to leave out, what alone to take, and where the program keeps its state.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::{SurveyError, SurveyOptions};

/// The choices of the options in a form that answers quickly.
pub(crate) struct Selection {
    exclude: GlobSet,
    include: Option<GlobSet>,
    state: Option<Vec<u8>>,
}

impl Selection {
    /// Reads the options' globs; the root is canonical.
    pub(crate) fn derive(root: &Path, options: &SurveyOptions) -> Result<Self, SurveyError> {
        let include = if options.include.is_empty() { None } else { Some(globs(&options.include)?) };
        // A state directory that is or contains the root would leave nothing.
        let state = options
            .state_dir
            .as_ref()
            .map(|state| state.canonicalize().unwrap_or_else(|_| root.join(state)))
            .and_then(|state| state.strip_prefix(root).ok().map(|inner| inner.as_os_str().as_bytes().to_vec()))
            .filter(|inner| !inner.is_empty());
        Ok(Self { exclude: globs(&options.exclude)?, include, state })
    }

    pub(crate) fn is_own_output(&self, path: &[u8]) -> bool {
        path == b".assize" || self.state.as_deref() == Some(path)
    }

    pub(crate) fn is_excluded(&self, path: &[u8]) -> bool {
        !self.exclude.is_empty() && self.exclude.is_match(OsStr::from_bytes(path))
    }

    pub(crate) fn is_included(&self, path: &[u8]) -> bool {
        self.include.as_ref().is_none_or(|include| include.is_match(OsStr::from_bytes(path)))
    }
}

fn globs(patterns: &[String]) -> Result<GlobSet, SurveyError> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let bad = |message: String| SurveyError::BadGlob { glob: pattern.clone(), message };
        let trimmed = pattern.strip_prefix("./").unwrap_or(pattern).trim_end_matches('/');
        let anchored =
            if trimmed.contains('/') { trimmed.trim_start_matches('/').to_owned() } else { format!("**/{trimmed}") };
        if trimmed.trim_start_matches('/').is_empty() {
            return Err(bad("it matches nothing".to_owned()));
        }
        for glob in [anchored.clone(), format!("{anchored}/**")] {
            let glob = GlobBuilder::new(&glob).literal_separator(true).backslash_escape(true).build();
            set.add(glob.map_err(|error| bad(error.kind().to_string()))?);
        }
    }
    set.build().map_err(|error| SurveyError::BadGlob { glob: patterns.join(" "), message: error.kind().to_string() })
}
