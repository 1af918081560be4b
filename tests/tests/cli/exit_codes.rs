//! The table of exit codes, each code brought about.

use std::fs;
use std::time::Duration;

use assize_tests::Machine;
use rustix::process::Signal;

/// Python that rules find a fault of at least medium severity in.
const FAULT: &str = "import os\n\n\ndef go(value):\n    os.system(value)\n    return value\n";

#[test]
fn zero_is_complete_and_one_is_the_gate() {
    let machine = Machine::new();
    machine.write("a.py", FAULT);
    machine.write("b.py", concat!("K = \"AK", "IAQ3EGUR7TNM5V2WXY\"\n"));
    machine.assize(&["run"]).run().exits(0);
    machine.assize(&["run", "--fail-on", "high"]).run().exits(1);
    machine.assize(&["run", "--fail-on", "HIGH"]).run().exits(1);
    machine.assize(&["run", "--fail-on", "low"]).run().exits(1);
    machine.assize(&["run", "--fail-on", "critical"]).run().exits(0);
    fs::remove_file(machine.repo().join("b.py")).unwrap();
    machine.assize(&["run", "--fail-on", "high"]).run().exits(0);
    machine.assize(&["run", "--fail-on", "medium"]).run().exits(1);
}

#[test]
fn the_reached_gate_is_said_to_people() {
    let machine = Machine::new();
    machine.write("a.py", FAULT);
    let end = machine.assize(&["run", "--fail-on", "medium"]).run().exits(1);
    let told = format!("{}{}", end.stdout, end.stderr);
    assert!(told.contains("fail-on") || told.contains("gate"), "why it failed is not said:\n{told}");
}

#[test]
fn the_reached_gate_is_said_to_scripts() {
    let machine = Machine::new();
    machine.write("a.py", FAULT);
    let end = machine.assize(&["run", "--json", "--fail-on", "medium"]).run().exits(1);
    assert!(end.json().as_object().unwrap().keys().any(|key| key.contains("gate")), "{}", end.stdout);
}

#[test]
fn two_without_an_audit_names_the_line_to_run() {
    let machine = Machine::with_files(4);
    for words in [&["status"][..], &["report"], &["explain", "x"], &["ledger", "show"], &["ledger", "verify"]] {
        let end = machine.assize(words).run().exits(2);
        let line = end.stderr.lines().find_map(|line| line.split_once("assize run ").map(|(_, path)| path.trim()));
        let path = line.unwrap_or_else(|| panic!("{words:?} names no line to run:\n{}", end.stderr));
        assert_eq!(fs::canonicalize(path).unwrap(), machine.repo(), "{words:?}");
    }
    assert!(!machine.repo().join(".assize").exists(), "looking made something");
    machine.assize(&["import-results", "/dev/null"]).run().exits(2).says("assize plan");
}

#[test]
fn three_is_work_that_is_left_and_cannot_be_done() {
    let machine = Machine::with_files(4);
    // Rules do not count, so that every pair stays open.
    let end = machine.assize(&["run", "--json", "--provider", "rules", "--require", "agent"]).run().exits(3);
    let outcome = end.json();
    assert_eq!(outcome["end"], "incomplete");
    assert!(!outcome["causes"].as_array().unwrap().is_empty(), "{outcome:#}");
    assert_eq!(outcome["pairs_reviewed"], 0);
    let end = machine.assize(&["report", "--require", "agent"]).run().exits(3);
    assert!(end.stdout.contains("Incomplete"), "{}", end.stdout);
}

#[test]
fn four_is_a_pause_and_the_next_run_goes_on() {
    let machine = Machine::with_files(150);
    let first = machine.assize(&["run", "--json", "--max-launches", "1"]).run().exits(4).json();
    assert_eq!((&first["end"], &first["launches"]), (&"paused".into(), &1.into()));
    assert!(first["causes"][0].as_str().unwrap().contains("launch"), "{first:#}");
    machine.assize(&["report"]).run().exits(3);
    let second = machine.assize(&["run", "--json"]).run().exits(0).json();
    assert_eq!(second["end"], "complete");
    machine.each_task_once();
}

#[test]
fn the_gate_of_an_incomplete_run_does_not_hide_that_it_is_incomplete() {
    let machine = Machine::with_files(150);
    machine.assize(&["run", "--max-launches", "1", "--fail-on", "info"]).run().exits(4);
}

#[test]
fn five_is_a_store_that_is_broken_and_says_how_to_mend_it() {
    let machine = Machine::with_files(4);
    machine.assize(&["run"]).run().exits(0);
    let store = machine.repo().join(".assize/store.db");
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(machine.repo().join(format!(".assize/store.db{suffix}")));
    }
    let mut bytes = fs::read(&store).unwrap();
    let len = bytes.len();
    bytes[4096..len].fill(0xa5);
    fs::write(&store, &bytes).unwrap();
    let end = machine.assize(&["run"]).run();
    assert_eq!(end.code, Some(5), "{}{}", end.stdout, end.stderr);
    assert!(end.stderr.contains("assize clean") || end.stderr.contains("hint"), "{}", end.stderr);
}

#[test]
fn one_hundred_and_thirty_is_an_interruption_that_can_be_resumed() {
    let machine = Machine::with_files(20);
    let gate = machine.at("data/open");
    machine.use_worker(&["--hold", gate.to_str().unwrap()]);
    let mut running = machine.assize(&["run", "--json"]).limit(Duration::from_secs(60)).start();
    running.line(|line| line.starts_with("review:")).expect("it begins to review");
    running.signal(Signal::INT);
    let end = running.wait().exits(130);
    assert_eq!(end.json()["end"], "interrupted");
    machine.nothing_is_left();
    fs::write(&gate, "").unwrap();
    machine.assize(&["run"]).run().exits(0);
    machine.each_task_once();
}
