//! `assize status` and `assize next`.

use assize_core::obligation::{Obligation, ObligationState, next_obligation};
use serde_json::json;

use super::exit::ExitStatus;
use super::output::Output;
use crate::audit::{AuditError, AuditReader, Overview};
use crate::config::{Environment, RunFlags, Settings};

/// Flags of `assize status`.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    flags: RunFlags,
}

/// Flags of `assize next`.
#[derive(clap::Args, Debug)]
pub(super) struct NextArgs {
    #[command(flatten)]
    flags: RunFlags,
}

pub(super) fn run(args: &Args, output: &Output, environment: Environment) -> Result<ExitStatus, AuditError> {
    let reader = AuditReader::open(Settings::gather(&args.flags, environment)?)?;
    let overview = reader.overview()?;
    output.outcome(&overview, &lines(&overview));
    Ok(ExitStatus::Complete)
}

pub(super) fn next(args: &NextArgs, output: &Output, environment: Environment) -> Result<ExitStatus, AuditError> {
    let settings = Settings::gather(&args.flags, environment)?;
    let root = settings.root.clone();
    let overview = match AuditReader::open(settings) {
        Ok(reader) => reader.overview()?,
        Err(AuditError::NotFound(_)) => {
            let line = format!(
                "inventory: missing; nothing has been surveyed yet. Meet it with: assize run {}",
                root.display()
            );
            output.outcome(&json!({"obligation": "inventory", "state": "missing"}), &[line]);
            return Ok(ExitStatus::Complete);
        }
        Err(error) => return Err(error),
    };
    match next_obligation(&overview.obligations) {
        None => output.outcome(&json!({"obligation": null}), &["nothing is owed: the audit is complete".to_owned()]),
        Some(owed) => {
            let mend = match &owed.state {
                ObligationState::Blocked(_) => {
                    "a person has to act; `assize status` and the report say more".to_owned()
                }
                _ => format!("meet it with: assize run {}", root.display()),
            };
            let line = format!("{}: {}; {mend} (by {})", owed.id, state_words(owed), owed.executor);
            output.outcome(owed, &[line]);
        }
    }
    Ok(ExitStatus::Complete)
}

fn lines(overview: &Overview) -> Vec<String> {
    let mut lines: Vec<String> = overview
        .obligations
        .iter()
        .filter(|o| o.state != ObligationState::NotAsked)
        .map(|o| format!("{:18} {}", o.id, state_words(o)))
        .collect();
    let tasks = &overview.tasks;
    lines.push(format!(
        "tasks: {} done, {} running, {} pending, {} parked",
        tasks.done, tasks.leased, tasks.pending, tasks.parked
    ));
    let coverage = &overview.coverage;
    let kinds: Vec<String> = coverage.by_kind.iter().map(|(kind, n)| format!("{n} by {}", kind.as_str())).collect();
    let by = if kinds.is_empty() { String::new() } else { format!(" ({})", kinds.join(", ")) };
    lines.push(format!(
        "coverage: {} of {} pairs reviewed{by}, {} missing, {} stale, {} waived",
        coverage.reviewed, coverage.required, coverage.missing, coverage.stale, coverage.waived
    ));
    let findings: Vec<String> = overview.findings.iter().map(|(severity, n)| format!("{n} {severity}")).collect();
    lines.push(format!("findings: {}", if findings.is_empty() { "none".to_owned() } else { findings.join(", ") }));
    for launch in &overview.running {
        lines.push(format!(
            "running: {} on {}, {} tasks, try {}, process {}",
            launch.launch, launch.lane, launch.tasks, launch.attempt, launch.pid
        ));
    }
    for launch in &overview.waiting {
        lines.push(format!("waiting for a person: {}, {} tasks", launch.launch, launch.tasks));
    }
    lines.push(if overview.complete { "the audit is complete" } else { "the audit is not complete" }.to_owned());
    lines
}

fn state_words(obligation: &Obligation) -> String {
    match &obligation.state {
        ObligationState::Satisfied => "satisfied".to_owned(),
        ObligationState::Missing => "missing".to_owned(),
        ObligationState::Stale => "stale: what it was made from has changed".to_owned(),
        ObligationState::NotAsked => "not asked for".to_owned(),
        ObligationState::Waiting(reason) => reason.clone(),
        ObligationState::Blocked(reason) => format!("blocked: {reason}"),
    }
}
