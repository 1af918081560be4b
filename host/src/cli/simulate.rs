//! `assize simulate`: replays a scenario through the real dispatcher under a virtual clock. Nothing is launched or sent.

use std::path::{Path, PathBuf};

use assize_core::simulate::{Replay, Scenario, WaveReplay, run as replay, run_waves};
use serde::Serialize;

use super::exit::ExitStatus;
use super::output::Output;
use crate::audit::AuditError;
use crate::config::ConfigError;

/// Violations that are shown of one seed.
const VIOLATIONS_SHOWN: usize = 5;

/// Flags of `assize simulate`.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The scenario: a TOML file with tasks, limits, hosts, and lanes with the behaviour of their services
    #[arg(required_unless_present = "random")]
    file: Option<PathBuf>,
    /// Replay this seed only, in the place of those that the file names
    #[arg(long, value_name = "N", conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Replay so many seeds, in the place of the number that the file names
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    seeds: Option<u64>,
    /// Replay the random scenario of this number, as the project's own tests do, in the place of a file
    #[arg(long, value_name = "N", conflicts_with_all = ["file", "seed"])]
    random: Option<u64>,
}

/// Where scenarios come from.
enum Source<'a> {
    /// One scenario for every seed.
    File(&'a Path, Box<Scenario>),
    /// A scenario of its own for every seed.
    Random,
}

/// What one seed came to, beside the same trace in barrier waves.
#[derive(Serialize)]
struct Compared {
    #[serde(flatten)]
    replay: Replay,
    waves: Option<WaveReplay>,
    /// The makespan of barrier waves over that of the dispatcher; absent where they left other tasks.
    waves_over_makespan: Option<f64>,
    /// The call that replays this seed alone.
    again: String,
}

#[derive(Serialize)]
struct Report {
    seeds: u64,
    failed: Vec<u64>,
    replays: Vec<Compared>,
}

pub(super) fn run(args: &Args, output: &Output) -> Result<ExitStatus, AuditError> {
    let (source, first, named) = match (&args.file, args.random) {
        (Some(file), _) => {
            let scenario = read(file)?;
            let (seed, seeds) = (scenario.seed, scenario.seeds);
            (Source::File(file, Box::new(scenario)), seed, seeds)
        }
        (None, number) => (Source::Random, number.unwrap_or_default(), 1),
    };
    let (first, seeds) = match args.seed {
        Some(seed) => (seed, 1),
        None => (first, args.seeds.unwrap_or(named)),
    };
    let replays: Vec<Compared> = (0..seeds).map(|at| compare(&source, first.saturating_add(at))).collect();
    let failed: Vec<u64> = replays.iter().filter(|c| !c.replay.violations.is_empty()).map(|c| c.replay.seed).collect();
    let status = if failed.is_empty() { ExitStatus::Complete } else { ExitStatus::Incomplete };
    let report = Report { seeds, failed, replays };
    output.outcome(&report, &lines(&report));
    Ok(status)
}

fn read(file: &Path) -> Result<Scenario, AuditError> {
    let text = std::fs::read_to_string(file).map_err(|source| ConfigError::Read { path: file.to_owned(), source })?;
    let scenario: Scenario = toml::from_str(&text).map_err(|error| ConfigError::Parse {
        path: file.to_owned(),
        message: error.to_string().trim_end().to_owned(),
    })?;
    match scenario.faults().first() {
        None => Ok(scenario),
        Some(fault) => {
            let place = format!("in {}: {}", file.display(), fault.place);
            Err(ConfigError::Value { place, message: fault.message.clone() }.into())
        }
    }
}

fn compare(source: &Source<'_>, seed: u64) -> Compared {
    match source {
        Source::File(file, scenario) => {
            compare_scenario(scenario, seed, format!("assize simulate {} --seed {seed}", quoted(file)))
        }
        Source::Random => compare_scenario(&Scenario::random(seed), seed, format!("assize simulate --random {seed}")),
    }
}

fn compare_scenario(scenario: &Scenario, seed: u64, again: String) -> Compared {
    let replay = replay(scenario, seed);
    let waves = run_waves(scenario, seed);
    let makespan_ms = replay.figures.makespan_ms;
    let comparable = waves.filter(|waves| waves.left == 0 && replay.tasks.left == 0 && makespan_ms > 0);
    let waves_over_makespan = comparable.map(|waves| waves.makespan_ms as f64 / makespan_ms as f64);
    Compared { replay, waves, waves_over_makespan, again }
}

/// A path as a shell takes it.
fn quoted(file: &Path) -> String {
    let text = file.display().to_string();
    let is_plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+@%".contains(c));
    if is_plain { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

fn lines(report: &Report) -> Vec<String> {
    let mut lines: Vec<String> = report.replays.iter().flat_map(lines_of).collect();
    lines.push(match report.failed.len() {
        0 => format!("every law held in {} replays", report.seeds),
        failed => format!("laws were broken in {failed} of {} replays", report.seeds),
    });
    lines
}

fn lines_of(compared: &Compared) -> Vec<String> {
    let (replay, figures) = (&compared.replay, &compared.replay.figures);
    let tasks = &replay.tasks;
    let mut lines = vec![
        format!(
            "seed {}: {} tasks done, {} parked, {} split, {} left; {} launches, {} requests",
            replay.seed, tasks.done, tasks.parked, tasks.split, tasks.left, figures.launches, figures.requests
        ),
        format!(
            "  makespan {}, bound {} ({}), ratio {:.2}, utilisation {:.0} %",
            seconds(figures.makespan_ms),
            seconds(figures.bound_ms),
            figures.bound_by,
            figures.ratio,
            figures.utilisation * 100.0
        ),
        format!(
            "  {} refused by limits in {} episodes, {} sent back; {} waits, {} idle; {} crashes of hosts",
            figures.rate_limited,
            figures.rate_episodes,
            figures.sent_back,
            figures.waits,
            seconds(figures.idle_ms),
            figures.crashes
        ),
    ];
    lines.extend(compared.waves.map(|waves| line_of_waves(&waves, compared.waves_over_makespan)));
    for end in replay.ends.iter().filter(|end| end.left > 0) {
        let why = end.end.as_deref().unwrap_or("it never ended");
        lines.push(format!("  host {} leaves {} tasks: {why}", end.host, end.left));
    }
    for violation in replay.violations.iter().take(VIOLATIONS_SHOWN) {
        let at = seconds(violation.at_ms);
        lines.push(format!("  broken at {at}: {} ({})", violation.law, violation.detail));
    }
    if !replay.violations.is_empty() {
        lines.push(format!("  again: {}", compared.again));
    }
    lines
}

fn line_of_waves(waves: &WaveReplay, over: Option<f64>) -> String {
    let over = over.map_or("not comparable".to_owned(), |over| format!("{over:.2} times as long"));
    format!(
        "  in barrier waves: {} ({over}); {} waves, {} refused by limits, {} tasks done, {} left",
        seconds(waves.makespan_ms),
        waves.waves,
        waves.rate_limited,
        waves.done,
        waves.left
    )
}

fn seconds(ms: u64) -> String {
    format!("{:.1} s", ms as f64 / 1_000.0)
}
