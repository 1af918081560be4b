//! Paths between the bytes that the file system has and the text that rows carry.

use std::ffi::OsStr;
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use assize_core::inventory::FileRow;

/// Where the file of a row is. Says nothing about whether it is safe to open: `read_text` does.
pub fn fs_path(root: &Path, row: &FileRow) -> PathBuf {
    root.join(OsStr::from_bytes(row_bytes(row)))
}

/// The exact bytes of a row's path, without the `/` that marks a directory.
pub(crate) fn row_bytes(row: &FileRow) -> &[u8] {
    let bytes = row.raw.as_deref().unwrap_or(row.path.as_bytes());
    bytes.strip_suffix(b"/").unwrap_or(bytes)
}

/// Text of a path, and its bytes where the text does not give them back.
pub(crate) fn render_path(bytes: &[u8]) -> (String, Option<Vec<u8>>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), None),
        Err(_) => (render_escaped(bytes, 2), Some(bytes.to_vec())),
    }
}

/// Text of a path with its odd bytes as `\x` and at least `digits` hex digits.
pub(crate) fn render_escaped(bytes: &[u8], digits: usize) -> String {
    let mut text = String::with_capacity(bytes.len() + 8);
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\x{byte:0digits$x}");
        }
    }
    text
}

/// Makes the paths of sorted-to-be rows distinct: a file may really be called `\xff` beside one that has that byte.
/// The one with the odd byte gets more digits until it stands alone.
pub(crate) fn separate_equal_paths(rows: &mut [FileRow]) {
    if rows.iter().all(|row| row.raw.is_none()) {
        return;
    }
    let mut taken: std::collections::HashSet<String> =
        rows.iter().filter(|row| row.raw.is_none()).map(|row| row.path.clone()).collect();
    for row in rows.iter_mut() {
        let Some(raw) = &row.raw else { continue };
        let mut digits = 2;
        while !taken.insert(row.path.clone()) {
            digits += 1;
            row.path = render_escaped(raw, digits);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_bytes_are_escaped_and_kept() {
        let (text, raw) = render_path(b"a/\xffb");
        assert_eq!(text, "a/\\xffb");
        assert_eq!(raw.as_deref(), Some(&b"a/\xffb"[..]));
        assert_eq!(render_path("a/ü".as_bytes()), ("a/ü".to_owned(), None));
    }
}
