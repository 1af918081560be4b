//! A tree that has been audited, and what the records say of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use assize_tests::Machine;
use serde_json::Value;

/// Longest run of an ordinary tree of these tests; what blocks never ends.
const LIMIT: Duration = Duration::from_secs(100);

/// A line that the pattern analyzer reports in any language, and what it reports. It is made of two halves so that
/// nothing takes this file for one with a key in it.
pub(crate) const KEY: &str = concat!("AK", "IAQ3EGUR7TNM5V2WXY");

/// Python with a key in its third line.
pub(crate) fn with_key() -> String {
    format!("import os\n\nKEY = \"{KEY}\"\n")
}

/// What an audit by rules said.
pub(crate) struct Audited {
    /// Outcome of `run --json`.
    pub(crate) outcome: Value,
    /// Rows of the inventory by path.
    pub(crate) rows: BTreeMap<String, Value>,
    /// Findings of the findings file.
    pub(crate) findings: Vec<Value>,
    /// The findings file.
    pub(crate) document: Value,
    /// The report for people.
    pub(crate) report: String,
    /// What `run` said on standard error.
    pub(crate) run_said: String,
    /// What `run` and `plan` said on standard error.
    pub(crate) said: String,
}

/// Audits to completion with the built-in rules, and reads back all that was written.
#[track_caller]
pub(crate) fn audit(machine: &Machine) -> Audited {
    audit_with(machine, &[])
}

/// The same with further flags.
#[track_caller]
pub(crate) fn audit_with(machine: &Machine, flags: &[&str]) -> Audited {
    let call = |words: &[&str]| machine.assize(&[words, flags].concat()).limit(LIMIT).run();
    let run = call(&["run", "--json"]).exits(0);
    let outcome = run.json();
    assert_eq!(outcome["end"], "complete", "{outcome:#}");
    assert_eq!(outcome["pairs_required"], outcome["pairs_reviewed"], "{outcome:#}");
    let plan = call(&["plan", "--json"]).exits(0);
    let rows = plan.json()["files"].as_array().unwrap().clone();
    let rows: BTreeMap<String, Value> =
        rows.into_iter().map(|row| (row["path"].as_str().unwrap().to_owned(), row)).collect();
    let document: Value = serde_json::from_str(&read(&outcome["findings_file"])).unwrap();
    let findings = document["findings"].as_array().unwrap().clone();
    let report = read(&outcome["report"]);
    Audited {
        outcome,
        rows,
        findings,
        document,
        report,
        said: format!("{}\n{}", run.stderr, plan.stderr),
        run_said: run.stderr,
    }
}

fn read(path: &Value) -> String {
    let path = path.as_str().unwrap();
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

impl Audited {
    /// Asserts status and reason of an entry.
    #[track_caller]
    pub(crate) fn is(&self, path: &str, status: &str, reason: &str) {
        let row = self.row(path);
        let found = (row["status"].as_str().unwrap(), row["reason"].as_str().unwrap());
        assert_eq!(found, (status, reason), "{path}: {row:#}");
    }

    /// The row of an entry.
    #[track_caller]
    pub(crate) fn row(&self, path: &str) -> &Value {
        self.rows.get(path).unwrap_or_else(|| panic!("no row {path:?} among {:?}", self.rows.keys()))
    }

    /// Asserts that the key is reported in this line of this file, and quoted.
    #[track_caller]
    pub(crate) fn key_found(&self, path: &str, line: u64) {
        let hit = self.findings.iter().any(|finding| {
            let place = &finding["affected_files"][0];
            place["path"] == path && place["line_start"] == line && finding["x-assize"]["quote"] == KEY
        });
        assert!(hit, "no key in {path:?}:{line}; found: {:#?}", self.places());
    }

    /// Path and line of every finding.
    pub(crate) fn places(&self) -> Vec<(String, u64)> {
        let place = |finding: &Value| {
            let place = &finding["affected_files"][0];
            (place["path"].as_str().unwrap().to_owned(), place["line_start"].as_u64().unwrap_or(0))
        };
        self.findings.iter().map(place).collect()
    }

    /// Paths that are reviewed.
    pub(crate) fn auditable(&self) -> Vec<&str> {
        let rows = self.rows.iter().filter(|(_, row)| row["status"] == "auditable");
        rows.map(|(path, _)| path.as_str()).collect()
    }
}

/// Writes bytes into the repository.
pub(crate) fn put(machine: &Machine, path: &str, bytes: impl AsRef<[u8]>) {
    let file = machine.repo().join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, bytes).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
}

/// Asserts that a text is in no file below a directory.
#[track_caller]
pub(crate) fn is_nowhere_in(dir: &Path, text: &str) {
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                folders.push(entry.path());
            } else {
                let bytes = fs::read(entry.path()).unwrap();
                let held = bytes.windows(text.len()).any(|window| window == text.as_bytes());
                assert!(!held, "{text:?} is in {}", entry.path().display());
            }
        }
    }
}
