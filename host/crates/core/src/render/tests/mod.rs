//! The three formats over one small report, and over hostile text.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    AnalyzerRecord, DesignLead, LaneSummary, ParkedTask, ReportInput, RunSummary, Suppressed, UnauditedFile,
    WaitSummary, render_findings_json, render_markdown, render_sarif,
};
use crate::id::{Digest, FindingId};
use crate::inventory::FileStatus;
use crate::lens::Lens;
use crate::result::{Finding, ReviewerKind, Severity, VerdictKind};
use crate::review::tests::sample::{asking, clean, finding, judged, record_over, reviewer, task};
use crate::review::{
    CoverageOptions, Waiver, apply_verdicts, derive_blocks, derive_coverage, derive_findings, merge_findings,
};

mod wording;

fn counts(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
    pairs.iter().map(|(word, count)| ((*word).to_owned(), *count)).collect()
}

fn bare(path: &str, line: u64, title: &str, severity: Severity) -> Finding {
    Finding { quote: None, severity, ..finding(path, line, title) }
}

/// Two reviewed files, one waived, one missing; a confirmed, an unverified, a refuted and a suppressed finding.
fn report() -> ReportInput {
    let base = task("unit:security", Lens::Security, &["src/a.rs", "src/b.rs"]);
    let paths = ["src/a.rs".to_owned(), "src/b.rs".to_owned()];
    let mut first = finding("src/a.rs", 10, "SQL built from input");
    (first.cwe, first.fix, first.severity) = (Some("CWE-89".into()), Some("Bind the value.".into()), Severity::High);
    let findings = vec![
        first,
        bare("src/b.rs", 5, "Token is logged", Severity::Low),
        bare("src/b.rs", 40, "Key may be empty", Severity::Critical),
        bare("src/b.rs", 70, "Debug switch", Severity::Medium),
    ];
    let found = record_over(&base, 1, &paths, findings);
    let known = derive_findings(std::slice::from_ref(&base), std::slice::from_ref(&found));
    let id = |line: u64| -> FindingId {
        let at = |k: &&crate::review::KnownFinding| k.finding.affected_files[0].line_start == Some(line);
        known.iter().find(at).map(|k| k.id.clone()).expect("a finding")
    };
    let second = asking("deepening:high-severity:1", &[id(10), id(40)]);
    let verdicts = judged(&second, 2, &[(&id(10), VerdictKind::Confirm, None), (&id(40), VerdictKind::Refute, None)]);
    let tasks = [base, second];
    let merged = merge_findings(apply_verdicts(known.clone(), &tasks, &[verdicts]));
    let required: Vec<(String, Lens)> =
        ["src/a.rs", "src/b.rs", "src/c.rs", "src/d.rs"].map(|path| (path.to_owned(), Lens::Security)).into();
    let waiver = Waiver { path: Some("src/c.rs".into()), lens: None, task: None, reason: "attempts used up".into() };
    let results = [found];
    ReportInput {
        repository: "sample".into(),
        head: Some("0123abcd".into()),
        generated_at: "2026-01-02T03:04:05Z".into(),
        tool_version: "0.1.0".into(),
        scope: None,
        inventory: BTreeMap::from([
            ("auditable".to_owned(), counts(&[("source", 4)])),
            ("excluded".to_owned(), counts(&[("lock-file", 1), ("vendored", 2)])),
        ]),
        coverage: derive_coverage(&required, &tasks, &results, &[waiver], &CoverageOptions::default()),
        blocks: derive_blocks(&merged, &[("src/a.rs".into(), "src/b.rs".into())], &|_| None),
        findings: merged,
        suppressed: BTreeMap::from([(id(70), Suppressed { in_source: true, reason: "known".into() })]),
        run: RunSummary {
            launches: 3,
            by_outcome: counts(&[("completed", 2), ("rate-limited", 1)]),
            input_tokens: Some(1200),
            output_tokens: None,
            cost_micro_usd: Some(12_300),
            lanes: vec![LaneSummary {
                lane: "agent".into(),
                kind: ReviewerKind::Agent,
                models: vec!["m-1".into()],
                launches: 3,
                results: 2,
                findings: 4,
                all_empty: false,
            }],
            waits: vec![WaitSummary { reason: "rate-limit".into(), count: 1, total_ms: 7450 }],
            failures: counts(&[("rate-limited", 1)]),
            retried: 1,
        },
        parked: vec![ParkedTask {
            name: "unit:security:2".into(),
            lens: Lens::Security,
            files: vec!["src/d.rs".into()],
            reason: "three answers were refused".into(),
        }],
        unaudited: vec![UnauditedFile {
            path: "Cargo.lock".into(),
            status: FileStatus::Excluded,
            reason: "lock-file".into(),
        }],
        analyzers: vec![AnalyzerRecord { name: "rust".into(), version: "0.1.0".into(), digest: Digest::of(b"x") }],
        leads: vec![DesignLead {
            kind: "import-cycle".into(),
            title: "Two files need each other".into(),
            detail: "a.rs and b.rs".into(),
            files: vec!["src/a.rs".into(), "src/b.rs".into()],
        }],
        runtime_validation: BTreeMap::new(),
        notices: Vec::new(),
        raw_paths: BTreeMap::new(),
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn the_markdown_of_a_small_report_is_as_it_was() {
    assert_eq!(render_markdown(&report()), include_str!("report.md"));
}

#[test]
fn the_findings_file_of_a_small_report_is_as_it_was() {
    assert_eq!(render_findings_json(&report()), include_str!("findings.json"));
}

#[test]
fn the_sarif_of_a_small_report_is_as_it_was() {
    assert_eq!(render_sarif(&report()), include_str!("report.sarif"));
}

#[test]
fn the_findings_file_keeps_the_contract() {
    let json = parsed(&render_findings_json(&report()));
    assert_eq!(json["contract_version"], "audit-tools/audit-findings/v1");
    let summary = &json["summary"];
    assert_eq!(summary["finding_count"], 2);
    assert_eq!(json["findings"].as_array().map(Vec::len), Some(2));
    assert_eq!(summary["severity_breakdown"], serde_json::json!({ "high": 1, "low": 1 }));
    assert_eq!((&summary["audited_file_count"], &summary["excluded_file_count"]), (&2.into(), &3.into()));
    for finding in json["findings"].as_array().expect("findings") {
        for key in
            ["id", "title", "category", "severity", "confidence", "lens", "summary", "affected_files", "evidence"]
        {
            assert!(!finding[key].is_null(), "{key}");
        }
        assert_eq!(finding["x-assize"]["sources"].as_array().map(Vec::len), Some(1));
    }
    assert_eq!(json["x-assize"]["refuted"][0]["x-assize"]["verification"]["state"], "refuted");
    assert_eq!(json["x-assize"]["suppressed"][0]["x-assize"]["suppressed"]["reason"], "known");
    assert_eq!(json["x-assize"]["coverage"]["not_reviewed"].as_array().map(Vec::len), Some(2));
}

/// What code scanning refuses, and what schema validators do not see.
fn check_sarif(sarif: &Value) {
    let run = &sarif["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().expect("rules");
    for rule in rules {
        for pointer in ["/id", "/shortDescription/text", "/fullDescription/text", "/help/text"] {
            let text = rule.pointer(pointer).and_then(Value::as_str).expect("a text");
            assert!(!text.is_empty() && text.len() <= 1024, "{pointer}");
        }
        assert!(rule["properties"]["tags"].as_array().expect("tags").len() <= 20);
        if let Some(score) = rule["properties"].get("security-severity") {
            let score: f64 = score.as_str().expect("a string").parse().expect("a number");
            assert!(score > 0.0 && score <= 10.0);
        }
    }
    let results = run["results"].as_array().expect("results");
    assert!(results.len() <= 5000);
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("small");
        assert_eq!(rules[index]["id"], result["ruleId"]);
        assert!(!result["message"]["text"].as_str().expect("a message").trim().is_empty());
        assert!(["error", "warning", "note"].contains(&result["level"].as_str().expect("a level")));
        assert!(!result["partialFingerprints"]["primaryLocationLineHash"].as_str().expect("a hash").is_empty());
        let locations = result["locations"].as_array().expect("locations");
        let related = result["relatedLocations"].as_array().cloned().unwrap_or_default();
        assert!(!locations.is_empty() && locations.len() + related.len() <= 100);
        for location in locations.iter().chain(&related) {
            let place = &location["physicalLocation"];
            let uri = place["artifactLocation"]["uri"].as_str().expect("a uri");
            let plain = |c: char| c.is_ascii_alphanumeric() || "-._~/%".contains(c);
            assert!(!uri.is_empty() && uri.chars().all(plain) && !uri.starts_with(['/', '.']), "{uri}");
            let line = |key: &str| place["region"][key].as_u64().expect("a line");
            assert!(line("startLine") >= 1 && line("endLine") >= line("startLine") && line("startColumn") >= 1);
        }
    }
}

#[test]
fn the_sarif_is_what_code_scanning_accepts() {
    let sarif = parsed(&render_sarif(&report()));
    check_sarif(&sarif);
    let run = &sarif["runs"][0];
    assert_eq!(run["results"].as_array().map(Vec::len), Some(4));
    let kinds: Vec<&Value> = run["results"].as_array().expect("results").iter().map(|r| &r["suppressions"]).collect();
    assert_eq!(kinds.iter().filter(|s| s.as_array().is_some_and(Vec::is_empty)).count(), 2);
    assert_eq!(kinds[2][0]["kind"], "inSource");
    let rule = &run["tool"]["driver"]["rules"][0]["properties"];
    assert_eq!(rule["security-severity"], "8.0", "a refuted critical finding raises nothing");
    assert!(kinds[3][0]["justification"].as_str().is_some_and(|text| text.starts_with("refuted: looked again")));
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
    let empty = parsed(&render_sarif(&ReportInput::default()));
    check_sarif(&empty);
    assert_eq!(empty["runs"][0]["results"], serde_json::json!([]));
    assert_eq!(empty["runs"][0]["invocations"][0]["executionSuccessful"], true);
}

#[test]
fn a_part_never_closes_the_alerts_of_the_whole() {
    let whole = parsed(&render_sarif(&report()));
    let part = parsed(&render_sarif(&ReportInput { scope: Some("since v1".into()), ..report() }));
    let id = |sarif: &Value| sarif["runs"][0]["automationDetails"]["id"].clone();
    assert_ne!(id(&whole), id(&part));
}

#[test]
fn more_results_than_are_shown_are_counted() {
    let mut input = report();
    let one = input.findings[1].clone();
    input.suppressed.clear();
    for n in 0..6000 {
        let mut more = one.clone();
        more.id = FindingId::new(format!("SEC-{n:08}"));
        input.findings.push(more);
    }
    let sarif = parsed(&render_sarif(&input));
    check_sarif(&sarif);
    assert_eq!(sarif["runs"][0]["results"].as_array().map(Vec::len), Some(5000));
    let note = &sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
    assert_eq!(note, "5000 of 6004 results are shown, the worst first");
}

#[test]
fn an_audit_by_rules_alone_says_so_first() {
    let mut input = report();
    let base = task("t", Lens::Security, &["src/a.rs"]);
    let mut by_rules = clean(&base, 1);
    by_rules.reviewer = reviewer(ReviewerKind::Rules);
    let required = [("src/a.rs".to_owned(), Lens::Security)];
    input.coverage = derive_coverage(&required, &[base], &[by_rules], &[], &CoverageOptions::default());
    let said = |input: &ReportInput| {
        let text = render_markdown(input);
        text.lines().take(6).any(|line| line.contains("deterministic rules only"))
    };
    assert!(said(&input));
    assert!(!said(&report()));
    assert_eq!(parsed(&render_findings_json(&input))["x-assize"]["rules_only"], true);
}

#[test]
fn hostile_text_stays_text() {
    let evil =
        "x`\n```\n# Fake heading\n<script>alert(1)</script> | [l](javascript:1) \u{202e}\u{1b}[31m\0 --- http://e.x";
    let mut input = report();
    for merged in &mut input.findings {
        let finding = &mut merged.finding;
        (finding.title, finding.summary, finding.category) = (evil.into(), evil.into(), evil.into());
        (finding.quote, finding.fix, finding.cwe) = (Some(evil.into()), Some(evil.into()), Some(evil.into()));
        finding.evidence = vec![evil.into()];
        finding.affected_files[0].path = format!("a:b/ü {evil}");
        finding.affected_files[0].symbol = Some(evil.into());
        finding.affected_files[0].line_start = Some(0);
    }
    input.repository = evil.into();
    input.parked[0].reason = evil.into();
    input.unaudited[0].path = evil.into();
    input.run.lanes[0].lane = evil.into();
    input.leads[0].title = evil.into();
    input.suppressed.values_mut().for_each(|s| s.reason = evil.into());
    let text = render_markdown(&input);
    let mut fence: Option<usize> = None;
    for line in text.lines() {
        let ticks = line.len() - line.trim_start_matches('`').len();
        match fence {
            Some(open) if ticks >= open && line.len() == ticks => fence = None,
            Some(_) => {}
            None if ticks >= 3 && line.ends_with("text") => fence = Some(ticks),
            None => {
                assert!(!line.starts_with("# Fake"), "{line}");
                assert!(!line.contains("<script") || line.contains('`'), "{line}");
            }
        }
    }
    assert_eq!(fence, None);
    assert!(text.chars().all(|c| c == '\n' || c == '\t' || !(c.is_control() || c == '\u{202e}')));
    check_sarif(&parsed(&render_sarif(&input)));
    parsed(&render_findings_json(&input));
}
