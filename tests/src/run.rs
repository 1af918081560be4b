//! Running the binary: with nothing of the environment of the test, within a time, and with all that it says kept.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use serde_json::Value;

use crate::wait::until;

/// Longest run of a test, unless it says otherwise. The machine may be busy.
const LIMIT: Duration = Duration::from_secs(120);

/// One call of the binary that is to be made.
pub struct Assize {
    command: Command,
    stdin: Vec<u8>,
    limit: Duration,
}

impl Assize {
    /// A call of this program with this whole environment.
    pub(crate) fn new(program: PathBuf, env: Vec<(&'static str, OsString)>, cwd: PathBuf) -> Self {
        let mut command = Command::new(program);
        command.env_clear().envs(env).current_dir(cwd).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { command, stdin: Vec::new(), limit: LIMIT }
    }

    /// Adds arguments.
    pub fn args<S: AsRef<std::ffi::OsStr>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.command.args(args);
        self
    }

    /// Adds a variable.
    pub fn env(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// Starts it elsewhere than in its machine's own directory.
    pub fn cwd(mut self, dir: impl AsRef<std::path::Path>) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// What it reads; nothing unless said.
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Time until the test gives up.
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Starts it.
    pub fn start(mut self) -> Running {
        let mut child = self.command.spawn().unwrap_or_else(|error| panic!("cannot start {:?}: {error}", self.command));
        let mut input = child.stdin.take().expect("a pipe");
        let bytes = self.stdin;
        // One that does not read it is no error.
        thread::spawn(move || input.write_all(&bytes));
        let mut stdout = child.stdout.take().expect("a pipe");
        let stdout = thread::spawn(move || {
            let mut text = Vec::new();
            let _ = stdout.read_to_end(&mut text);
            text
        });
        let stderr = BufReader::new(child.stderr.take().expect("a pipe"));
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in stderr.split(b'\n').map_while(Result::ok) {
                let _ = sender.send(String::from_utf8_lossy(&line).into_owned());
            }
        });
        let deadline = Instant::now() + self.limit;
        Running { child, stdout: Some(stdout), lines, said: Vec::new(), deadline, status: None }
    }

    /// Runs it to its end.
    pub fn run(self) -> Ended {
        self.start().wait()
    }
}

/// A call that runs. It is killed, with its group, when the value is dropped.
pub struct Running {
    child: Child,
    stdout: Option<JoinHandle<Vec<u8>>>,
    lines: Receiver<String>,
    said: Vec<String>,
    deadline: Instant,
    status: Option<ExitStatus>,
}

impl Running {
    /// Its process number.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits for a line on standard error that the condition likes; `None` when it ended without one.
    ///
    /// # Panics
    /// At the deadline.
    pub fn line(&mut self, mut likes: impl FnMut(&str) -> bool) -> Option<String> {
        loop {
            match self.lines.recv_timeout(self.deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    self.said.push(line.clone());
                    if likes(&line) {
                        return Some(line);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("it did not say it in time; it said:\n{}", self.said.join("\n"))
                }
            }
        }
    }

    /// Whether it has ended.
    pub fn is_over(&mut self) -> bool {
        self.status = self.status.or_else(|| self.child.try_wait().expect("it can be waited for"));
        self.status.is_some()
    }

    /// Sends a signal to the process alone.
    pub fn signal(&self, signal: Signal) {
        let _ = kill_process(pid_of(&self.child), signal);
    }

    /// Waits for the end.
    ///
    /// # Panics
    /// At the deadline.
    pub fn wait(mut self) -> Ended {
        while self.line(|_| false).is_some() {}
        let limit = self.deadline.saturating_duration_since(Instant::now());
        until("the process ends", limit, || self.is_over());
        let status = self.status.expect("it has ended");
        let stdout = self.stdout.take().map(|reader| reader.join().expect("the reader ends")).unwrap_or_default();
        Ended {
            code: status.code(),
            signal: status.signal(),
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: self.said.join("\n"),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.status.is_none() {
            let _ = kill_process_group(pid_of(&self.child), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

fn pid_of(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).expect("a process number")).expect("it is not zero")
}

/// A call that has ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Exit code; none when a signal ended it.
    pub code: Option<i32>,
    /// Signal that ended it.
    pub signal: Option<i32>,
    /// All of standard output.
    pub stdout: String,
    /// All of standard error.
    pub stderr: String,
}

impl Ended {
    /// Asserts the exit code.
    #[track_caller]
    pub fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "signal {:?}\n{}\n{}", self.signal, self.stdout, self.stderr);
        self
    }

    /// Asserts that standard error holds a text.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "it does not say {text:?}:\n{}\n{}", self.stdout, self.stderr);
        self
    }

    /// Standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in the output:\n{}\n{}", self.stdout, self.stderr))
    }
}
