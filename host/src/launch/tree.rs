//! Finding the descendants of a process and signalling all of them.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Rounds of looking for new descendants before giving up on a program that forks faster than it can be stopped.
/// The caller looks again whenever one of them has ended.
const ROUNDS: usize = 256;

/// All living descendants of a process, parents before children. Zombies are among them: a process whose first thread
/// has ended looks like one while its other threads go on.
pub(super) fn descendants(root: i32) -> Vec<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for process in processes() {
        children.entry(process.parent).or_default().push(process.pid);
    }
    let mut found = Vec::new();
    let mut open = vec![root];
    while let Some(pid) = open.pop() {
        // Removing the entry makes the walk end even if pids were reused into a circle while it was read.
        for child in children.remove(&pid).unwrap_or_default() {
            found.push(child);
            open.push(child);
        }
    }
    found
}

/// The processes of a session. Its number stays its own as long as one of them lives, even when its leader is gone.
pub(super) fn session_members(session: i32) -> Vec<i32> {
    processes().into_iter().filter(|process| process.session == session).map(|process| process.pid).collect()
}

#[derive(Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    session: i32,
}

/// Every process that can be seen.
#[cfg(target_os = "linux")]
fn processes() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    pids.filter_map(|pid| process_in_stat(pid, &std::fs::read(format!("/proc/{pid}/stat")).ok()?)).collect()
}

/// Other systems have no `/proc` to walk; the process group is all that is known there.
#[cfg(not(target_os = "linux"))]
fn processes() -> Vec<Process> {
    Vec::new()
}

/// The text of `/proc/PID/stat`. The second field is the program's own name in parentheses and may hold anything, so
/// fields are counted from the last closing one: state, parent, group, session.
#[cfg(target_os = "linux")]
fn process_in_stat(pid: i32, stat: &[u8]) -> Option<Process> {
    let close = stat.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(stat.get(close + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace().skip(1);
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    Some(Process { pid, parent, session })
}

/// Whether one of the descendants may still write to an output that this process was given. Unknown counts as yes.
#[cfg(target_os = "linux")]
pub(super) fn descendants_hold_output(root: i32) -> bool {
    let outputs: Vec<_> =
        [1, 2].iter().filter_map(|fd| std::fs::read_link(format!("/proc/self/fd/{fd}")).ok()).collect();
    descendants(root).into_iter().any(|pid| {
        let Ok(entries) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
            // A process that has just ended has no such folder; one of another user's cannot be looked into.
            return std::fs::metadata(format!("/proc/{pid}")).is_ok();
        };
        entries.flatten().any(|fd| std::fs::read_link(fd.path()).is_ok_and(|target| outputs.contains(&target)))
    })
}

/// Unknown on other systems.
#[cfg(not(target_os = "linux"))]
pub(super) fn descendants_hold_output(_root: i32) -> bool {
    true
}

/// Sends a signal; a process that is gone or not ours is no error.
pub(super) fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = positive(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Sends a signal to a process group.
pub(super) fn signal_group(group: i32, signal: Signal) {
    if let Some(group) = positive(group) {
        let _ = kill_process_group(group, signal);
    }
}

/// Zero, one and negative numbers mean something else than one process, and are never signalled.
fn positive(pid: i32) -> Option<Pid> {
    if pid > 1 { Pid::from_raw(pid) } else { None }
}

/// Asks all descendants to end.
pub(super) fn terminate_descendants(root: i32) {
    for pid in descendants(root) {
        signal(pid, Signal::TERM);
    }
}

/// Kills all descendants. They are stopped first, parents before children, so that none can fork away meanwhile, and
/// looked for until two looks in a row find nobody new.
pub(super) fn kill_descendants(root: i32) {
    let mut seen = BTreeSet::new();
    let mut stopped = Vec::new();
    let mut quiet = 0;
    for _ in 0..ROUNDS {
        let fresh: Vec<i32> = descendants(root).into_iter().filter(|pid| seen.insert(*pid)).collect();
        if fresh.is_empty() {
            quiet += 1;
            if quiet == 2 {
                break;
            }
            for pid in stopped.drain(..) {
                signal(pid, Signal::KILL);
            }
            continue;
        }
        quiet = 0;
        for pid in fresh {
            signal(pid, Signal::STOP);
            stopped.push(pid);
        }
    }
    for pid in stopped {
        signal(pid, Signal::KILL);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_hide_parent_and_session() {
        let process = |parent, session| Some(Process { pid: 42, parent, session });
        assert_eq!(process_in_stat(42, b"42 (a) S 7 (x) S 13 5 6 0"), process(13, 6));
        assert_eq!(process_in_stat(42, b"42 (sh) S 7 42 43"), process(7, 43));
        assert_eq!(process_in_stat(42, b"42 (sh) S 7 42"), None);
        assert_eq!(process_in_stat(42, b"42 sh"), None);
        assert_eq!(process_in_stat(42, b""), None);
    }

    #[test]
    fn this_process_is_a_descendant_of_its_parent() {
        let parent = rustix::process::getppid().map_or(0, |pid| pid.as_raw_nonzero().get());
        let me = rustix::process::getpid().as_raw_nonzero().get();
        // In a container the parent may live in another pid namespace and is then 0, which has children, too.
        assert!(descendants(parent).contains(&me));
    }

    #[test]
    fn everybody_and_init_are_never_signalled() {
        assert!(positive(0).is_none());
        assert!(positive(-1).is_none());
        assert!(positive(1).is_none());
    }
}
