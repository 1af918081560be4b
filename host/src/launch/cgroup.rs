//! A control group for one launch, where this process may make one (version 2, with `cgroup.kill`): ends even what forks
//! faster than it can be looked for, and what was left when the containing process itself was killed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where the unified hierarchy is found, alone or beside the first version.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// The group of one launch.
#[derive(Debug)]
pub(super) struct Cgroup {
    home: PathBuf,
    path: PathBuf,
}

impl Cgroup {
    /// Makes a group below the own one and moves this process, which must have one thread only, into it. `None` where
    /// that is not allowed.
    pub(super) fn join(own_pid: i32) -> Option<Self> {
        let membership = fs::read_to_string("/proc/self/cgroup").ok()?;
        let below = membership.lines().find_map(|line| line.strip_prefix("0::/"))?;
        let home =
            MOUNTS.iter().map(|mount| Path::new(mount).join(below)).find(|home| home.join("cgroup.procs").exists())?;
        let path = home.join(format!("assize-{own_pid}"));
        fs::create_dir(&path).ok()?;
        let group = Self { home, path };
        if group.path.join("cgroup.kill").exists() && enter(&group.path, own_pid).is_ok() {
            return Some(group);
        }
        group.remove();
        None
    }

    /// Moves this process back, leaving what it has started inside. Without success the group must not be killed.
    pub(super) fn leave(&self, own_pid: i32) -> io::Result<()> {
        enter(&self.home, own_pid)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the group; nothing happens while somebody is in it.
    pub(super) fn remove(&self) {
        let _ = fs::remove_dir(&self.path);
    }
}

/// Kills all processes of a group.
pub(super) fn kill_group(path: &Path) {
    let _ = fs::write(path.join("cgroup.kill"), "1");
}

fn enter(path: &Path, pid: i32) -> io::Result<()> {
    fs::write(path.join("cgroup.procs"), pid.to_string())
}
