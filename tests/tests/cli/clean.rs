//! `clean`: what the audit made goes, and nothing else.

use std::fs;
use std::os::unix::fs::symlink;

use assize_tests::Machine;

/// An audit by a program, so that there are run directories too.
fn audited() -> Machine {
    let machine = Machine::with_files(6);
    machine.use_worker(&[]);
    machine.assize(&["run"]).run().exits(0);
    machine
}

#[test]
fn everything_of_ours_goes_with_its_directory() {
    let machine = audited();
    let state = machine.repo().join(".assize");
    assert!(fs::read_dir(state.join("runs")).unwrap().count() > 0);
    let listed = machine.assize(&["clean", "--dry-run", "--json"]).run().exits(0).json();
    assert!(state.join("store.db").is_file(), "a dry run removed something");
    assert!(listed["removed"].as_array().unwrap().len() > 3 && listed["left"].as_array().unwrap().is_empty());
    let removed = machine.assize(&["clean", "--json"]).run().exits(0).json();
    assert_eq!(removed["removed"], listed["removed"]);
    assert!(!state.exists());
    machine.assize(&["clean"]).run().exits(0);
    machine.assize(&["run"]).run().exits(0);
}

#[test]
fn what_others_put_there_stays() {
    let machine = audited();
    let state = machine.repo().join(".assize");
    let outside = machine.at("data/outside");
    fs::create_dir_all(outside.join("inner")).unwrap();
    fs::write(outside.join("inner/precious"), "x").unwrap();
    for name in ["notes.txt", "report/mine.md", "runs/mine/notes", "store.db.backup", "mine/audit-report.md"] {
        fs::create_dir_all(state.join(name).parent().unwrap()).unwrap();
        fs::write(state.join(name), "mine").unwrap();
    }
    symlink(&outside, state.join("link")).unwrap();
    symlink(outside.join("inner/precious"), state.join("report/link.md")).unwrap();
    let told = machine.assize(&["clean"]).run().exits(0).stdout;
    for name in ["notes.txt", "report/mine.md", "store.db.backup"] {
        assert_eq!(fs::read_to_string(state.join(name)).unwrap(), "mine", "{name}");
        assert!(told.contains(name), "what is left is not named: {told}");
    }
    for name in ["runs/mine/notes", "mine/audit-report.md"] {
        assert_eq!(fs::read_to_string(state.join(name)).unwrap(), "mine", "{name}");
    }
    assert!(state.join("link").is_symlink() && state.join("report/link.md").is_symlink());
    assert!(outside.join("inner/precious").is_file());
    assert!(!state.join("store.db").exists() && !state.join("report/audit-report.md").exists());
}

#[test]
fn links_in_place_of_our_own_lead_nowhere() {
    let machine = audited();
    let state = machine.repo().join(".assize");
    let outside = machine.at("data/outside");
    fs::create_dir_all(&outside).unwrap();
    // A folder of runs and a report that somebody replaced by links to their like outside.
    for name in ["runs", "report"] {
        fs::rename(state.join(name), outside.join(name)).unwrap();
        symlink(outside.join(name), state.join(name)).unwrap();
    }
    let count = |dir: &str| fs::read_dir(outside.join(dir)).unwrap().count();
    let before = (count("runs"), count("report"));
    machine.assize(&["clean"]).run();
    assert_eq!((count("runs"), count("report")), before, "it removed what lies behind a link");
}

#[test]
fn a_directory_that_is_none_of_ours_is_left_whole() {
    let machine = Machine::with_files(4);
    let dir = machine.at("data/project");
    for name in ["report/audit-report.md", "runs/1/prompt.md", "lock", "store.db"] {
        fs::create_dir_all(dir.join(name).parent().unwrap()).unwrap();
        fs::write(dir.join(name), "mine").unwrap();
    }
    let end = machine.assize(&["clean", "--json", "--state-dir", dir.to_str().unwrap()]).run();
    assert!(matches!(end.code, Some(0 | 2)), "{}{}", end.stdout, end.stderr);
    for name in ["report/audit-report.md", "runs/1/prompt.md", "lock", "store.db"] {
        assert_eq!(fs::read_to_string(dir.join(name)).unwrap(), "mine", "{name}");
    }
}
