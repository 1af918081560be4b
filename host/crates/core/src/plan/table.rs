//! The auditable rows, numbered in path order, so that everything after works on small integers.

use std::collections::HashMap;

use crate::fact::Span;
use crate::inventory::{FileRow, Inventory};

use super::work;

/// Auditable rows by number. A path that is listed twice counts once.
pub(super) struct FileTable<'a> {
    /// The rows, sorted by the bytes of their paths.
    pub(super) rows: Vec<&'a FileRow>,
    by_path: HashMap<&'a str, u32>,
}

impl<'a> FileTable<'a> {
    /// Numbers the auditable rows.
    pub(super) fn of(inventory: &'a Inventory) -> Self {
        let mut rows: Vec<&FileRow> = inventory.auditable().collect();
        rows.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
        rows.dedup_by(|a, b| a.path == b.path);
        let by_path = rows.iter().enumerate().map(|(at, row)| (row.path.as_str(), number(at))).collect();
        rows.iter().for_each(|_| work::tick());
        Self { rows, by_path }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The number of a path.
    pub(super) fn find(&self, path: &str) -> Option<u32> {
        self.by_path.get(path).copied()
    }

    /// The row of a number that this table gave.
    pub(super) fn row(&self, file: u32) -> &'a FileRow {
        self.rows[file as usize]
    }

    /// The path of a number that this table gave.
    pub(super) fn path(&self, file: u32) -> &'a str {
        &self.row(file).path
    }

    /// All numbers.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> + use<> {
        0..number(self.rows.len())
    }
}

/// A position as a number. More than four thousand million files do not fit a repository; they would share the last number.
pub(super) fn number(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// The directory of a path; empty for the root.
pub(super) fn directory_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// The last part of a path.
pub(super) fn name_of(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// The last part of a path, up to its first dot that is not in front.
pub(super) fn stem_of(path: &str) -> &str {
    let name = name_of(path);
    match name.char_indices().find(|(at, letter)| *at > 0 && *letter == '.') {
        Some((at, _)) => &name[..at],
        None => name,
    }
}

/// The first line of a file, for evidence that is the file itself.
pub(super) fn first_line() -> Span {
    Span { start_line: 1, start_column: 1, end_line: 1, end_column: 1, start_byte: 0, end_byte: 0 }
}
