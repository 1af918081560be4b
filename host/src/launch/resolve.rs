//! From the name of a program to the file that is started: never one of the audited repository.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use thiserror::Error;

/// A program that may be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedProgram {
    /// Absolute path under which it is started. Links are kept: some programs act by the name they are called by.
    pub path: PathBuf,
    /// The file behind all links, for the record.
    pub file: PathBuf,
}

/// Why a name leads to no program.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ResolveError {
    /// The name is neither bare nor absolute.
    #[error("program {name:?} is neither a bare name nor an absolute path; name it as `tool` or `/path/to/tool`")]
    Name {
        /// As given.
        name: String,
    },
    /// No entry of PATH has it.
    #[error("program {name} is not on PATH; install it, or name its absolute path in the provider's configuration")]
    NotOnPath {
        /// As given.
        name: String,
    },
    /// Nothing is at the absolute path.
    #[error("program {} does not exist; mend its path in the provider's configuration", .path.display())]
    Missing {
        /// As given.
        path: PathBuf,
    },
    /// It is a folder, a device, or lacks the permission.
    #[error("{} is not an executable file; name another, or `chmod +x` it", .path.display())]
    NotExecutable {
        /// As given or found.
        path: PathBuf,
    },
    /// It lies in the repository that is audited.
    #[error("program {} lies inside the audited repository ({}); use one that is installed outside it", .path.display(), .file.display())]
    InsideRepository {
        /// As given or found.
        path: PathBuf,
        /// Where it really lies.
        file: PathBuf,
    },
}

/// Resolves a bare name on `path_var`, or checks an absolute path. Entries of PATH that are relative or lie inside the
/// repository are not looked at; links that lead into it are refused.
pub fn resolve_program(name: &str, path_var: &OsStr, repo: &Path) -> Result<ResolvedProgram, ResolveError> {
    let given = Path::new(name);
    if given.is_absolute() && !name.contains('\0') {
        return check_candidate(given, repo);
    }
    let mut parts = given.components();
    let bare = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
    if !bare || name.contains(['/', '\\', '\0']) {
        return Err(ResolveError::Name { name: name.to_owned() });
    }
    let mut refusal = ResolveError::NotOnPath { name: name.to_owned() };
    for entry in std::env::split_paths(path_var).filter(|entry| entry.is_absolute() && !is_inside(entry, repo)) {
        match check_candidate(&entry.join(name), repo) {
            Ok(program) => return Ok(program),
            Err(ResolveError::Missing { .. }) => {}
            // A later entry may have a better one; if none has, this says more than that it is not there.
            Err(other) => {
                if matches!(refusal, ResolveError::NotOnPath { .. }) {
                    refusal = other;
                }
            }
        }
    }
    Err(refusal)
}

fn check_candidate(path: &Path, repo: &Path) -> Result<ResolvedProgram, ResolveError> {
    let Ok(file) = fs::canonicalize(path) else { return Err(ResolveError::Missing { path: path.to_owned() }) };
    if is_inside(path, repo) || is_inside(&file, repo) {
        return Err(ResolveError::InsideRepository { path: path.to_owned(), file });
    }
    match fs::metadata(&file) {
        Ok(metadata) if metadata.is_file() && metadata.permissions().mode() & 0o111 != 0 => {
            Ok(ResolvedProgram { path: path.to_owned(), file })
        }
        _ => Err(ResolveError::NotExecutable { path: path.to_owned() }),
    }
}

/// Whether a path leads into the repository, as written or in truth.
pub(super) fn is_inside(path: &Path, repo: &Path) -> bool {
    let real_repo = fs::canonicalize(repo);
    let real_repo = real_repo.as_deref().unwrap_or(repo);
    let real_path = fs::canonicalize(path);
    let real_path = real_path.as_deref().unwrap_or(path);
    path.starts_with(repo) || path.starts_with(real_repo) || real_path.starts_with(real_repo)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    struct Machine {
        dir: tempfile::TempDir,
    }

    impl Machine {
        /// `bin/` on PATH, `repo/` audited.
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            fs::create_dir_all(dir.path().join("bin")).unwrap();
            fs::create_dir_all(dir.path().join("repo/bin")).unwrap();
            Self { dir }
        }

        fn at(&self, path: &str) -> PathBuf {
            self.dir.path().join(path)
        }

        fn program(&self, path: &str) -> PathBuf {
            let path = self.at(path);
            fs::write(&path, "#!/bin/sh\n").unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            path
        }

        fn resolve(&self, name: &str, path: &[&str]) -> Result<ResolvedProgram, ResolveError> {
            let path: Vec<PathBuf> = path.iter().map(|entry| self.at(entry)).collect();
            resolve_program(name, &std::env::join_paths(path).unwrap(), &self.at("repo"))
        }
    }

    #[test]
    fn a_bare_name_is_found_on_path_outside_the_repository_only() {
        let machine = Machine::new();
        machine.program("repo/bin/tool");
        assert_eq!(machine.resolve("tool", &["repo/bin", "bin"]), Err(ResolveError::NotOnPath { name: "tool".into() }));
        let outside = machine.program("bin/tool");
        assert_eq!(machine.resolve("tool", &["repo/bin", "bin"]).unwrap().path, outside);
    }

    #[test]
    fn a_link_into_the_repository_is_refused_and_one_elsewhere_keeps_its_name() {
        let machine = Machine::new();
        let inside = machine.program("repo/bin/evil");
        symlink(&inside, machine.at("bin/tool")).unwrap();
        symlink(machine.at("repo/bin"), machine.at("linked")).unwrap();
        assert!(matches!(machine.resolve("tool", &["bin"]), Err(ResolveError::InsideRepository { .. })));
        assert!(matches!(machine.resolve("evil", &["linked"]), Err(ResolveError::NotOnPath { .. })));
        let real = machine.program("real");
        fs::remove_file(machine.at("bin/tool")).unwrap();
        symlink(&real, machine.at("bin/tool")).unwrap();
        let found = machine.resolve("tool", &["bin"]).unwrap();
        assert_eq!(found.path, machine.at("bin/tool"));
        assert_eq!(found.file, fs::canonicalize(real).unwrap());
    }

    #[test]
    fn an_absolute_path_must_lie_outside_the_repository() {
        let machine = Machine::new();
        let inside = machine.program("repo/bin/tool");
        let around = machine.at("repo/../bin/../repo/bin/tool");
        for path in [inside, around] {
            let refused = machine.resolve(path.to_str().unwrap(), &[]);
            assert!(matches!(refused, Err(ResolveError::InsideRepository { .. })), "{refused:?}");
        }
        let outside = machine.program("bin/tool");
        assert_eq!(machine.resolve(outside.to_str().unwrap(), &[]).unwrap().path, outside);
        let missing = machine.at("bin/none");
        assert_eq!(machine.resolve(missing.to_str().unwrap(), &[]), Err(ResolveError::Missing { path: missing }));
    }

    #[test]
    fn relative_names_and_relative_path_entries_are_never_used() {
        let machine = Machine::new();
        machine.program("bin/tool");
        for name in ["", ".", "..", "./tool", "bin/tool", "tool/", "a\\b", "to\0ol", "/bin/\0sh"] {
            let refused = machine.resolve(name, &["bin"]);
            assert_eq!(refused, Err(ResolveError::Name { name: name.to_owned() }), "{name:?}");
        }
        let relative = resolve_program("cargo", OsStr::new(".:bin::./bin"), &machine.at("repo"));
        assert!(matches!(relative, Err(ResolveError::NotOnPath { .. })));
    }

    #[test]
    fn what_cannot_be_executed_is_named() {
        let machine = Machine::new();
        fs::write(machine.at("bin/data"), "x").unwrap();
        let refused = machine.resolve("data", &["bin"]).unwrap_err();
        assert_eq!(refused, ResolveError::NotExecutable { path: machine.at("bin/data") });
        assert!(refused.to_string().contains("chmod +x"));
        assert_eq!(machine.resolve("bin", &["."]), Err(ResolveError::NotExecutable { path: machine.at("bin") }));
    }
}
