//! One trial: one run or several at once, in a home of their own, against a service of their own.
#![allow(clippy::disallowed_methods, reason = "a benchmark starts the program that it measures and reads the clock")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use assize_loopback::{Entry, LoopbackApi};

use crate::dispatch::args::{DispatchArgs, WINDOW_MS};
use crate::dispatch::bound::Work;
use crate::subject::remove;

/// The model that is asked for; one whose context is no limit here.
const MODEL: &str = "claude-sonnet-5-5";
/// The key, which is the same for all runs of a trial.
const KEY: &str = "sk-bench-0123456789abcdef";

/// How a trial went.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// Requests that were answered.
    pub work: Vec<Work>,
    /// Milliseconds from the first request to the end of the last answer.
    pub makespan_ms: f64,
    /// Requests that were refused in the first window, and after it.
    pub refused: (usize, usize),
    /// Milliseconds from the start of the first process to the end of the last.
    pub wall_ms: f64,
}

/// Runs one trial on these repositories, all at once.
///
/// # Errors
/// When a run cannot be started or does not complete its audit.
pub fn measure_trial(args: &DispatchArgs, home: &Path, repositories: &[PathBuf], margin: f64) -> io::Result<Trial> {
    let api = LoopbackApi::start(0)?;
    prepare(args, home, &api, margin)?;
    for repository in repositories {
        // What is compiled and planned beforehand is no part of the dispatching.
        wait(start(args, home, repository, "plan")?, "plan")?;
    }
    let began = Instant::now();
    let runs: Vec<Child> =
        repositories.iter().map(|repository| start(args, home, repository, "run")).collect::<io::Result<_>>()?;
    runs.into_iter().try_for_each(|run| wait(run, "run"))?;
    let wall_ms = began.elapsed().as_secs_f64() * 1_000.0;
    let asked: Vec<Entry> = api.requests().into_iter().filter(|entry| entry.method == "POST").collect();
    Ok(Trial { wall_ms, ..read_journal(&asked) })
}

fn prepare(args: &DispatchArgs, home: &Path, api: &LoopbackApi, margin: f64) -> io::Result<()> {
    remove(home)?;
    fs::create_dir_all(home.join("config/assize"))?;
    let (median, deviation) = args.latency;
    let (requests, tokens) = (args.limits.requests, args.limits.tokens);
    let base = api.scenario(&format!("bucket-{requests}-{tokens}+lognormal-{median}-{deviation}"));
    let width = args.width;
    let config = format!(
        "[providers.anthropic]\nbase_url = \"{base}\"\n\n[lanes.anthropic]\nmargin = {margin:?}\nwidth = {width}\nwidest = {width}\n"
    );
    fs::write(home.join("config/assize/config.toml"), config)
}

fn start(args: &DispatchArgs, home: &Path, repository: &Path, command: &str) -> io::Result<Child> {
    let name = repository.file_name().unwrap_or_default();
    let said = fs::File::create(home.join(name).with_extension(format!("{command}.log")))?;
    let mut words = vec![command, "--json", "-q", "--lens", "security", "--provider", "anthropic", "--model", MODEL];
    let workers = args.width.to_string();
    if command == "run" {
        words.extend(["--no-deepening", "--workers", &workers]);
    }
    Command::new(&args.assize)
        .args(words)
        .arg("--state-dir")
        .arg(home.join(name))
        .arg(repository)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home)
        .env("XDG_CONFIG_HOME", home.join("config"))
        .env("XDG_STATE_HOME", home.join("state"))
        .env("XDG_CACHE_HOME", args.scratch.join("cache"))
        .env("ANTHROPIC_API_KEY", KEY)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(said)
        .spawn()
}

fn wait(mut run: Child, command: &str) -> io::Result<()> {
    let status = run.wait()?;
    if status.success() { Ok(()) } else { Err(io::Error::other(format!("{command} ended with {status}"))) }
}

fn read_journal(asked: &[Entry]) -> Trial {
    let first_ms = asked.iter().map(|entry| entry.at_ms).min().unwrap_or(0);
    let last_ms = asked.iter().filter_map(|entry| entry.end_ms).max().unwrap_or(first_ms);
    let refused: Vec<&Entry> = asked.iter().filter(|entry| entry.status == Some(429)).collect();
    let at_first = refused.iter().filter(|entry| ((entry.at_ms - first_ms) as f64) < WINDOW_MS).count();
    let answered = asked.iter().filter(|entry| entry.status == Some(200));
    let work = answered.map(|entry| Work {
        input: entry.input_tokens,
        output: entry.output_tokens,
        latency_ms: entry.end_ms.unwrap_or(entry.at_ms).saturating_sub(entry.at_ms),
    });
    Trial {
        work: work.collect(),
        makespan_ms: last_ms.saturating_sub(first_ms) as f64,
        refused: (at_first, refused.len() - at_first),
        wall_ms: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_apart_by_the_window_that_they_fell_into() {
        let entry = |at_ms, status| Entry { at_ms, end_ms: Some(at_ms + 5), status: Some(status), ..Entry::default() };
        let trial = read_journal(&[entry(1_000, 200), entry(60_999, 429), entry(61_000, 429), entry(70_000, 200)]);
        assert_eq!((trial.refused, trial.work.len(), trial.makespan_ms), ((1, 1), 2, 69_005.0));
    }
}
