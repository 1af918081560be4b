//! `explain`: a task, a finding, a file, and what is none of them.

use assize_tests::Machine;
use serde_json::Value;

fn audited() -> Machine {
    let machine = Machine::with_files(20);
    machine.write("src/a.py", "import os\n\n\ndef go(value):\n    os.system(value)\n    return value\n");
    machine.write("notes.md", "# Notes\n");
    machine.assize(&["run"]).run().exits(0);
    machine
}

#[track_caller]
fn explained(machine: &Machine, what: &str) -> (Value, String) {
    let value = machine.assize(&["explain", "--json", what]).run().exits(0).json();
    (value, machine.assize(&["explain", what]).run().exits(0).stdout)
}

#[test]
fn a_task_is_explained_by_name_and_by_id() {
    let machine = audited();
    let plan = machine.assize(&["plan", "--json"]).run().exits(0).json();
    let task = &plan["tasks"][0];
    let (name, id) = (task["name"].as_str().unwrap(), task["id"].as_str().unwrap());
    let (value, text) = explained(&machine, name);
    assert_eq!((&value["kind"], &value["name"]), (&"task".into(), &name.into()));
    assert_eq!(explained(&machine, id).0, value);
    assert_eq!(value["facts"]["results"].as_array().unwrap().len(), 1);
    for word in ["why:", "state: done", "rules", task["files"][0]["path"].as_str().unwrap()] {
        assert!(text.contains(word), "no {word:?} in:\n{text}");
    }
}

#[test]
fn a_finding_is_explained_by_its_id() {
    let machine = audited();
    let report = machine.assize(&["report", "--json"]).run().exits(0).json();
    for finding in report["findings"].as_array().unwrap() {
        let (value, text) = explained(&machine, finding["id"].as_str().unwrap());
        assert_eq!(value["kind"], "finding");
        let place = &finding["affected_files"][0];
        for word in [&finding["title"], &finding["severity"], &finding["evidence"][0], &place["path"]] {
            assert!(text.contains(word.as_str().unwrap()), "no {word} in:\n{text}");
        }
        assert!(text.contains(&format!(":{}", place["line_start"])) && text.contains("reported by rules"), "{text}");
    }
}

#[test]
fn a_file_is_explained_whether_it_is_audited_or_not() {
    let machine = audited();
    let (value, text) = explained(&machine, "src/a.py");
    assert_eq!((&value["kind"], &value["facts"]["row"]["status"]), (&"file".into(), &"auditable".into()));
    for word in ["risk", "lens security", "reviewed by rules", "finding SEC-"] {
        assert!(text.contains(word), "no {word:?} in:\n{text}");
    }
    assert_eq!(explained(&machine, "./src/a.py").0["facts"], value["facts"]);
    let (value, text) = explained(&machine, "notes.md");
    assert_eq!(value["facts"]["row"]["reason"], "doc-only");
    assert!(text.contains("doc-only"), "{text}");
}

#[test]
fn a_file_is_explained_as_a_shell_completes_its_name() {
    let machine = audited();
    let absolute = machine.repo().join("src/a.py");
    assert_eq!(explained(&machine, absolute.to_str().unwrap()).0["name"], "src/a.py");
}

#[test]
fn what_is_unknown_is_named() {
    let machine = audited();
    for what in ["nothing.py", "SEC-00000000", "", "../repo/src/a.py", "\u{1b}[31m"] {
        let end = machine.assize(&["explain", what]).run().exits(2).says("nothing is called");
        assert!(end.stdout.is_empty() && !end.stderr.contains('\u{1b}'));
    }
}
