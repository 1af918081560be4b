//! Whole audits by the built-in rules: complete, repeatable, proportional to what changed, and without a trace in the
//! audited tree.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use assize_tests::Machine;
use serde_json::Value;

/// Small enough for a test, large enough for several units and languages.
const FILES: usize = 60;

fn read(path: &Value) -> String {
    let path = path.as_str().unwrap();
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn an_audit_by_rules_ends_complete_with_all_reports() {
    let machine = Machine::with_files(FILES);
    let outcome = machine.assize(&["run", "--json"]).run().exits(0).json();
    assert_eq!(outcome["end"], "complete");
    assert_eq!(outcome["provider"], "rules");
    assert!(outcome["launches"].as_u64().unwrap() > 0);
    assert_eq!(outcome["pairs_required"], outcome["pairs_reviewed"]);

    let status = machine.status();
    assert_eq!(status["complete"], true);
    assert_eq!(status["coverage"]["by_kind"].as_object().unwrap().keys().collect::<Vec<_>>(), ["rules"]);
    machine.each_task_once();

    assert!(read(&outcome["report"]).contains("# Audit of "));
    let findings: Value = serde_json::from_str(&read(&outcome["findings_file"])).unwrap();
    assert_eq!(findings["contract_version"], "audit-tools/audit-findings/v1");
    let count = findings["findings"].as_array().unwrap().len();
    assert_eq!(findings["summary"]["finding_count"].as_u64(), Some(count as u64));
    assert!((2..=30).contains(&count), "{count} findings in {FILES} files with a fault in every tenth");
    let sarif: Value = serde_json::from_str(&read(&outcome["sarif"])).unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    assert!(!sarif["runs"][0]["results"].as_array().unwrap().is_empty());
}

#[test]
fn every_finding_quotes_what_stands_in_the_file() {
    let machine = Machine::with_files(FILES);
    machine.assize(&["run"]).run().exits(0);
    let findings = machine.assize(&["report", "--format", "findings"]).run().exits(0).json();
    for finding in findings["findings"].as_array().unwrap() {
        let place = &finding["affected_files"][0];
        let text = fs::read_to_string(machine.repo().join(place["path"].as_str().unwrap())).unwrap();
        let quote = finding["x-assize"]["quote"].as_str().unwrap();
        let line = place["line_start"].as_u64().unwrap() as usize;
        let from: Vec<&str> = text.lines().skip(line - 1).collect();
        assert!(from.join("\n").contains(quote), "{finding:#}");
    }
}

#[test]
fn a_second_run_does_nothing() {
    let machine = Machine::with_files(FILES);
    let first = machine.assize(&["run", "--json"]).run().exits(0).json();
    let report = read(&first["findings_file"]);
    let second = machine.assize(&["run", "--json"]).run().exits(0).json();
    assert_eq!(second["launches"], 0);
    assert_eq!(second["end"], "complete");
    assert_eq!(read(&second["findings_file"]), report);
    machine.each_task_once();
}

#[test]
fn an_edited_file_is_reviewed_again_and_nothing_else() {
    let machine = Machine::with_files(FILES);
    machine.assize(&["run"]).run().exits(0);
    let before = machine.results_by_task();
    let edited = machine.tree().into_keys().find(|path| path.extension().is_some_and(|e| e == "ts")).unwrap();
    let name = edited.strip_prefix(machine.repo()).unwrap().to_str().unwrap().to_owned();
    let text = fs::read_to_string(&edited).unwrap();
    fs::write(&edited, format!("{text}// One more line.\n")).unwrap();

    let plan = machine.assize(&["plan", "--json"]).run().exits(0).json();
    let reads = |task: &&Value| task["files"].as_array().unwrap().iter().any(|file| file["path"] == name.as_str());
    let tasks = plan["tasks"].as_array().unwrap();
    let expected: BTreeSet<&str> = tasks.iter().filter(reads).map(|task| task["id"].as_str().unwrap()).collect();
    assert!(!expected.is_empty() && expected.len() < tasks.len());

    machine.assize(&["run"]).run().exits(0);
    let after = machine.results_by_task();
    let new: BTreeSet<&str> = after.keys().filter(|task| !before.contains_key(*task)).map(String::as_str).collect();
    assert_eq!(new, expected);
    assert!(before.iter().all(|(task, count)| after.get(task) == Some(count)), "a result was made twice");
}

#[test]
fn a_file_that_is_gone_is_required_no_more() {
    let machine = Machine::with_files(FILES);
    machine.assize(&["run"]).run().exits(0);
    let gone = machine.tree().into_keys().find(|path| path.extension().is_some_and(|e| e == "py")).unwrap();
    fs::remove_file(&gone).unwrap();
    let outcome = machine.assize(&["run", "--json"]).run().exits(0).json();
    assert_eq!(outcome["pairs_required"], outcome["pairs_reviewed"]);
    let name = gone.strip_prefix(machine.repo()).unwrap().to_str().unwrap();
    assert!(!read(&outcome["findings_file"]).contains(name));
}

#[test]
fn two_audits_of_one_tree_give_the_same_bytes() {
    let machine = Machine::with_files(FILES);
    let run = |name: &str, workers: &str| {
        let state = machine.at(name);
        let state = state.to_str().unwrap();
        machine.assize(&["run", "--state-dir", state, "--workers", workers]).run().exits(0);
        let read = |file: &str| fs::read_to_string(Path::new(state).join("report").join(file)).unwrap();
        (read("audit-findings.json"), read("audit.sarif"))
    };
    let (first, second) = (run("data/first", "1"), run("data/second", "4"));
    assert!(first.1 == second.1, "SARIF differs:\n{}", difference(&first.1, &second.1));
    // Launches are named after the time, so that the ledger can be asked for them, and the report is dated. Nothing else
    // may differ.
    let timed = |line: &&str| ["\"launch\":", "\"generated_at\":"].iter().any(|name| line.trim().starts_with(name));
    let nameless =
        |text: &str| text.lines().filter(|line| !timed(line)).map(|line| format!("{line}\n")).collect::<String>();
    let (first, second) = (nameless(&first.0), nameless(&second.0));
    assert!(first == second, "findings differ:\n{}", difference(&first, &second));
    assert!(!machine.repo().join(".assize").exists(), "with --state-dir the repository holds nothing of ours");
}

/// The first lines that differ.
fn difference(a: &str, b: &str) -> String {
    let differing = a.lines().zip(b.lines()).filter(|(a, b)| a != b);
    differing.take(5).map(|(a, b)| format!("- {a}\n+ {b}\n")).collect()
}

#[test]
fn the_audited_tree_is_not_touched() {
    let machine = Machine::with_files(FILES);
    let before = machine.tree();
    machine.assize(&["run"]).run().exits(0);
    assert!(before == machine.tree());
    machine.assize(&["clean"]).run().exits(0);
    assert!(!machine.repo().join(".assize/store.db").exists());
    assert!(before == machine.tree());
}

#[test]
fn the_gate_counts_what_is_at_least_as_severe() {
    let machine = Machine::new();
    machine.write("src/a.py", "import os\n\n\ndef go(value):\n    os.system(value)\n    return value\n");
    let findings = machine.assize(&["run", "--json", "--fail-on", "info"]).run().exits(1).json()["findings"].clone();
    assert_eq!(findings, serde_json::json!({"medium": 1}));
    machine.assize(&["run", "--fail-on", "medium"]).run().exits(1);
    machine.assize(&["run", "--fail-on", "high"]).run().exits(0);
    machine.assize(&["run", "--fail-on", "awful"]).run().exits(2).says("critical, high, medium, low, info");
}

#[test]
fn an_empty_repository_is_an_error_and_not_a_success() {
    let machine = Machine::new();
    machine.assize(&["run"]).run().exits(2).says("no file to audit");
}

#[test]
fn strange_names_and_contents_are_audited_or_named() {
    let machine = Machine::new();
    let body = "export function f(input: string): number {\n  eval(input);\n  return 1;\n}\n";
    let names = [
        "line\nbreak.ts",
        "quote\"'.ts",
        "$(touch marker).ts",
        "-dash.ts",
        "back\\slash.ts",
        "\u{1b}[31mred.ts",
        "日本語.ts",
    ];
    for name in names {
        machine.write(name, body);
    }
    fs::write(machine.repo().join("latin.py"), b"# caf\xe9\nimport os\n\n\ndef go(v):\n    os.system(v)\n").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", machine.repo().join("link.ts")).unwrap();
    std::os::unix::fs::symlink(".", machine.repo().join("loop")).unwrap();
    let end = machine.assize(&["run", "--json"]).run().exits(0);
    assert!(!end.stderr.contains('\u{1b}'), "{:?}", end.stderr);
    let findings = read(&end.json()["findings_file"]);
    let found: Value = serde_json::from_str(&findings).unwrap();
    let paths: BTreeSet<String> = found["findings"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|finding| finding["affected_files"].as_array().unwrap())
        .map(|place| place["path"].as_str().unwrap().to_owned())
        .collect();
    for name in names {
        assert!(paths.contains(name), "{name:?} is not among {paths:?}");
    }
    assert!(paths.contains("latin.py"), "{paths:?}");
    assert!(!findings.contains("root:"));
    assert!(!machine.repo().join("marker").exists());
}

#[test]
fn a_wrong_call_says_what_is_right() {
    let machine = Machine::with_files(4);
    machine.assize(&["run", "--provider", "nobody"]).run().exits(2).says("there are");
    machine.assize(&["run", "--lens", "zoom"]).run().exits(2).says("security");
    machine.assize(&["run", "--workers", "0"]).run().exits(2);
    machine.assize(&["run", "--plugin", "/nowhere.wasm"]).run().exits(2).says("/nowhere.wasm");
    machine.assize(&["run", "--grant", "nobody:program=sh"]).run().exits(2).says("plugin list");
    machine.assize(&["run", "--grant", "nonsense"]).run().exits(2).says("program=NAME");
    machine.bare().args(["run", "/nowhere/at/all"]).run().exits(2).says("/nowhere/at/all");
    Machine::with_files(1).assize(&["status"]).run().exits(2).says("assize run");
}
