//! SARIF 2.1.0 in the form that GitHub code scanning accepts.
//!
//! Its rules: every result has a place in a real file with lines from 1, URIs are relative and percent-encoded, texts
//! are never empty, and no more than 5,000 results are shown.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::escape::{cut, uri, visible};
use super::input::ReportInput;
use super::secrets::hide_secrets;
use super::words::{count_of, is_or_are, length, open_work};
use crate::id::Digest;
use crate::lens::Lens;
use crate::result::{AffectedFile, Severity};
use crate::review::{MergedFinding, normal_category};

/// Results that code scanning shows of one run; the rest is counted in a notification.
pub const SARIF_RESULTS: usize = 5000;
/// Further places of one result.
const RELATED: usize = 99;
/// Problems that are told of one run; the rest is counted.
const PROBLEMS: usize = 200;
/// Characters of a message.
const MESSAGE: usize = 3000;
/// Characters of a rule's description, bounded by code scanning.
const DESCRIPTION: usize = 1000;

/// The findings as SARIF with a line feed at its end. Refuted and suppressed findings are results with a suppression.
pub fn render_sarif(input: &ReportInput) -> String {
    let placed: Vec<&MergedFinding> = input.findings.iter().filter(|m| m.place().is_some()).collect();
    let mut shown = placed.clone();
    // Findings that count are shown before those that do not; the order is otherwise that of the report.
    shown.sort_by_key(|merged| is_suppressed(merged, input));
    shown.truncate(SARIF_RESULTS);
    let rules = collect_rules(&shown, input);
    let index: BTreeMap<&str, usize> = rules.keys().enumerate().map(|(at, id)| (id.as_str(), at)).collect();
    let marked = shown.iter().any(|merged| is_suppressed(merged, input));
    let results: Vec<Value> = shown.iter().map(|merged| result_json(merged, input, &index, marked)).collect();
    let document = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "assize",
                "semanticVersion": input.tool_version,
                "rules": rules.values().map(Rule::json).collect::<Vec<_>>(),
            } },
            "automationDetails": { "id": category(input) },
            "columnKind": "utf16CodeUnits",
            "originalUriBaseIds": { "%SRCROOT%": { "description": { "text": "root of the audited repository" } } },
            "invocations": [invocation(input, placed.len(), shown.len())],
            "results": results,
            "properties": { "repository": input.repository, "head": input.head },
        }],
    });
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

/// A part of the repository must not be uploaded as the whole, or code scanning would close what it left out.
fn category(input: &ReportInput) -> &'static str {
    if input.scope.is_some() { "assize-partial/" } else { "assize/" }
}

fn invocation(input: &ReportInput, placed: usize, shown: usize) -> Value {
    let mut notes: Vec<Value> = Vec::new();
    let mut note = |level: &str, text: String| notes.push(json!({ "level": level, "message": { "text": text } }));
    if placed > shown {
        note("warning", format!("{} of {placed} results are shown, the worst first", shown));
    }
    if input.findings.len() > placed {
        let count = length(&input.findings) - u64::try_from(placed).unwrap_or(0);
        let have = if count == 1 { "has" } else { "have" };
        note("warning", format!("{} {have} no place and {} left out", count_of(count, "finding"), is_or_are(count)));
    }
    if !input.is_complete() {
        let summary = &input.coverage.summary;
        let work = open_work(summary.missing + summary.stale, summary.required, length(&input.parked));
        note("error", format!("the audit is incomplete: {work}"));
    }
    if input.is_rules_only() {
        note("note", "only deterministic rules reviewed this repository".to_owned());
    }
    if let Some(scope) = &input.scope {
        note("note", format!("only a part of the repository was in scope: {}", visible(scope, false)));
    }
    for problem in input.problems().take(PROBLEMS) {
        note("warning", cut(&visible(problem.trim(), false), MESSAGE));
    }
    let more = input.problems().skip(PROBLEMS).count();
    if more > 0 {
        let more = u64::try_from(more).unwrap_or(u64::MAX);
        note("warning", format!("{}; all of them are in the findings file", count_of(more, "further problem")));
    }
    json!({ "executionSuccessful": input.is_complete(), "toolExecutionNotifications": notes })
}

fn is_suppressed(merged: &MergedFinding, input: &ReportInput) -> bool {
    !merged.counts() || input.suppressed.contains_key(&merged.id)
}

/// One lens and category.
struct Rule {
    id: String,
    lens: Lens,
    category: String,
    worst: Severity,
}

fn rule_id(merged: &MergedFinding) -> String {
    let category = normal_category(&merged.finding.category);
    let category = if category.is_empty() { "uncategorised" } else { &category };
    format!("{}/{}", merged.finding.lens, cut(category, 100))
}

/// The rules of the results. Results that count come first, so that a suppressed one raises no rule that has others.
fn collect_rules(shown: &[&MergedFinding], input: &ReportInput) -> BTreeMap<String, Rule> {
    let mut rules: BTreeMap<String, Rule> = BTreeMap::new();
    for merged in shown {
        let id = rule_id(merged);
        let finding = &merged.finding;
        let rule = rules.entry(id.clone()).or_insert_with(|| Rule {
            category: id.split_once('/').map_or("", |(_, category)| category).replace('-', " "),
            id,
            lens: finding.lens,
            worst: finding.severity,
        });
        if !is_suppressed(merged, input) {
            rule.worst = rule.worst.max(finding.severity);
        }
    }
    rules
}

impl Rule {
    fn json(&self) -> Value {
        let text = self.lens.text();
        let mut tags = vec![self.lens.as_str()];
        let mut properties = Map::new();
        if self.lens == Lens::Security {
            properties.insert("security-severity".into(), json!(score(self.worst)));
        } else {
            tags.push("audit");
        }
        properties.insert("tags".into(), json!(tags));
        properties.insert("problem.severity".into(), json!(problem(self.worst)));
        json!({
            "id": self.id,
            "shortDescription": { "text": cut(&visible(&format!("{}: {}", self.lens, self.category), false), DESCRIPTION) },
            "fullDescription": { "text": cut(&format!("The {} lens looks for {}.", self.lens, text.look_for), DESCRIPTION) },
            "help": { "text": text.anchors },
            "defaultConfiguration": { "level": level(self.worst) },
            "properties": properties,
        })
    }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "note",
    }
}

fn problem(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical | Severity::High => "error",
        Severity::Medium => "warning",
        Severity::Low | Severity::Info => "recommendation",
    }
}

/// Score in the bands that code scanning shows as critical, high, medium and low.
fn score(severity: Severity) -> &'static str {
    match severity {
        Severity::Critical => "9.5",
        Severity::High => "8.0",
        Severity::Medium => "5.5",
        Severity::Low => "2.5",
        Severity::Info => "0.5",
    }
}

fn result_json(merged: &MergedFinding, input: &ReportInput, index: &BTreeMap<&str, usize>, marked: bool) -> Value {
    let merged = &*hide_secrets(merged);
    let finding = &merged.finding;
    let rule = rule_id(merged);
    let mut object = Map::new();
    object.insert("ruleId".into(), json!(rule));
    object.insert("ruleIndex".into(), json!(index.get(rule.as_str())));
    object.insert("level".into(), json!(level(finding.severity)));
    let text = visible(&format!("{}\n\n{}", finding.title.trim(), finding.summary.trim()), true);
    object.insert("message".into(), json!({ "text": cut(&text, MESSAGE) }));
    let places: Vec<Value> =
        finding.affected_files.iter().take(RELATED + 1).map(|place| location(place, input)).collect();
    let (first, related) = places.split_at(places.len().min(1));
    object.insert("locations".into(), json!(first));
    if !related.is_empty() {
        object.insert("relatedLocations".into(), json!(related));
    }
    let hash = Digest::of(merged.id.as_str().as_bytes()).short(16);
    object.insert(
        "partialFingerprints".into(),
        json!({ "primaryLocationLineHash": format!("{hash}:1"), "assizeFindingId/v1": merged.id }),
    );
    if marked {
        object.insert("suppressions".into(), json!(suppressions(merged, input)));
    }
    object.insert("properties".into(), properties(merged));
    Value::Object(object)
}

fn properties(merged: &MergedFinding) -> Value {
    let finding = &merged.finding;
    let mut object = Map::new();
    object.insert("severity".into(), json!(finding.severity));
    object.insert("confidence".into(), json!(finding.confidence));
    object.insert("verification".into(), json!(merged.verification.as_str()));
    object.insert("security-severity".into(), json!(score(finding.severity)));
    object.insert("lanes".into(), {
        let lanes: std::collections::BTreeSet<&str> = merged.sources.iter().map(|s| s.lane.as_str()).collect();
        json!(lanes)
    });
    if let Some(cwe) = &finding.cwe {
        object.insert("cwe".into(), json!(visible(cwe, false)));
    }
    Value::Object(object)
}

fn suppressions(merged: &MergedFinding, input: &ReportInput) -> Vec<Value> {
    let mut list = Vec::new();
    let mut add = |kind: &str, why: &str| {
        let why = cut(&visible(why, false), MESSAGE);
        list.push(json!({ "kind": kind, "status": "accepted", "justification": why }));
    };
    if !merged.counts() {
        let reason = merged.verification.decision().and_then(|(_, reason)| reason).unwrap_or_default();
        add("external", &format!("refuted: {reason}"));
    }
    if let Some(suppressed) = input.suppressed.get(&merged.id) {
        add(if suppressed.in_source { "inSource" } else { "external" }, &suppressed.reason);
    }
    list
}

/// A place; a finding about a whole file stands at its first line. Columns are left out because they are not known:
/// a region of lines covers them whole.
fn location(place: &AffectedFile, input: &ReportInput) -> Value {
    let start = place.line_start.unwrap_or(1).max(1);
    let end = place.line_end.unwrap_or(start).max(start);
    let bytes = input.raw_paths.get(&place.path).map_or(place.path.as_bytes(), Vec::as_slice);
    let mut location = json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(bytes), "uriBaseId": "%SRCROOT%" },
            "region": { "startLine": start, "startColumn": 1, "endLine": end },
        },
    });
    if let (Some(symbol), Some(object)) = (&place.symbol, location.as_object_mut()) {
        object.insert("logicalLocations".into(), json!([{ "fullyQualifiedName": visible(symbol, false) }]));
    }
    location
}
