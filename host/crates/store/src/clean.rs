//! Taking a store away: a plan that names every path, then exactly those, and nothing that the store did not make.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use assize_core::id::LaunchId;

use crate::error::StoreError;
use crate::files::{
    CACHE, DATABASE, DATABASE_SUFFIXES, IGNORE, IGNORE_TEXT, Kind, LOCK, REPORT, RUNS, StateDir, check_kind,
    check_launch_name, io as io_error, is_inside, is_partial_of, make_dir, write_atomic,
};
use crate::lock::{StoreLock, is_lock_text};
use crate::schema::APPLICATION_ID;
use crate::store::{Mode, Store};

/// One path that goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CleanItem {
    /// Relative to the state directory.
    pub path: PathBuf,
    /// Whether it is a directory that goes with everything in it: a run directory or the cache.
    pub tree: bool,
}

/// What a cleaning would do. Nothing happens before [`CleanPlan::apply`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanPlan {
    /// The state directory.
    pub dir: PathBuf,
    /// What goes, sorted by path; the database comes last when it is carried out.
    pub remove: Vec<CleanItem>,
    /// What is in the directory and stays, because the store did not make it; relative, sorted.
    pub left: Vec<PathBuf>,
}

/// What a cleaning did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// What went, relative.
    pub removed: Vec<PathBuf>,
    /// What stayed, relative.
    pub left: Vec<PathBuf>,
    /// Whether the directory itself is gone.
    pub dir_removed: bool,
}

/// Lists what the store in `dir` made. A directory without a database of ours has nothing that goes, whatever its name
/// and its files' names are.
///
/// # Errors
/// [`StoreError::Missing`] where there is no directory, [`StoreError::NotOurs`], [`StoreError::Io`].
pub fn plan_clean(dir: &Path) -> Result<CleanPlan, StoreError> {
    let state = StateDir::existing(dir)?;
    let mut plan = CleanPlan { dir: state.path().to_owned(), remove: Vec::new(), left: Vec::new() };
    if is_our_database(&state.database()) {
        plan.remove = list_made(&state)?;
        plan.remove.sort();
    }
    plan.left = list_left(&plan)?;
    Ok(plan)
}

impl CleanPlan {
    /// Removes what the plan lists and is still what it was, then the directories that are empty after that.
    ///
    /// # Errors
    /// [`StoreError::InUse`] while another process holds the store's lock; [`StoreError::Io`] at the first path that
    /// cannot be removed. It can be repeated: the database, which makes the directory ours, goes last.
    pub fn apply(&self) -> Result<Cleaned, StoreError> {
        let mut cleaned = Cleaned { left: self.left.clone(), ..Cleaned::default() };
        if self.remove.is_empty() {
            return Ok(cleaned);
        }
        let state = StateDir::existing(&self.dir)?;
        let lock_path = state.path().join(LOCK);
        let lock_stays = self.left.iter().any(|path| path == Path::new(LOCK));
        let lock = StoreLock::take(&state)?;
        let (last, first): (Vec<_>, Vec<_>) = self.remove.iter().partition(|item| item.path == Path::new(DATABASE));
        for item in first.into_iter().chain(last) {
            if remove_item(state.path(), item)? {
                cleaned.removed.push(item.path.clone());
            } else if fs::symlink_metadata(state.path().join(&item.path)).is_ok() {
                cleaned.left.push(item.path.clone());
            }
        }
        remove_empty_dirs(state.path(), &self.remove);
        // `take` has made the file if it was not there; only one that somebody else wrote stays.
        if !lock_stays {
            let _ = fs::remove_file(lock_path);
        }
        drop(lock);
        cleaned.dir_removed = fs::remove_dir(state.path()).is_ok();
        cleaned.left.sort();
        Ok(cleaned)
    }
}

impl Store {
    /// Writes a file under `report/` of the state directory, whole, and remembers that it was made here. Gives its path.
    ///
    /// # Errors
    /// [`StoreError::NotOurs`] where the path does not lie under `report/` by plain names, or a symbolic link is in the
    /// way, or the store is in memory; [`StoreError::Io`].
    pub fn publish(&mut self, relative: &Path, bytes: &[u8]) -> Result<PathBuf, StoreError> {
        let refused = |why| StoreError::NotOurs { path: relative.to_owned(), why };
        let dir = self.dir().ok_or_else(|| refused("a store in memory has no files"))?.path().to_owned();
        let name = relative.to_str().ok_or_else(|| refused("its name is not UTF-8"))?.to_owned();
        if !is_inside(relative, REPORT) {
            return Err(refused("it does not lie under report/"));
        }
        make_parents(&dir, relative)?;
        self.remember(&name, false)?;
        let path = dir.join(relative);
        write_atomic(&path, bytes)?;
        Ok(path)
    }

    /// The directory for what can be made again, such as compiled components; made if it is not there.
    ///
    /// # Errors
    /// [`StoreError::NotOurs`] where a symbolic link is in the way or the store is in memory; [`StoreError::Io`].
    pub fn make_cache_dir(&mut self) -> Result<PathBuf, StoreError> {
        let why = "a store in memory has no files";
        let dir = self.dir().ok_or(StoreError::NotOurs { path: PathBuf::from(CACHE), why })?.path().join(CACHE);
        if !check_kind(&dir, Kind::Dir)? {
            self.remember(CACHE, true)?;
            make_dir(&dir)?;
        }
        Ok(dir)
    }

    fn remember(&mut self, path: &str, tree: bool) -> Result<(), StoreError> {
        self.write("remember a file", |sql| {
            let insert = "INSERT INTO made (path, tree) VALUES (?1, ?2) ON CONFLICT DO NOTHING";
            sql.execute(insert, (path, tree)).map(drop)
        })
    }

    /// Run directories and files that the database knows of.
    fn made(&self) -> Result<(Vec<LaunchId>, Vec<CleanItem>), StoreError> {
        self.read("list files", |sql| {
            let launches =
                sql.every("SELECT launch FROM launches", [], |row| Ok(LaunchId::new(row.get::<_, String>(0)?)))?;
            let files = sql.every("SELECT path, tree FROM made", [], |row| {
                Ok(CleanItem { path: PathBuf::from(row.get::<_, String>(0)?), tree: row.get(1)? })
            })?;
            Ok((launches, files))
        })
    }
}

/// Everything that the store made and that is there as it was made.
fn list_made(state: &StateDir) -> Result<Vec<CleanItem>, StoreError> {
    let file = |name: &str| CleanItem { path: PathBuf::from(name), tree: false };
    let mut items = vec![file(DATABASE)];
    items.extend(DATABASE_SUFFIXES.map(|suffix| file(&format!("{DATABASE}{suffix}"))));
    if fs::read(state.path().join(IGNORE)).is_ok_and(|text| text == IGNORE_TEXT.as_bytes()) {
        items.push(file(IGNORE));
    }
    if is_our_lock(&state.path().join(LOCK)) {
        items.push(file(LOCK));
    }
    // A database that cannot be read tells nothing of its files; then they are left and named.
    if let Ok((launches, files)) = Store::open(state.path(), Mode::ReadOnly).and_then(|store| store.made()) {
        let plain = launches.iter().filter(|launch| check_launch_name(launch).is_ok());
        items.extend(plain.map(|launch| CleanItem { path: Path::new(RUNS).join(launch.as_str()), tree: true }));
        // The database is input like any other: only what this program could have written counts.
        items.extend(files.into_iter().filter(|item| match item.tree {
            true => item.path == Path::new(CACHE),
            false => is_inside(&item.path, REPORT),
        }));
    }
    let remnants = list_remnants(state.path(), &items);
    items.extend(remnants);
    items.retain(|item| is_as_made(state.path(), item));
    Ok(items)
}

/// Parts of our files that a killed process left.
fn list_remnants(dir: &Path, items: &[CleanItem]) -> Vec<CleanItem> {
    let files = items.iter().filter(|item| !item.tree && item.path.starts_with(REPORT));
    let names: BTreeSet<(PathBuf, String)> = files
        .filter_map(|item| Some((item.path.parent()?.to_owned(), item.path.file_name()?.to_str()?.to_owned())))
        .collect();
    let folders: BTreeSet<&PathBuf> = names.iter().map(|(folder, _)| folder).collect();
    let mut found = Vec::new();
    for folder in folders {
        for entry in fs::read_dir(dir.join(folder)).into_iter().flatten().flatten() {
            let entry = entry.file_name();
            let Some(entry) = entry.to_str().filter(|entry| entry.ends_with(".partial")) else { continue };
            if names.iter().any(|(of, name)| of == folder && is_partial_of(entry, name)) {
                found.push(CleanItem { path: folder.join(entry), tree: false });
            }
        }
    }
    found
}

/// What is in the directory, and in the folders that the store shares with others, beside the plan.
fn list_left(plan: &CleanPlan) -> Result<Vec<PathBuf>, StoreError> {
    let going: BTreeSet<&Path> = plan.remove.iter().map(|item| item.path.as_path()).collect();
    let shared: BTreeSet<PathBuf> = shared_dirs(&plan.remove);
    let mut left = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let path = plan.dir.join(&folder);
        for entry in fs::read_dir(&path).map_err(io_error("list", &path))? {
            let name = folder.join(entry.map_err(io_error("list", &path))?.file_name());
            if going.contains(name.as_path()) {
                continue;
            }
            if shared.contains(&name) {
                folders.push(name);
            } else {
                left.push(name);
            }
        }
    }
    left.sort();
    Ok(left)
}

/// Folders between the directory and what goes.
fn shared_dirs(items: &[CleanItem]) -> BTreeSet<PathBuf> {
    let parents = items.iter().flat_map(|item| item.path.ancestors().skip(1));
    parents.filter(|parent| !parent.as_os_str().is_empty()).map(Path::to_owned).collect()
}

/// Removes one path if it is still what the plan says; whether it did.
fn remove_item(dir: &Path, item: &CleanItem) -> Result<bool, StoreError> {
    if !is_as_made(dir, item) {
        return Ok(false);
    }
    let path = dir.join(&item.path);
    // Neither call follows symbolic links, at the path or below it.
    let removed = if item.tree { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => removed.map(|()| true).map_err(io_error("remove", &path)),
    }
}

/// Removes folders that held only what went, deepest first. One that is not empty stays; that is the point.
fn remove_empty_dirs(dir: &Path, items: &[CleanItem]) {
    for folder in shared_dirs(items).iter().rev() {
        let _ = fs::remove_dir(dir.join(folder));
    }
}

/// Whether the path is there, of its kind, and reached through real directories only.
fn is_as_made(dir: &Path, item: &CleanItem) -> bool {
    let parents = item.path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
    let kind = if item.tree { Kind::Dir } else { Kind::File };
    let is = |path: &Path, kind| check_kind(&dir.join(path), kind).unwrap_or(false);
    parents.into_iter().all(|parent| is(parent, Kind::Dir)) && is(&item.path, kind)
}

/// Makes the folders of a relative path, one after the other, none through a symbolic link.
fn make_parents(dir: &Path, relative: &Path) -> Result<(), StoreError> {
    let mut path = dir.to_owned();
    for component in relative.parent().into_iter().flat_map(Path::components) {
        path.push(component);
        make_dir(&path)?;
    }
    Ok(())
}

/// Whether the file has the header of a database of ours. It is looked at as bytes, so that a damaged database can
/// still be taken away.
fn is_our_database(path: &Path) -> bool {
    const MAGIC: &[u8; 16] = b"SQLite format 3\0";
    const ID_AT: usize = 68;
    let mut header = [0; ID_AT + 4];
    let read = check_kind(path, Kind::File).unwrap_or(false)
        && File::open(path).and_then(|mut file| file.read_exact(&mut header)).is_ok();
    read && header.starts_with(MAGIC) && header[ID_AT..] == APPLICATION_ID.to_be_bytes()
}

/// Whether the lock file holds what this program writes there.
fn is_our_lock(path: &Path) -> bool {
    let text = if check_kind(path, Kind::File).unwrap_or(false) { fs::read(path).ok() } else { None };
    text.is_some_and(|text| is_lock_text(&text))
}
