//! Runs one program from start to the moment when nothing of it is left.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assize_core::plugin::Exited;
use rustix::io::Errno;
use thiserror::Error;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::cancel::{Cancel, Urgency};
use super::control::{Control, Ended, NotStarted, Start, start};
use super::environment::{LaunchHome, home_dir, temporary_dir};
use super::output::{Kept, capture, create_log};
use super::redact::Redactor;

/// Bytes of one argument or variable. Linux allows 128 KiB, with the closing zero; anything near it belongs into a file.
pub const ARGUMENT_CAP: usize = 120 * 1024;
/// Time between TERM and KILL.
pub const DEFAULT_GRACE: Duration = Duration::from_secs(10);
/// Time that an output is still read after the program's end, when a descendant keeps it open.
pub const DEFAULT_DRAIN: Duration = Duration::from_secs(2);
/// Time for killed processes to be gone. Only one that hangs in the kernel takes longer than a moment.
const GONE_LIMIT: Duration = Duration::from_secs(5);
/// Time for the outputs to be read to their end when every writer is gone.
const LAST_READ: Duration = Duration::from_millis(500);

/// One program to be run. Everything in it is already resolved, checked and granted.
#[derive(Clone)]
pub struct ProgramSpec {
    /// Absolute path.
    pub program: PathBuf,
    /// Arguments after the program's name.
    pub args: Vec<String>,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    /// What it reads; none closes its standard input.
    pub stdin: Option<Vec<u8>>,
    /// Working directory.
    pub cwd: PathBuf,
    /// Where its files go; exists.
    pub run_dir: PathBuf,
    /// Whether it gets a home of its own, which is then made below the run directory.
    pub home: LaunchHome,
    /// Files of its outputs, made anew.
    pub stdout_file: PathBuf,
    /// The same for standard error.
    pub stderr_file: PathBuf,
    /// The file in which it may leave results.
    pub results_file: PathBuf,
    /// Bytes kept of each output.
    pub output_cap: u64,
    /// Time until it is asked to end.
    pub timeout: Duration,
    /// Time until it is killed after it was asked.
    pub grace: Duration,
    /// Time that outputs are still read after its end.
    pub drain: Duration,
    /// Values that must not be seen in its outputs.
    pub secrets: Vec<String>,
    /// Our own binary, which contains the program when it is started with
    /// [`CONTAIN_SUBCOMMAND`](super::CONTAIN_SUBCOMMAND). Without it only what stays in the program's process group, or
    /// below a living parent, is found at the end.
    pub container: Option<PathBuf>,
}

/// Why a program was not run. Arguments and variables appear in no message.
#[derive(Debug, Error)]
pub enum SpawnError {
    /// Linux would refuse it.
    #[error("{what} has {bytes} bytes, more than a program can be given; hand it over on standard input or in a file")]
    TooLarge {
        /// Which argument or variable.
        what: String,
        /// Its size.
        bytes: usize,
    },
    /// It is not there.
    #[error("program {} is missing", .program.display())]
    NotFound {
        /// Its path.
        program: PathBuf,
    },
    /// The system refused to start it.
    #[error("program {} cannot be started: {source}", .program.display())]
    Start {
        /// Its path.
        program: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The container could not be started, or not used.
    #[error("container {} cannot be used: {source}", .container.display())]
    Container {
        /// Its path.
        container: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The working directory cannot be entered.
    #[error("working directory {} cannot be used", .path.display())]
    Directory {
        /// Its path.
        path: PathBuf,
    },
    /// A file or folder of the launch could not be made.
    #[error("{} cannot be made: {source}", .path.display())]
    RunFile {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl SpawnError {
    /// The word of the plugin interface for it.
    pub fn kind(&self) -> &'static str {
        match self {
            SpawnError::TooLarge { .. } => "too-large",
            SpawnError::NotFound { .. } => "not-found",
            SpawnError::Start { source, .. } if source.kind() == io::ErrorKind::InvalidInput => "invalid",
            SpawnError::Start { .. }
            | SpawnError::Container { .. }
            | SpawnError::Directory { .. }
            | SpawnError::RunFile { .. } => "spawn",
        }
    }
}

/// Runs a program. When this returns, or its future is dropped, nothing of the program is left: see
/// [`ProgramSpec::container`] for what that takes. What could not be made certain is said in
/// [`Exited::extra`] under `containment`, and a log file that could not be written under `log-error`.
pub async fn run_program(mut spec: ProgramSpec, cancel: Cancel) -> Result<Exited, SpawnError> {
    check_sizes(&spec)?;
    make_home(&spec)?;
    if !spec.cwd.is_dir() {
        return Err(SpawnError::Directory { path: spec.cwd });
    }
    let log = |path: &Path| create_log(path).map_err(|source| SpawnError::RunFile { path: path.to_owned(), source });
    let (stdout_log, stderr_log) = (log(&spec.stdout_file)?, log(&spec.stderr_file)?);
    let redactor = Redactor::new(&spec.secrets);

    let begin = Instant::now();
    let stdin = spec.stdin.take();
    let started = start(Start {
        program: &spec.program,
        args: &spec.args,
        env: &spec.env,
        cwd: &spec.cwd,
        stdin,
        container: spec.container.as_deref(),
    });
    let started = started.map_err(|error| explain(&spec, error))?;

    let (stop, stopped) = watch::channel(false);
    let (drained, all_read) = watch::channel(false);
    let captured = async {
        let kept = tokio::join!(
            capture(started.stdout, stdout_log, &redactor, spec.output_cap, stopped.clone()),
            capture(started.stderr, stderr_log, &redactor, spec.output_cap, stopped.clone()),
        );
        let _ = drained.send(true);
        kept
    };
    let mut control = started.control;
    let supervised = async {
        let end = supervise(&mut control, &spec, &cancel, all_read, begin).await;
        let _ = stop.send(true);
        end
    };
    // The input is only written while somebody is watched who may read it.
    let fed = async {
        tokio::select! {
            biased;
            end = supervised => end,
            never = async { started.feed.run().await; std::future::pending().await } => never,
        }
    };
    let ((stdout, stderr), end) = tokio::join!(captured, fed);
    let end = end.map_err(|error| explain(&spec, error))?;
    Ok(exited(&spec, end, stdout, stderr))
}

/// How a launch came to its end.
struct End {
    program: Ended,
    timed_out: bool,
    interrupted: bool,
    wall: Duration,
    /// Nothing is left, and that is known.
    certain: bool,
}

/// What made a program end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    Itself,
    Deadline,
    Interrupt(Urgency),
}

async fn supervise(
    control: &mut Control,
    spec: &ProgramSpec,
    cancel: &Cancel,
    mut all_read: watch::Receiver<bool>,
    begin: Instant,
) -> Result<End, NotStarted> {
    let mut cause = Cause::Itself;
    let mut ended = tokio::select! {
        biased;
        ended = control.ended() => Some(ended?),
        () = cancel.reached(Urgency::Hard) => { cause = Cause::Interrupt(Urgency::Hard); None }
        () = cancel.reached(Urgency::Soft) => { cause = Cause::Interrupt(Urgency::Soft); None }
        () = sleep(spec.timeout) => { cause = Cause::Deadline; None }
    };
    if ended.is_none() && cause != Cause::Interrupt(Urgency::Hard) {
        control.terminate();
        ended = tokio::select! {
            biased;
            ended = control.ended() => Some(ended?),
            () = cancel.reached(Urgency::Hard) => None,
            () = sleep(spec.grace) => None,
        };
    }
    let program = match ended {
        Some(ended) => ended,
        None => {
            control.kill();
            // What hangs in the kernel cannot be killed; the launch ends all the same.
            match timeout(GONE_LIMIT, control.ended()).await {
                Ok(ended) => ended?,
                Err(_) => Ended { lost: true, ..Ended::default() },
            }
        }
    };
    let wall = begin.elapsed();
    if !program.lost {
        tokio::select! {
            biased;
            _ = all_read.wait_for(|read| *read) => {}
            () = cancel.reached(Urgency::Hard) => {}
            () = sleep(spec.drain) => {}
        }
    }
    control.kill();
    let certain = control.gone(GONE_LIMIT).await && !program.lost;
    let _ = timeout(LAST_READ, all_read.wait_for(|read| *read)).await;
    let interrupted = matches!(cause, Cause::Interrupt(_));
    Ok(End { program, timed_out: cause == Cause::Deadline, interrupted, wall, certain })
}

fn exited(spec: &ProgramSpec, end: End, stdout: Kept, stderr: Kept) -> Exited {
    let mut extra = Vec::new();
    if !end.certain {
        extra.push(("containment".to_owned(), "lost".to_owned()));
    }
    if let Some(error) = stdout.file_error.or(stderr.file_error) {
        extra.push(("log-error".to_owned(), error));
    }
    Exited {
        code: end.program.code,
        signal: end.program.signal,
        timed_out: end.timed_out,
        interrupted: end.interrupted,
        stdout: stdout.bytes,
        stderr: stderr.bytes,
        stdout_dropped: stdout.dropped,
        stderr_dropped: stderr.dropped,
        wall_ms: u64::try_from(end.wall.as_millis()).unwrap_or(u64::MAX),
        results_written: has_content(&spec.results_file),
        extra,
    }
}

/// A link does not count: it may lead to a file that the program did not write.
fn has_content(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0)
}

fn check_sizes(spec: &ProgramSpec) -> Result<(), SpawnError> {
    let args = spec.args.iter().enumerate().map(|(at, arg)| (format!("argument {}", at + 1), arg.len()));
    let env = spec.env.iter().map(|(name, value)| (format!("variable {name}"), name.len() + value.len() + 1));
    match args.chain(env).find(|(_, bytes)| *bytes > ARGUMENT_CAP) {
        Some((what, bytes)) => Err(SpawnError::TooLarge { what, bytes }),
        None => Ok(()),
    }
}

fn make_home(spec: &ProgramSpec) -> Result<(), SpawnError> {
    if spec.home != LaunchHome::Launch {
        return Ok(());
    }
    for path in [home_dir(&spec.run_dir), temporary_dir(&spec.run_dir)] {
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(&path);
        made.map_err(|source| SpawnError::RunFile { path, source })?;
    }
    Ok(())
}

fn explain(spec: &ProgramSpec, error: NotStarted) -> SpawnError {
    let (source, from_container) = match error {
        NotStarted::Program(source) => (source, false),
        NotStarted::Container(source) => (source, true),
    };
    if source.raw_os_error() == Some(Errno::TOOBIG.raw_os_error()) {
        let args = spec.args.iter().map(|arg| arg.len() + 1);
        let env = spec.env.iter().map(|(name, value)| name.len() + value.len() + 2);
        return SpawnError::TooLarge { what: "the command line".to_owned(), bytes: args.chain(env).sum() };
    }
    match &spec.container {
        Some(container) if from_container && source.kind() != io::ErrorKind::InvalidInput => {
            SpawnError::Container { container: container.clone(), source }
        }
        // A script whose interpreter is missing is there and yet not found.
        _ if source.kind() == io::ErrorKind::NotFound && !spec.program.exists() => {
            SpawnError::NotFound { program: spec.program.clone() }
        }
        _ => SpawnError::Start { program: spec.program.clone(), source },
    }
}

#[cfg(test)]
#[path = "program_tests.rs"]
mod tests;
