//! A secret of this user on this machine, made once. Compiled components are kept under it, and state directories are
//! sealed with it, so that neither can be planted by somebody else: not by a repository that brings its own `.assize`.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Keys of this user, each derived for one purpose.
#[derive(Clone)]
pub struct UserKey([u8; 32]);

impl UserKey {
    /// Reads the key of `dir`, or makes it. None when there is no private place for it: components are then compiled in
    /// every run, and state directories carry no seal.
    pub fn read_or_make(dir: &Path) -> Option<Self> {
        read_or_make(dir).map(Self)
    }

    /// Key of the cache of compiled components.
    pub fn of_component_cache(&self) -> [u8; 32] {
        blake3::derive_key("assize compiled components v1", &self.0)
    }

    /// Seal of a state directory: only this user can have made it, and only for this place.
    pub fn seal_state(&self, dir: &Path) -> String {
        let key = blake3::derive_key("assize state directory v1", &self.0);
        blake3::keyed_hash(&key, dir.as_os_str().as_encoded_bytes()).to_hex().to_string()
    }
}

fn read_or_make(dir: &Path) -> Option<[u8; 32]> {
    std::fs::create_dir_all(dir).ok()?;
    let path = dir.join("key");
    if let Some(key) = read(&path) {
        return Some(key);
    }
    let mut key = [0; 32];
    std::fs::File::open("/dev/urandom").ok()?.read_exact(&mut key).ok()?;
    // Written beside and linked into place: of two processes that start at once, one key wins and both read it.
    let draft = dir.join(format!("key.{}", std::process::id()));
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft).ok()?;
    let written = file.write_all(&key).and_then(|()| file.sync_all());
    let linked = written.and_then(|()| std::fs::hard_link(&draft, &path));
    let _ = std::fs::remove_file(&draft);
    match linked {
        Ok(()) => Some(key),
        Err(_) => read(&path),
    }
}

/// A key that others can read or write, or that is not ours, is no secret.
fn read(path: &Path) -> Option<[u8; 32]> {
    let mut file =
        OpenOptions::new().read(true).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32).open(path).ok()?;
    let meta = file.metadata().ok()?;
    if !meta.is_file() || meta.mode() & 0o077 != 0 || meta.uid() != rustix::process::geteuid().as_raw() {
        return None;
    }
    let mut key = [0; 32];
    file.read_exact(&mut key).ok()?;
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn the_key_stays_the_same_and_is_private() {
        let dir = tempfile::tempdir().unwrap();
        let first = read_or_make(dir.path()).unwrap();
        assert_eq!(read_or_make(dir.path()), Some(first));
        assert_eq!(std::fs::metadata(dir.path().join("key")).unwrap().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_key_that_others_can_read_is_not_used() {
        let dir = tempfile::tempdir().unwrap();
        read_or_make(dir.path()).unwrap();
        std::fs::set_permissions(dir.path().join("key"), PermissionsExt::from_mode(0o644)).unwrap();
        assert_eq!(read_or_make(dir.path()), None);
    }
}
