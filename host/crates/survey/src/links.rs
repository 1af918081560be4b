//! Where a symbolic link leads; links are reported, never followed for content.

use std::io;
use std::path::Path;

/// Machine reason of a link, by what it resolves to.
pub(crate) fn derive_link_reason(root: &Path, link: &Path) -> &'static str {
    match link.canonicalize() {
        Ok(target) if !target.starts_with(root) => "symlink-escapes",
        // A link to a directory that contains it would be walked for ever.
        Ok(target) if link.starts_with(&target) => "symlink-loop",
        Ok(_) => "symlink-inside",
        Err(error) if is_loop(&error) => "symlink-loop",
        Err(_) => "symlink-broken",
    }
}

/// The standard library's name for this kind of error is not stable; these are the numbers of `ELOOP`.
fn is_loop(error: &io::Error) -> bool {
    let number = if cfg!(target_vendor = "apple") || cfg!(target_os = "freebsd") { 62 } else { 40 };
    error.raw_os_error() == Some(number)
}
