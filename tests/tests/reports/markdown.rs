//! The report for people: first what was and was not reviewed, then what was found.

use serde_json::Value;

use crate::trees;

/// Titles of a level, in order.
fn titles<'a>(report: &'a str, level: &str) -> Vec<&'a str> {
    report.lines().filter_map(|line| line.strip_prefix(level)).collect()
}

#[test]
fn a_report_of_rules_opens_with_what_was_and_was_not_reviewed() {
    let machine = trees::complete();
    let report = machine.assize(&["report"]).run().exits(0).stdout;
    assert_eq!(titles(&report, "# "), ["Audit of repo"]);
    let sections = titles(&report, "## ");
    assert_eq!(sections[..3], ["What was reviewed", "What was not reviewed", "Findings"], "{sections:?}");
    let opening = report.split("## ").next().unwrap();
    assert!(opening.contains("rules only"), "{opening}");
    assert!(report.contains("`Cargo.lock`: lock-file"), "what was left out is not named");
    assert!(report.contains("| security |"));
    assert!(report.contains("deterministic rules"), "{opening}");
}

#[test]
fn a_report_of_an_agent_does_not_say_that_only_rules_looked() {
    let report = trees::by_an_agent().assize(&["report"]).run().exits(0).stdout;
    let opening = report.split("## ").next().unwrap();
    assert!(!opening.contains("rules only"), "{opening}");
}

#[test]
fn an_unfinished_audit_says_so_before_anything_else() {
    for (machine, words) in [(trees::paused(), "Incomplete"), (trees::only_planned(), "Nothing was reviewed")] {
        let report = machine.assize(&["report"]).run().exits(3).stdout;
        let opening = report.split("## ").next().unwrap();
        assert!(opening.contains(words), "{opening}");
        assert!(opening.contains("Incomplete"), "{opening}");
        assert!(report.contains("Required reviews that are open"), "the open reviews are not listed");
    }
}

#[test]
fn every_finding_is_in_the_report_with_its_place_and_its_quote() {
    let machine = trees::complete();
    let report = machine.assize(&["report"]).run().exits(0).stdout;
    let document = machine.assize(&["report", "--json"]).run().exits(0).json();
    let findings = document["findings"].as_array().unwrap();
    assert!(!findings.is_empty());
    for finding in findings {
        let id = finding["id"].as_str().unwrap();
        let part = report.split("#### ").find(|part| part.starts_with(id)).unwrap_or_else(|| panic!("no {id}"));
        let line = finding["affected_files"][0]["line_start"].as_u64().unwrap();
        assert!(part.contains(&format!(":{line}`")), "{part}");
        let quote = finding["x-assize"]["quote"].as_str().unwrap();
        let first = quote.lines().next().unwrap();
        if finding["category"].as_str().unwrap().contains("secret") {
            assert!(!part.contains(first), "a secret stands in the clear: {part}");
            assert!(part.contains('…'), "{part}");
        } else {
            assert!(part.contains(first), "{part}");
        }
    }
}

#[test]
fn a_clean_audit_says_that_nothing_was_found() {
    let report = trees::without_findings().assize(&["report"]).run().exits(0).stdout;
    let findings = report.split("## Findings").nth(1).unwrap_or_else(|| panic!("no section of findings:\n{report}"));
    let first = findings.lines().find(|line| !line.trim().is_empty()).unwrap();
    assert!(first.to_lowercase().contains("no"), "{first}");
}

#[test]
fn the_files_on_disk_are_what_report_prints() {
    let machine = trees::complete();
    let outcome: Value = machine.assize(&["run", "--json"]).run().exits(0).json();
    for (member, format) in [("report", "markdown"), ("findings_file", "findings"), ("sarif", "sarif")] {
        let file = std::fs::read_to_string(outcome[member].as_str().unwrap()).unwrap();
        let printed = machine.assize(&["report", "--format", format]).run().exits(0).stdout;
        assert!(file == printed, "{format} differs");
    }
}
