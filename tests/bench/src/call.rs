//! One call of a program, measured. CPU time is that of all processes of the call that were waited for, as the kernel
//! accounts it to this process's children; it comes in hundredths of a second, so what is short is repeated. Memory is
//! the peak of the largest process, as `/usr/bin/time` reports it; without that program it is not told.
#![allow(clippy::disallowed_methods, reason = "a benchmark starts the program that it measures and reads the clock")]

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The program that reports peaks.
const TIME: &str = "/usr/bin/time";
/// Ticks of a second in `/proc`, which Linux promises to user space.
const TICKS: f64 = 100.0;

/// A call that is to be made.
#[derive(Clone, Debug)]
pub struct Call {
    /// Program.
    pub program: PathBuf,
    /// Arguments.
    pub args: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(String, OsString)>,
    /// File for the peak; the call is wrapped when it is given.
    pub peak_file: Option<PathBuf>,
}

/// What calls cost.
#[derive(Clone, Debug, Default)]
pub struct Cost {
    /// Wall seconds of each call.
    pub walls: Vec<f64>,
    /// CPU seconds of one call, on average.
    pub cpu: f64,
    /// MiB of the largest process.
    pub peak_mib: Option<f64>,
    /// Standard output of the last call.
    pub stdout: String,
}

impl Cost {
    /// The median of the wall seconds.
    pub fn wall(&self) -> f64 {
        let mut walls = self.walls.clone();
        walls.sort_by(f64::total_cmp);
        walls.get(walls.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

/// Makes a call some times; `call_of` says for each time which one.
///
/// # Errors
/// When the program cannot be started or says that it failed.
pub fn measure(repeats: usize, mut call_of: impl FnMut(usize) -> Call) -> io::Result<Cost> {
    let mut cost = Cost::default();
    let mut ticks = 0;
    for at in 0..repeats {
        let call = call_of(at);
        let ticks_before = ticks_of_children()?;
        let started = Instant::now();
        let output = command(&call).output()?;
        cost.walls.push(started.elapsed().as_secs_f64());
        ticks += ticks_of_children()? - ticks_before;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let tail: Vec<&str> = said.lines().rev().take(5).collect();
            return Err(io::Error::other(format!(
                "{} ended with {}: {}",
                call.program.display(),
                output.status,
                tail.join(" / ")
            )));
        }
        cost.stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        cost.peak_mib = max(cost.peak_mib, call.peak_file.as_deref().and_then(read_peak));
    }
    cost.cpu = ticks as f64 / TICKS / repeats as f64;
    Ok(cost)
}

fn command(call: &Call) -> Command {
    let mut command = match &call.peak_file {
        Some(file) if Path::new(TIME).exists() => {
            let mut command = Command::new(TIME);
            command.args(["-f", "%M", "-o"]).arg(file).arg(&call.program);
            command
        }
        _ => Command::new(&call.program),
    };
    command.args(&call.args).env_clear().envs(call.env.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::null());
    command
}

/// User and system time of all children that were waited for, in ticks.
fn ticks_of_children() -> io::Result<u64> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    parse_ticks(&stat).ok_or_else(|| io::Error::other("/proc/self/stat is not as expected"))
}

/// Fields 16 and 17; what stands in brackets before may hold anything.
fn parse_ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(13);
    Some(fields.next()?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?)
}

fn read_peak(file: &Path) -> Option<f64> {
    let kib: f64 = fs::read_to_string(file).ok()?.lines().last()?.trim().parse().ok()?;
    Some(kib / 1024.0)
}

/// The larger of two peaks; one that is not known does not count.
pub fn max(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.max(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_children_is_found_behind_any_name() {
        let stat = "12 (a) b) S 1 2 3 4 5 6 7 8 9 10 100 200 30 4 20 0 1";
        assert_eq!(parse_ticks(stat), Some(34));
        assert_eq!(parse_ticks("12 (a) S 1"), None);
    }

    #[test]
    fn the_median_does_not_follow_the_slowest() {
        let cost = Cost { walls: vec![9.0, 1.0, 2.0], ..Cost::default() };
        assert!((cost.wall() - 2.0).abs() < f64::EPSILON);
    }

    #[test]
    fn the_work_of_a_child_is_counted() {
        let spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        let call = Call {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), format!("sh -c '{spin}'").into()],
            env: Vec::new(),
            peak_file: None,
        };
        assert!(measure(1, |_| call.clone()).unwrap().cpu > 0.0);
        let failing = Call { args: vec!["-c".into(), "exit 3".into()], ..call };
        assert!(measure(1, |_| failing.clone()).is_err());
    }
}
