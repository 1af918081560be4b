//! Why: for a task, a finding or a file, what the records say.

use assize_core::plan::FileRisk;
use assize_core::result::Reviewer;
use assize_core::review::{CoveragePair, MergedFinding};
use assize_store::{LaunchRow, TaskRow, TaskState};
use serde::Serialize;
use serde_json::{Value, json};

use super::inventory::INVENTORY;
use super::open::load;
use super::synthesis::derive_current_findings;
use super::{AuditError, AuditReader, plan, structure};

/// What the records say of one thing.
#[derive(Debug, Serialize)]
pub struct Explanation {
    /// `task`, `finding` or `file`.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Everything, for machines.
    pub facts: Value,
    /// The same for people, line by line.
    pub lines: Vec<String>,
}

/// Explains a task by name or id, a finding by id or alias, or a file by path.
pub fn explain(reader: &AuditReader, wanted: &str) -> Result<Explanation, AuditError> {
    let results = reader.store.results()?;
    let findings = derive_current_findings(&reader.store, &reader.settings, &results)?;
    if let Some(row) = findings.tasks.iter().find(|row| row.task.name == wanted || row.task.id.as_str() == wanted) {
        return explain_task(reader, row);
    }
    let is_it = |m: &&MergedFinding| m.id.as_str() == wanted || m.also.iter().any(|id| id.as_str() == wanted);
    if let Some(finding) = findings.merged.iter().find(is_it) {
        return Ok(explain_finding(finding));
    }
    let inside =
        wanted.strip_prefix(reader.settings.root.to_string_lossy().as_ref()).and_then(|rest| rest.strip_prefix('/'));
    let path = inside.or_else(|| wanted.strip_prefix("./")).unwrap_or(wanted);
    explain_file(reader, path, &findings.coverage.pairs, &findings.merged)?.ok_or_else(|| {
        AuditError::NotFound(format!(
            "nothing is called {wanted:?}: no task, finding or file of this audit has that name"
        ))
    })
}

fn explain_task(reader: &AuditReader, row: &TaskRow) -> Result<Explanation, AuditError> {
    let task = &row.task;
    let launches: Vec<LaunchRow> =
        reader.store.launches()?.into_iter().filter(|launch| launch.tasks.contains(&task.id)).collect();
    let history = reader.store.result_history(&task.id)?;
    let mut lines = vec![
        format!("task {} ({})", task.name, task.id),
        format!("  lens {}, unit {}, {} priority, risk {}", task.lens, task.unit, word(&task.priority), task.risk),
        format!("  why: {}", task.rationale),
        format!("  state: {}", state_line(&row.state)),
    ];
    lines.extend(task.files.iter().map(|file| format!("  file {} ({} lines)", file.path, file.total_lines)));
    for launch in &launches {
        let outcome = launch.outcome.map_or("running", |outcome| outcome.as_str());
        let message = launch.message.as_deref().unwrap_or_default();
        lines.push(format!(
            "  launch {} on {}, try {}: {outcome} {message}",
            launch.launch, launch.lane, launch.attempt
        ));
    }
    for record in &history {
        let found = record.result.findings.len();
        lines.push(format!("  result by {}: {found} findings", reviewer_line(&record.reviewer)));
    }
    let quarantined = reader.store.quarantine()?.into_iter().filter(|q| q.answer.task_name == task.name).count();
    if quarantined > 0 {
        lines.push(format!("  {quarantined} answers to it were refused; `assize status --json` counts them"));
    }
    let facts = json!({
        "task": task,
        "state": state_line(&row.state),
        "attempts": row.attempts,
        "launches": launches.iter().map(|l| json!({"launch": l.launch, "lane": l.lane, "attempt": l.attempt,
            "outcome": l.outcome, "message": l.message, "wall_ms": l.wall_ms})).collect::<Vec<_>>(),
        "results": history,
        "quarantined": quarantined,
    });
    Ok(Explanation { kind: "task", name: task.name.clone(), facts, lines })
}

fn explain_finding(merged: &MergedFinding) -> Explanation {
    let finding = &merged.finding;
    let mut lines = vec![
        format!("finding {}: {}", merged.id, finding.title),
        format!(
            "  {} severity, {} confidence, lens {}, {}",
            finding.severity.as_str(),
            finding.confidence.as_str(),
            finding.lens,
            merged.verification.as_str()
        ),
    ];
    for place in &finding.affected_files {
        lines.push(format!("  at {}{}", place.path, place.line_start.map(|l| format!(":{l}")).unwrap_or_default()));
    }
    lines.push(format!("  {}", finding.summary));
    lines.extend(finding.fix.iter().map(|fix| format!("  mend: {fix}")));
    lines.extend(finding.evidence.iter().map(|evidence| format!("  evidence: {evidence}")));
    for source in &merged.sources {
        let launch = source.launch.as_ref().map(|l| format!(", launch {l}")).unwrap_or_default();
        lines.push(format!(
            "  reported by {} ({}) in task {}{launch}",
            source.lane,
            source.reviewer.as_str(),
            source.task_name
        ));
    }
    if let Some((judge, reason)) = merged.verification.decision() {
        let reason = reason.unwrap_or("no reason given");
        lines.push(format!("  {} by {}: {reason}", merged.verification.as_str(), reviewer_line(&judge.reviewer)));
    }
    Explanation { kind: "finding", name: merged.id.to_string(), facts: json!(merged), lines }
}

fn explain_file(
    reader: &AuditReader,
    path: &str,
    pairs: &[CoveragePair],
    findings: &[MergedFinding],
) -> Result<Option<Explanation>, AuditError> {
    let inventory: Option<assize_core::inventory::Inventory> = load(&reader.store, INVENTORY)?;
    let Some(row) = inventory.as_ref().and_then(|inventory| inventory.row(path)) else { return Ok(None) };
    let record = structure::recorded(&reader.store)?;
    let plan = plan::recorded(&reader.store)?;
    let risk: Option<&FileRisk> = record.structure.risk_of(path);
    let mut lines = vec![
        format!("file {path}"),
        format!("  {}: {}; {}, language {}", word(&row.status), row.reason, word(&row.kind), or_unknown(&row.language)),
    ];
    if let Some(risk) = risk {
        lines.push(format!("  risk {}", risk.score));
        lines.extend(risk.signals.iter().map(|s| format!("    +{} {}: {}", s.points, s.name, s.detail)));
    }
    let own: Vec<&CoveragePair> = pairs.iter().filter(|pair| pair.path == path).collect();
    for pair in &own {
        let why = plan.required.iter().find(|(p, lens, _)| p == path && *lens == pair.lens);
        let why = why.map(|(_, _, reason)| reason.as_str()).unwrap_or_default();
        lines.push(format!("  lens {}: {} (required: {why})", pair.lens, pair_line(pair)));
    }
    let touching = |m: &&MergedFinding| m.finding.affected_files.iter().any(|place| place.path == path);
    let touching: Vec<&MergedFinding> = findings.iter().filter(touching).collect();
    lines.extend(touching.iter().map(|m| format!("  finding {}: {}", m.id, m.finding.title)));
    lines.extend(
        record
            .problems
            .iter()
            .filter(|p| p.path == path)
            .map(|p| format!("  not analyzed by {}: {}", p.analyzer, p.message)),
    );
    let ids: Vec<&str> = touching.iter().map(|m| m.id.as_str()).collect();
    let facts = json!({"row": row, "risk": risk, "coverage": own, "findings": ids});
    Ok(Some(Explanation { kind: "file", name: path.to_owned(), facts, lines }))
}

fn state_line(state: &TaskState) -> String {
    match state {
        TaskState::Pending => "pending".to_owned(),
        TaskState::Leased => "running".to_owned(),
        TaskState::Done => "done".to_owned(),
        TaskState::Parked { reason } => format!("parked: {reason}"),
    }
}

fn pair_line(pair: &CoveragePair) -> String {
    use assize_core::review::PairState;
    match &pair.state {
        PairState::Reviewed { by, .. } => {
            let who: Vec<String> = by.iter().map(reviewer_line).collect();
            format!("reviewed by {}", who.join(", "))
        }
        PairState::Waived { reason } => format!("waived: {reason}"),
        PairState::Missing => "not reviewed".to_owned(),
        PairState::Stale => "reviewed before it changed".to_owned(),
    }
}

fn reviewer_line(reviewer: &Reviewer) -> String {
    let model = reviewer.model.as_ref().map(|model| format!(", {model}")).unwrap_or_default();
    format!("{} ({}{model})", reviewer.lane, reviewer.kind.as_str())
}

/// The word that JSON has for a plain enum.
fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|word| word.as_str().map(str::to_owned)).unwrap_or_default()
}

fn or_unknown(language: &str) -> &str {
    if language.is_empty() { "unknown" } else { language }
}
