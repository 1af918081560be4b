//! The trials in their order, and what they come to.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use crate::dispatch::args::DispatchArgs;
use crate::dispatch::bound::{Bound, bound_of};
use crate::dispatch::packages::write_packages;
use crate::dispatch::trial::{Trial, measure_trial};
use crate::dispatch::waves::{Waves, play_waves};
use crate::targets::Target;

/// Margin of a lane that is not configured; runs at once are tried with it.
const USUAL_MARGIN: f64 = 0.8;

/// Makes every trial, printing each row when it is there, and the targets at the end.
///
/// # Errors
/// When a run fails; what was measured has been printed.
pub fn run(args: &DispatchArgs, out: &mut impl Write) -> io::Result<()> {
    let args = &absolute(args)?;
    write!(out, "{}", render_heading(args))?;
    let mut targets = Vec::new();
    let mut first: Option<Trial> = None;
    for margin in &args.margins {
        let trial = trial_of(args, &format!("margin-{margin}"), 1, *margin)?;
        let bound = bound_of(&trial.work, args.limits, args.width);
        writeln!(out, "{}", render_trial(&format!("margin {margin}"), &trial, bound))?;
        targets.extend(targets_of(&format!("margin {margin}"), &trial, bound));
        first.get_or_insert(trial);
    }
    if args.together > 0 {
        let name = format!("{} runs with one key", args.together);
        let trial = trial_of(args, "together", args.together, USUAL_MARGIN)?;
        let bound = bound_of(&trial.work, args.limits, args.width * args.together);
        writeln!(out, "{}", render_trial(&name, &trial, bound))?;
        targets.extend(targets_of(&name, &trial, bound));
        first.get_or_insert(trial);
    }
    if let Some(trial) = first {
        let bound = bound_of(&trial.work, args.limits, args.width);
        for (name, told) in [("predecessor, limits told", Some(args.limits)), ("predecessor, untold", None)] {
            let waves = play_waves(&trial.work, args.limits, told, args.width);
            writeln!(out, "{}", render_waves(name, &waves, bound))?;
        }
    }
    writeln!(out, "\ntargets")?;
    targets.iter().try_for_each(|target| writeln!(out, "{}", target.render()))
}

/// The runs start in directories of their own.
fn absolute(args: &DispatchArgs) -> io::Result<DispatchArgs> {
    fs::create_dir_all(&args.scratch)?;
    let (assize, scratch) = (fs::canonicalize(&args.assize)?, fs::canonicalize(&args.scratch)?);
    Ok(DispatchArgs { assize, scratch, ..args.clone() })
}

/// The tasks are spread over the runs.
fn trial_of(args: &DispatchArgs, name: &str, runs: usize, margin: f64) -> io::Result<Trial> {
    let tasks = args.tasks / runs;
    let repositories: Vec<PathBuf> = (0..runs).map(|run| repository(args, tasks, run)).collect::<io::Result<_>>()?;
    measure_trial(args, &args.scratch.join(name), &repositories, margin)
}

/// A repository is made once.
fn repository(args: &DispatchArgs, tasks: usize, number: usize) -> io::Result<PathBuf> {
    let root = args.scratch.join(format!("packages-{tasks}-{number}"));
    if !root.exists() {
        write_packages(&root, tasks, 1 + number as u64)?;
    }
    Ok(root)
}

fn render_heading(args: &DispatchArgs) -> String {
    let (median, deviation) = args.latency;
    format!(
        "{} tasks; {} requests and {} tokens a minute; answers after {median} ms (lognormal, {deviation}); {} at once\n\
         {:28} {:>9} {:>9} {:>9} {:>7} {:>9} {:>7}  {}\n",
        args.tasks,
        args.limits.requests,
        args.limits.tokens,
        args.width,
        "",
        "makespan",
        "bound",
        "by",
        "ratio",
        "requests",
        "wall",
        "429 in the first minute + later"
    )
}

fn render_trial(name: &str, trial: &Trial, bound: Bound) -> String {
    let requests = trial.work.len() + trial.refused.0 + trial.refused.1;
    let row = render_row(name, trial.makespan_ms, bound, requests);
    format!("{row} {:>6.1}s  {} + {}", trial.wall_ms / 1_000.0, trial.refused.0, trial.refused.1)
}

fn render_waves(name: &str, waves: &Waves, bound: Bound) -> String {
    let row = render_row(name, waves.makespan_ms, bound, waves.refused);
    let later = waves.refused - waves.refused_at_first;
    format!("{row} {:>7}  {} + {later}, {} waves, computed", "", waves.refused_at_first, waves.waves)
}

fn render_row(name: &str, makespan_ms: f64, bound: Bound, requests: usize) -> String {
    let (makespan, seconds) = (makespan_ms / 1_000.0, bound.ms / 1_000.0);
    let ratio = makespan_ms / bound.ms.max(1.0);
    format!("{name:28} {makespan:>8.1}s {seconds:>8.1}s {:>9} {ratio:>7.3} {requests:>9}", bound.by)
}

fn targets_of(name: &str, trial: &Trial, bound: Bound) -> [Target; 3] {
    let count = |number: usize| Some(number as f64);
    [
        Target::at_most(
            format!("{name}: makespan over the bound"),
            Some(trial.makespan_ms / bound.ms.max(1.0)),
            1.1,
            "",
        ),
        Target::at_most(format!("{name}: 429 while windows are learned"), count(trial.refused.0), 1.0, ""),
        Target::at_most(format!("{name}: 429 afterwards"), count(trial.refused.1), 0.0, ""),
    ]
}
