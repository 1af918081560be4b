//! What the end of a launch changes in the store, as one settlement.

use std::collections::{BTreeMap, HashMap};

use assize_core::dispatch::{Settled, SlotKey, SlotUsage, costs_an_attempt};
use assize_core::id::TaskId;
use assize_core::plugin::{Outcome, Usage};
use assize_core::result::{ResultRecord, ReviewerKind, Severity};
use assize_core::review::result_digest;
use assize_core::task::Task;
use assize_store::{AttemptCost, LaunchEnd, Quarantined, Settlement};

use super::launching::LaunchReport;

/// The end of a launch as the engine is told it.
pub(super) fn settled_event(slot: SlotKey, report: &LaunchReport, tasks: &[TaskId]) -> Settled {
    let done: Vec<TaskId> = report.checked.accepted.iter().map(|accepted| accepted.task.clone()).collect();
    let set_aside = if report.handed_off { tasks.to_vec() } else { Vec::new() };
    Settled {
        slot,
        outcome: report.outcome,
        message: report.message.clone(),
        done,
        dropped: report.changed.clone(),
        set_aside,
        readings: report.readings.clone(),
        usage: report.usage.as_ref().map(slot_usage).or_else(|| costs_nothing(report.reviewer.kind)),
        jitter: super::jitter(report.launch.as_str()),
    }
}

/// Rules and people draw on no limit, so that nothing is guessed for them.
fn costs_nothing(reviewer: ReviewerKind) -> Option<SlotUsage> {
    let nothing = SlotUsage { requests: Some(0), input_tokens: Some(0), output_tokens: Some(0), micro_usd: Some(0) };
    matches!(reviewer, ReviewerKind::Rules | ReviewerKind::Person).then_some(nothing)
}

fn slot_usage(usage: &Usage) -> SlotUsage {
    let input = match (usage.input_tokens, usage.cached_input_tokens) {
        (None, None) => None,
        (fresh, cached) => Some(fresh.unwrap_or(0).saturating_add(cached.unwrap_or(0))),
    };
    SlotUsage {
        requests: usage.requests.map(u64::from),
        input_tokens: input,
        output_tokens: usage.output_tokens,
        micro_usd: usage.cost_micro_usd,
    }
}

/// Everything that the end of a launch changes in the store.
pub(super) fn settlement(
    report: &LaunchReport,
    park: Vec<(TaskId, String)>,
    tasks: &HashMap<TaskId, Task>,
    at_ms: u64,
) -> Settlement {
    let results = report.checked.accepted.iter().map(|accepted| ResultRecord {
        task: accepted.task.clone(),
        digest: result_digest(&accepted.result),
        result: accepted.result.clone(),
        reviewer: report.reviewer.clone(),
        launch: Some(report.launch.clone()),
        at_ms,
    });
    let counted =
        costs_an_attempt(report.outcome) && !(report.outcome == Outcome::ContextExceeded && tasks_of(report) > 1);
    let attempt = if counted { AttemptCost::Counted } else { AttemptCost::Uncounted };
    Settlement {
        end: LaunchEnd {
            launch: report.launch.clone(),
            outcome: report.outcome,
            message: report.message.clone(),
            usage: report.usage.clone(),
            wall_ms: report.wall_ms,
            exit_code: report.exit.0,
            exit_signal: report.exit.1,
            attempt,
            at_ms,
        },
        results: results.collect(),
        quarantine: quarantine(report, tasks),
        park,
    }
}

fn tasks_of(report: &LaunchReport) -> usize {
    report.checked.accepted.len() + report.checked.rejected.len() + report.checked.missing.len()
}

fn quarantine(report: &LaunchReport, tasks: &HashMap<TaskId, Task>) -> Vec<Quarantined> {
    let name_of = |task: &TaskId| tasks.get(task).map_or_else(|| task.to_string(), |task| task.name.clone());
    let mut quarantine: Vec<Quarantined> = report
        .checked
        .rejected
        .iter()
        .map(|rejected| Quarantined {
            task_name: rejected.task.as_ref().map(&name_of).or_else(|| rejected.task_name.clone()).unwrap_or_default(),
            errors: serde_json::to_value(&rejected.errors).unwrap_or_default(),
            raw: rejected.raw.clone(),
        })
        .collect();
    if !report.checked.problems.is_empty() {
        quarantine.push(Quarantined {
            task_name: report.checked.missing.first().map(&name_of).unwrap_or_default(),
            errors: serde_json::to_value(&report.checked.problems).unwrap_or_default(),
            raw: report.raw.clone(),
        });
    }
    quarantine
}

/// Adds the findings of one result, by severity.
pub(super) fn count_findings(findings: &mut BTreeMap<Severity, usize>, record: &ResultRecord) {
    for finding in &record.result.findings {
        *findings.entry(finding.severity).or_default() += 1;
    }
}
