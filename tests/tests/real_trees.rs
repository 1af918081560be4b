//! Real source trees: the sources of dependencies, which every build has fetched. An audit of them is complete, quotes them
//! exactly, and has nothing to do the second time.
#![allow(clippy::disallowed_methods, reason = "tests ask cargo where sources lie")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assize_tests::Machine;
use serde_json::Value;

/// Where the sources of a dependency lie. Only what this platform needs has been fetched.
fn crate_dir(name: &str) -> PathBuf {
    let host = String::from_utf8(Command::new("rustc").arg("-vV").output().unwrap().stdout).unwrap();
    let host = host.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--format-version", "1", "--filter-platform", host])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == name).unwrap();
    Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::write(&target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

fn is_audited_whole(name: &str, least: usize) {
    let machine = Machine::new();
    copy(&crate_dir(name), machine.repo());
    let before = machine.tree();
    let outcome = machine.assize(&["run", "--json"]).run().exits(0).json();
    assert_eq!(outcome["end"], "complete", "{name}");
    let plan = machine.assize(&["plan", "--json"]).run().exits(0).json();
    let auditable: BTreeSet<&str> = plan["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|row| row["status"] == "auditable")
        .map(|row| row["path"].as_str().unwrap())
        .collect();
    assert!(auditable.len() >= least, "{name}: only {} files", auditable.len());
    // Every Rust file is audited: none of them is generated, vendored or empty here.
    let sources = before.iter().filter(|(path, text)| path.extension().is_some_and(|e| e == "rs") && !text.is_empty());
    for (path, _) in sources {
        let path = path.strip_prefix(machine.repo()).unwrap().to_str().unwrap();
        assert!(auditable.contains(path), "{name}: {path} is left out");
    }
    let document = machine.assize(&["report", "--json"]).run().exits(0).json();
    let covered = document["x-assize"]["coverage"]["reviewed"].as_array().unwrap();
    let covered: BTreeSet<&str> = covered.iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(covered, auditable, "{name}");
    assert_eq!(document["x-assize"]["coverage"]["not_reviewed"], Value::Array(Vec::new()), "{name}");
    quotes_stand(&machine, &document);
    is_readable(&machine, &document);
    machine.each_task_once();

    let again = machine.assize(&["run", "--json"]).run().exits(0).json();
    assert_eq!(again["launches"], 0, "{name}");
    assert_eq!(again["findings"], outcome["findings"], "{name}");
    assert!(before == machine.tree(), "{name}: the tree was changed");
    machine.assize(&["ledger", "verify"]).run().exits(0);
}

fn quotes_stand(machine: &Machine, document: &Value) {
    for finding in document["findings"].as_array().unwrap() {
        let place = &finding["affected_files"][0];
        let text = fs::read_to_string(machine.repo().join(place["path"].as_str().unwrap())).unwrap();
        let start = place["line_start"].as_u64().unwrap() as usize;
        let rest: Vec<&str> = text.lines().skip(start - 1).collect();
        let quote = finding["x-assize"]["quote"].as_str().unwrap();
        assert!(rest.join("\n").contains(quote) && rest[0].contains(quote.lines().next().unwrap()), "{finding:#}");
    }
}

/// A report that people can read: no line longer than a screen of text, and about a page a finding.
fn is_readable(machine: &Machine, document: &Value) {
    let report = machine.assize(&["report"]).run().exits(0).stdout;
    let findings = document["findings"].as_array().unwrap().len();
    let lines = report.lines().count();
    assert!(lines < 600 + findings * 60, "{lines} lines for {findings} findings");
    let longest = report.lines().map(str::len).max().unwrap();
    assert!(longest < 2_000, "a line of {longest} bytes");
    assert!(!report.contains('\u{1b}'));
}

#[test]
fn the_crate_ignore_is_audited_whole() {
    is_audited_whole("ignore", 15);
}

#[test]
fn the_crate_clap_builder_is_audited_whole() {
    is_audited_whole("clap_builder", 60);
}

#[test]
fn the_crate_rusqlite_is_audited_whole() {
    is_audited_whole("rusqlite", 30);
}
