//! The findings file: the shape of its contract, sums that agree, and quotes that stand in the files.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;

use crate::{schema, trees};

#[test]
fn the_findings_file_keeps_its_contract_in_every_state() {
    let validator = schema::findings_file();
    for (what, machine, code) in trees::all() {
        let document = machine.assize(&["report", "--format", "findings"]).run().exits(code).json();
        schema::fits(&validator, &document, what);
        agrees_with_itself(&document, what);
    }
}

#[test]
fn the_schema_refuses_what_is_wrong() {
    let validator = schema::findings_file();
    let machine = trees::complete();
    let document = machine.assize(&["report", "--json"]).run().exits(0).json();
    let spoilt = |pointer: &str, value: Value| {
        let mut copy = document.clone();
        *copy.pointer_mut(pointer).unwrap() = value;
        copy
    };
    for (pointer, value) in [
        ("/contract_version", "v2".into()),
        ("/findings/0/severity", "awful".into()),
        ("/findings/0/evidence", Value::Array(Vec::new())),
        ("/findings/0/id", "1".into()),
        ("/findings/0/affected_files/0/line_start", 0.into()),
        ("/summary", Value::Null),
    ] {
        assert!(!validator.is_valid(&spoilt(pointer, value)), "{pointer}");
    }
}

fn agrees_with_itself(document: &Value, what: &str) {
    let findings = document["findings"].as_array().unwrap();
    let summary = &document["summary"];
    assert_eq!(summary["finding_count"], findings.len(), "{what}");
    let sum: u64 = summary["severity_breakdown"].as_object().unwrap().values().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(sum, findings.len() as u64, "{what}");
    let ids: BTreeSet<&str> = findings.iter().map(|finding| finding["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), findings.len(), "{what}: an id is there twice");
    let blocks = document["work_blocks"].as_array().unwrap();
    assert_eq!(summary["work_block_count"], blocks.len(), "{what}");
    let in_blocks: Vec<&str> =
        blocks.iter().flat_map(|block| block["finding_ids"].as_array().unwrap()).filter_map(Value::as_str).collect();
    assert_eq!(in_blocks.iter().copied().collect::<BTreeSet<_>>(), ids, "{what}: blocks hold every finding");
    let names: BTreeSet<&str> = blocks.iter().map(|block| block["id"].as_str().unwrap()).collect();
    for needed in blocks.iter().flat_map(|block| block["depends_on"].as_array().unwrap()) {
        assert!(names.contains(needed.as_str().unwrap()), "{what}: a block depends on {needed}, which is none");
    }
}

#[test]
fn every_finding_stands_where_it_says() {
    for (what, machine, code) in trees::all() {
        let document = machine.assize(&["report", "--json"]).run().exits(code).json();
        for finding in document["findings"].as_array().unwrap() {
            for place in finding["affected_files"].as_array().unwrap() {
                let path = machine.repo().join(place["path"].as_str().unwrap());
                let text =
                    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{what}: {}: {error}", path.display()));
                let (start, end) = (place["line_start"].as_u64().unwrap(), place["line_end"].as_u64());
                let end = end.unwrap_or(start);
                let lines: Vec<&str> = text.lines().collect();
                assert!(start >= 1 && start <= end && end <= lines.len() as u64, "{what}: {finding:#}");
                let quote = finding["x-assize"]["quote"].as_str().expect("a quote");
                let span = lines[start as usize - 1..].join("\n");
                assert!(span.contains(quote), "{what}: the quote is not at its place: {finding:#}");
                let first = quote.lines().next().unwrap_or_default();
                assert!(
                    lines[start as usize - 1].contains(first),
                    "{what}: the quote does not begin in its line: {finding:#}"
                );
            }
        }
    }
}
