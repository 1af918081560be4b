//! The binary under measurement with a home, a configuration and caches of its own, and the repositories that it audits.
#![allow(clippy::disallowed_methods, reason = "a benchmark starts git and reads where programs are")]

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::call::{Call, Cost, measure};

/// The binary and its scratch directory.
pub struct Subject {
    assize: PathBuf,
    scratch: PathBuf,
    /// Directory of this measurement alone.
    fresh: PathBuf,
    /// Number of the cache in use, and of the last state directory.
    cache: usize,
    states: usize,
}

impl Subject {
    /// Prepares the scratch directory; the configuration names the worker.
    ///
    /// # Errors
    /// When a file cannot be written or the binary is not there.
    pub fn prepare(assize: &Path, worker: &Path, scratch: &Path) -> io::Result<Self> {
        fs::create_dir_all(scratch.join("config/assize"))?;
        fs::create_dir_all(scratch.join("home"))?;
        let worker = fs::canonicalize(worker)?;
        let words = serde_json::json!([worker, "{taskPath}"]);
        // A JSON array of strings is an array of TOML too.
        fs::write(scratch.join("config/assize/config.toml"), format!("[providers.command]\ncommand = {words}\n"))?;
        let scratch = fs::canonicalize(scratch)?;
        let fresh = scratch.join(format!("measurement-{}", std::process::id()));
        remove(&fresh)?;
        fs::create_dir(&fresh)?;
        Ok(Self { assize: fs::canonicalize(assize)?, scratch, fresh, cache: 0, states: 0 })
    }

    /// A state directory that never was. What is not used any more is kept until `close`: some file systems search long
    /// for a place for a new file while many were removed a moment ago, and that would be measured.
    pub fn new_state(&mut self) -> PathBuf {
        self.states += 1;
        self.fresh.join(format!("state-{}", self.states))
    }

    /// Goes on with a cache of compiled components that is empty.
    pub fn empty_cache(&mut self) {
        self.cache += 1;
    }

    /// Removes states and caches; the repositories stay for another measurement.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn close(self) -> io::Result<()> {
        remove(&self.fresh)
    }

    /// A place in the scratch directory.
    pub fn place(&self, name: &str) -> PathBuf {
        self.scratch.join(name)
    }

    /// A repository of so many source files, made once and committed where there is git.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn repository(&self, files: usize) -> io::Result<PathBuf> {
        let root = self.place(&format!("repository-{files}"));
        let done = self.place(&format!("repository-{files}.done"));
        if done.exists() {
            return Ok(root);
        }
        remove(&root)?;
        fs::create_dir_all(&root)?;
        assize_tests::generate(&root, files, 1)?;
        for args in [
            &["init", "-q"][..],
            &["add", "-A"],
            &["-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-q", "-m", "generated"],
        ] {
            let _ = Command::new("git").arg("-C").arg(&root).args(args).status();
        }
        fs::write(done, "")?;
        Ok(root)
    }

    /// Makes calls of the binary with the arguments that `args_of` gives for each.
    ///
    /// # Errors
    /// When it fails.
    pub fn measure(&self, repeats: usize, mut args_of: impl FnMut(usize) -> Vec<OsString>) -> io::Result<Cost> {
        measure(repeats, |at| self.call(args_of(at), true))
    }

    /// The same without the program that reports peaks, whose own start would be part of what is short.
    ///
    /// # Errors
    /// When it fails.
    pub fn measure_bare(&self, args: &[OsString], repeats: usize) -> io::Result<Cost> {
        measure(repeats, |_| self.call(args.to_vec(), false))
    }

    /// Tasks that have a result, from the binary's own account.
    ///
    /// # Errors
    /// When it fails.
    pub fn tasks_done(&self, root: &Path, state: &Path) -> io::Result<u64> {
        let args = [
            "status".into(),
            "--json".into(),
            "--state-dir".into(),
            state.as_os_str().to_owned(),
            root.as_os_str().to_owned(),
        ];
        let status: Value = serde_json::from_str(&self.measure_bare(&args, 1)?.stdout)?;
        Ok(status["tasks"]["done"].as_u64().unwrap_or(0))
    }

    fn call(&self, args: Vec<OsString>, with_peak: bool) -> Call {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let env = vec![
            ("PATH".to_owned(), path),
            ("HOME".to_owned(), self.place("home").into()),
            ("XDG_CONFIG_HOME".to_owned(), self.place("config").into()),
            ("XDG_CACHE_HOME".to_owned(), self.fresh.join(format!("cache-{}", self.cache)).into()),
        ];
        let peak_file = with_peak.then(|| self.place("peak"));
        Call { program: self.assize.clone(), args, env, peak_file }
    }
}

/// Removes a directory of the scratch directory, if it is there.
///
/// # Errors
/// Those of the file system.
pub fn remove(dir: &Path) -> io::Result<()> {
    match fs::remove_dir_all(dir) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
