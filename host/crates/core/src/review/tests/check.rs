//! What the boundary refuses, repairs and doubts.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::sample::task;
use crate::lens::Lens;
use crate::result::Confidence;
use crate::review::{CheckOptions, Checked, SourceText, check_answer};
use crate::task::{LineRange, Task};

/// A file of ten lines, `src/a.rs`, another one without text, and nothing else.
struct Sources;

const TEXT: &str = "use db;\n\nfn a(input: &str) {\n    let q = format!(\"{input}\");\n    db.run(  q );\n}\n\nfn b() {\n    db.run(\"x\");\n}\n";

impl SourceText for Sources {
    fn lines(&self, path: &str) -> Option<u64> {
        ["src/a.rs", "src/b.rs"].contains(&path).then_some(10)
    }

    fn text(&self, path: &str) -> Option<Cow<'_, str>> {
        (path == "src/a.rs").then_some(Cow::Borrowed(TEXT))
    }
}

fn plan() -> Task {
    let mut task = task("unit:security", Lens::Security, &["src/a.rs", "src/b.rs"]);
    for file in &mut task.files {
        file.total_lines = 10;
    }
    task
}

fn finding() -> Value {
    json!({
        "id": "SEC-001", "title": "SQL from input", "category": "sql-injection", "severity": "high", "confidence": "high",
        "lens": "security", "summary": "Input reaches the query.",
        "affected_files": [{ "path": "src/a.rs", "line_start": 4, "line_end": 5, "symbol": "a" }],
        "evidence": ["src/a.rs:5 - the query"], "quote": "let q = format!(\"{input}\");"
    })
}

fn result() -> Value {
    json!({
        "task_id": "unit:security", "unit_id": "unit", "pass_id": "pass:security", "lens": "security",
        "file_coverage": [{ "path": "src/a.rs", "total_lines": 10 }, { "path": "src/b.rs", "total_lines": 10 }],
        "findings": [finding()]
    })
}

fn check_with(answer: &Value, task: &Task, options: CheckOptions) -> Checked {
    check_answer(&answer.to_string(), &[task], &Sources, options)
}

fn check(answer: &Value) -> Checked {
    check_with(answer, &plan(), CheckOptions::default())
}

/// The result after a change, at a JSON pointer; `null` there removes nothing but sets null.
fn changed(pointer: &str, value: Value) -> Value {
    let mut result = result();
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    match result.pointer_mut(parent).expect("a place") {
        Value::Array(items) => items[key.parse::<usize>().expect("an index")] = value,
        place => place[key] = value,
    }
    result
}

fn codes_of(checked: &Checked) -> Vec<String> {
    checked.rejected.iter().flat_map(|r| &r.errors).map(|problem| problem.code.clone()).collect()
}

fn warnings(answer: &Value) -> Vec<String> {
    let checked = check(answer);
    assert_eq!(codes_of(&checked), Vec::<String>::new());
    checked.accepted[0].warnings.iter().map(|problem| problem.code.clone()).collect()
}

#[test]
fn a_good_result_is_accepted_without_a_word() {
    let checked = check(&json!([result()]));
    assert!(checked.rejected.is_empty() && checked.problems.is_empty() && checked.missing.is_empty());
    assert!(checked.notes.is_empty(), "{:?}", checked.notes);
    assert_eq!(checked.accepted.len(), 1);
    assert!(checked.accepted[0].warnings.is_empty(), "{:?}", checked.accepted[0].warnings);
    let finding = &checked.accepted[0].result.findings[0];
    assert_eq!((finding.id.as_deref(), finding.confidence), (Some("SEC-001"), Confidence::High));
}

#[test]
fn every_error_refuses_the_result_and_names_its_place() {
    let cases: Vec<(&str, Value, &str)> = vec![
        ("/task_id", json!("other:security"), "unknown-task"),
        ("/task_id", json!(" "), "missing-text"),
        ("/task_id", json!(7), "wrong-type"),
        ("/unit_id", json!("other"), "unit-differs"),
        ("/pass_id", json!("pass:tests"), "pass-differs"),
        ("/lens", json!("tests"), "lens-differs"),
        ("/lens", json!("beauty"), "unknown-word"),
        ("/lens", Value::Null, "missing-text"),
        ("/file_coverage", Value::Null, "missing-list"),
        ("/file_coverage", json!({}), "wrong-type"),
        ("/file_coverage/0", json!("src/a.rs"), "not-an-object"),
        ("/file_coverage/0/path", json!("src/c.rs"), "path-not-in-task"),
        ("/file_coverage/0/path", json!("SRC/A.rs"), "path-not-in-task"),
        ("/file_coverage/0/path", json!("/src/a.rs"), "path-absolute"),
        ("/file_coverage/0/path", json!("C:\\src\\a.rs"), "path-absolute"),
        ("/file_coverage/0/path", json!("../src/a.rs"), "path-escaping"),
        ("/file_coverage/0/path", json!("./"), "path-empty"),
        ("/file_coverage/1/path", json!("src/a.rs"), "coverage-doubled"),
        ("/file_coverage", json!([{ "path": "src/a.rs", "total_lines": 10 }]), "coverage-missing"),
        ("/file_coverage/0/total_lines", json!(11), "lines-differ"),
        ("/file_coverage/0/total_lines", json!("10"), "wrong-type"),
        ("/file_coverage/0/total_lines", json!(-1), "wrong-type"),
        ("/findings", Value::Null, "missing-list"),
        ("/findings", json!({}), "wrong-type"),
        ("/findings/0", json!("a finding"), "not-an-object"),
        ("/findings/0/title", json!("  \n"), "missing-text"),
        ("/findings/0/title", Value::Null, "missing-text"),
        ("/findings/0/title", json!(1), "wrong-type"),
        ("/findings/0/category", json!(""), "missing-text"),
        ("/findings/0/summary", json!(""), "missing-text"),
        ("/findings/0/severity", json!("blocker"), "unknown-word"),
        ("/findings/0/confidence", json!("certain"), "unknown-word"),
        ("/findings/0/lens", json!("correctness"), "lens-differs"),
        ("/findings/0/lens", Value::Null, "missing-text"),
        ("/findings/0/affected_files", json!([]), "missing-list"),
        ("/findings/0/affected_files", Value::Null, "missing-list"),
        ("/findings/0/affected_files/0", json!("src/a.rs"), "not-an-object"),
        ("/findings/0/affected_files/0/path", json!("src/other.rs"), "path-not-in-task"),
        ("/findings/0/affected_files/0/path", json!("a/../../x"), "path-escaping"),
        ("/findings/0/affected_files/0/line_start", json!(0), "zero-line"),
        ("/findings/0/affected_files/0/line_start", json!(6), "span-reversed"),
        ("/findings/0/affected_files/0/line_start", json!(1.5), "wrong-type"),
        ("/findings/0/affected_files/0/line_end", json!(11), "span-outside"),
        ("/findings/0/affected_files/0", json!({ "path": "src/a.rs", "line_end": 11 }), "span-outside"),
        ("/findings/0/evidence", json!([]), "missing-text"),
        ("/findings/0/evidence", json!([" "]), "missing-text"),
        ("/findings/0/evidence", json!([{}]), "wrong-type"),
        ("/findings/0/summary", json!("x".repeat(64 * 1024 + 1)), "too-large"),
        ("/findings/0/systemic", json!("yes"), "wrong-type"),
        ("/findings", json!(vec![finding(); 501]), "too-many"),
    ];
    for (pointer, value, code) in cases {
        let answer = changed(pointer, value.clone());
        let checked = check(&json!([answer]));
        assert!(checked.accepted.is_empty(), "{pointer} {code}");
        let found = checked.rejected.iter().flat_map(|r| &r.errors).find(|problem| problem.code == code);
        let found = found.unwrap_or_else(|| panic!("{pointer} {code}: {:?}", codes_of(&checked)));
        let place = pointer.trim_end_matches(char::is_numeric).trim_end_matches('/');
        let near = found.place.starts_with(place)
            || place.starts_with(&found.place)
            || code == "span-reversed"
            || code == "coverage-doubled";
        assert!(near, "{pointer} {found:?}");
    }
}

#[test]
fn what_is_not_an_answer_is_a_problem_of_the_whole() {
    for (text, code) in [
        ("", "empty-answer"),
        ("I found nothing.", "not-json"),
        ("{\"a\":1}", "no-results"),
        (&"[".repeat(100_000), "not-json"),
    ] {
        let checked = check_answer(text, &[&plan()], &Sources, CheckOptions::default());
        assert_eq!(checked.problems[0].code, code);
        assert_eq!((checked.accepted.len(), checked.rejected.len(), checked.missing.len()), (0, 0, 1));
    }
    let small = CheckOptions { max_answer: 10, ..CheckOptions::default() };
    assert_eq!(check_with(&json!([result()]), &plan(), small).problems[0].code, "answer-too-large");
}

#[test]
fn one_bad_result_never_costs_its_neighbours() {
    let other = {
        let mut t = plan();
        t.name = "unit:security:2".into();
        t.id = "two".into();
        t
    };
    let third = {
        let mut t = plan();
        t.name = "unit:security:3".into();
        t.id = "three".into();
        t
    };
    let good = changed("/task_id", json!("unit:security:2"));
    let answer = json!([changed("/lens", json!("x")), "text", 7, null, good, { "task_id": "foreign" }]);
    let (first, text) = (plan(), answer.to_string());
    let checked = check_answer(&text, &[&first, &other, &third], &Sources, CheckOptions::default());
    assert_eq!(checked.accepted.len(), 1);
    assert_eq!(checked.accepted[0].task.as_str(), "two");
    assert_eq!(checked.rejected.len(), 5);
    assert_eq!(checked.rejected[0].task, Some(first.id.clone()));
    assert_eq!(checked.rejected[4].task_name.as_deref(), Some("foreign"));
    assert_eq!(checked.missing, std::slice::from_ref(&third.id));
}

#[test]
fn the_first_result_for_a_task_wins() {
    let second = changed("/findings", json!([]));
    let checked = check(&json!([result(), second]));
    assert_eq!(checked.accepted[0].result.findings.len(), 1);
    assert_eq!(codes_of(&checked), ["task-repeated"]);
    assert!(checked.missing.is_empty());
}

#[test]
fn paths_are_taken_as_the_task_writes_them() {
    for path in ["./src/a.rs", "src\\a.rs", "src//a.rs", "src/x/../a.rs"] {
        let mut answer = changed("/findings/0/affected_files/0/path", json!(path));
        answer["file_coverage"][0]["path"] = json!(path);
        let checked = check(&json!([answer]));
        assert_eq!(codes_of(&checked), Vec::<String>::new(), "{path}");
        assert_eq!(checked.accepted[0].result.findings[0].affected_files[0].path, "src/a.rs");
        assert_eq!(checked.accepted[0].result.file_coverage[0].path, "src/a.rs");
    }
    let folding = CheckOptions { fold_case: true, ..CheckOptions::default() };
    let answer = changed("/findings/0/affected_files/0/path", json!("SRC/A.rs"));
    assert_eq!(check_with(&json!([answer]), &plan(), folding).accepted.len(), 1);
}

#[test]
fn a_quote_is_checked_against_the_file() {
    let quoted = |quote: &str| changed("/findings/0/quote", json!(quote));
    assert!(warnings(&quoted("  db.run(  q );")).is_empty());

    let folded = check(&quoted("db.run( q );"));
    let finding = &folded.accepted[0].result.findings[0];
    assert_eq!(folded.accepted[0].warnings[0].code, "quote-repaired");
    assert_eq!(
        (finding.quote.as_deref(), &finding.tags[..]),
        (Some("db.run(  q );"), &["quote-repaired".to_owned()][..])
    );
    assert_eq!(finding.confidence, Confidence::High);

    let invented = check(&quoted("db.run(password);"));
    let finding = &invented.accepted[0].result.findings[0];
    assert_eq!(invented.accepted[0].warnings[0].code, "unverified-quote");
    assert_eq!((finding.confidence, &finding.tags[..]), (Confidence::Low, &["unverified-quote".to_owned()][..]));

    let elsewhere = check(&quoted("db.run(\"x\");"));
    let finding = &elsewhere.accepted[0].result.findings[0];
    assert_eq!(elsewhere.accepted[0].warnings[0].code, "quote-elsewhere");
    assert_eq!((finding.affected_files[0].line_start, finding.confidence), (Some(4), Confidence::High));

    let mut unread = quoted("db.run(\"x\");");
    unread["findings"][0]["affected_files"][0]["path"] = json!("src/b.rs");
    assert_eq!(warnings(&unread), ["quote-unchecked"]);
    assert!(warnings(&quoted(" ")).is_empty());
}

#[test]
fn messages_never_carry_source_text() {
    let secret = "let q = format!(\"{input}\");";
    let mut answer = changed("/findings/0/affected_files/0/line_start", json!(9));
    answer["findings"][0]["affected_files"][0]["line_end"] = json!(9);
    let checked = check(&answer);
    assert_eq!(checked.accepted[0].warnings.iter().filter(|w| w.code == "quote-elsewhere").count(), 1);
    assert!(checked.accepted[0].warnings.iter().all(|w| !w.message.contains(secret) && !w.message.contains("input")));
}

#[test]
fn evidence_that_names_other_lines_is_doubted() {
    let evidence = |text: &str| warnings(&changed("/findings/0/evidence", json!([text])));
    assert!(evidence("src/a.rs:4-5 - here, see other.rs:99").is_empty());
    assert_eq!(evidence("src/a.rs:9 - there"), ["evidence-outside-span"]);
    assert_eq!(evidence("src/a.rs:11 - nowhere"), ["evidence-outside-file"]);
    let mut whole = changed("/findings/0/evidence", json!(["src/a.rs:9 - there"]));
    whole["findings"][0]["affected_files"][0] = json!({ "path": "src/a.rs" });
    assert!(warnings(&whole).is_empty());
}

#[test]
fn a_finding_that_repeats_another_is_dropped_and_recorded() {
    let mut answer = changed("/findings", json!([finding(), finding()]));
    let checked = check(&answer);
    assert_eq!(checked.accepted[0].result.findings.len(), 1);
    assert_eq!(checked.accepted[0].warnings[0].code, "duplicate-finding");
    answer["findings"][1]["affected_files"][0] =
        json!({ "path": "src/a.rs", "line_start": 9, "line_end": 9, "symbol": "b" });
    assert_eq!(check(&answer).accepted[0].result.findings.len(), 2);
}

#[test]
fn an_end_without_a_start_is_a_single_line() {
    let answer = changed("/findings/0/affected_files/0", json!({ "path": "src/a.rs", "line_end": 4 }));
    let place = &check(&answer).accepted[0].result.findings[0].affected_files[0];
    assert_eq!((place.line_start, place.line_end), (Some(4), Some(4)));
}

#[test]
fn a_range_task_counts_the_lines_of_the_whole_file() {
    let mut task = plan();
    task.files[0].range = Some(LineRange { first: 1, last: 3 });
    let checked = check_with(&json!([result()]), &task, CheckOptions::default());
    assert_eq!(checked.accepted[0].warnings[0].code, "span-outside-range");
    task.files[0].range = Some(LineRange { first: 3, last: 10 });
    assert!(check_with(&json!([result()]), &task, CheckOptions::default()).accepted[0].warnings.is_empty());
}

#[test]
fn verification_belongs_to_deepening_tasks() {
    let verification = json!({ "verified": true, "verdicts": [
        { "finding_id": "SEC-00000001", "verdict": "Refute", "reason": "the value is constant" },
        { "finding_id": "SEC-99999999", "verdict": "confirm" },
    ] });
    let answer = changed("/verification", verification);
    assert_eq!(warnings(&answer), ["verification-unasked"]);
    assert_eq!(check(&answer).accepted[0].result.verification, None);

    let mut asking = plan();
    asking.deepening = super::sample::asking("x", &["SEC-00000001".into(), "SEC-00000002".into()]).deepening;
    let on = |answer: &Value| check_with(answer, &asking, CheckOptions::default());
    let checked = on(&answer);
    let codes: Vec<&str> = checked.accepted[0].warnings.iter().map(|w| w.code.as_str()).collect();
    assert_eq!(codes, ["verdict-unasked", "verdict-missing"]);
    assert_eq!(checked.accepted[0].result.verification.as_ref().map(|v| v.verdicts.len()), Some(1));

    let silent = on(&changed("/verification", Value::Null));
    assert_eq!(silent.accepted[0].warnings[0].code, "verification-missing", "a look without a verdict is a look");
    assert_eq!(silent.accepted[0].result.verification, None);

    for (verification, code) in [
        (json!([]), "wrong-type"),
        (json!({}), "verification-empty"),
        (json!({ "verified": "yes" }), "wrong-type"),
        (json!({ "verdicts": [{ "finding_id": "SEC-00000001", "verdict": "refute", "reason": " " }] }), "missing-text"),
        (json!({ "verdicts": [{ "finding_id": "SEC-00000001", "verdict": "maybe" }] }), "unknown-word"),
        (
            json!({ "verdicts": [{ "finding_id": "SEC-00000001", "verdict": "raise", "severity": "huge", "reason": "x" }] }),
            "unknown-word",
        ),
        (json!({ "verdicts": [7] }), "not-an-object"),
        (
            json!({ "verdicts": [{ "finding_id": "SEC-00000001", "verdict": "confirm" }, { "finding_id": "SEC-00000001", "verdict": "confirm" }] }),
            "verdict-repeated",
        ),
    ] {
        let checked = on(&changed("/verification", verification));
        assert!(codes_of(&checked).iter().any(|found| found == code), "{code} {:?}", codes_of(&checked));
    }
    assert_eq!(on(&changed("/verification", json!({ "verified": false, "concerns": ["x"] }))).accepted.len(), 1);
}

#[test]
fn endless_problems_are_counted_and_not_listed() {
    let bad: Vec<Value> = (0..500).map(|_| json!({})).collect();
    let checked = check(&changed("/findings", json!(bad)));
    assert_eq!(checked.rejected[0].errors.len(), 101);
    assert_eq!(checked.rejected[0].errors[100].code, "more-problems");
}

#[test]
fn other_members_of_the_worker_contract_do_no_harm() {
    let mut answer = changed("/agent_role", json!("auditor"));
    answer["followup_tasks"] = json!([]);
    answer["findings"][0]["theme_id"] = json!(null);
    answer["findings"][0]["severity"] = json!("High");
    assert!(warnings(&answer).is_empty());
}
