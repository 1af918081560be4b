//! Where the repository of a directory is: checkout, linked worktree, submodule or bare.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use assize_core::inventory::VcsKind;

use crate::open::read_small;

/// Bytes of one of git's small files.
pub(crate) const SMALL: u64 = 64 * 1024;

/// A repository as seen from a directory in it.
pub(crate) struct Place {
    pub(crate) kind: VcsKind,
    /// Directory that is checked out.
    pub(crate) top: PathBuf,
    /// Git directory of this checkout: `HEAD` and `index`.
    pub(crate) git_dir: PathBuf,
    /// Git directory of all its worktrees: refs, `info`, `shallow`.
    pub(crate) common_dir: PathBuf,
    /// Whether the git directory is really there.
    pub(crate) present: bool,
}

/// The repository that a canonical directory belongs to: its own, or that of the nearest directory above.
pub(crate) fn discover(root: &Path) -> Option<Place> {
    if let Some(place) = place_of(root) {
        return Some(place);
    }
    if is_bare(root) {
        let git_dir = root.to_path_buf();
        return Some(Place {
            kind: VcsKind::GitBare,
            top: git_dir.clone(),
            common_dir: git_dir.clone(),
            git_dir,
            present: true,
        });
    }
    root.ancestors().skip(1).find_map(|above| place_of(above).filter(|place| place.present))
}

/// Whether a directory is the top of a repository of its own.
pub(crate) fn is_repository(directory: &Path) -> bool {
    place_of(directory).is_some()
}

fn place_of(top: &Path) -> Option<Place> {
    let dot_git = top.join(".git");
    let seen = dot_git.metadata().ok()?;
    let top = top.to_path_buf();
    if seen.is_dir() {
        let present = dot_git.join("HEAD").symlink_metadata().is_ok();
        return present.then(|| Place {
            kind: VcsKind::Git,
            top,
            common_dir: dot_git.clone(),
            git_dir: dot_git,
            present,
        });
    }
    let bytes = read_small(&dot_git, SMALL).ok()??;
    let named = bytes.strip_prefix(b"gitdir:")?.trim_ascii();
    let git_dir = top.join(OsStr::from_bytes(named));
    let present = git_dir.join("HEAD").symlink_metadata().is_ok();
    let common = read_small(&git_dir.join("commondir"), SMALL).ok().flatten();
    let has_part = |part: &[u8]| named.split(|byte| *byte == b'/').any(|name| name == part);
    let kind = if common.is_some() || (!present && has_part(b"worktrees")) {
        VcsKind::GitWorktree
    } else if has_part(b"modules") {
        VcsKind::GitSubmodule
    } else {
        VcsKind::Git
    };
    let common_dir = match common {
        Some(bytes) => git_dir.join(OsStr::from_bytes(bytes.trim_ascii())),
        None => git_dir.clone(),
    };
    Some(Place { kind, top, git_dir, common_dir, present })
}

fn is_bare(root: &Path) -> bool {
    let head = read_small(&root.join("HEAD"), SMALL).ok().flatten().unwrap_or_default();
    let plausible = head.starts_with(b"ref: ")
        || head.trim_ascii().len() >= 40 && head.trim_ascii().iter().all(u8::is_ascii_hexdigit);
    plausible && root.join("objects").is_dir() && root.join("refs").is_dir()
}
