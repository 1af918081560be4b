//! The pieces of arguments and values as text, and the files that a plugin places in the run directory.

use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use assize_core::plugin::{Piece, PlacedFile};
use thiserror::Error;

use super::program::ARGUMENT_CAP;

/// Folders and name below the launch's home.
const HOME_DEPTH: usize = 6;
/// Bytes of one file's name that every file system takes.
const NAME_CAP: usize = 200;

/// The places of one launch, all absolute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// Root of the audited repository, or of its snapshot.
    pub repo: PathBuf,
    /// The launch's own directory.
    pub run_dir: PathBuf,
    /// The whole prompt.
    pub prompt_file: PathBuf,
    /// The task, JSON.
    pub task_file: PathBuf,
    /// All tasks of the packet, JSON.
    pub pending_tasks_file: PathBuf,
    /// Where a program may leave all results.
    pub results_file: PathBuf,
    /// Where a program may leave one result.
    pub result_file: PathBuf,
    /// What it printed.
    pub stdout_file: PathBuf,
    /// What it complained of.
    pub stderr_file: PathBuf,
    /// The gateway, when the effect asked for one.
    pub gateway: Option<GatewayPlace>,
}

/// A gateway that listens.
#[derive(Clone, PartialEq, Eq)]
pub struct GatewayPlace {
    /// Base URL.
    pub address: String,
    /// Token of this launch alone.
    pub token: String,
}

impl std::fmt::Debug for GatewayPlace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GatewayPlace").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Why pieces make no text, or a file has no place. Contents appear in no message.
#[derive(Debug, Error)]
pub enum PlaceError {
    /// Nothing has this name.
    #[error(
        "there is no place {name:?}; there are repo, run-dir, prompt-file, task-file, pending-tasks-file, results-file, result-file, stdout-file and stderr-file"
    )]
    UnknownPlace {
        /// As given.
        name: String,
    },
    /// The effect asked for no gateway.
    #[error("the gateway is named but was not asked for; give the effect a gateway")]
    NoGateway,
    /// The place's path cannot be text.
    #[error("path {} is not UTF-8", .path.display())]
    NotText {
        /// The path.
        path: PathBuf,
    },
    /// Programs cannot be given it.
    #[error("an argument or value holds a zero byte")]
    ZeroByte,
    /// Programs cannot be given it.
    #[error(
        "an argument or value has {bytes} bytes, more than {ARGUMENT_CAP}; hand it over on standard input or in a file"
    )]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It is more than a name, or the name of one of the launch's own files.
    #[error("a file cannot be placed as {name:?}: {reason}")]
    FileName {
        /// As given.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// It could not be written.
    #[error("{} cannot be written: {source}", .path.display())]
    Write {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl PlaceError {
    /// The word of the plugin interface for it.
    pub fn kind(&self) -> &'static str {
        match self {
            PlaceError::TooLarge { .. } => "too-large",
            PlaceError::Write { .. } => "spawn",
            PlaceError::UnknownPlace { .. }
            | PlaceError::NoGateway
            | PlaceError::NotText { .. }
            | PlaceError::ZeroByte
            | PlaceError::FileName { .. } => "invalid",
        }
    }
}

impl Places {
    fn path(&self, name: &str) -> Option<&Path> {
        Some(match name {
            "repo" => &self.repo,
            "run-dir" => &self.run_dir,
            "prompt-file" => &self.prompt_file,
            "task-file" => &self.task_file,
            "pending-tasks-file" => &self.pending_tasks_file,
            "results-file" => &self.results_file,
            "result-file" => &self.result_file,
            "stdout-file" => &self.stdout_file,
            "stderr-file" => &self.stderr_file,
            _ => return None,
        })
    }

    /// The files that belong to the contract between host and program.
    fn own_files(&self) -> [&Path; 7] {
        [
            &self.prompt_file,
            &self.task_file,
            &self.pending_tasks_file,
            &self.results_file,
            &self.result_file,
            &self.stdout_file,
            &self.stderr_file,
        ]
    }
}

/// The pieces, joined. No shell sees them: they need no quoting and get none.
pub fn resolve_pieces(pieces: &[Piece], places: &Places) -> Result<String, PlaceError> {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Literal(literal) => text.push_str(literal),
            Piece::Place(name) => {
                let path = places.path(name).ok_or_else(|| PlaceError::UnknownPlace { name: name.clone() })?;
                text.push_str(path.to_str().ok_or_else(|| PlaceError::NotText { path: path.to_owned() })?);
            }
            Piece::GatewayAddress => text.push_str(&gateway(places)?.address),
            Piece::GatewayToken => text.push_str(&gateway(places)?.token),
        }
    }
    if text.contains('\0') {
        return Err(PlaceError::ZeroByte);
    }
    if text.len() > ARGUMENT_CAP {
        return Err(PlaceError::TooLarge { bytes: text.len() });
    }
    Ok(text)
}

fn gateway(places: &Places) -> Result<&GatewayPlace, PlaceError> {
    places.gateway.as_ref().ok_or(PlaceError::NoGateway)
}

/// Writes the plugin's files into the run directory, all or none of their names being good. A file of an earlier effect
/// is replaced; links are replaced, not followed.
pub fn place_files(files: &[PlacedFile], places: &Places) -> Result<(), PlaceError> {
    for file in files {
        check_name(&file.name, places)?;
    }
    for file in files {
        let path = places.run_dir.join(&file.name);
        make_folders(&places.run_dir, &path).map_err(|source| PlaceError::Write { path: path.clone(), source })?;
        let folder = path.parent().unwrap_or(&places.run_dir);
        write_new(folder, &path, &file.content).map_err(|source| PlaceError::Write { path, source })?;
    }
    Ok(())
}

/// Makes the folders of a file below the launch's own. Whatever else a program left in their place, a link for example, is
/// not followed.
fn make_folders(run_dir: &Path, path: &Path) -> io::Result<()> {
    let below = path.parent().and_then(|folder| folder.strip_prefix(run_dir).ok()).unwrap_or(Path::new(""));
    let mut at = run_dir.to_owned();
    for part in below.components() {
        at.push(part);
        match std::fs::symlink_metadata(&at) {
            Ok(meta) if meta.is_dir() => {}
            Ok(_) => return Err(io::Error::new(io::ErrorKind::NotADirectory, "something else than a folder is there")),
            Err(_) => std::fs::DirBuilder::new().mode(0o700).create(&at)?,
        }
    }
    Ok(())
}

/// A new file takes the name in one step, so that whatever had the name is never written through.
fn write_new(dir: &Path, path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(content)?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

fn check_name(name: &str, places: &Places) -> Result<(), PlaceError> {
    let refuse = |reason| Err(PlaceError::FileName { name: name.chars().take(NAME_CAP).collect(), reason });
    if name.is_empty() || name == "." || name == ".." {
        return refuse("a name is needed");
    }
    if let Some(below) = name.strip_prefix("home/") {
        let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
        if !below.split('/').all(plain) || below.split('/').count() > HOME_DEPTH {
            return refuse("below the home there are plain folders and a plain name");
        }
    } else if name.contains('/') {
        return refuse("a plain name is needed, without a folder other than home/");
    }
    if name.contains('\\') {
        return refuse("a name has no backslash");
    }
    if name.chars().any(char::is_control) {
        return refuse("a name has no control characters");
    }
    if name.len() > NAME_CAP {
        return refuse("the name is too long");
    }
    // Some file systems do not tell capitals apart.
    let is = |other: &str| other.eq_ignore_ascii_case(name);
    let own = places.own_files();
    let mut own = own.iter().filter_map(|path| path.file_name()?.to_str());
    if own.any(is) || is("home") || is("tmp") {
        return refuse("the name belongs to the launch itself");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn places(run_dir: &Path) -> Places {
        Places {
            repo: "/repo".into(),
            run_dir: run_dir.to_owned(),
            prompt_file: run_dir.join("prompt.md"),
            task_file: run_dir.join("task.json"),
            pending_tasks_file: run_dir.join("tasks.json"),
            results_file: run_dir.join("results.json"),
            result_file: run_dir.join("result.json"),
            stdout_file: run_dir.join("stdout.log"),
            stderr_file: run_dir.join("stderr.log"),
            gateway: None,
        }
    }

    fn file(name: &str) -> PlacedFile {
        PlacedFile { name: name.to_owned(), content: b"placed".to_vec() }
    }

    #[test]
    fn pieces_are_joined_without_quoting() {
        let mut places = places(Path::new("/run/1 x"));
        let pieces =
            [Piece::Literal("--in='".into()), Piece::Place("prompt-file".into()), Piece::Literal("$(a)".into())];
        assert_eq!(resolve_pieces(&pieces, &places).unwrap(), "--in='/run/1 x/prompt.md$(a)");
        assert!(matches!(resolve_pieces(&[Piece::GatewayToken], &places), Err(PlaceError::NoGateway)));
        places.gateway = Some(GatewayPlace { address: "http://127.0.0.1:1".into(), token: "t0k".into() });
        let pieces = [Piece::GatewayAddress, Piece::Literal("/".into()), Piece::GatewayToken];
        assert_eq!(resolve_pieces(&pieces, &places).unwrap(), "http://127.0.0.1:1/t0k");
        assert!(!format!("{places:?}").contains("t0k"));
    }

    #[test]
    fn an_argument_that_linux_would_refuse_is_refused_with_the_mend() {
        let places = places(Path::new("/run"));
        let half = Piece::Literal("x".repeat(ARGUMENT_CAP / 2));
        assert!(resolve_pieces(&[half.clone(), half.clone()], &places).is_ok());
        let error = resolve_pieces(&[half.clone(), half, Piece::Literal("x".into())], &places).unwrap_err();
        assert_eq!(error.kind(), "too-large");
        assert!(error.to_string().contains("standard input"));
    }

    #[test]
    fn unknown_places_and_zero_bytes_are_refused() {
        let places = places(Path::new("/run"));
        let error = resolve_pieces(&[Piece::Place("home".into())], &places).unwrap_err();
        assert!(matches!(&error, PlaceError::UnknownPlace { name } if name == "home"));
        assert!(matches!(resolve_pieces(&[Piece::Literal("a\0".into())], &places), Err(PlaceError::ZeroByte)));
    }

    #[test]
    fn a_placed_file_stays_in_the_run_directory_and_off_the_contract() {
        let dir = tempfile::tempdir().unwrap();
        let places = places(dir.path());
        let long = "x".repeat(NAME_CAP + 1);
        for name in [
            "",
            ".",
            "..",
            "../x",
            "/etc/x",
            "a/b",
            "a\\b",
            "a\nb",
            "Results.JSON",
            "stdout.log",
            "home",
            "home/",
            "home/../x",
            "home//x",
            "Home/x",
            "home/a/b/c/d/e/f/g",
            &long,
        ] {
            // The good name beside it must not be written either.
            let refused = place_files(&[file("good"), file(name)], &places);
            assert!(matches!(refused, Err(PlaceError::FileName { .. })), "{name:?}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        place_files(&[file("settings.json")], &places).unwrap();
        assert_eq!(fs::read(dir.path().join("settings.json")).unwrap(), b"placed");
        place_files(&[file("home/.tool/settings.json")], &places).unwrap();
        assert_eq!(fs::read(dir.path().join("home/.tool/settings.json")).unwrap(), b"placed");
    }

    #[test]
    fn a_folder_that_became_a_link_is_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("home")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), dir.path().join("home/.tool")).unwrap();
        assert!(place_files(&[file("home/.tool/settings.json")], &places(dir.path())).is_err());
        assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_link_that_an_earlier_program_left_is_replaced_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let precious = dir.path().join("precious");
        fs::write(&precious, "kept").unwrap();
        std::os::unix::fs::symlink(&precious, dir.path().join("settings.json")).unwrap();
        place_files(&[file("settings.json")], &places(dir.path())).unwrap();
        assert_eq!(fs::read_to_string(&precious).unwrap(), "kept");
        assert!(fs::symlink_metadata(dir.path().join("settings.json")).unwrap().is_file());
    }
}
