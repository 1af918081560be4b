//! Whether the checkout is as it was: marks of files and their folders before and after, without reading a byte.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Parts of a repository that programs are known to change and that lead to code which runs later.
const ALSO: [&str; 4] = [".git/HEAD", ".git/config", ".git/hooks", ".git/info"];

/// What the file system says of one path. The time of change (`ctime`) cannot be set back by a program, but advances in
/// steps of some milliseconds on older systems: what changes within the step of the marking is not seen.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mark {
    size: u64,
    mode: u32,
    inode: u64,
    modified_ns: i128,
    changed_ns: i128,
}

/// The state of some paths of a checkout at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checkout {
    files: BTreeMap<String, Option<Mark>>,
    folders: BTreeMap<String, Option<Mark>>,
}

/// How a path differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// It was not there before.
    Created,
    /// It is not there any more.
    Removed,
    /// It was written to, replaced, or given other permissions.
    Changed,
    /// A folder: an entry was added, removed or renamed.
    Entries,
}

/// One path that differs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// Repository-relative; empty for the root.
    pub path: String,
    /// How.
    pub kind: ChangeKind,
}

impl Checkout {
    /// Marks these repository-relative paths, every folder above them, and what git keeps of settings. One look at each;
    /// a path that is not there is marked as such.
    pub fn mark<S: AsRef<str>>(repo: &Path, paths: impl IntoIterator<Item = S>) -> Self {
        let mut checkout = Self::default();
        checkout.folders.insert(String::new(), mark_of(repo));
        for path in ALSO {
            checkout.files.insert(path.to_owned(), mark_of(&repo.join(path)));
        }
        for path in paths {
            let path = path.as_ref();
            let mut above = path;
            while let Some((folder, _)) = above.rsplit_once('/') {
                if checkout.folders.contains_key(folder) {
                    break;
                }
                checkout.folders.insert(folder.to_owned(), mark_of(&repo.join(folder)));
                above = folder;
            }
            checkout.files.insert(path.to_owned(), mark_of(&repo.join(path)));
        }
        checkout
    }

    /// Marks the same paths again.
    pub fn mark_again(&self, repo: &Path) -> Self {
        let again = |paths: &BTreeMap<String, Option<Mark>>| {
            paths.keys().map(|path| (path.clone(), mark_of(&repo.join(path)))).collect()
        };
        Self { files: again(&self.files), folders: again(&self.folders) }
    }

    /// What differs in `after`, which was marked for the same paths. Sorted.
    pub fn changes(&self, after: &Self) -> Vec<Change> {
        let mut changes: Vec<Change> = differing(&self.files, &after.files, ChangeKind::Changed)
            .chain(differing(&self.folders, &after.folders, ChangeKind::Entries))
            .collect();
        changes.sort();
        changes
    }
}

fn differing<'a>(
    before: &'a BTreeMap<String, Option<Mark>>,
    after: &'a BTreeMap<String, Option<Mark>>,
    otherwise: ChangeKind,
) -> impl Iterator<Item = Change> + 'a {
    before.iter().filter_map(move |(path, before)| {
        let kind = match (before, after.get(path).and_then(Option::as_ref)) {
            (None, Some(_)) => ChangeKind::Created,
            (Some(_), None) => ChangeKind::Removed,
            (Some(before), Some(after)) if before != after => otherwise,
            _ => return None,
        };
        Some(Change { path: path.clone(), kind })
    })
}

fn mark_of(path: &Path) -> Option<Mark> {
    let metadata = fs::symlink_metadata(path).ok()?;
    let nanoseconds = |seconds: i64, rest: i64| i128::from(seconds) * 1_000_000_000 + i128::from(rest);
    Some(Mark {
        size: metadata.size(),
        mode: metadata.mode(),
        inode: metadata.ino(),
        modified_ns: nanoseconds(metadata.mtime(), metadata.mtime_nsec()),
        changed_ns: nanoseconds(metadata.ctime(), metadata.ctime_nsec()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, FileTimes, Permissions};
    use std::os::unix::fs::PermissionsExt;

    /// The changes that an act makes to a small checkout, as `path kind`.
    fn changes(act: impl Fn(&Path)) -> Vec<String> {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("src/deep")).unwrap();
        fs::create_dir_all(dir.path().join(".git/hooks")).unwrap();
        for path in ["src/deep/a.rs", "src/b.rs", "c.rs", ".git/config"] {
            fs::write(dir.path().join(path), "text").unwrap();
        }
        let before = Checkout::mark(dir.path(), ["src/deep/a.rs", "src/b.rs", "c.rs"]);
        let last = fs::metadata(dir.path().join(".git/config")).unwrap();
        wait_for_the_file_systems_clock((last.ctime(), last.ctime_nsec()));
        act(dir.path());
        let after = before.mark_again(dir.path());
        before.changes(&after).into_iter().map(|change| format!("{} {:?}", change.path, change.kind)).collect()
    }

    /// Some file systems' times advance in steps of milliseconds; two changes within one step look like one.
    fn wait_for_the_file_systems_clock(past: (i64, i64)) {
        let probe = tempfile::NamedTempFile::new().unwrap();
        loop {
            fs::write(probe.path(), "x").unwrap();
            let now = fs::metadata(probe.path()).unwrap();
            if (now.ctime(), now.ctime_nsec()) > past {
                return;
            }
        }
    }

    #[test]
    fn reading_changes_nothing() {
        assert_eq!(changes(|repo| drop(fs::read(repo.join("src/b.rs")).unwrap())), [""; 0]);
    }

    #[test]
    fn a_write_that_sets_size_and_time_back_is_seen() {
        let seen = changes(|repo| {
            let path = repo.join("src/b.rs");
            let time = fs::metadata(&path).unwrap().modified().unwrap();
            fs::write(&path, "evil").unwrap();
            File::options().write(true).open(&path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
        });
        assert_eq!(seen, ["src/b.rs Changed"]);
    }

    #[test]
    fn new_missing_and_replaced_files_are_seen() {
        assert_eq!(changes(|repo| fs::write(repo.join("src/deep/new.rs"), "").unwrap()), ["src/deep Entries"]);
        assert_eq!(changes(|repo| fs::write(repo.join("new.rs"), "").unwrap()), [" Entries"]);
        assert_eq!(changes(|repo| fs::remove_file(repo.join("c.rs")).unwrap()), [" Entries", "c.rs Removed"]);
        let replaced = changes(|repo| {
            fs::remove_file(repo.join("c.rs")).unwrap();
            std::os::unix::fs::symlink("src/b.rs", repo.join("c.rs")).unwrap();
        });
        assert_eq!(replaced, [" Entries", "c.rs Changed"]);
    }

    #[test]
    fn permissions_and_git_settings_are_watched() {
        let seen = changes(|repo| fs::set_permissions(repo.join("c.rs"), Permissions::from_mode(0o777)).unwrap());
        assert_eq!(seen, ["c.rs Changed"]);
        let seen = changes(|repo| {
            fs::write(repo.join(".git/config"), "[core]").unwrap();
            fs::write(repo.join(".git/hooks/pre-commit"), "x").unwrap();
        });
        assert_eq!(seen, [".git/config Changed", ".git/hooks Changed"]);
    }
}
