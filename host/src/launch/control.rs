//! The host's side of a started program: told when it ends, telling it to end.
#![allow(clippy::disallowed_methods, reason = "the one place where the host starts programs")]

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

use super::cgroup::kill_group;
use super::contain::{CONTAIN_SUBCOMMAND, KILL, NO_STDIN, TERMINATE};
use super::tree::{kill_descendants, session_members, signal, signal_group, terminate_descendants};

/// Time between two tries to remove a control group.
const GROUP_POLL: Duration = Duration::from_millis(5);

/// What to start.
pub(super) struct Start<'a> {
    pub(super) program: &'a Path,
    pub(super) args: &'a [String],
    pub(super) env: &'a [(String, String)],
    pub(super) cwd: &'a Path,
    pub(super) stdin: Option<Vec<u8>>,
    pub(super) container: Option<&'a Path>,
}

/// A started program: its outputs, the work of feeding it, and the control over it. All three are driven together.
pub(super) struct Started {
    pub(super) stdout: ChildStdout,
    pub(super) stderr: ChildStderr,
    pub(super) feed: Feed,
    pub(super) control: Control,
}

/// How the program ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ended {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    /// The container was killed by somebody else, and the program's own status with it.
    pub(super) lost: bool,
}

/// Why nothing was started.
#[derive(Debug)]
pub(super) enum NotStarted {
    /// The program itself.
    Program(io::Error),
    /// The container.
    Container(io::Error),
}

/// Control over one program and everything that it has started.
pub(super) struct Control {
    child: Child,
    /// Lines of the container; none without one.
    reports: Option<Lines<BufReader<ChildStdout>>>,
    commands: UnboundedSender<u8>,
    /// The container's pid, which is the number of its session.
    session: Option<i32>,
    /// The program's pid, once known.
    program: Option<i32>,
    /// Its end was seen, so that its pid may belong to somebody else.
    ended: bool,
    cgroup: Option<PathBuf>,
    /// Nothing of it is left.
    gone: bool,
}

/// What goes to the program or its container.
pub(super) struct Feed {
    to: Option<ChildStdin>,
    bytes: Vec<u8>,
    commands: UnboundedReceiver<u8>,
}

impl Feed {
    /// Writes the input, then each command as it comes, until the control is dropped. Whoever does not read any more
    /// is no error.
    pub(super) async fn run(mut self) {
        if let Some(to) = &mut self.to {
            let _ = to.write_all(&self.bytes).await;
            let _ = to.flush().await;
        }
        self.bytes = Vec::new();
        if let Some(mut to) = self.to.take() {
            while let Some(command) = self.commands.recv().await {
                let _ = to.write_all(&[command]).await;
                let _ = to.flush().await;
            }
        }
    }
}

/// Starts the program, in a container where there is one.
pub(super) fn start(what: Start<'_>) -> Result<Started, NotStarted> {
    match what.container {
        Some(container) => start_contained(container, what).map_err(NotStarted::Container),
        None => start_alone(what).map_err(NotStarted::Program),
    }
}

fn start_contained(container: &Path, what: Start<'_>) -> io::Result<Started> {
    let (ours, theirs) = UnixStream::pair()?;
    let mut command = Command::new(container);
    command.arg(CONTAIN_SUBCOMMAND);
    command.arg(what.stdin.as_ref().map_or_else(|| NO_STDIN.to_owned(), |bytes| bytes.len().to_string()));
    command.arg(what.program).args(what.args).stdin(Stdio::from(OwnedFd::from(theirs)));
    // The container is not killed on drop: the end of the socket makes it kill the program first, then end.
    let mut child = spawn(command, &what)?;
    let session = child.id().and_then(|pid| i32::try_from(pid).ok());
    let reports = std::process::ChildStdout::from(OwnedFd::from(ours.try_clone()?));
    let reports = BufReader::new(ChildStdout::from_std(reports)?).lines();
    let to = ChildStdin::from_std(std::process::ChildStdin::from(OwnedFd::from(ours)))?;
    let (stdout, stderr) = outputs(&mut child)?;
    let (commands, receiver) = mpsc::unbounded_channel();
    let feed = Feed { to: Some(to), bytes: what.stdin.unwrap_or_default(), commands: receiver };
    let control = Control {
        child,
        reports: Some(reports),
        commands,
        session,
        program: None,
        ended: false,
        cgroup: None,
        gone: false,
    };
    Ok(Started { stdout, stderr, feed, control })
}

fn start_alone(what: Start<'_>) -> io::Result<Started> {
    let mut command = Command::new(what.program);
    command.args(what.args).process_group(0).kill_on_drop(true);
    command.stdin(if what.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
    let mut child = spawn(command, &what)?;
    let (stdout, stderr) = outputs(&mut child)?;
    let program = child.id().and_then(|pid| i32::try_from(pid).ok());
    let to = child.stdin.take();
    // Its input ends with the bytes: no command may follow them.
    let (_, receiver) = mpsc::unbounded_channel();
    let (commands, _) = mpsc::unbounded_channel();
    let feed = Feed { to, bytes: what.stdin.unwrap_or_default(), commands: receiver };
    let control =
        Control { child, reports: None, commands, session: None, program, ended: false, cgroup: None, gone: false };
    Ok(Started { stdout, stderr, feed, control })
}

/// Takes the command by value: it holds the far end of the socket, whose end could not be seen while it lives.
fn spawn(mut command: Command, what: &Start<'_>) -> io::Result<Child> {
    command.env_clear().envs(what.env.iter().map(|(name, value)| (name, value)));
    command.current_dir(what.cwd).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn()
}

fn outputs(child: &mut Child) -> io::Result<(ChildStdout, ChildStderr)> {
    match (child.stdout.take(), child.stderr.take()) {
        (Some(stdout), Some(stderr)) => Ok((stdout, stderr)),
        _ => Err(io::Error::other("the outputs were not piped")),
    }
}

impl Control {
    /// Waits for the program's end. May be dropped and called again.
    pub(super) async fn ended(&mut self) -> Result<Ended, NotStarted> {
        let Some(reports) = &mut self.reports else {
            let status = self.child.wait().await.map_err(NotStarted::Program)?;
            self.ended = true;
            return Ok(own_ending(status));
        };
        while let Ok(Some(line)) = reports.next_line().await {
            let (word, value) = line.split_once(' ').unwrap_or((&line, ""));
            let number = value.parse::<i32>().ok();
            match (word, number) {
                ("exited", Some(code)) => {
                    self.ended = true;
                    return Ok(Ended { code: Some(code), ..Ended::default() });
                }
                ("signaled", Some(signal)) => {
                    self.ended = true;
                    return Ok(Ended { signal: Some(signal), ..Ended::default() });
                }
                ("failed", Some(errno)) => return Err(NotStarted::Program(io::Error::from_raw_os_error(errno))),
                ("started", Some(pid)) => self.program = Some(pid),
                ("cgroup", _) => self.cgroup = Some(PathBuf::from(value)),
                _ => {}
            }
        }
        let status = self.child.wait().await.map_err(NotStarted::Container)?;
        // The program may have killed the container before that could tell of it.
        if !self.kill_what_is_known() && self.program.is_none() {
            let message = format!("ended before the program was started: {status}");
            return Err(NotStarted::Container(io::Error::other(message)));
        }
        Ok(Ended { signal: Some(Signal::KILL.as_raw()), lost: true, code: None })
    }

    /// Asks the program and all its descendants to end.
    pub(super) fn terminate(&self) {
        if self.reports.is_some() {
            let _ = self.commands.send(TERMINATE);
        } else if let Some(program) = self.program {
            if !self.ended {
                terminate_descendants(program);
            }
            signal_group(program, Signal::TERM);
        }
    }

    /// Kills the program and all its descendants.
    pub(super) fn kill(&self) {
        if self.reports.is_some() {
            let _ = self.commands.send(KILL);
        } else {
            self.kill_what_is_known();
        }
    }

    /// Waits until nothing is left of a program that was killed. `false` when that took longer than `limit`, or when
    /// the container was lost and with it the certainty.
    pub(super) async fn gone(&mut self, limit: Duration) -> bool {
        let ended = tokio::time::timeout(limit, self.child.wait()).await;
        let certain = matches!(&ended, Ok(Ok(status)) if self.reports.is_none() || status.success());
        if !certain {
            self.kill_what_is_known();
            let _ = self.child.start_kill();
            let _ = tokio::time::timeout(limit, self.group_removed()).await;
        }
        self.gone = true;
        certain
    }

    /// Removes a lost container's control group as soon as the killed processes have left it. The kernel tells nobody.
    async fn group_removed(&self) {
        let Some(cgroup) = &self.cgroup else { return };
        while std::fs::remove_dir(cgroup).is_err() && cgroup.exists() {
            tokio::time::sleep(GROUP_POLL).await;
        }
    }

    /// Kills what can be found without the container's help: the control group, the session that the container made,
    /// the program's group, and everybody whose line of parents leads to one of them. Whether there was somebody.
    fn kill_what_is_known(&self) -> bool {
        if let Some(cgroup) = &self.cgroup {
            kill_group(cgroup);
        }
        let mut roots = self.session.map(session_members).unwrap_or_default();
        roots.extend(self.program.filter(|_| !self.ended));
        for root in &roots {
            signal(*root, Signal::STOP);
            kill_descendants(*root);
            signal(*root, Signal::KILL);
        }
        if let Some(program) = self.program {
            // The number stays the group's as long as one member lives.
            signal_group(program, Signal::KILL);
        }
        !roots.is_empty()
    }
}

impl Drop for Control {
    /// A launch that is given up leaves nothing behind either. With a container the closed socket says it.
    fn drop(&mut self) {
        if !self.gone && self.reports.is_none() {
            self.kill_what_is_known();
        }
    }
}

fn own_ending(status: ExitStatus) -> Ended {
    use std::os::unix::process::ExitStatusExt;

    Ended { code: status.code(), signal: status.signal(), lost: false }
}
