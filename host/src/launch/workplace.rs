//! The copy of a repository in which launched programs work, so that none of them is ever let at the user's checkout. It holds
//! what is audited and nothing that programs take for their own configuration.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use assize_core::inventory::FileRow;
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A copy that no run has used for so long is removed.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Files that agent CLIs obey, by name in lower case. In the copy they would be instructions of whoever wrote the
/// repository to the reviewer; their text goes into the prompt as data instead.
const OBEYED_FILES: [&str; 19] = [
    ".env",
    "claude.md",
    "claude.local.md",
    "agents.md",
    "agents.override.md",
    "gemini.md",
    "qwen.md",
    "copilot-instructions.md",
    ".cursorrules",
    ".clinerules",
    ".windsurfrules",
    ".mcp.json",
    "opencode.json",
    "opencode.jsonc",
    ".aider.conf.yml",
    ".goosehints",
    ".geminiignore",
    ".claudeignore",
    ".rules",
];
/// Folders of the same kind.
const OBEYED_FOLDERS: [&str; 9] =
    [".claude", ".cursor", ".gemini", ".qwen", ".codex", ".opencode", ".copilot", ".agents", ".windsurf"];

/// Why there is no copy.
#[derive(Debug, Error)]
#[error("cannot {operation} {}: {source}", .path.display())]
pub struct SnapshotError {
    operation: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// A copy that is as the repository was when it was surveyed.
#[derive(Debug)]
pub struct Snapshot {
    /// Its root.
    pub root: PathBuf,
    /// Repository-relative paths of audited files that are not in it, because programs would obey them.
    pub left_out: BTreeSet<String>,
    /// What could not be copied, one line each.
    pub problems: Vec<String>,
    repo: PathBuf,
    files: Mutex<BTreeMap<String, Kept>>,
}

/// One file of the copy.
#[derive(Debug)]
struct Kept {
    original: PathBuf,
    copied: Copied,
}

/// What a copied file looked like afterwards. One that looks different now was written to and is copied again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Copied {
    digest: String,
    size: u64,
    inode: u64,
    changed: (i64, i64),
}

impl Snapshot {
    /// Makes the copy of a repository below `parent`, or brings the one that is there up to date. Costs a look at each file
    /// and a copy of those that differ; where the file system can, a copy shares its blocks with the original.
    ///
    /// # Errors
    /// When the place cannot be written. A file that cannot be read is a problem, not an error.
    pub fn refresh<'a>(
        repo: &Path,
        parent: &Path,
        rows: impl IntoIterator<Item = &'a FileRow>,
    ) -> Result<Self, SnapshotError> {
        let name = &blake3::hash(repo.as_os_str().as_encoded_bytes()).to_hex()[..24];
        let home = parent.join(name);
        let root = home.join("repo");
        make_dir(&root)?;
        remove_unused(parent, &home);
        let manifest = home.join("manifest.json");
        let before: BTreeMap<String, Copied> =
            fs::read(&manifest).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let mut snapshot = Self {
            root,
            left_out: BTreeSet::new(),
            problems: Vec::new(),
            repo: repo.to_owned(),
            files: Mutex::default(),
        };
        let mut after = BTreeMap::new();
        let mut files = BTreeMap::new();
        let mut made = BTreeSet::new();
        for row in rows {
            if is_obeyed(&row.path) {
                snapshot.left_out.insert(row.path.clone());
                continue;
            }
            match snapshot.bring(repo, row, before.get(&row.path), &mut made) {
                Ok(copied) => {
                    let kept = Kept { original: original_name(row), copied: copied.clone() };
                    files.insert(row.path.clone(), kept);
                    after.insert(row.path.clone(), copied);
                }
                Err(error) => snapshot.problems.push(format!("{}: {error}", row.path)),
            }
        }
        remove_strangers(&snapshot.root, &snapshot.root, &|path| has(&files, path), &mut Vec::new())
            .map_err(|source| SnapshotError { operation: "clear", path: snapshot.root.clone(), source })?;
        let text = serde_json::to_vec(&after).unwrap_or_default();
        fs::write(&manifest, text).map_err(|source| SnapshotError { operation: "write", path: manifest, source })?;
        snapshot.files = Mutex::new(files);
        Ok(snapshot)
    }

    /// Undoes what a program did to the copy, so that the next one does not find it. Gives what that was, one path each.
    pub fn restore(&self) -> Vec<String> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let mut changed = Vec::new();
        // That something cannot be removed shows in the next look, and costs this launch nothing.
        let _ = remove_strangers(&self.root, &self.root, &|path| has(&files, path), &mut changed);
        for (path, kept) in files.iter_mut() {
            let to = self.root.join(path);
            if look(&to, kept.copied.digest.clone()).is_ok_and(|now| now == kept.copied) {
                continue;
            }
            changed.push(path.clone());
            let again = to
                .parent()
                .map_or(Ok(()), |folder| make_folder(&self.root, folder))
                .and_then(|()| copy(&self.repo.join(&kept.original), &to))
                .and_then(|()| look(&to, kept.copied.digest.clone()));
            if let Ok(copied) = again {
                kept.copied = copied;
            }
        }
        changed
    }

    /// Makes sure that one file is there as it is in the repository.
    fn bring(
        &self,
        repo: &Path,
        row: &FileRow,
        before: Option<&Copied>,
        made: &mut BTreeSet<PathBuf>,
    ) -> io::Result<Copied> {
        let to = self.root.join(&row.path);
        let digest = row.digest.map(|digest| digest.to_string()).unwrap_or_default();
        if let (Some(before), Ok(now)) = (before, look(&to, digest.clone()))
            && *before == now
            && !digest.is_empty()
        {
            return Ok(now);
        }
        if let Some(folder) = to.parent()
            && !made.contains(folder)
        {
            make_folder(&self.root, folder)?;
            made.insert(folder.to_owned());
        }
        copy(&repo.join(original_name(row)), &to)?;
        look(&to, digest)
    }
}

/// The name in the repository. Where it is not UTF-8, the copy bears the name that reviewers are told.
fn original_name(row: &FileRow) -> PathBuf {
    match &row.raw {
        Some(bytes) => PathBuf::from(std::ffi::OsStr::from_bytes(bytes)),
        None => PathBuf::from(&row.path),
    }
}

/// Whether programs take a file for their own configuration.
fn is_obeyed(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let mut parts = lower.split('/').rev();
    let name = parts.next().unwrap_or_default();
    OBEYED_FILES.contains(&name)
        || parts.any(|folder| OBEYED_FOLDERS.contains(&folder))
        || lower.starts_with(".github/instructions/")
        || lower.starts_with(".github/prompts/")
}

fn look(path: &Path, digest: String) -> io::Result<Copied> {
    let meta = fs::symlink_metadata(path)?;
    Ok(Copied { digest, size: meta.size(), inode: meta.ino(), changed: (meta.ctime(), meta.ctime_nsec()) })
}

/// A new file takes the name in one step: whatever a program left there is not written through. Never a hard link, through
/// which a write would reach the original.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let nofollow = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
    let mut source = OpenOptions::new().read(true).custom_flags(nofollow).open(from)?;
    let folder = to.parent().unwrap_or(to);
    let draft = tempfile::NamedTempFile::new_in(folder)?;
    if !share_blocks(&source, draft.as_file()) {
        io::copy(&mut source, &mut draft.as_file())?;
    }
    draft.as_file().set_permissions(Permissions::from_mode(0o444))?;
    if fs::symlink_metadata(to).is_ok_and(|meta| meta.is_dir()) {
        fs::remove_dir_all(to)?;
    }
    draft.persist(to).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(target_os = "linux")]
fn share_blocks(from: &File, to: &File) -> bool {
    rustix::fs::ioctl_ficlone(to, from).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn share_blocks(_from: &File, _to: &File) -> bool {
    false
}

/// Makes a folder below the root. What stands in its way, a link for example, was put there by a program and goes.
fn make_folder(root: &Path, folder: &Path) -> io::Result<()> {
    let Ok(below) = folder.strip_prefix(root) else { return Ok(()) };
    let mut at = root.to_owned();
    for part in below.components() {
        at.push(part);
        match fs::symlink_metadata(&at) {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => {
                fs::remove_file(&at)?;
                fs::create_dir(&at)?;
            }
            Err(_) => fs::create_dir(&at)?,
        }
    }
    Ok(())
}

/// Whether a path is a file of the copy, or, with a slash at its end, a folder that holds one.
fn has(files: &BTreeMap<String, Kept>, path: &str) -> bool {
    match path.ends_with('/') {
        true => files.range(path.to_owned()..).next().is_some_and(|(file, _)| file.starts_with(path)),
        false => files.contains_key(path),
    }
}

/// Removes what is not of the copy: files that are gone from the repository, and whatever a program left.
fn remove_strangers(
    root: &Path,
    folder: &Path,
    known: &dyn Fn(&str) -> bool,
    removed: &mut Vec<String>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let relative = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            if known(&format!("{relative}/")) {
                remove_strangers(root, &path, known, removed)?;
            } else {
                removed.push(relative);
                fs::remove_dir_all(&path)?;
            }
        } else if !known(&relative) {
            removed.push(relative);
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Removes copies of repositories that nobody audits any more. That one cannot be removed costs its room only.
fn remove_unused(parent: &Path, own: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let used = fs::metadata(path.join("manifest.json")).and_then(|meta| meta.modified());
        let old = used.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > KEPT));
        if old && path != own {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

fn make_dir(path: &Path) -> Result<(), SnapshotError> {
    use std::os::unix::fs::DirBuilderExt as _;
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|source| SnapshotError { operation: "make", path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use assize_core::id::Digest;
    use assize_core::inventory::{Encoding, FileKind, FileStatus};

    struct Trial {
        dir: tempfile::TempDir,
    }

    impl Trial {
        fn new() -> Self {
            let trial = Self { dir: tempfile::tempdir().unwrap() };
            trial.write("src/a.rs", "one");
            trial.write("src/deep/b.rs", "two");
            trial.write("CLAUDE.md", "obey me");
            trial
        }

        fn repo(&self) -> PathBuf {
            self.dir.path().join("repo")
        }

        fn write(&self, path: &str, text: &str) {
            let path = self.repo().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn refresh(&self) -> Snapshot {
            let paths = ["CLAUDE.md", "src/a.rs", "src/deep/b.rs", "src/gone.rs"];
            let rows: Vec<FileRow> = paths
                .into_iter()
                .filter_map(|path| {
                    let bytes = fs::read(self.repo().join(path)).ok()?;
                    Some(FileRow { path: path.to_owned(), digest: Some(Digest::of(&bytes)), ..row() })
                })
                .collect();
            Snapshot::refresh(&self.repo(), &self.dir.path().join("cache"), &rows).unwrap()
        }
    }

    fn row() -> FileRow {
        FileRow {
            path: String::new(),
            raw: None,
            status: FileStatus::Auditable,
            reason: "source".to_owned(),
            kind: FileKind::Source,
            language: String::new(),
            size: 0,
            digest: None,
            lines: None,
            longest_line: None,
            encoding: Encoding::Utf8,
            executable: false,
            mtime_ns: 0,
            inode: 0,
        }
    }

    #[test]
    fn the_copy_is_apart_and_holds_nothing_that_programs_obey() {
        let trial = Trial::new();
        let snapshot = trial.refresh();
        assert_eq!(snapshot.left_out, BTreeSet::from(["CLAUDE.md".to_owned()]));
        assert!(!snapshot.root.join("CLAUDE.md").exists());
        let copy = snapshot.root.join("src/a.rs");
        assert_eq!(fs::read_to_string(&copy).unwrap(), "one");
        assert_ne!(fs::metadata(&copy).unwrap().ino(), fs::metadata(trial.repo().join("src/a.rs")).unwrap().ino());
        assert_eq!(fs::metadata(&copy).unwrap().mode() & 0o777, 0o444);
    }

    #[test]
    fn what_a_program_did_to_the_copy_is_undone() {
        let trial = Trial::new();
        let root = trial.refresh().root;
        fs::remove_file(root.join("src/a.rs")).unwrap();
        fs::write(root.join("src/a.rs"), "evil").unwrap();
        fs::write(root.join("AGENTS.md"), "obey").unwrap();
        fs::remove_dir_all(root.join("src/deep")).unwrap();
        std::os::unix::fs::symlink(trial.repo(), root.join("src/deep")).unwrap();
        fs::create_dir_all(root.join("new/deep")).unwrap();
        trial.refresh();
        assert_eq!(fs::read_to_string(root.join("src/a.rs")).unwrap(), "one");
        assert!(!root.join("AGENTS.md").exists() && !root.join("new").exists());
        assert!(fs::symlink_metadata(root.join("src/deep")).unwrap().is_dir());
        assert_eq!(fs::read_to_string(trial.repo().join("src/deep/b.rs")).unwrap(), "two", "the original is untouched");
    }

    #[test]
    fn the_next_program_does_not_find_what_the_last_one_left() {
        let trial = Trial::new();
        let snapshot = trial.refresh();
        assert_eq!(snapshot.restore(), [""; 0]);
        fs::write(snapshot.root.join("src/CLAUDE.md"), "obey").unwrap();
        fs::remove_file(snapshot.root.join("src/a.rs")).unwrap();
        fs::write(snapshot.root.join("src/a.rs"), "evil").unwrap();
        assert_eq!(snapshot.restore(), ["src/CLAUDE.md", "src/a.rs"]);
        assert_eq!(fs::read_to_string(snapshot.root.join("src/a.rs")).unwrap(), "one");
        assert_eq!(snapshot.restore(), [""; 0]);
    }

    #[test]
    fn it_follows_the_repository_and_leaves_what_is_the_same() {
        let trial = Trial::new();
        trial.write("src/gone.rs", "three");
        let root = trial.refresh().root;
        let inode = |path: &str| fs::metadata(root.join(path)).unwrap().ino();
        let (a, b) = (inode("src/a.rs"), inode("src/deep/b.rs"));
        fs::remove_file(trial.repo().join("src/gone.rs")).unwrap();
        trial.write("src/deep/b.rs", "changed");
        trial.refresh();
        assert_eq!(inode("src/a.rs"), a);
        assert_ne!(inode("src/deep/b.rs"), b);
        assert_eq!(fs::read_to_string(root.join("src/deep/b.rs")).unwrap(), "changed");
        assert!(!root.join("src/gone.rs").exists());
    }
}
