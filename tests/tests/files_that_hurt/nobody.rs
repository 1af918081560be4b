//! The program as an unprivileged user, because to root every file is readable.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use assize_tests::{Machine, assize};
use rustix::process::geteuid;

/// The user and group that own nothing.
const NOBODY: u32 = 65_534;

/// A call of the program by somebody to whom permissions apply. Its cache and state lie in a folder of its own.
pub(crate) struct Nobody<'a> {
    machine: &'a Machine,
    program: PathBuf,
    own: PathBuf,
}

impl<'a> Nobody<'a> {
    /// Gives the machine's folders open permissions, and nobody a folder and a copy of the program.
    pub(crate) fn on(machine: &'a Machine) -> Self {
        let own = machine.at("nobody");
        fs::create_dir_all(&own).unwrap();
        let program = machine.at("bin/assize");
        fs::copy(assize(), &program).unwrap();
        mode(&machine.at(""), 0o755);
        mode(&program, 0o755);
        mode(&own, 0o777);
        Self { machine, program, own }
    }

    /// A path in nobody's folder.
    pub(crate) fn own(&self, path: &str) -> PathBuf {
        self.own.join(path)
    }

    /// Calls the program on the repository.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Output {
        let mut command = if geteuid().is_root() {
            let mut command = Command::new("setpriv");
            let ids = [format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"), "--clear-groups".to_owned()];
            command.args(ids).arg("--").arg(&self.program);
            command
        } else {
            Command::new(&self.program)
        };
        command.args(args).arg(self.machine.repo()).current_dir(&self.own).env_clear();
        for name in ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env(name, self.own.join("home"));
        }
        command.env("PATH", "/usr/bin:/bin").output().unwrap()
    }
}

/// Sets a mode.
pub(crate) fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
