//! Which files have a test: one that needs them, is named after them, or stands inside them.

use std::collections::HashSet;

use crate::inventory::FileKind;

use super::graph::Graph;
use super::signals::FileSignals;
use super::table::{FileTable, name_of, stem_of};
use super::work;

/// Whether each file has a test.
pub(super) fn derive_tested(table: &FileTable<'_>, signals: &[FileSignals<'_>], graph: &Graph<'_>) -> Vec<bool> {
    let named: HashSet<String> = table
        .rows
        .iter()
        .filter(|row| row.kind == FileKind::Test)
        .map(|row| subject_of(&row.path))
        .filter(|subject| !is_everywhere(subject))
        .collect();
    table
        .numbers()
        .map(|file| {
            work::tick();
            signals[file as usize].inline_tests
                || graph.incoming(file).any(|edge| edge.test || table.row(edge.source).kind == FileKind::Test)
                || named.contains(&stem_of(table.path(file)).to_ascii_lowercase())
        })
        .collect()
}

/// The name of what a test file tests, lower case: `user` for `test_user.py`, `UserTest.java`, `user.spec.ts`, `user_test.go`.
fn subject_of(path: &str) -> String {
    let stem = stem_of(name_of(path)).to_ascii_lowercase();
    let bare = ["test_", "tests_", "spec_"].iter().find_map(|prefix| stem.strip_prefix(prefix));
    let bare = bare.or_else(|| {
        ["_tests", "_test", "_spec", "-test", "-spec", "tests", "test", "spec"]
            .iter()
            .find_map(|suffix| stem.strip_suffix(suffix))
    });
    bare.unwrap_or(&stem).to_owned()
}

/// Names that every directory has say nothing about which one is tested.
fn is_everywhere(subject: &str) -> bool {
    matches!(subject, "" | "mod" | "lib" | "main" | "index" | "__init__" | "util" | "utils" | "common" | "conftest")
}

#[cfg(test)]
mod tests {
    use super::subject_of;

    #[test]
    fn a_test_is_named_after_its_subject() {
        for path in ["test_user.py", "a/user_test.go", "UserTest.java", "user.spec.ts", "tests/user.rs"] {
            assert_eq!(subject_of(path), "user", "{path}");
        }
    }
}
