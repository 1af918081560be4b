//! What readers of real reports stumbled over: problems, odd names, numbers and words, and secrets.

use serde_json::Value;

use super::{check_sarif, counts, finding, parsed, report};
use crate::render::{ReportInput, render_findings_json, render_markdown, render_sarif};
use crate::result::ReviewerKind;
use crate::review::{Coverage, CoveragePair, MergedFinding, VerificationState};

const SECRET: &str = "AKIAIOSFODNN7EXAMPLE";

/// A sentence of the report that begins so.
fn line<'a>(text: &'a str, start: &str) -> &'a str {
    text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no {start} in:\n{text}"))
}

fn notes(input: &ReportInput) -> Vec<(String, String)> {
    let sarif = parsed(&render_sarif(input));
    check_sarif(&sarif);
    let notes =
        sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"].as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    notes.iter().map(|note| (text(&note["level"]), text(&note["message"]["text"]))).collect()
}

#[test]
fn problems_are_in_every_format_and_bring_no_markup() {
    let told = "<b>.gitignore</b> was not applied\n# x \u{202e}";
    let input = ReportInput { notices: vec![told.into(), " \n".into()], ..report() };
    let text = render_markdown(&input);
    let part =
        text.split("## What was not reviewed").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("a part");
    assert!(part.contains("### Problems\n\n- &lt;b&gt;.gitignore&lt;/b&gt; was not applied \\# x"), "{part}");
    assert_eq!(parsed(&render_findings_json(&input))["x-assize"]["notices"][0], told);
    let warnings: Vec<_> = notes(&input).into_iter().filter(|(level, _)| level == "warning").collect();
    let shown = "<b>.gitignore</b> was not applied\\n# x \\u{202e}".to_owned();
    assert_eq!(warnings, [("warning".to_owned(), shown)]);
    assert!(!render_markdown(&report()).contains("### Problems"));
}

#[test]
fn problems_that_are_not_shown_are_counted() {
    let input = ReportInput { notices: (0..201).map(|n| format!("problem {n}")).collect(), ..report() };
    let text = render_markdown(&input);
    assert!(text.contains("- problem 199\n- … and 1 more problem; all of them are in the findings file\n"), "{text}");
    assert!(!text.contains("problem 200"));
    let notes = notes(&input);
    assert_eq!(
        notes.last().map(|(_, text)| text.as_str()),
        Some("1 further problem; all of them are in the findings file")
    );
    assert_eq!(notes.iter().filter(|(_, text)| text.starts_with("problem ")).count(), 200);
    assert_eq!(parsed(&render_findings_json(&input))["x-assize"]["notices"].as_array().map(Vec::len), Some(201));
}

#[test]
fn a_name_that_is_not_text_keeps_its_bytes_in_uris() {
    let mut input = report();
    input.raw_paths.insert("raw\\xFF\\xE9.py".into(), b"raw\xff\xe9.py".to_vec());
    input.findings[0].finding.affected_files[0].path = "raw\\xFF\\xE9.py".into();
    input.findings[1].finding.affected_files[0].path = "text\\xFF.py".into();
    let sarif = parsed(&render_sarif(&input));
    check_sarif(&sarif);
    let all = sarif.to_string();
    assert!(all.contains("\"raw%FF%E9.py\"") && all.contains("\"text%5CxFF.py\""), "{all}");
    assert!(render_markdown(&input).contains("`raw\\xFF\\xE9.py:"));
}

#[test]
fn what_is_auditable_is_not_told_as_left_out() {
    let text = render_markdown(&report());
    assert!(!text.contains("| `auditable`"), "{text}");
    assert_eq!(line(&text, "The repository has"), "The repository has 4 auditable entries (4 source).");
    let input = ReportInput { inventory: [("auditable".to_owned(), counts(&[("source", 1)]))].into(), ..report() };
    let text = render_markdown(&input);
    assert!(!text.contains("### Entries"), "{text}");
    assert_eq!(line(&text, "The repository has"), "The repository has 1 auditable entry (1 source).");
}

#[test]
fn a_second_look_is_told_only_where_there_was_one() {
    let mut input = report();
    assert!(render_markdown(&input).contains("1 high, 1 low. A second reviewer looked at 1 of them and let it stand."));
    input.findings.iter_mut().filter(|m| m.counts()).for_each(|m| m.verification = VerificationState::Unverified);
    assert!(render_markdown(&input).contains("1 high, 1 low. No second reviewer let one of them stand."));
    input.findings.retain(MergedFinding::counts);
    assert!(render_markdown(&input).contains("1 high, 1 low. No finding was looked at a second time."));
}

#[test]
fn unknown_usage_is_told_only_of_who_has_some() {
    let mut input = report();
    (input.run.input_tokens, input.run.cost_micro_usd) = (None, None);
    assert!(render_markdown(&input).contains("- tokens: unknown read, unknown written\n- cost: unknown\n"));
    input.run.lanes[0].kind = ReviewerKind::Rules;
    let text = render_markdown(&input);
    assert!(!text.contains("tokens:") && !text.contains("cost:"), "{text}");
    input.run.output_tokens = Some(0);
    assert!(render_markdown(&input).contains("- tokens: unknown read, 0 written"));
}

#[test]
fn evidence_of_a_lead_is_a_short_list() {
    let mut input = report();
    let pieces: Vec<String> = (1..=7).map(|n| format!("src/a b.rs:{n} use x; use y::{{z}};")).collect();
    input.leads[0].detail = pieces.join("; ");
    let text = render_markdown(&input);
    let part = text.split("## Leads").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("a part");
    assert!(part.contains("(import-cycle)\n  - src/a b.rs:1 use x; use y::{z};\n  - src/a b.rs:2 use x;"), "{part}");
    assert!(part.contains("src/a b.rs:5 ") && !part.contains("src/a b.rs:6 "), "{part}");
    assert!(part.contains("  - … and 2 more\n  - files: `src/a.rs`, `src/b.rs`\n"), "{part}");
}

#[test]
fn results_without_a_complete_review_are_not_nothing() {
    let mut input = report();
    let open = |pair: &CoveragePair| CoveragePair { state: crate::review::PairState::Missing, ..pair.clone() };
    input.coverage = Coverage { pairs: input.coverage.pairs.iter().map(open).collect(), ..Coverage::default() };
    let text = render_markdown(&input);
    let said = line(&text, "**No required review is complete yet");
    assert!(
        said.contains("2 task results are accepted") && said.contains("only when all its parts are done"),
        "{said}"
    );
    input.run.lanes.clear();
    assert!(render_markdown(&input).contains("**Nothing was reviewed.**"));
}

/// A report whose first finding is about a secret.
fn leak(category: &str) -> ReportInput {
    let mut input = report();
    let leak = &mut input.findings[0].finding;
    leak.category = category.into();
    leak.title = format!("key {SECRET} in source");
    leak.quote = Some(format!("aws_key = \"{SECRET}\""));
    leak.evidence = vec![format!("src/a.rs:10 - aws_key = \"{SECRET}\"")];
    leak.fix = Some(format!("revoke {SECRET}"));
    input
}

#[test]
fn a_secret_is_masked_but_in_the_findings_file() {
    for category in ["hardcoded-secret", "Hardcoded Secrets", "private-key", "leaked_credentials"] {
        let input = leak(category);
        let (text, sarif) = (render_markdown(&input), render_sarif(&input));
        assert!(!text.contains(SECRET) && !sarif.contains(SECRET), "{category}: {text}");
        assert!(text.contains("aws_key = \"AKIA…LE\"\n") && text.contains("Mend: revoke AKIA…LE"), "{text}");
        assert!(text.contains("- src/a.rs:10 - aws\\_key = \"AKIA…LE\""), "{text}");
        assert!(sarif.contains("key AKIA…LE in source"), "{sarif}");
        assert_eq!(text.matches("Secrets are masked here; the findings file holds the exact text.").count(), 1);
        let json = parsed(&render_findings_json(&input));
        assert_eq!(json["findings"][0]["x-assize"]["quote"], format!("aws_key = \"{SECRET}\""));
        assert_eq!(json["findings"][0]["title"], format!("key {SECRET} in source"));
    }
}

#[test]
fn what_is_no_secret_is_not_masked() {
    let text = render_markdown(&leak("sql-injection"));
    assert!(text.contains(&format!("aws_key = \"{SECRET}\"")) && !text.contains("masked"), "{text}");
    let mut input = report();
    input.findings[0].finding.category = "hardcoded-secret".into();
    input.findings[0].finding.quote = None;
    assert!(!render_markdown(&input).contains("masked"), "nothing was masked, and nothing is said");
}

#[test]
fn a_refuted_secret_and_what_was_said_of_it_are_masked() {
    let mut input = leak("hardcoded-secret");
    let mut refuted = input.findings.remove(0);
    let state = input.findings.iter().find(|m| !m.counts()).map(|m| m.verification.clone()).expect("a refuted one");
    let VerificationState::Refuted { by, .. } = state else { panic!("not refuted") };
    refuted.verification = VerificationState::Refuted { reason: format!("{SECRET} is an example"), by };
    input.findings.push(refuted);
    let (text, sarif) = (render_markdown(&input), render_sarif(&input));
    assert!(!text.contains(SECRET) && !sarif.contains(SECRET), "{text}");
    assert!(text.contains("AKIA…LE is an example") && sarif.contains("refuted: AKIA…LE is an example"), "{text}");
}

#[test]
fn of_a_key_block_one_line_is_shown() {
    let mut input = leak("private-key");
    let block = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEAabc\n-----END RSA PRIVATE KEY-----";
    let leak = &mut input.findings[0].finding;
    leak.quote = Some(block.into());
    leak.evidence = vec![format!("src/a.rs:10 - {block}"), "src/a.rs:11 - MIIEowIBAAKCAQEAabc".into()];
    let text = render_markdown(&input);
    assert!(text.contains("```text\n-----BEGIN RSA PRIVATE KEY-----\n…\n```"), "{text}");
    assert!(!text.contains("MIIEowIBAA") && !text.contains("END RSA"), "{text}");
}

#[test]
fn a_secret_that_another_source_names_is_masked() {
    let mut input = leak("weak-configuration");
    let mut source = finding("src/a.rs", 10, "Key in source");
    source.category = "hardcoded-secret".into();
    input.findings[0].sources[0].finding = source;
    assert!(!render_markdown(&input).contains(SECRET));
}

#[test]
fn an_input_that_was_written_before_is_still_read() {
    let mut old = serde_json::to_value(report()).expect("JSON");
    let members = old.as_object_mut().expect("an object");
    members.remove("notices");
    members.remove("raw_paths");
    assert_eq!(serde_json::from_value::<ReportInput>(old).expect("an input"), report());
}
