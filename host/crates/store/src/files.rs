//! The state directory: names that belong to the store, run directories, and writing files whole.
//!
//! The directory lies in a repository that is not trusted. No name of the store may be a symbolic link, so that nothing
//! that comes with a repository leads a write or a deletion out of it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use assize_core::id::LaunchId;

use crate::error::StoreError;

/// Name of the database.
pub(crate) const DATABASE: &str = "store.db";
/// What SQLite adds to that name.
pub(crate) const DATABASE_SUFFIXES: [&str; 3] = ["-wal", "-shm", "-journal"];
/// Name of the lock file.
pub(crate) const LOCK: &str = "lock";
/// Name of the ignore file.
pub(crate) const IGNORE: &str = ".gitignore";
/// What the ignore file says: git sees nothing here.
pub(crate) const IGNORE_TEXT: &str = "*\n";
/// Name of the folder of run directories.
pub(crate) const RUNS: &str = "runs";
/// Name of the folder of reports.
pub(crate) const REPORT: &str = "report";
/// Name of the folder of what can be made again.
pub(crate) const CACHE: &str = "cache";

/// Ids longer than this are refused as directory names; file systems allow 255 bytes.
const LONGEST_NAME: usize = 120;

/// The directory of one store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir {
    path: PathBuf,
}

impl StateDir {
    /// The directory, made with mode 0700 if it is not there, with its ignore file.
    ///
    /// # Errors
    /// [`StoreError::NotOurs`] where the name is a symbolic link or no directory; [`StoreError::Io`].
    pub fn make(dir: &Path) -> Result<Self, StoreError> {
        if let Some(parent) = dir.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            fs::create_dir_all(parent).map_err(io("make", parent))?;
        }
        make_dir(dir)?;
        let made = Self { path: fs::canonicalize(dir).map_err(io("resolve", dir))? };
        made.hide_from_git()?;
        Ok(made)
    }

    /// The directory, if it is there.
    ///
    /// # Errors
    /// [`StoreError::Missing`], [`StoreError::NotOurs`], [`StoreError::Io`].
    pub fn existing(dir: &Path) -> Result<Self, StoreError> {
        if !check_kind(dir, Kind::Dir)? {
            return Err(StoreError::Missing { path: dir.to_owned() });
        }
        Ok(Self { path: fs::canonicalize(dir).map_err(io("resolve", dir))? })
    }

    /// Its absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The database.
    pub fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    /// The folder of reports; it need not exist.
    pub fn report_dir(&self) -> PathBuf {
        self.path.join(REPORT)
    }

    /// The run directory of a launch; it need not exist.
    ///
    /// # Errors
    /// [`StoreError::BadLaunchId`] where the id is no plain name.
    pub fn run_dir(&self, launch: &LaunchId) -> Result<PathBuf, StoreError> {
        check_launch_name(launch)?;
        Ok(self.path.join(RUNS).join(launch.as_str()))
    }

    /// The run directory of a launch, made with mode 0700 if it is not there.
    ///
    /// # Errors
    /// As [`StateDir::run_dir`]; [`StoreError::NotOurs`] where a symbolic link is in the way; [`StoreError::Io`].
    pub fn make_run_dir(&self, launch: &LaunchId) -> Result<PathBuf, StoreError> {
        let path = self.run_dir(launch)?;
        make_dir(&self.path.join(RUNS))?;
        make_dir(&path)?;
        Ok(path)
    }

    /// Refuses database files that are something else.
    pub(crate) fn check_database_names(&self) -> Result<(), StoreError> {
        let database = self.database();
        check_kind(&database, Kind::File)?;
        for suffix in DATABASE_SUFFIXES {
            check_kind(&self.path.join(format!("{DATABASE}{suffix}")), Kind::File)?;
        }
        Ok(())
    }

    fn hide_from_git(&self) -> Result<(), StoreError> {
        let path = self.path.join(IGNORE);
        if check_kind(&path, Kind::File)? {
            return Ok(());
        }
        write_atomic(&path, IGNORE_TEXT.as_bytes())
    }
}

/// Writes the file so that a reader, or whoever comes after a crash, sees the old content or the new one, never a part.
/// The bytes are on disk before the name changes. A symbolic link at `path` is replaced, not followed.
///
/// # Errors
/// [`StoreError::Io`].
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), StoreError> {
    let (partial, mut file) = create_partial(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_data());
    drop(file);
    let renamed = written.and_then(|()| fs::rename(&partial, path));
    renamed.map_err(|source| {
        // Nothing more can be done if this fails as well; the name says that it is a remnant.
        let _ = fs::remove_file(&partial);
        StoreError::Io { operation: "write", path: path.to_owned(), source }
    })
}

/// Whether `name` is a remnant of writing a file called `of`.
pub(crate) fn is_partial_of(name: &str, of: &str) -> bool {
    name.strip_prefix('.')
        .and_then(|rest| rest.strip_prefix(of))
        .is_some_and(|rest| rest.starts_with('.') && rest.ends_with(".partial"))
}

fn create_partial(path: &Path) -> Result<(PathBuf, File), StoreError> {
    static TURN: AtomicU64 = AtomicU64::new(0);
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    loop {
        let turn = TURN.fetch_add(1, Ordering::Relaxed);
        let partial = path.with_file_name(format!(".{name}.{}-{turn}.partial", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&partial) {
            Ok(file) => return Ok((partial, file)),
            // A remnant of a killed process that had our id; the next turn has another name.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(source) => return Err(StoreError::Io { operation: "write", path: path.to_owned(), source }),
        }
    }
}

/// Opens a file of the store for reading and writing, made if it is not there, never through a symbolic link.
pub(crate) fn open_own(path: &Path) -> Result<File, StoreError> {
    check_kind(path, Kind::File)?;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // The check above gives the clear message; this closes the gap between it and the opening.
        options.custom_flags((rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits().cast_signed());
    }
    options.open(path).map_err(io("open", path))
}

/// Makes one directory, private to its owner; one that is there already is taken as it is.
pub(crate) fn make_dir(path: &Path) -> Result<(), StoreError> {
    if check_kind(path, Kind::Dir)? {
        return Ok(());
    }
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    match builder.create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check_kind(path, Kind::Dir).map(drop),
        made => made.map_err(io("make", path)),
    }
}

/// What a name of the store has to be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Dir,
}

/// Whether the name is there; refuses one that is not of the kind.
pub(crate) fn check_kind(path: &Path, kind: Kind) -> Result<bool, StoreError> {
    let found = match fs::symlink_metadata(path) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(source) => return Err(StoreError::Io { operation: "look at", path: path.to_owned(), source }),
    };
    let why = match kind {
        _ if found.is_symlink() => "it is a symbolic link",
        Kind::File if !found.is_file() => "it is not a file",
        Kind::Dir if !found.is_dir() => "it is not a directory",
        _ => return Ok(true),
    };
    Err(StoreError::NotOurs { path: path.to_owned(), why })
}

/// Whether a relative path stays inside `folder`: plain names only.
pub(crate) fn is_inside(relative: &Path, folder: &str) -> bool {
    let mut components = relative.components();
    components.next() == Some(Component::Normal(folder.as_ref()))
        && components.clone().next().is_some()
        && components.all(|component| matches!(component, Component::Normal(_)))
}

/// Whether a launch id can name a directory on every file system.
pub(crate) fn check_launch_name(launch: &LaunchId) -> Result<(), StoreError> {
    let name = launch.as_str();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if !name.is_empty() && name.len() <= LONGEST_NAME && !name.starts_with('.') && name.bytes().all(plain) {
        return Ok(());
    }
    Err(StoreError::BadLaunchId { launch: name.chars().take(LONGEST_NAME).collect() })
}

/// Names the operation and the path of an error.
pub(crate) fn io(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    move |source| StoreError::Io { operation, path: path.to_owned(), source }
}
