//! `audit-findings.json`: the worker contract's findings file, and what it has no member for under `x-assize`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::input::ReportInput;
use crate::inventory::FileStatus;
use crate::result::{Finding, Severity};
use crate::review::{BlockRole, CoveragePair, MergedFinding, PairState, WorkBlock, severity_counts};

/// Version of the contract that the file keeps.
pub const CONTRACT_VERSION: &str = "audit-tools/audit-findings/v1";

/// The findings file as JSON with a line feed at its end. `findings` holds those that count, so that its length is the
/// count; refuted and suppressed ones stand under `x-assize`, marked, in the same form.
pub fn render_findings_json(input: &ReportInput) -> String {
    let findings: Vec<Value> = input.standing().map(|merged| finding_json(merged, input)).collect();
    let document = json!({
        "contract_version": CONTRACT_VERSION,
        "summary": summary(input, findings.len()),
        "findings": findings,
        "work_blocks": input.blocks.iter().map(block_json).collect::<Vec<_>>(),
        "x-assize": extension(input),
    });
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

fn summary(input: &ReportInput, count: usize) -> Value {
    json!({
        "finding_count": count,
        "work_block_count": input.blocks.len(),
        "severity_breakdown": breakdown(&severity_counts(input.standing())),
        "audited_file_count": input.coverage.summary.files_reviewed,
        "excluded_file_count": input.entries(FileStatus::Excluded),
        "runtime_validation_status_breakdown": input.runtime_validation,
    })
}

fn breakdown(counts: &[(Severity, u64)]) -> Value {
    let members = counts.iter().map(|(severity, count)| (severity.as_str().to_owned(), json!(count)));
    Value::Object(members.collect())
}

fn finding_json(merged: &MergedFinding, input: &ReportInput) -> Value {
    let finding = &merged.finding;
    let mut object = Map::new();
    object.insert("id".into(), json!(merged.id));
    object.insert("title".into(), json!(finding.title));
    object.insert("category".into(), json!(finding.category));
    object.insert("severity".into(), json!(finding.severity));
    object.insert("confidence".into(), json!(finding.confidence));
    object.insert("lens".into(), json!(finding.lens));
    object.insert("summary".into(), json!(finding.summary));
    object.insert("affected_files".into(), json!(finding.affected_files));
    object.insert("evidence".into(), json!(evidence(finding)));
    insert_some(&mut object, "impact", &finding.impact);
    insert_some(&mut object, "likelihood", &finding.likelihood);
    if !finding.reproduction.is_empty() {
        object.insert("reproduction".into(), json!(finding.reproduction));
    }
    if let Some(systemic) = finding.systemic {
        object.insert("systemic".into(), json!(systemic));
    }
    if !finding.related_findings.is_empty() {
        object.insert("related_findings".into(), json!(finding.related_findings));
    }
    object.insert("x-assize".into(), finding_extension(merged, input));
    Value::Object(object)
}

/// The evidence; where an import brought none, the place itself, because the contract requires one.
fn evidence(finding: &Finding) -> Vec<String> {
    if !finding.evidence.is_empty() {
        return finding.evidence.clone();
    }
    let place = finding.affected_files.first();
    let text = place.map(|p| format!("{}:{} - {}", p.path, p.line_start.unwrap_or(1), finding.title));
    vec![text.unwrap_or_else(|| finding.title.clone())]
}

fn finding_extension(merged: &MergedFinding, input: &ReportInput) -> Value {
    let finding = &merged.finding;
    let mut object = Map::new();
    insert_some(&mut object, "quote", &finding.quote);
    insert_some(&mut object, "cwe", &finding.cwe);
    insert_some(&mut object, "fix", &finding.fix);
    if !finding.tags.is_empty() {
        object.insert("tags".into(), json!(finding.tags));
    }
    if !merged.also.is_empty() {
        object.insert("also".into(), json!(merged.also));
    }
    object.insert("verification".into(), json!(merged.verification));
    if let Some(suppressed) = input.suppressed.get(&merged.id) {
        object.insert("suppressed".into(), json!(suppressed));
    }
    object.insert("sources".into(), json!(merged.sources));
    Value::Object(object)
}

fn insert_some(object: &mut Map<String, Value>, key: &str, value: &Option<String>) {
    if let Some(value) = value {
        object.insert(key.into(), json!(value));
    }
}

fn block_json(block: &WorkBlock) -> Value {
    json!({
        "id": block.id,
        "finding_ids": block.finding_ids,
        "unit_ids": block.unit_ids,
        "owned_files": block.owned_files,
        "max_severity": block.max_severity,
        "rationale": block.rationale,
        "depends_on": block.depends_on,
        "x-assize": { "role": if block.role == BlockRole::Coordination { "coordination" } else { "implementation" } },
    })
}

fn extension(input: &ReportInput) -> Value {
    let held: Vec<Value> = input.held_back().map(|(merged, _)| finding_json(merged, input)).collect();
    let refuted: Vec<Value> = input.refuted().map(|merged| finding_json(merged, input)).collect();
    json!({
        "repository": input.repository,
        "head": input.head,
        "generated_at": input.generated_at,
        "tool_version": input.tool_version,
        "scope": input.scope,
        "complete": input.is_complete(),
        "rules_only": input.is_rules_only(),
        "inventory": input.inventory,
        "coverage": coverage(input),
        "refuted": refuted,
        "suppressed": held,
        "parked": input.parked,
        "unaudited": input.unaudited,
        "notices": input.notices,
        "leads": input.leads,
        "analyzers": input.analyzers,
        "run": input.run,
    })
}

/// Counts, what is open and why, and for each file who looked at it under which lens.
fn coverage(input: &ReportInput) -> Value {
    let mut open: Vec<Value> = Vec::new();
    let mut reviewed: Vec<Value> = Vec::new();
    for file in input.coverage.pairs.chunk_by(|a, b| a.path == b.path) {
        let mut lenses: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for pair in file {
            match &pair.state {
                PairState::Reviewed { by, .. } => {
                    let names = by.iter().map(|r| match &r.model {
                        Some(model) => format!("{}:{} ({model})", r.kind.as_str(), r.lane),
                        None => format!("{}:{}", r.kind.as_str(), r.lane),
                    });
                    lenses.insert(pair.lens.as_str(), names.collect());
                }
                _ => open.push(open_json(pair)),
            }
        }
        if !lenses.is_empty() {
            reviewed.push(json!({ "path": file[0].path, "lenses": lenses }));
        }
    }
    json!({
        "summary": input.coverage.summary,
        "by_lens": input.lens_rows(),
        "not_reviewed": open,
        "reviewed": reviewed,
    })
}

fn open_json(pair: &CoveragePair) -> Value {
    let (state, reason) = match &pair.state {
        PairState::Waived { reason } => ("waived", Some(reason)),
        PairState::Stale => ("stale", None),
        PairState::Reviewed { .. } | PairState::Missing => ("missing", None),
    };
    let mut value = json!({ "path": pair.path, "lens": pair.lens, "state": state });
    if let (Some(reason), Some(object)) = (reason, value.as_object_mut()) {
        object.insert("reason".into(), json!(reason));
    }
    value
}
