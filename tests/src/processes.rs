//! Which processes are alive.

use std::fs;
use std::path::Path;

/// Processes other than this one that are alive and name the directory in their command line, working directory or
/// environment: number and command line. What a launch starts has its home there, so that nothing of it can hide.
pub fn processes_of(dir: &Path) -> Vec<(u32, String)> {
    let wanted = dir.to_str().expect("a temporary directory is text").as_bytes();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").expect("there is /proc").flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()) else { continue };
        if pid == std::process::id() || is_zombie(&entry.path()) {
            continue;
        }
        let read = |name: &str| fs::read(entry.path().join(name)).unwrap_or_default();
        let command = read("cmdline");
        let cwd = fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(dir));
        if cwd || holds(&command, wanted) || holds(&read("environ"), wanted) {
            found.push((pid, String::from_utf8_lossy(&command).replace('\0', " ")));
        }
    }
    found.sort();
    found
}

fn is_zombie(proc: &Path) -> bool {
    // A process that is gone meanwhile is none either.
    let stat = fs::read_to_string(proc.join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z') || rest.starts_with('X'))
}

fn holds(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
