//! SARIF: valid by the schema of the standard, readable by types made from it, and what code scanning asks beyond.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{schema, trees};

#[test]
fn sarif_fits_the_schema_of_the_standard_in_every_state() {
    let validator = schema::sarif();
    for (what, machine, code) in trees::all() {
        let end = machine.assize(&["report", "--format", "sarif"]).run().exits(code);
        schema::fits(&validator, &end.json(), what);
        let typed: serde_sarif::sarif::Sarif = serde_json::from_str(&end.stdout).unwrap();
        assert_eq!(typed.runs.len(), 1, "{what}");
    }
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    // A validator that accepts everything would make the test above pass.
    let validator = schema::sarif();
    let machine = trees::complete();
    let mut sarif = machine.assize(&["report", "--format", "sarif"]).run().exits(0).json();
    sarif["runs"][0]["results"][0]["level"] = "awful".into();
    assert!(!validator.is_valid(&sarif));
}

#[test]
fn results_are_what_code_scanning_takes() {
    for (what, machine, code) in trees::all() {
        let sarif = machine.assize(&["report", "--format", "sarif"]).run().exits(code).json();
        let findings = machine.assize(&["report", "--json"]).run().exits(code).json();
        let run = &sarif["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        let ids: BTreeSet<&str> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
        assert_eq!(ids.len(), rules.len(), "{what}: a rule is there twice");
        let results = run["results"].as_array().unwrap();
        assert_eq!(results.len(), findings["findings"].as_array().unwrap().len(), "{what}");
        let mut prints = BTreeSet::new();
        for result in results {
            check_result(result, rules);
            prints.insert(result["partialFingerprints"].to_string());
        }
        assert_eq!(prints.len(), results.len(), "{what}: two results have one fingerprint");
        assert_eq!(run["invocations"][0]["executionSuccessful"], code == 0, "{what}");
    }
}

fn check_result(result: &Value, rules: &[Value]) {
    let rule = &rules[result["ruleIndex"].as_u64().unwrap() as usize];
    assert_eq!(rule["id"], result["ruleId"]);
    assert!(!result["message"]["text"].as_str().unwrap().trim().is_empty());
    let place = &result["locations"][0]["physicalLocation"];
    let uri = place["artifactLocation"]["uri"].as_str().unwrap();
    assert!(uri.is_ascii() && !uri.starts_with('/') && !uri.contains([' ', '\n', '\\', '#', '?']), "{uri}");
    let (start, end) = (place["region"]["startLine"].as_u64().unwrap(), place["region"]["endLine"].as_u64().unwrap());
    assert!(start >= 1 && end >= start, "{place:#}");
}

#[test]
fn a_fingerprint_stays_when_its_line_moves() {
    let machine = trees::without_findings();
    let prints = |text: &str| {
        machine.write("a.py", text);
        machine.assize(&["run"]).run().exits(0);
        let sarif = machine.assize(&["report", "--format", "sarif"]).run().exits(0).json();
        let results = sarif["runs"][0]["results"].as_array().unwrap().clone();
        results.iter().map(|result| result["partialFingerprints"].clone()).collect::<Vec<_>>()
    };
    let line = format!("KEY = \"{}\"\n", trees::KEY);
    let first = prints(&line);
    assert_eq!(first.len(), 1);
    assert_eq!(prints(&format!("# Moved.\n\n\n{line}")), first);
}
