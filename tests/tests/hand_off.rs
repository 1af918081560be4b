//! Audits that are left to a person: what lies ready, what is taken, and that nobody is asked twice.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use assize_tests::answer::answer_task;
use assize_tests::{Ended, Machine};
use serde_json::Value;

const RESULTS: &str = "audit-results.json";

fn machine() -> Machine {
    let machine = Machine::with_files(6);
    machine.write("app/second.py", "import os\n\n\ndef go(value):\n    os.system(value)\n    return value\n");
    machine.configure("[providers.hand-off]\nnote = \"Ask the people of the second floor.\"\n");
    machine
}

fn run(machine: &Machine) -> Ended {
    machine.assize(&["run", "--json", "--no-deepening", "--provider", "hand-off"]).run()
}

/// The run directories that wait, as the run's end names them.
fn desks(end: &Ended) -> Vec<PathBuf> {
    let outcome = end.json();
    let causes = outcome["causes"].as_array().unwrap().iter().filter_map(Value::as_str);
    causes.filter_map(|cause| cause.split_once("/hand-off.md")).map(|(dir, _)| PathBuf::from(dir)).collect()
}

/// What a person who does as the instructions say writes for the tasks of a run directory.
fn answers(machine: &Machine, desk: &Path) -> Vec<Value> {
    let tasks: Value = serde_json::from_slice(&fs::read(desk.join("pending-audit-tasks.json")).unwrap()).unwrap();
    tasks.as_array().unwrap().iter().map(|task| answer_task(task, machine.repo(), true)).collect()
}

fn write(desk: &Path, answers: &[Value]) {
    fs::write(desk.join(RESULTS), serde_json::to_string(answers).unwrap()).unwrap();
}

/// Tasks that wait, by the status.
fn waiting(machine: &Machine) -> u64 {
    let status = machine.status();
    status["waiting"].as_array().unwrap().iter().filter_map(|launch| launch["tasks"].as_u64()).sum()
}

#[test]
fn everything_lies_ready_and_the_run_says_where() {
    let machine = machine();
    let before = machine.tree();
    let end = run(&machine).exits(3);
    let desks = desks(&end);
    assert!(!desks.is_empty(), "{}", end.stdout);
    for desk in &desks {
        let instructions = fs::read_to_string(desk.join("hand-off.md")).unwrap();
        assert!(instructions.contains("Ask the people of the second floor."));
        for named in ["prompt.md", "pending-audit-tasks.json"] {
            assert!(instructions.contains(named) && desk.join(named).is_file(), "{named}");
        }
        assert!(instructions.contains(RESULTS) && !desk.join(RESULTS).exists());
    }
    let status = machine.status();
    assert_eq!(waiting(&machine), status["tasks"]["pending"].as_u64().unwrap(), "all that is open waits");
    assert_eq!((&status["tasks"]["parked"], &status["complete"]), (&0.into(), &false.into()));
    machine.assize(&["status"]).run().exits(0);
    assert!(machine.assize(&["status"]).run().stdout.contains("waiting for a person"));
    assert!(before == machine.tree());
    machine.nothing_is_left();
}

#[test]
fn nobody_is_asked_twice_for_what_waits() {
    let machine = machine();
    let first = desks(&run(&machine).exits(3));
    let again = run(&machine).exits(3);
    assert_eq!(again.json()["launches"], 0);
    assert_eq!(desks(&again), first);
}

#[test]
fn an_answer_is_taken_from_where_it_lies_and_completes_the_audit() {
    let machine = machine();
    let end = run(&machine).exits(3);
    for desk in desks(&end) {
        write(&desk, &answers(&machine, &desk));
    }
    let outcome = run(&machine).exits(0).json();
    assert_eq!((&outcome["launches"], &outcome["end"]), (&0.into(), &"complete".into()));
    assert!(outcome["findings"]["medium"].as_u64().unwrap() > 0);
    machine.each_task_once();
    assert_eq!(waiting(&machine), 0);
    let status = machine.status();
    assert_eq!(status["coverage"]["by_kind"].as_object().unwrap().keys().collect::<Vec<_>>(), ["person"]);
}

#[test]
fn a_part_of_an_answer_counts_and_the_rest_waits_on() {
    let machine = machine();
    let end = run(&machine).exits(3);
    let desk = &desks(&end)[0];
    let all = answers(&machine, desk);
    assert!(all.len() > 1, "there is a part to leave out");
    let before = waiting(&machine);
    write(desk, &all[1..]);
    run(&machine).exits(3);
    assert_eq!(waiting(&machine), before - (all.len() as u64 - 1));
    for desk in desks(&run(&machine).exits(3)) {
        write(&desk, &answers(&machine, &desk));
    }
    run(&machine).exits(0);
    machine.each_task_once();
}

#[test]
fn an_answer_that_cannot_be_used_is_told_and_its_tasks_wait_on() {
    let machine = machine();
    let end = run(&machine).exits(3);
    let before = waiting(&machine);
    let desk = &desks(&end)[0];
    fs::write(desk.join(RESULTS), "I found nothing of interest.").unwrap();
    let again = run(&machine).exits(3);
    assert!(again.stderr.contains("warning") || again.stderr.contains("answer"), "{}", again.stderr);
    assert_eq!(waiting(&machine), before);
    assert_eq!(machine.status()["tasks"]["parked"], 0, "nobody gave up");
    for desk in desks(&again) {
        write(&desk, &answers(&machine, &desk));
    }
    run(&machine).exits(0);
    machine.each_task_once();
}

#[test]
fn an_answer_from_elsewhere_is_imported() {
    let machine = machine();
    let end = run(&machine).exits(3);
    let all: Vec<Value> = desks(&end).iter().flat_map(|desk| answers(&machine, desk)).collect();
    let file = machine.at("data").join("answers.json");
    fs::write(&file, serde_json::to_string(&all).unwrap()).unwrap();
    machine.assize(&["import-results", file.to_str().unwrap()]).run().exits(0);
    assert_eq!(waiting(&machine), 0, "whoever has answered is waited for no more");
    let outcome = run(&machine).exits(0).json();
    assert_eq!(outcome["launches"], 0);
    machine.each_task_once();
}
