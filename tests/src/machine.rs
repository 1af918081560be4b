//! A machine of a test's own: a home, configuration, programs on `PATH`, and a repository that is audited.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;

use crate::binary::{assize, cache_dir, program};
use crate::processes::processes_of;
use crate::repository::generate;
use crate::run::Assize;
use crate::wait::until;

/// All of it lies in one temporary directory, and nothing of the real user's is seen.
pub struct Machine {
    dir: TempDir,
    repo: PathBuf,
}

impl Machine {
    /// A machine with an empty repository.
    pub fn new() -> Self {
        Self::named("repo")
    }

    /// The same, the repository's folder named as given.
    pub fn named(folder: &str) -> Self {
        let dir = tempfile::Builder::new().prefix("assize-e2e-").tempdir().expect("a temporary directory");
        let root = dir.path().canonicalize().expect("it exists");
        for part in ["home", "config/assize", "bin", "data", folder] {
            fs::create_dir_all(root.join(part)).expect("a folder can be made");
        }
        Self { repo: root.join(folder), dir }
    }

    /// A machine with a generated repository of so many files.
    pub fn with_files(files: usize) -> Self {
        let machine = Self::new();
        generate(&machine.repo, files, 1).expect("the repository can be written");
        machine
    }

    /// The repository.
    pub fn repo(&self) -> &Path {
        &self.repo
    }

    /// A path on the machine.
    pub fn at(&self, path: &str) -> PathBuf {
        self.dir.path().canonicalize().expect("it exists").join(path)
    }

    /// Writes a file of the repository.
    pub fn write(&self, path: &str, text: &str) {
        write(&self.repo.join(path), text);
    }

    /// Writes an executable script.
    pub fn script(&self, path: &Path, text: &str) {
        write(path, text);
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("a mode can be set");
    }

    /// Writes the user's configuration.
    pub fn configure(&self, toml: &str) {
        write(&self.at("config/assize/config.toml"), toml);
    }

    /// Configures the fake worker with these flags as the command provider. Its log is [`Machine::launches`].
    pub fn use_worker(&self, flags: &[&str]) {
        let log = self.at("data/launches");
        let mut command = vec![text(&program("fake-worker")), "{taskPath}".to_owned(), "--log".to_owned(), text(&log)];
        command.extend(flags.iter().map(|flag| (*flag).to_owned()));
        let command = serde_json::to_string(&command).expect("strings are JSON");
        // A JSON array of strings without control characters is a TOML array.
        self.configure(&format!("[providers.command]\ncommand = {command}\n"));
    }

    /// Puts a program on `PATH` under a name.
    pub fn install(&self, program: &Path, name: &str) {
        fs::copy(program, self.at("bin").join(name)).expect("a program can be copied");
    }

    /// A call of the binary: a command, its arguments, and the repository at the end of them.
    pub fn assize(&self, args: &[&str]) -> Assize {
        self.bare().args(args).args([&self.repo])
    }

    /// A call without arguments.
    pub fn bare(&self) -> Assize {
        let path = format!("{}:/usr/bin:/bin", self.at("bin").display());
        let mut env: Vec<(&'static str, OsString)> = vec![("PATH", path.into()), ("LANG", "C.UTF-8".into())];
        env.push(("TZ", "UTC".into()));
        env.push(("XDG_CACHE_HOME", cache_dir().into_os_string()));
        for (name, place) in [("HOME", "home"), ("XDG_CONFIG_HOME", "config"), ("XDG_DATA_HOME", "data")] {
            env.push((name, self.at(place).into_os_string()));
        }
        Assize::new(assize(), env, self.at(""))
    }

    /// `status --json`.
    pub fn status(&self) -> Value {
        self.assize(&["status", "--json"]).run().exits(0).json()
    }

    /// The audit's ledger, after its chain was verified.
    pub fn ledger(&self) -> Vec<Value> {
        self.assize(&["ledger", "verify"]).run().exits(0);
        let entries = self.assize(&["ledger", "show", "--json", "--limit", "1000000"]).run().exits(0).json();
        entries.as_array().expect("a list").clone()
    }

    /// How often each task got a result, by the ledger.
    pub fn results_by_task(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for entry in self.ledger().iter().filter(|entry| entry["kind"] == "result-ingested") {
            let subject = match &entry["subject"] {
                Value::String(text) => serde_json::from_str(text).expect("a subject is JSON"),
                value => value.clone(),
            };
            *counts.entry(subject["task"].as_str().expect("a task").to_owned()).or_insert(0) += 1;
        }
        counts
    }

    /// Asserts that the audit is complete and that every task got exactly one result.
    #[track_caller]
    pub fn each_task_once(&self) {
        let status = self.status();
        assert_eq!(status["complete"], true, "{status:#}");
        let tasks = &status["tasks"];
        assert_eq!((&tasks["pending"], &tasks["leased"], &tasks["parked"]), (&0.into(), &0.into(), &0.into()));
        let counts = self.results_by_task();
        assert_eq!(Some(counts.len() as u64), tasks["done"].as_u64(), "tasks with a result and tasks done");
        let twice: Vec<_> = counts.iter().filter(|(_, count)| **count != 1).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }

    /// The launches that the fake worker logged, in the order of their starts.
    pub fn launches(&self) -> Vec<Value> {
        let log = fs::read_to_string(self.at("data/launches")).unwrap_or_default();
        log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    /// Asserts that soon no process of this machine is left.
    #[track_caller]
    pub fn nothing_is_left(&self) {
        let dir = self.at("");
        let mut left = Vec::new();
        until("the processes of the machine are gone", Duration::from_secs(10), || {
            left = processes_of(&dir);
            left.is_empty()
        });
    }

    /// Every file of the repository with its content, without the audit's own state.
    pub fn tree(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.repo.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder can be listed").flatten() {
                let path = entry.path();
                if path == self.repo.join(".assize") {
                    continue;
                }
                match entry.file_type().expect("an entry has a type") {
                    kind if kind.is_dir() => folders.push(path),
                    kind if kind.is_symlink() => {
                        let target = fs::read_link(&path).expect("a link can be read");
                        files.insert(path, text(&target).into_bytes());
                    }
                    _ => {
                        let bytes = fs::read(&path).expect("a file can be read");
                        files.insert(path, bytes);
                    }
                }
            }
        }
        files
    }
}

impl Default for Machine {
    fn default() -> Self {
        Self::new()
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("it lies in a folder")).expect("a folder can be made");
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

fn text(path: &Path) -> String {
    path.to_str().expect("a path of a test is text").to_owned()
}
