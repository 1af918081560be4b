//! Walks the tree and gives every entry a fate: a plain file to be looked at, or a row that is settled already.
//!
//! It goes through its own stack of directories, so that no depth overflows, and in sorted order, so that no run differs.

use std::ffi::OsStr;
use std::fs::{DirEntry, FileType, Metadata};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use assize_core::inventory::FileStatus::{self, Excluded, Special, Unreadable};

use crate::git::{Place, Tracked, is_repository};
use crate::links::derive_link_reason;
use crate::names::is_vendor_directory;
use crate::path_text::render_path;
use crate::rules::{Attributes, Ignored, Rules};
use crate::selection::Selection;
use crate::{Problem, SurveyError};

/// One entry of the tree.
pub(crate) struct Entry {
    /// Bytes of the path below the root; a directory that is not entered ends with `/`.
    pub(crate) path: Vec<u8>,
    pub(crate) size: u64,
    pub(crate) mtime_ns: i64,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) executable: bool,
    pub(crate) fate: Fate,
}

/// What becomes of an entry as far as the walk can tell.
pub(crate) enum Fate {
    /// A plain file, with what attributes say and whether it lies in a vendored directory.
    Plain { attributes: Attributes, vendored: bool },
    /// Decided, with the machine reason.
    Settled(FileStatus, &'static str),
}

/// What the walk goes by.
pub(crate) struct Ground<'a> {
    /// Canonical root.
    pub(crate) root: &'a Path,
    pub(crate) selection: &'a Selection,
    pub(crate) place: Option<&'a Place>,
    pub(crate) tracked: &'a Tracked,
    /// Whether ignore rules are passed over.
    pub(crate) no_ignore: bool,
}

/// A directory still to be entered.
struct Directory {
    path: Vec<u8>,
    rules: Rules,
    vendored: bool,
    /// Git ignores the directory; it is entered for the sake of what git tracks in it all the same.
    doomed: bool,
}

/// Walks everything below the root.
///
/// # Errors
/// [`SurveyError::RootUnreadable`]; anything below the root that cannot be read becomes a row.
pub(crate) fn walk(ground: &Ground, problems: &mut Vec<Problem>) -> Result<Vec<Entry>, SurveyError> {
    let mut walk = Walk { ground, base: base_of(ground), entries: Vec::new(), problems, pending: Vec::new() };
    let rules = walk.outer_rules();
    walk.pending.push(Directory { path: Vec::new(), rules, vendored: false, doomed: false });
    while let Some(directory) = walk.pending.pop() {
        if let Err(source) = walk.enter(&directory) {
            if directory.path.is_empty() {
                return Err(SurveyError::RootUnreadable { path: ground.root.to_path_buf(), source });
            }
            walk.unreadable([&directory.path, &b"/"[..]].concat(), &source);
        }
    }
    Ok(walk.entries)
}

/// The root below the top of its repository, with a last `/`; empty when they are the same.
pub(crate) fn base_of(ground: &Ground) -> Vec<u8> {
    let below = ground.place.and_then(|place| ground.root.strip_prefix(&place.top).ok()).unwrap_or(Path::new(""));
    let mut base = below.as_os_str().as_bytes().to_vec();
    if !base.is_empty() {
        base.push(b'/');
    }
    base
}

struct Walk<'a> {
    ground: &'a Ground<'a>,
    /// See [`base_of`]: rules match paths below the top of the repository.
    base: Vec<u8>,
    entries: Vec<Entry>,
    problems: &'a mut Vec<Problem>,
    pending: Vec<Directory>,
}

impl Walk<'_> {
    /// Rules from outside the root: git's own exclude file, then those of the directories between its top and the root.
    fn outer_rules(&mut self) -> Rules {
        let mut rules = Rules::default();
        let Some(place) = self.ground.place else { return rules };
        if !self.ground.no_ignore {
            rules.add_git(&place.common_dir.join("info/exclude"), 0, "", self.problems);
        }
        let above = self.base.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at + 1);
        let starts: Vec<usize> = std::iter::once(0).chain(above).filter(|start| *start < self.base.len()).collect();
        for start in starts {
            let directory = place.top.join(OsStr::from_bytes(&self.base[..start]));
            rules.add_attributes(&directory.join(".gitattributes"), start, "", self.problems);
            if !self.ground.no_ignore {
                rules.add_git(&directory.join(".gitignore"), start, "", self.problems);
            }
        }
        rules
    }

    fn enter(&mut self, directory: &Directory) -> io::Result<()> {
        let here = self.ground.root.join(OsStr::from_bytes(&directory.path));
        let mut children = Vec::new();
        for child in std::fs::read_dir(&here)? {
            match child {
                Ok(child) => children.push((child.file_name(), child)),
                // The rest of the directory cannot be listed; what was listed counts, and the gap has a row.
                Err(error) => {
                    self.unreadable([&directory.path, &b"/"[..]].concat(), &error);
                    break;
                }
            }
        }
        children.sort_unstable_by(|(left, _), (right, _)| left.cmp(right));
        let mut rules = directory.rules.clone();
        for (name, _) in &children {
            self.add_rules(&mut rules, &directory.path, &here, name.as_bytes());
        }
        let mut inner = Vec::new();
        for (name, child) in &children {
            let path = join(&directory.path, name.as_bytes());
            match child.file_type().and_then(|kind| Ok((kind, child.metadata()?))) {
                Ok((kind, metadata)) => inner.extend(self.meet(directory, &rules, path, child, kind, &metadata)),
                Err(error) => self.unreadable(path, &error),
            }
        }
        self.pending.extend(inner.into_iter().rev());
        Ok(())
    }

    /// Takes up the rules of one file, if the name is that of one.
    fn add_rules(&mut self, rules: &mut Rules, directory: &[u8], here: &Path, name: &[u8]) {
        if !matches!(name, b".gitignore" | b".assizeignore" | b".gitattributes") {
            return;
        }
        let skip = self.base.len() + if directory.is_empty() { 0 } else { directory.len() + 1 };
        let file = here.join(OsStr::from_bytes(name));
        let shown = render_path(&join(directory, name)).0;
        match name {
            b".gitattributes" => rules.add_attributes(&file, skip, &shown, self.problems),
            _ if self.ground.no_ignore => {}
            b".gitignore" => rules.add_git(&file, skip, &shown, self.problems),
            _ => rules.add_own(&file, skip, &shown, self.problems),
        }
    }

    /// Settles one entry, or gives the directory to enter.
    fn meet(
        &mut self,
        parent: &Directory,
        rules: &Rules,
        path: Vec<u8>,
        child: &DirEntry,
        kind: FileType,
        metadata: &Metadata,
    ) -> Option<Directory> {
        let name = child.file_name();
        let name = name.as_bytes();
        let version_control = name == b".git" || kind.is_dir() && matches!(name, b".hg" | b".svn" | b".jj" | b".bzr");
        let settled = if version_control {
            Some((Excluded, "vcs-metadata"))
        } else if kind.is_dir() && self.ground.selection.is_own_output(&path) {
            Some((Excluded, "own-output"))
        } else if !kind.is_dir() && !kind.is_file() {
            Some((Special, self.special_reason(&path, kind)))
        } else if self.ground.selection.is_excluded(&path) {
            Some((Excluded, "user-ignored"))
        } else if kind.is_dir() {
            return self.meet_directory(parent, rules, path, name);
        } else {
            self.ignored_reason(parent, rules, &path, false)
                .map(|reason| (Excluded, reason))
                .or_else(|| (!self.ground.selection.is_included(&path)).then_some((Excluded, "not-included")))
        };
        let fate = match settled {
            Some((status, reason)) if kind.is_dir() => {
                self.settle_directory(path, status, reason);
                return None;
            }
            Some((status, reason)) => Fate::Settled(status, reason),
            None => Fate::Plain { attributes: rules.attributes(&self.full(&path)), vendored: parent.vendored },
        };
        self.entries.push(entry_of(path, metadata, fate));
        None
    }

    fn meet_directory(&mut self, parent: &Directory, rules: &Rules, path: Vec<u8>, name: &[u8]) -> Option<Directory> {
        let tracked = self.ground.tracked;
        let mut doomed = false;
        if let Some(reason) = self.ignored_reason(parent, rules, &path, true) {
            doomed = reason == "vcs-ignored" && tracked.has_below(&path);
            if !doomed {
                self.settle_directory(path, Excluded, reason);
                return None;
            }
        }
        if let Some(reason) = self.foreign_reason(&path) {
            self.settle_directory(path, Excluded, reason);
            return None;
        }
        let vendored = parent.vendored || is_vendor_directory(name);
        Some(Directory { path, rules: rules.clone(), vendored, doomed })
    }

    /// Whether a directory is a repository of its own. A stray `.git` does not hide what the outer repository tracks, and
    /// a directory of checkouts that is no repository itself is read through.
    fn foreign_reason(&self, path: &[u8]) -> Option<&'static str> {
        let (tracked, place) = (self.ground.tracked, self.ground.place?);
        if tracked.has_submodule(path) {
            return Some("submodule");
        }
        let here = self.ground.root.join(OsStr::from_bytes(path));
        let dot_git = here.join(".git").symlink_metadata().ok()?;
        if !place.present || tracked.has_below(path) || !is_repository(&here) {
            return None;
        }
        Some(if dot_git.is_file() { "submodule" } else { "nested-repository" })
    }

    fn ignored_reason(&self, parent: &Directory, rules: &Rules, path: &[u8], is_dir: bool) -> Option<&'static str> {
        if self.ground.no_ignore {
            return None;
        }
        let by_rule = rules.ignored(&self.full(path), is_dir);
        match by_rule {
            Some(Ignored::User) => Some("user-ignored"),
            Some(Ignored::Vcs) | None if by_rule.is_some() || parent.doomed => {
                // What git tracks it does not ignore; directories are judged by what is in them.
                (is_dir || !self.ground.tracked.has_file(path)).then_some("vcs-ignored")
            }
            _ => None,
        }
    }

    fn special_reason(&self, path: &[u8], kind: FileType) -> &'static str {
        match kind {
            kind if kind.is_symlink() => {
                derive_link_reason(self.ground.root, &self.ground.root.join(OsStr::from_bytes(path)))
            }
            kind if kind.is_fifo() => "fifo",
            kind if kind.is_socket() => "socket",
            kind if kind.is_block_device() || kind.is_char_device() => "device",
            _ => "special",
        }
    }

    /// One row for all of a directory. It has neither time nor inode: they change when something in it is written.
    fn settle_directory(&mut self, mut path: Vec<u8>, status: FileStatus, reason: &'static str) {
        path.push(b'/');
        self.entries.push(bare_entry(path, Fate::Settled(status, reason)));
    }

    fn unreadable(&mut self, path: Vec<u8>, error: &io::Error) {
        self.problems.push(Problem::new(render_path(&path).0, error.to_string()));
        self.entries.push(bare_entry(path, Fate::Settled(Unreadable, unreadable_reason(error))));
    }

    fn full(&self, path: &[u8]) -> Vec<u8> {
        [&self.base, path].concat()
    }
}

/// Machine reason of what cannot be read.
pub(crate) fn unreadable_reason(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => "permission",
        io::ErrorKind::NotFound => "vanished",
        io::ErrorKind::InvalidInput => "replaced",
        _ => "io-error",
    }
}

fn bare_entry(path: Vec<u8>, fate: Fate) -> Entry {
    Entry { path, size: 0, mtime_ns: 0, device: 0, inode: 0, executable: false, fate }
}

fn entry_of(path: Vec<u8>, metadata: &Metadata, fate: Fate) -> Entry {
    Entry {
        path,
        size: metadata.len(),
        mtime_ns: metadata.mtime().saturating_mul(1_000_000_000).saturating_add(metadata.mtime_nsec()),
        device: metadata.dev(),
        inode: metadata.ino(),
        executable: metadata.is_file() && metadata.mode() & 0o111 != 0,
        fate,
    }
}

fn join(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}

/// Absolute place of an entry.
pub(crate) fn place_of(root: &Path, entry: &Entry) -> PathBuf {
    root.join(OsStr::from_bytes(&entry.path))
}
