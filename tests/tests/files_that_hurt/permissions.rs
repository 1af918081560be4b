//! What may not be read or written: named in the plan and the report, and no reason to stop.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use assize_tests::Machine;
use serde_json::Value;

use crate::audited::{put, with_key};
use crate::nobody::{Nobody, mode};
use crate::traces::listing;

#[track_caller]
fn json(output: &Output, code: i32) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{}{said}", String::from_utf8_lossy(&output.stdout));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"))
}

/// Modes that are given back at the end, so that the temporary directory can be removed by whoever runs the test.
struct Locked(Vec<PathBuf>);

impl Locked {
    fn new(paths: impl IntoIterator<Item = PathBuf>) -> Self {
        let paths: Vec<PathBuf> = paths.into_iter().collect();
        paths.iter().for_each(|path| mode(path, 0));
        Self(paths)
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        self.0.iter().for_each(|path| mode(path, 0o755));
    }
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_audited() {
    let machine = Machine::new();
    put(&machine, "ok.py", with_key());
    put(&machine, "closed.py", with_key());
    put(&machine, "closed/inner.py", with_key());
    put(&machine, "rules/.gitignore", "*.py\n");
    put(&machine, "rules/seen.py", with_key());
    let nobody = Nobody::on(&machine);
    let repo = machine.repo();
    let locked = Locked::new(["closed.py", "closed", "rules/.gitignore"].map(|name| repo.join(name)));
    let state = nobody.own("state");
    let flags = ["--json", "--state-dir", state.to_str().unwrap()];
    let outcome = json(&nobody.run(&[&["run"], &flags[..]].concat()), 0);
    let plan = json(&nobody.run(&[&["plan"], &flags[..]].concat()), 0);
    drop(locked);
    let rows = plan["files"].as_array().unwrap();
    let status = |path: &str| {
        let row = rows.iter().find(|row| row["path"] == path).unwrap_or_else(|| panic!("no row {path}"));
        (row["status"].as_str().unwrap().to_owned(), row["reason"].as_str().unwrap().to_owned())
    };
    let refused = ("unreadable".to_owned(), "permission".to_owned());
    assert_eq!(status("closed.py"), refused);
    assert_eq!(status("closed/"), refused);
    assert_eq!(status("ok.py"), ("auditable".to_owned(), "source".to_owned()));
    let report = fs::read_to_string(outcome["report"].as_str().unwrap()).unwrap();
    for path in ["closed.py", "closed/"] {
        assert!(report.contains(&format!("`{path}`: permission")), "the report does not name {path}:\n{report}");
    }
    let findings = fs::read_to_string(outcome["findings_file"].as_str().unwrap()).unwrap();
    assert!(findings.contains("\"ok.py\"") && !findings.contains("inner.py"));
}

fn each(root: &Path, mut act: impl FnMut(&Path)) {
    listing(root).keys().for_each(|path| act(path));
    act(root);
}

#[test]
fn a_read_only_repository_is_audited_with_its_state_elsewhere() {
    let machine = Machine::with_files(10);
    crate::git::init(machine.repo());
    let nobody = Nobody::on(&machine);
    each(machine.repo(), |path| if path.is_dir() { mode(path, 0o555) } else { mode(path, 0o444) });
    let before = listing(machine.repo());
    let state = nobody.own("state");
    let outcome = json(&nobody.run(&["run", "--json", "--state-dir", state.to_str().unwrap()]), 0);
    assert_eq!(outcome["end"], "complete");
    assert!(outcome["report"].as_str().unwrap().starts_with(state.to_str().unwrap()));
    assert_eq!(listing(machine.repo()), before);
    each(machine.repo(), |path| {
        if path.is_dir() {
            mode(path, 0o755)
        }
    });
}

#[test]
fn a_read_only_repository_without_a_place_for_state_is_refused_with_the_way_out() {
    let machine = Machine::with_files(4);
    let nobody = Nobody::on(&machine);
    each(machine.repo(), |path| if path.is_dir() { mode(path, 0o555) } else { mode(path, 0o444) });
    let refused = nobody.run(&["run"]);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    each(machine.repo(), |path| {
        if path.is_dir() {
            mode(path, 0o755)
        }
    });
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains("--state-dir"), "{said}");
}

#[test]
fn a_root_that_cannot_be_listed_is_a_usage_error_with_its_name() {
    let machine = Machine::new();
    put(&machine, "ok.py", with_key());
    let nobody = Nobody::on(&machine);
    let locked = Locked::new([machine.repo().to_owned()]);
    let refused = nobody.run(&["plan", "--state-dir", nobody.own("state").to_str().unwrap()]);
    drop(locked);
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{said}");
    assert!(said.contains(machine.repo().to_str().unwrap()), "{said}");
}
