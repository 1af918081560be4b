//! `--json`: what every command prints then is one JSON value with what scripts need, refusals among it.

use assize_tests::Machine;
use serde_json::Value;

#[track_caller]
fn json(machine: &Machine, args: &[&str]) -> Value {
    machine.assize(args).run().exits(0).json()
}

#[track_caller]
fn has(value: &Value, members: &[&str]) {
    for member in members {
        assert!(value.get(member).is_some(), "no {member:?} in {value:#}");
    }
}

#[test]
fn every_command_prints_one_json_value() {
    let machine = Machine::with_files(20);
    let next = json(&machine, &["next", "--json"]);
    assert_eq!((&next["obligation"], &next["state"]), (&"inventory".into(), &"missing".into()));
    has(&json(&machine, &["plan", "--json"]), &["files", "units", "edges", "required", "tasks"]);
    has(&json(&machine, &["next", "--json"]), &["state"]);
    has(
        &json(&machine, &["run", "--json"]),
        &["end", "causes", "launches", "findings", "report", "findings_file", "sarif"],
    );
    has(&json(&machine, &["status", "--json"]), &["obligations", "tasks", "coverage", "findings", "complete"]);
    assert_eq!(json(&machine, &["next", "--json"])["obligation"], Value::Null);
    has(&json(&machine, &["report", "--json"]), &["contract_version", "findings"]);
    has(&json(&machine, &["report", "--json", "--format", "sarif"]), &["version", "runs"]);
    has(&json(&machine, &["report", "--json", "--format", "findings"]), &["contract_version"]);
    let plugins = json(&machine, &["plugin", "list", "--json"]);
    assert!(plugins.as_array().unwrap().len() >= 4, "{plugins:#}");
    has(&plugins[0], &["description", "origin", "sha256", "grants"]);
    let name = plugins[0]["description"]["name"].as_str().unwrap();
    has(&json(&machine, &["plugin", "inspect", "--json", name]), &["description", "sha256"]);
    let providers = json(&machine, &["provider", "list", "--json"]);
    let chosen = providers.as_array().unwrap().iter().filter(|provider| provider["chosen"] == true);
    assert_eq!(chosen.map(|provider| &provider["name"]).collect::<Vec<_>>(), ["rules"]);
    has(&json(&machine, &["provider", "check", "--json", "rules"]), &["name", "usable", "grants", "program"]);
    let entries = json(&machine, &["ledger", "show", "--json"]);
    has(&entries[0], &["seq", "at_ms", "kind", "subject", "hash"]);
    assert_eq!(json(&machine, &["ledger", "verify", "--json"])["whole"], true);
    has(&json(&machine, &["clean", "--json", "--dry-run"]), &["removed", "left", "dry_run"]);
    has(&json(&machine, &["clean", "--json"]), &["removed", "left"]);
    has(&json(&machine, &["clean", "--json"]), &["removed"]);
    let version = machine.bare().args(["version", "--json"]).run().exits(0).json();
    has(&version, &["assize", "plugin_interface", "store_schema", "worker_contract"]);
}

#[test]
fn the_subject_of_a_ledger_entry_is_json_within_json() {
    let machine = Machine::with_files(4);
    machine.assize(&["run"]).run().exits(0);
    let entries = json(&machine, &["ledger", "show", "--json"]);
    for entry in entries.as_array().unwrap() {
        assert!(entry["subject"].is_object(), "a script would have to parse it twice: {entry:#}");
    }
}

#[test]
fn a_refusal_is_json_too() {
    let machine = Machine::with_files(4);
    for args in [
        &["status", "--json"][..],
        &["report", "--json"],
        &["explain", "x", "--json"],
        &["ledger", "verify", "--json"],
        &["run", "--json", "--provider", "nobody"],
        &["import-results", "/nowhere.json", "--json"],
    ] {
        let end = machine.assize(args).run().exits(2);
        let value = end.json();
        assert_eq!(value["exit_code"], 2, "{args:?}");
        assert!(!value["error"].as_str().unwrap().is_empty(), "{args:?}");
        assert!(end.stderr.contains("error:"), "{args:?}: people are told as well");
    }
}
