//! The container: our own binary, started again as the parent of one launched program.
//!
//! It is the subreaper of everything that the program starts, so that no session, double fork or ignored signal leads
//! out of it, and it outlives the host by the moment that it takes to kill them all: its standard input is a socket to
//! the host, and the end of that socket is the end of the host, even by SIGKILL.
//!
//! The socket carries first the bytes for the program's standard input, then commands, one byte each: [`TERMINATE`] and
//! [`KILL`]. Back come lines: `cgroup PATH`, `started PID`, then `exited CODE` or `signaled NUMBER` when the program has
//! ended, or `failed ERRNO` when it could not be started. The container itself ends when no descendant is left.
//! Small and synchronous, because an audit starts hundreds of them.
#![allow(clippy::disallowed_methods, reason = "the containing process starts the program that it contains")]

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{ChildStdin, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use rustix::process::{Signal, WaitOptions, WaitStatus, getpid, setsid, wait};

use super::cgroup::{Cgroup, kill_group};
use super::tree::{descendants_hold_output, kill_descendants, signal_group, terminate_descendants};

/// The hidden first argument that makes the binary a container.
pub const CONTAIN_SUBCOMMAND: &str = "__contain";

/// In place of a number of bytes: the program's standard input is empty from the start.
pub(super) const NO_STDIN: &str = "none";
/// Ask all descendants to end.
pub(super) const TERMINATE: u8 = b't';
/// Kill all descendants.
pub(super) const KILL: u8 = b'k';

/// Exit status for a call that did not come from a host.
const MISUSE: u8 = 2;

/// Runs the program of these arguments (those after [`CONTAIN_SUBCOMMAND`]: bytes of standard input, program, its
/// arguments) until neither it nor any descendant is left. To be called before any thread exists.
pub fn contain_main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args = args.into_iter();
    let (Some(stdin), Some(program)) = (args.next(), args.next()) else { return ExitCode::from(MISUSE) };
    let stdin_bytes = match stdin.to_str() {
        Some(NO_STDIN) => None,
        Some(number) => match number.parse::<u64>() {
            Ok(bytes) => Some(bytes),
            Err(_) => return ExitCode::from(MISUSE),
        },
        None => return ExitCode::from(MISUSE),
    };
    let Ok(control) = io::stdin().as_fd().try_clone_to_owned().map(UnixStream::from) else {
        return ExitCode::from(MISUSE);
    };
    // Without a terminal of its own the program cannot stop for a question, and Ctrl-C reaches the host alone.
    let _ = setsid();
    become_subreaper();
    contain(&control, stdin_bytes, &program, args.collect())
}

fn contain(control: &UnixStream, stdin_bytes: Option<u64>, program: &OsString, args: Vec<OsString>) -> ExitCode {
    let me = getpid().as_raw_nonzero().get();
    let group = Cgroup::join(me);
    if let Some(group) = &group {
        report(control, &format!("cgroup {}", group.path().display()));
    }
    let mut command = Command::new(program);
    command.args(args).process_group(0);
    command.stdin(if stdin_bytes.is_some() { Stdio::piped() } else { Stdio::null() });
    let spawned = command.spawn();
    // A group that this process could not leave would take it along when it is killed.
    let group = group.filter(|group| group.leave(me).is_ok());
    let mut child = match spawned {
        Ok(child) => child,
        Err(error) => {
            report(control, &format!("failed {}", error.raw_os_error().unwrap_or(0)));
            if let Some(group) = &group {
                group.remove();
            }
            return ExitCode::FAILURE;
        }
    };
    let program = i32::try_from(child.id()).unwrap_or(0);
    report(control, &format!("started {program}"));

    let tree = Arc::new(Tree { me, program, group, killing: AtomicBool::new(false) });
    if let Ok(commands) = control.try_clone() {
        let (tree, stdin) = (tree.clone(), child.stdin.take());
        thread::spawn(move || obey(commands, stdin, stdin_bytes.unwrap_or(0), &tree));
    } else {
        tree.kill();
    }
    reap(control, &tree);
    if let Some(group) = &tree.group {
        group.remove();
    }
    ExitCode::SUCCESS
}

/// Everything that the program has started.
struct Tree {
    me: i32,
    program: i32,
    group: Option<Cgroup>,
    killing: AtomicBool,
}

impl Tree {
    fn terminate(&self) {
        if cfg!(target_os = "linux") {
            terminate_descendants(self.me);
        } else {
            signal_group(self.program, Signal::TERM);
        }
    }

    fn kill(&self) {
        self.killing.store(true, Ordering::SeqCst);
        if let Some(group) = &self.group {
            kill_group(group.path());
        }
        if cfg!(target_os = "linux") {
            kill_descendants(self.me);
        } else {
            signal_group(self.program, Signal::KILL);
        }
    }
}

/// Waits for every descendant, the program first of all, until there is none.
fn reap(control: &UnixStream, tree: &Tree) {
    let mut options = WaitOptions::empty();
    loop {
        match wait(options) {
            Ok(Some((pid, status))) => {
                if pid.as_raw_nonzero().get() == tree.program {
                    report(control, &ending(status));
                    // Mostly nobody is left, and asking the kernel that is cheaper than looking for them.
                    options = WaitOptions::NOHANG;
                } else if tree.killing.load(Ordering::SeqCst) {
                    // An end may have given us children that the killing round did not see.
                    tree.kill();
                }
            }
            Ok(None) => {
                options = WaitOptions::empty();
                // Whoever is left may still have something to say, unless nobody can hear it.
                if !descendants_hold_output(tree.me) {
                    tree.kill();
                }
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return,
        }
    }
}

/// Reads the program's input and then the host's commands, until the host is gone.
fn obey(mut commands: UnixStream, stdin: Option<ChildStdin>, stdin_bytes: u64, tree: &Tree) {
    let mut input = Vec::new();
    let whole = (&commands).take(stdin_bytes).read_to_end(&mut input);
    if whole.is_ok_and(|read| u64::try_from(read) == Ok(stdin_bytes)) {
        // A program that does not read must not keep us from hearing the host.
        if let Some(stdin) = stdin {
            thread::spawn(move || feed(stdin, &input));
        }
        let mut command = [0_u8; 1];
        while commands.read_exact(&mut command).is_ok() {
            match command[0] {
                TERMINATE => tree.terminate(),
                KILL => tree.kill(),
                _ => break,
            }
        }
    }
    tree.kill();
}

/// A program that ends or closes its input early is no error.
fn feed(mut stdin: ChildStdin, input: &[u8]) {
    let _ = stdin.write_all(input);
}

fn ending(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => format!("exited {code}"),
        (None, Some(signal)) => format!("signaled {signal}"),
        (None, None) => "signaled 0".to_owned(),
    }
}

/// A host that is gone cannot be told; the reading side sees that, too, and acts on it.
fn report(mut control: &UnixStream, line: &str) {
    let _ = control.write_all(format!("{line}\n").as_bytes());
}

#[cfg(target_os = "linux")]
fn become_subreaper() {
    let _ = rustix::process::set_child_subreaper(Some(getpid()));
}

#[cfg(not(target_os = "linux"))]
fn become_subreaper() {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_without_a_program_is_refused() {
        let misuse = format!("{:?}", ExitCode::from(MISUSE));
        assert_eq!(format!("{:?}", contain_main([])), misuse);
        assert_eq!(format!("{:?}", contain_main([OsString::from("none")])), misuse);
        assert_eq!(format!("{:?}", contain_main([OsString::from("-1"), OsString::from("/bin/true")])), misuse);
    }
}
