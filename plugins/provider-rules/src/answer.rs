//! One task's answer in the worker contract, made of observations.

use std::collections::{BTreeMap, BTreeSet};

use assize_plugin_sdk::{Finding, Observation, Task};
use serde::Serialize;

/// The answer to one task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditResult {
    /// Name of the task.
    pub task_id: String,
    /// The task's unit.
    pub unit_id: String,
    /// The task's pass.
    pub pass_id: String,
    /// The task's lens.
    pub lens: String,
    /// Every file of the task, once.
    pub file_coverage: Vec<FileCoverage>,
    /// What was found, by path and line.
    pub findings: Vec<AuditFinding>,
    /// Who looked, and what was left out.
    pub notes: String,
}

/// That a file was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileCoverage {
    /// Repository-relative path.
    pub path: String,
    /// Lines of the whole file.
    pub total_lines: u64,
}

/// Where a finding is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AffectedFile {
    /// Repository-relative path.
    pub path: String,
    /// First line.
    pub line_start: u64,
    /// Last line.
    pub line_end: u64,
}

/// One finding in the worker contract.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AuditFinding {
    /// The rule.
    pub id: String,
    /// One line.
    pub title: String,
    /// Category.
    pub category: String,
    /// How bad.
    pub severity: String,
    /// How sure.
    pub confidence: String,
    /// The task's lens.
    pub lens: String,
    /// What is wrong and why it matters.
    pub summary: String,
    /// Where.
    pub affected_files: Vec<AffectedFile>,
    /// Which rule, at which line.
    pub evidence: Vec<String>,
    /// Exact source text.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub quote: String,
    /// Weakness.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwe: Option<String>,
    /// How to mend it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// Why an observation is no finding of the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// Another file, another lens, or lines that another task reviews.
    OtherWork,
    /// Lines that the file does not have: the analyzer saw something else than what is audited.
    NoSuchLines,
}

/// What a task says of one of its files. A file may come in several parts.
struct Scope {
    total_lines: u64,
    ranges: Vec<(u64, u64)>,
}

/// The answer to a task from the observations on its files. Sorted and without repetition, whatever order they came in.
pub fn render_result(task: &Task, observations: Vec<Observation>) -> AuditResult {
    let scopes = derive_scopes(task);
    let sorted: BTreeSet<Observation> = observations.into_iter().collect();
    let mut found: Vec<(String, u32, AuditFinding)> = Vec::new();
    let mut lost = 0_usize;
    for observation in sorted {
        match render_finding(task, &scopes, &observation) {
            Ok(finding) => found.push((observation.path, observation.finding.span.start_line, finding)),
            Err(Outside::NoSuchLines) => lost += 1,
            Err(Outside::OtherWork) => {}
        }
    }
    found.sort_by(|a, b| (&a.0, a.1, &a.2.id, &a.2.quote).cmp(&(&b.0, b.1, &b.2.id, &b.2.quote)));
    found.dedup_by(|a, b| a.2 == b.2);
    AuditResult {
        task_id: task.task_id.clone(),
        unit_id: task.unit_id.clone(),
        pass_id: task.pass_id.clone(),
        lens: task.lens.clone(),
        file_coverage: scopes
            .iter()
            .map(|(path, scope)| FileCoverage { path: (*path).to_owned(), total_lines: scope.total_lines })
            .collect(),
        findings: found.into_iter().map(|(_, _, finding)| finding).collect(),
        notes: render_notes(lost),
    }
}

fn derive_scopes(task: &Task) -> BTreeMap<&str, Scope> {
    let mut scopes: BTreeMap<&str, Scope> = BTreeMap::new();
    for file in &task.files {
        let whole = (1, u64::MAX);
        let scope =
            scopes.entry(&file.path).or_insert_with(|| Scope { total_lines: file.total_lines, ranges: Vec::new() });
        scope.ranges.push(file.range.unwrap_or(whole));
    }
    scopes
}

fn render_notes(lost: usize) -> String {
    let reviewed = "Reviewed by rules of analyzers; no model or person read the files.";
    match lost {
        0 => reviewed.to_owned(),
        1 => format!("{reviewed} One observation named lines that its file does not have and was left out."),
        _ => format!("{reviewed} {lost} observations named lines that their files do not have and were left out."),
    }
}

/// The finding of an observation, if it belongs to the task. It belongs where it starts, so that of the parts of a large
/// file at least one reports it.
fn render_finding(
    task: &Task,
    scopes: &BTreeMap<&str, Scope>,
    observation: &Observation,
) -> Result<AuditFinding, Outside> {
    let finding = &observation.finding;
    let scope = scopes.get(observation.path.as_str()).ok_or(Outside::OtherWork)?;
    if !same_lens(&finding.lens, &task.lens) {
        return Err(Outside::OtherWork);
    }
    let start = u64::from(finding.span.start_line);
    if start == 0 || start > scope.total_lines {
        return Err(Outside::NoSuchLines);
    }
    if !scope.ranges.iter().any(|(first, last)| (*first..=*last).contains(&start)) {
        return Err(Outside::OtherWork);
    }
    let end = u64::from(finding.span.end_line).clamp(start, scope.total_lines);
    Ok(AuditFinding {
        id: finding.rule.clone(),
        title: first_text(&[&finding.title, &finding.rule, "Observation of an analyzer"]),
        category: first_text(&[&finding.category, finding.rule.rsplit('/').next().unwrap_or_default(), "rule"]),
        severity: known_word(&finding.severity, &["critical", "high", "medium", "low", "info"]),
        confidence: known_word(&finding.confidence, &["high", "medium", "low"]),
        lens: task.lens.clone(),
        summary: first_text(&[&finding.summary, &finding.title, &finding.rule, "Observation of an analyzer"]),
        affected_files: vec![AffectedFile { path: observation.path.clone(), line_start: start, line_end: end }],
        evidence: vec![render_evidence(observation, start)],
        quote: finding.quote.clone(),
        cwe: finding.cwe.clone().filter(|cwe| !cwe.trim().is_empty()),
        fix: finding.fix.clone().filter(|fix| !fix.trim().is_empty()),
    })
}

fn render_evidence(observation: &Observation, line: u64) -> String {
    let Finding { rule, title, summary, .. } = &observation.finding;
    let why = first_text(&[title, summary, "the rule's pattern stands here"]);
    let from = if observation.analyzer.is_empty() { String::new() } else { format!(" ({})", observation.analyzer) };
    format!("{}:{line} - rule {rule}{from}: {why}", observation.path)
}

/// Lenses are written with `_` in the contract and sometimes with `-` by analyzers.
fn same_lens(one: &str, other: &str) -> bool {
    let fold = |word: &str| word.trim().replace('-', "_").to_ascii_lowercase();
    fold(one) == fold(other)
}

/// A word of the contract; `low` for one that it does not know, because a foreign word would cost the whole result.
fn known_word(word: &str, known: &[&str]) -> String {
    let folded = word.trim().to_ascii_lowercase();
    if known.contains(&folded.as_str()) { folded } else { "low".to_owned() }
}

fn first_text(candidates: &[&str]) -> String {
    candidates.iter().find(|text| !text.trim().is_empty()).map(|text| (*text).to_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assize_plugin_sdk::{Span, TaskFile};

    fn task(range: Option<(u64, u64)>) -> Task {
        Task {
            task_id: "u:security".into(),
            lens: "data_integrity".into(),
            files: vec![TaskFile { path: "a.rs".into(), total_lines: 50, range }],
            ..Task::default()
        }
    }

    fn seen(line: u32, rule: &str) -> Observation {
        Observation {
            analyzer: "patterns".into(),
            path: "a.rs".into(),
            finding: Finding {
                rule: rule.into(),
                lens: "data-integrity".into(),
                severity: "HIGH".into(),
                confidence: "certain".into(),
                span: Span { start_line: line, end_line: line + 5, ..Span::default() },
                ..Finding::default()
            },
            ..Observation::default()
        }
    }

    #[test]
    fn a_finding_belongs_to_the_part_in_which_it_starts() {
        let lines = |range| -> Vec<u64> {
            let seen = vec![seen(30, "r"), seen(9, "r"), seen(10, "r"), seen(20, "r"), seen(21, "r")];
            let result = render_result(&task(range), seen);
            result.findings.iter().map(|f| f.affected_files[0].line_start).collect()
        };
        assert_eq!(lines(Some((10, 20))), [10, 20]);
        assert_eq!(lines(None), [9, 10, 20, 21, 30]);
    }

    #[test]
    fn lines_that_the_file_does_not_have_are_left_out_and_told() {
        let result = render_result(&task(None), vec![seen(51, "r"), seen(0, "r"), seen(50, "r")]);
        assert_eq!(result.findings.len(), 1);
        assert_eq!(result.findings[0].affected_files[0].line_end, 50);
        assert!(result.notes.contains("2 observations"), "{}", result.notes);
    }

    #[test]
    fn the_order_of_observations_does_not_show_and_repetition_is_dropped() {
        let forward = render_result(&task(None), vec![seen(3, "b"), seen(3, "a"), seen(1, "c"), seen(1, "c")]);
        let backward = render_result(&task(None), vec![seen(1, "c"), seen(3, "a"), seen(3, "b")]);
        assert_eq!(forward, backward);
        assert_eq!(forward.findings.iter().map(|f| f.id.as_str()).collect::<Vec<_>>(), ["c", "a", "b"]);
    }

    #[test]
    fn foreign_files_and_lenses_are_no_findings() {
        let mut other_file = seen(3, "r");
        other_file.path = "b.rs".into();
        let mut other_lens = seen(3, "r");
        other_lens.finding.lens = "tests".into();
        let result = render_result(&task(None), vec![other_file, other_lens]);
        assert!(result.findings.is_empty());
        assert!(!result.notes.contains("left out"));
    }

    #[test]
    fn required_texts_are_never_empty_and_words_are_the_contract_s() {
        let result = render_result(&task(None), vec![seen(3, "secrets/private-key")]);
        let finding = &result.findings[0];
        assert_eq!((finding.severity.as_str(), finding.confidence.as_str()), ("high", "low"));
        assert_eq!(finding.category, "private-key");
        assert_eq!(finding.title, "secrets/private-key");
        assert!(!finding.summary.is_empty());
        assert!(finding.evidence[0].starts_with("a.rs:3 - rule secrets/private-key (patterns): "));
    }

    #[test]
    fn a_file_in_two_parts_is_covered_once() {
        let mut task = task(Some((1, 10)));
        task.files.push(TaskFile { path: "a.rs".into(), total_lines: 50, range: Some((40, 50)) });
        let result = render_result(&task, vec![seen(5, "r"), seen(20, "r"), seen(45, "r")]);
        assert_eq!(result.file_coverage.len(), 1);
        assert_eq!(result.findings.len(), 2);
    }
}
