//! Which paths git tracks, from the index: what is tracked is not ignored, and a tracked commit is a submodule.

use super::place::{Place, SMALL};
use crate::open::read_small;

/// Bytes of an index: two million files.
const INDEX_LIMIT: u64 = 256 * 1024 * 1024;
/// Bytes of one path, the longest that the system opens.
const PATH_LIMIT: usize = 4096;
/// Bytes of all paths; compressed indexes could otherwise unfold without end.
const TOTAL_LIMIT: usize = 512 * 1024 * 1024;

/// Tracked paths below the root, sorted by bytes.
#[derive(Default)]
pub(crate) struct Tracked {
    files: Vec<Box<[u8]>>,
    submodules: Vec<Box<[u8]>>,
}

impl Tracked {
    /// Reads the index of a checkout; paths are relative to `base` (empty, or a directory with its last `/`).
    ///
    /// # Errors
    /// What is wrong with the index, as a lowercase fragment; nothing is known of it then.
    pub(crate) fn read(place: &Place, base: &[u8]) -> Result<Self, String> {
        let bytes = read_small(&place.git_dir.join("index"), INDEX_LIMIT)
            .map_err(|error| format!("cannot read git's index: {error}"))?;
        let Some(bytes) = bytes else { return Ok(Self::default()) };
        let config = read_small(&place.common_dir.join("config"), SMALL).ok().flatten().unwrap_or_default();
        let hash = if is_sha256(&config) { 32 } else { 20 };
        Self::parse(&bytes, hash, base).ok_or_else(|| {
            "git's index is damaged, split or of an unknown version; tracked files are not told apart".to_owned()
        })
    }

    /// Whether git tracks a file.
    pub(crate) fn has_file(&self, path: &[u8]) -> bool {
        self.files.binary_search_by(|known| known.as_ref().cmp(path)).is_ok()
    }

    /// Whether git tracks anything below a directory.
    pub(crate) fn has_below(&self, directory: &[u8]) -> bool {
        let prefix = [directory, b"/"].concat();
        let at = self.files.partition_point(|known| known.as_ref() < prefix.as_slice());
        self.files.get(at).is_some_and(|known| known.starts_with(&prefix))
    }

    /// Whether a directory is a submodule.
    pub(crate) fn has_submodule(&self, directory: &[u8]) -> bool {
        self.submodules.binary_search_by(|known| known.as_ref().cmp(directory)).is_ok()
    }

    fn parse(bytes: &[u8], hash: usize, base: &[u8]) -> Option<Self> {
        if bytes.get(..4)? != b"DIRC" {
            return None;
        }
        let (version, count) = (number(bytes, 4)?, number(bytes, 8)?);
        if !(2..=4).contains(&version) {
            return None;
        }
        let mut tracked = Self::default();
        let (mut at, mut path, mut total) = (12, Vec::new(), 0);
        for _ in 0..count {
            let mode = number(bytes, at + 24)?;
            let flags = u16::from_be_bytes(bytes.get(at + 40 + hash..)?.first_chunk().copied()?);
            let extended = version >= 3 && flags & 0x4000 != 0;
            let mut name = at + 42 + hash + if extended { 2 } else { 0 };
            if version == 4 {
                let (strip, after) = offset(bytes, name)?;
                path.truncate(path.len().checked_sub(strip)?);
                name = after;
            } else {
                path.clear();
            }
            let rest = bytes.get(name..)?;
            let length = rest.iter().take(PATH_LIMIT + 1).position(|byte| *byte == 0)?;
            path.extend_from_slice(&rest[..length]);
            total += path.len();
            if path.is_empty() || path.len() > PATH_LIMIT || total > TOTAL_LIMIT {
                return None;
            }
            at = if version == 4 { name + length + 1 } else { at + ((name - at + length + 8) & !7) };
            if let Some(inner) = path.strip_prefix(base) {
                let kept = if mode & 0o170_000 == 0o160_000 { &mut tracked.submodules } else { &mut tracked.files };
                kept.push(inner.into());
            }
        }
        if is_split(bytes, at, hash) {
            return None;
        }
        tracked.files.sort_unstable();
        tracked.submodules.sort_unstable();
        Some(tracked)
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..)?.first_chunk().copied()?))
}

/// How many bytes of the path before to drop, in git's variable-length form, and where it ends.
fn offset(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)? | usize::from(byte & 0x7f);
        if value > PATH_LIMIT {
            return None;
        }
    }
    Some((value, at + 1))
}

/// Whether the extensions behind the entries point to a shared index that holds the rest.
fn is_split(bytes: &[u8], mut at: usize, hash: usize) -> bool {
    while at + 8 + hash <= bytes.len() {
        let Some(size) = number(bytes, at + 4) else { return false };
        if bytes.get(at..at + 4) == Some(b"link") {
            return true;
        }
        at = at.saturating_add(8).saturating_add(size as usize);
    }
    false
}

fn is_sha256(config: &[u8]) -> bool {
    String::from_utf8_lossy(config).lines().any(|line| {
        let line: String = line.split_whitespace().collect::<String>().to_ascii_lowercase();
        line == "objectformat=sha256"
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::scratch::index_bytes as index;

    #[test]
    fn tracked_paths_and_submodules_are_found() {
        let bytes = index(&[(0o100_644, "a/b.rs"), (0o100_755, "a.rs"), (0o160_000, "lib"), (0o100_644, "z/y/x")]);
        let tracked = Tracked::parse(&bytes, 20, b"").expect("index");
        assert!(
            tracked.has_file(b"a/b.rs")
                && tracked.has_file(b"a.rs")
                && !tracked.has_file(b"a")
                && !tracked.has_file(b"lib")
        );
        assert!(
            tracked.has_below(b"a")
                && tracked.has_below(b"z")
                && !tracked.has_below(b"z/y/x")
                && !tracked.has_below(b"b")
        );
        assert!(tracked.has_submodule(b"lib"));
        let inner = Tracked::parse(&bytes, 20, b"z/").expect("index");
        assert!(inner.has_file(b"y/x") && !inner.has_file(b"a.rs"));
    }

    #[test]
    fn compressed_paths_unfold() {
        let mut bytes = b"DIRC\0\0\0\x04\0\0\0\x02".to_vec();
        for (strip, rest) in [(0, "src/a.rs"), (4, "b.rs")] {
            bytes.extend([0; 24]);
            bytes.extend(0o100_644_u32.to_be_bytes());
            bytes.extend([0; 12 + 20 + 2]);
            bytes.push(strip);
            bytes.extend(rest.as_bytes());
            bytes.push(0);
        }
        bytes.extend([0; 20]);
        let tracked = Tracked::parse(&bytes, 20, b"").expect("index");
        assert!(tracked.has_file(b"src/a.rs") && tracked.has_file(b"src/b.rs"));
    }

    #[test]
    fn a_damaged_index_is_refused_and_never_panics() {
        let bytes = index(&[(0o100_644, "a/b.rs"), (0o100_644, "c.rs")]);
        for cut in 0..=150 {
            assert!(Tracked::parse(&bytes[..cut], 20, b"").is_none(), "cut at {cut}");
        }
        for at in 0..bytes.len() {
            let mut broken = bytes.clone();
            broken[at] ^= 0xff;
            let _ = Tracked::parse(&broken, 20, b"");
        }
    }
}
