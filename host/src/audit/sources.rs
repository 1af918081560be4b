//! The sources of one launch, read once at its end: answers are checked against them, and files that changed under the
//! reviewer are found.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use assize_core::inventory::FileRow;
use assize_core::review::SourceText;
use assize_survey::{ReadError, read_text};

/// Texts by path, as they are now.
#[derive(Debug, Default)]
pub struct LaunchSources {
    texts: BTreeMap<String, Option<String>>,
    lines: BTreeMap<String, Option<u64>>,
    /// Files that are not any more what they were when the task was planned.
    pub changed: Vec<String>,
}

impl LaunchSources {
    /// Reads the files of these rows, as the plan knows them.
    pub fn read<'a>(root: &Path, rows: impl IntoIterator<Item = &'a FileRow>) -> Self {
        let mut sources = Self::default();
        for row in rows {
            if sources.lines.contains_key(&row.path) {
                continue;
            }
            let text = match read_text(root, row) {
                Ok(decoded) => Some(decoded.text),
                Err(ReadError::NotText { .. }) => None,
                Err(_) => {
                    sources.changed.push(row.path.clone());
                    None
                }
            };
            sources.texts.insert(row.path.clone(), text);
            sources.lines.insert(row.path.clone(), row.lines);
        }
        sources
    }

    /// The text of a file.
    pub fn get(&self, path: &str) -> Option<&str> {
        self.texts.get(path)?.as_deref()
    }
}

impl SourceText for LaunchSources {
    fn lines(&self, path: &str) -> Option<u64> {
        *self.lines.get(path)?
    }

    fn text(&self, path: &str) -> Option<Cow<'_, str>> {
        self.get(path).map(Cow::Borrowed)
    }
}
