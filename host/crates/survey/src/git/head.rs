//! Which commit is checked out, from `HEAD`, loose refs and packed refs.

use super::place::{Place, SMALL};
use crate::open::read_small;

/// Bytes of `packed-refs`; a million refs fit.
const PACKED_REFS_LIMIT: u64 = 128 * 1024 * 1024;

/// Commit of `HEAD` as hex digits. `Ok(None)` where nothing is committed yet.
///
/// # Errors
/// What is wrong with git's files, as a lowercase fragment.
pub(crate) fn derive_head(place: &Place) -> Result<Option<String>, String> {
    let Some(mut text) = read_text(&place.git_dir.join("HEAD"))? else {
        return Err("git directory has no HEAD".to_owned());
    };
    // Refs may name refs; five steps are what git itself goes.
    for _ in 0..5 {
        let Some(name) = text.strip_prefix("ref:").map(|name| name.trim().to_owned()) else {
            return if is_commit(&text) {
                Ok(Some(text))
            } else {
                Err("HEAD is neither a ref nor a commit".to_owned())
            };
        };
        if name == "refs/heads/.invalid" {
            return Err("refs are kept in a reftable, which is not read: the commit is unknown".to_owned());
        }
        if !name.starts_with("refs/") || name.split('/').any(|part| matches!(part, "" | "." | "..")) {
            return Err("HEAD names a ref outside of refs".to_owned());
        }
        let loose = match read_text(&place.git_dir.join(&name))? {
            Some(loose) => Some(loose),
            None => read_text(&place.common_dir.join(&name))?,
        };
        match loose {
            Some(next) => text = next,
            None => return packed(place, &name),
        }
    }
    Err("refs name each other in a circle".to_owned())
}

fn packed(place: &Place, name: &str) -> Result<Option<String>, String> {
    let bytes = read_small(&place.common_dir.join("packed-refs"), PACKED_REFS_LIMIT)
        .map_err(|error| format!("cannot read packed-refs: {error}"))?;
    let bytes = bytes.unwrap_or_default();
    let found = bytes.split(|byte| *byte == b'\n').find_map(|line| {
        let (commit, rest) = line.split_at_checked(line.iter().position(|byte| *byte == b' ')?)?;
        (rest.trim_ascii() == name.as_bytes()).then(|| String::from_utf8_lossy(commit).into_owned())
    });
    Ok(found.filter(|commit| is_commit(commit)))
}

fn read_text(path: &std::path::Path) -> Result<Option<String>, String> {
    match read_small(path, SMALL) {
        Ok(bytes) => Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes.trim_ascii()).into_owned())),
        Err(error) => Err(format!("cannot read git's {}: {error}", path.file_name().unwrap_or_default().display())),
    }
}

fn is_commit(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
