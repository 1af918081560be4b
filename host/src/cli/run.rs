//! `assize run`.

use assize_core::dispatch::Spent;
use assize_core::result::Severity;
use serde_json::json;

use super::exit::ExitStatus;
use super::output::Output;
use crate::audit::{Audit, AuditError, Purpose};
use crate::config::{Environment, RunFlags, Settings};
use crate::driver::{RunEnd, RunOutcome, interrupts, run_audit};
use crate::reporters::counts;

/// Flags of `assize run`.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    flags: RunFlags,
    /// End with exit code 1 when a finding is at least this severe
    #[arg(long, value_parser = parse_severity, value_name = "SEVERITY")]
    fail_on: Option<Severity>,
}

pub(super) fn run(args: &Args, output: &Output, environment: Environment) -> Result<ExitStatus, AuditError> {
    let settings = Settings::gather(&args.flags, environment)?;
    let runtime = runtime()?;
    let outcome = runtime.block_on(async {
        let mut audit = Audit::open(settings, Purpose::Review)?;
        let mut reporter = output.reporter();
        let mut interrupts = interrupts();
        run_audit(&mut audit, reporter.as_mut(), &mut interrupts).await
    })?;
    let gate = args.fail_on.is_some_and(|least| outcome.report.verdict.by_severity.keys().any(|s| *s >= least));
    let gate = args.fail_on.map(|least| (least, gate && outcome.end == RunEnd::Complete));
    print(&outcome, gate, output);
    Ok(ExitStatus::of_run(&outcome.end, gate.is_some_and(|(_, reached)| reached)))
}

/// The runtime of every command that calls plugins.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, AuditError> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|source| AuditError::File {
        operation: "start",
        path: "the runtime".into(),
        source,
    })
}

fn print(outcome: &RunOutcome, gate: Option<(Severity, bool)>, output: &Output) {
    let verdict = &outcome.report.verdict;
    let (reviewed, required) = verdict.reviewed;
    let (word, causes) = match &outcome.end {
        RunEnd::Complete => ("complete", Vec::new()),
        RunEnd::Incomplete(causes) => ("incomplete", causes.clone()),
        RunEnd::Paused(cause) => ("paused", vec![cause.clone()]),
        RunEnd::Interrupted => ("interrupted", vec!["run again to go on".to_owned()]),
    };
    let report = &outcome.report;
    let value = json!({
        "end": word,
        "causes": causes,
        "gate": gate.map(|(least, reached)| json!({"fail_on": least.as_str(), "reached": reached})),
        "provider": outcome.provider,
        "launches": outcome.spent.launches,
        "tokens": outcome.spent.tokens,
        "micro_usd": outcome.spent.micro_usd,
        "pairs_required": required,
        "pairs_reviewed": reviewed,
        "parked": verdict.parked,
        "findings": verdict.by_severity.iter().rev().map(|(s, n)| (s.as_str().to_owned(), json!(n))).collect::<serde_json::Map<_, _>>(),
        "report": report.markdown,
        "findings_file": report.findings,
        "sarif": report.sarif,
    });
    let mut lines = vec![format!(
        "audit {word}: {reviewed} of {required} (file, lens) pairs reviewed by {}, {}",
        outcome.provider,
        counts(&verdict.by_severity)
    )];
    lines.extend(causes.iter().map(|cause| format!("  {cause}")));
    if let Some((least, true)) = gate {
        lines.push(format!("  the gate is reached: there are findings of severity {} or worse", least.as_str()));
    }
    lines.extend(spent_line(&outcome.spent));
    lines.push(format!("report: {}", report.markdown.display()));
    output.outcome(&value, &lines);
}

/// What the run cost, where anything is known of it.
fn spent_line(spent: &Spent) -> Option<String> {
    let usd = match spent.micro_usd {
        0 => String::new(),
        micro => format!(", {:.2} US dollars", micro as f64 / 1e6),
    };
    (spent.tokens > 0).then(|| format!("spent: {} launches, {} tokens{usd}", spent.launches, spent.tokens))
}

fn parse_severity(word: &str) -> Result<Severity, String> {
    Severity::parse(word)
        .ok_or_else(|| format!("no severity is called {word:?}; there are critical, high, medium, low, info"))
}
