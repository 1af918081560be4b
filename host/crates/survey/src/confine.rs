//! Whether a path stays inside the root, and whether the root's file system folds case.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};

/// Whether a path, relative to the root or absolute, stays inside the root with every link followed. A path that does not
/// exist is judged by the part of it that does; a `..` behind that is outside.
pub fn is_inside(root: &Path, path: &Path) -> bool {
    let Ok(root) = root.canonicalize() else { return false };
    let mut existing = root.join(path);
    loop {
        if let Ok(real) = existing.canonicalize() {
            return real.starts_with(&root);
        }
        // A dangling link could be made to lead anywhere later; what cannot be resolved is not inside.
        let dangling = existing.symlink_metadata().is_ok();
        let plain = matches!(existing.components().next_back(), Some(Component::Normal(_)));
        if dangling || !plain || !existing.pop() {
            return false;
        }
    }
}

/// Whether the file system under the root takes `A` and `a` for the same name; false when that cannot be seen.
pub fn case_folds(root: &Path) -> bool {
    let Ok(root) = root.canonicalize() else { return false };
    if let Some(folds) = folds_name(&root) {
        return folds;
    }
    let Ok(entries) = root.read_dir() else { return false };
    entries.flatten().find_map(|entry| folds_name(&entry.path())).unwrap_or(false)
}

/// Whether the same entry answers to its name with the case of every letter swapped; `None` without letters.
fn folds_name(path: &Path) -> Option<bool> {
    let name = path.file_name()?.as_bytes();
    let swapped: Vec<u8> =
        name.iter().map(|byte| if byte.is_ascii_alphabetic() { byte ^ 0x20 } else { *byte }).collect();
    if swapped == name {
        return None;
    }
    let here = path.symlink_metadata().ok()?;
    let there = path.with_file_name(OsStr::from_bytes(&swapped)).symlink_metadata();
    Some(there.is_ok_and(|there| there.ino() == here.ino() && there.dev() == here.dev()))
}
