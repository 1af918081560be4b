//! Audits by a command of the user's: honest workers, and workers that fail in every way that was seen or thought of.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::time::Duration;

use assize_tests::{Ended, Machine, generate, program};
use serde_json::Value;

const FILES: usize = 14;

/// A file that every machine has, and the only one of its unit.
const VICTIM: &str = "victim/target.py";

fn machine() -> Machine {
    let machine = Machine::with_files(FILES);
    machine.write(VICTIM, "def go(value):\n    total = len(value)\n    return total\n");
    machine
}

fn run(machine: &Machine, more: &[&str]) -> Ended {
    let args = [&["run", "--json", "--no-deepening", "--workers", "4"], more].concat();
    machine.assize(&args).run()
}

/// A worker that fails for ever on one file: its tasks are parked with a reason, and all others are done.
fn parks_only_the_victim(fault: &str, reason: &str, is_kept: bool) {
    let machine = machine();
    machine.use_worker(&["--fault", fault, "--only", VICTIM]);
    let end = run(&machine, &["--attempts", "2"]).exits(3);
    let outcome = end.json();
    assert_eq!(outcome["end"], "incomplete", "{fault}");
    let status = machine.status();
    let parked = status["tasks"]["parked"].as_u64().unwrap();
    assert!(parked > 0, "{fault}: {status:#}");
    assert_eq!(outcome["parked"], parked);
    assert_eq!((&status["tasks"]["pending"], &status["tasks"]["leased"]), (&0.into(), &0.into()), "{fault}");
    let reviewed = status["coverage"]["reviewed"].as_u64().unwrap();
    assert!(reviewed > 0, "{fault}");
    let report = machine.assize(&["report"]).run().exits(3).stdout;
    assert!(report.contains(reason), "{fault}: the report does not say {reason:?}:\n{report}");
    let end = end.says("is parked").says(reason);
    assert!(!end.stderr.contains("return total"), "no source text in messages");
    let kept = machine.ledger().iter().any(|entry| entry["kind"] == "result-quarantined");
    assert_eq!(kept, is_kept, "{fault}: what was refused is kept");
    machine.nothing_is_left();

    // Whoever mends the worker gets the rest, and nothing is done twice.
    machine.use_worker(&[]);
    run(&machine, &[]).exits(0);
    machine.each_task_once();
}

/// A worker that fails on the first try of every task: all are tried again, and all get done.
fn is_overcome(fault: &str) {
    let machine = machine();
    let seen = machine.at("data/seen");
    machine.use_worker(&["--fault", fault, "--first", seen.to_str().unwrap()]);
    run(&machine, &[]).exits(0);
    machine.each_task_once();
    machine.nothing_is_left();
    let requeued = machine.ledger().iter().any(|entry| entry["kind"] == "task-requeued");
    assert!(requeued, "{fault} did not happen");
}

/// A worker whose habit costs nothing.
fn is_taken_at_once(fault: &str) -> Machine {
    let machine = machine();
    machine.use_worker(&["--fault", fault]);
    let outcome = run(&machine, &[]).exits(0).json();
    machine.each_task_once();
    machine.nothing_is_left();
    assert_eq!(outcome["launches"].as_u64(), Some(machine.launches().len() as u64), "{fault}");
    machine
}

macro_rules! faults {
    ($($law:ident: $fault:literal, $reason:literal, $kept:literal;)*) => {
        $(#[test]
        fn $law() {
            parks_only_the_victim($fault, $reason, $kept);
            is_overcome($fault);
        })*
    };
}

faults! {
    garbage_is_tried_again_then_parked: "garbage", "no-results", true;
    a_truncated_answer_is_tried_again_then_parked: "truncated", "no-results", true;
    an_empty_answer_is_tried_again_then_parked: "empty", "no-results", false;
    a_missing_answer_is_tried_again_then_parked: "missing", "no-results", false;
    a_failing_worker_is_tried_again_then_parked: "exit1", "crashed", false;
    answers_to_unknown_tasks_are_kept_apart: "unknown-task", "no-results", true;
    wrong_line_counts_are_kept_apart: "bad-lines", "lines", true;
    paths_that_lead_out_are_kept_apart: "escape-path", "leads out", true;
    a_results_file_that_is_a_link_is_no_answer: "escape-link", "no-results", false;
    an_answer_without_measure_is_not_read: "huge", "at most", false;
}

#[test]
fn a_worker_of_the_contract_works_unchanged() {
    let machine = machine();
    machine.use_worker(&["--findings"]);
    let before = machine.tree();
    let outcome = run(&machine, &[]).exits(0).says("auto: `command` is configured").json();
    assert_eq!(outcome["provider"], "command");
    assert!(outcome["findings"]["medium"].as_u64().unwrap() > 0);
    machine.each_task_once();
    let status = machine.status();
    assert_eq!(status["coverage"]["by_kind"].as_object().unwrap().keys().collect::<Vec<_>>(), ["agent"]);
    assert!(before == machine.tree());
    machine.nothing_is_left();
}

#[test]
fn a_second_look_confirms_what_was_found() {
    let machine = machine();
    machine.use_worker(&["--findings"]);
    machine.assize(&["run", "--workers", "4"]).run().exits(0);
    machine.each_task_once();
}

#[test]
fn what_rules_have_seen_is_looked_at_again_by_an_agent() {
    let machine = machine();
    machine.assize(&["run"]).run().exits(0);
    machine.use_worker(&[]);
    run(&machine, &[]).exits(0);
    let status = machine.status();
    assert_eq!(status["coverage"]["by_kind"]["rules"], Value::Null, "{status:#}");
    // Rules after an agent have nothing to add.
    let again = run(&machine, &["--provider", "rules"]).exits(0).json();
    assert_eq!(again["launches"], 0);
}

#[test]
fn prose_around_an_answer_is_taken_off() {
    is_taken_at_once("prose");
}

#[test]
fn a_code_fence_around_an_answer_is_taken_off() {
    is_taken_at_once("fenced");
}

#[test]
fn an_answer_that_was_given_twice_counts_once() {
    is_taken_at_once("duplicate");
}

#[test]
fn a_valid_answer_counts_whatever_the_exit_status() {
    let machine = is_taken_at_once("exit1-answered");
    let statuses: Vec<u64> = machine
        .ledger()
        .iter()
        .filter(|entry| entry["kind"] == "launch-concluded")
        .map(|entry| entry["seq"].as_u64().unwrap())
        .collect();
    assert!(!statuses.is_empty());
}

#[test]
fn one_answer_too_many_costs_none_of_the_others() {
    is_taken_at_once("one-unknown");
}

#[test]
fn what_a_worker_leaves_running_is_ended_with_its_launch() {
    is_taken_at_once("grandchild-pipe");
    is_taken_at_once("setsid-child");
}

#[test]
fn a_flood_costs_no_disk() {
    let machine = is_taken_at_once("flood:48");
    for launch in fs::read_dir(machine.repo().join(".assize/runs")).unwrap().flatten() {
        for log in ["stdout.log", "stderr.log"] {
            let size = fs::metadata(launch.path().join(log)).unwrap().len();
            assert!(size < 34 << 20, "{log} has {size} bytes");
        }
    }
}

#[test]
fn half_an_answer_counts_and_only_the_rest_is_asked_again() {
    let machine = machine();
    machine.use_worker(&["--fault", "half"]);
    run(&machine, &["--attempts", "6"]).exits(0);
    machine.each_task_once();
    let asked: usize = machine.launches().iter().map(|launch| launch["tasks"].as_array().unwrap().len()).sum();
    let done = machine.status()["tasks"]["done"].as_u64().unwrap() as usize;
    assert!(asked < 2 * done, "{asked} tasks were asked for {done}");
}

#[test]
fn a_hanging_worker_is_ended_at_its_deadline() {
    let machine = machine();
    machine.use_worker(&["--fault", "hang", "--only", VICTIM]);
    let end = run(&machine, &["--timeout", "3", "--attempts", "1"]).exits(3);
    end.says("timed-out");
    machine.nothing_is_left();
    assert!(machine.status()["tasks"]["done"].as_u64().unwrap() > 0);
}

#[test]
fn a_hanging_worker_that_ignores_term_is_killed() {
    let machine = machine();
    machine.use_worker(&["--fault", "hang-ignore-term", "--only", VICTIM]);
    run(&machine, &["--timeout", "3", "--attempts", "1"]).exits(3).says("timed-out");
    machine.nothing_is_left();
}

#[test]
fn a_file_that_changes_under_the_reviewer_is_reviewed_as_it_is_in_the_end() {
    let machine = machine();
    let seen = machine.at("data/seen");
    machine.use_worker(&["--fault", "write-repo", "--only", VICTIM, "--first", seen.to_str().unwrap()]);
    run(&machine, &["--no-snapshot"]).exits(0).says("surveying again");
    let status = machine.status();
    assert_eq!(status["complete"], true);
    assert_eq!(status["coverage"]["stale"], 0);
}

#[test]
fn paths_with_spaces_quotes_and_dollars_are_no_trouble() {
    let machine = Machine::named("a repo $(with) 'all' of it");
    generate(machine.repo(), 6, 3).unwrap();
    machine.write("some dir/a \"file\".py", "def go(value):\n    return value\n");
    machine.use_worker(&["--findings"]);
    run(&machine, &[]).exits(0);
    machine.each_task_once();
}

#[test]
fn a_spent_budget_pauses_and_the_next_run_goes_on() {
    let machine = machine();
    machine.use_worker(&[]);
    let paused = run(&machine, &["--max-launches", "2"]).exits(4).json();
    assert_eq!((&paused["end"], &paused["launches"]), (&"paused".into(), &2.into()));
    assert_eq!(machine.launches().len(), 2);
    let rest = run(&machine, &[]).exits(0).json();
    assert!(rest["launches"].as_u64().unwrap() > 0);
    machine.each_task_once();
}

#[test]
fn as_many_workers_run_at_once_as_were_asked_for_and_no_more() {
    let machine = Machine::with_files(40);
    let go = machine.at("data/go");
    machine.use_worker(&["--hold", go.to_str().unwrap()]);
    let running = machine.assize(&["run", "--no-deepening", "--workers", "3"]).start();
    assize_tests::until("three workers have started", Duration::from_secs(60), || machine.launches().len() >= 3);
    let status = machine.status();
    assert_eq!(status["running"].as_array().unwrap().len(), 3, "{status:#}");
    assert_eq!(machine.launches().len(), 3);
    fs::write(go, "").unwrap();
    running.wait().exits(0);
    machine.each_task_once();
}

#[test]
fn a_missing_program_closes_the_lane_and_costs_no_attempt() {
    let machine = machine();
    machine.configure("provider = \"command\"\n[providers.command]\ncommand = [\"no-such-program\", \"{taskPath}\"]\n");
    let args = ["run", "--json", "--no-deepening", "--workers", "1"];
    let end = machine.assize(&args).run().exits(3).says("no-such-program is not on PATH");
    assert_eq!(end.json()["launches"], 1, "one launch shows it");
    assert_eq!(end.stderr.matches("is closed for this run").count(), 1, "{}", end.stderr);
    let status = machine.status();
    assert_eq!(status["tasks"]["parked"], 0, "nothing is given up for it");
    machine.use_worker(&[]);
    run(&machine, &[]).exits(0);
    machine.each_task_once();
}

#[test]
fn a_template_with_an_unknown_placeholder_is_refused_with_the_known_ones() {
    let machine = machine();
    let worker = program("fake-worker");
    machine.configure(&format!("[providers.command]\ncommand = [{worker:?}, \"{{taskFile}}\"]\n"));
    let end = run(&machine, &[]);
    assert_ne!(end.code, Some(0));
    end.says("{taskPath}");
}

#[test]
fn the_environment_of_the_user_does_not_reach_a_worker() {
    let machine = machine();
    let seen = machine.at("data/environment");
    let script = machine.at("bin/spy");
    machine.script(
        &script,
        &format!("#!/bin/sh\nenv > '{}'\nexec '{}' \"$@\"\n", seen.display(), program("fake-worker").display()),
    );
    machine.configure(&format!("[providers.command]\ncommand = [{script:?}, \"{{taskPath}}\"]\n"));
    let args = ["run", "--no-deepening"];
    machine.assize(&args).env("SECRET_TOKEN", "tell-nobody").env("LD_PRELOAD_X", "1").run().exits(0);
    let environment = fs::read_to_string(seen).unwrap();
    assert!(!environment.contains("tell-nobody") && !environment.contains("LD_PRELOAD_X"), "{environment}");
    let home = environment.lines().find_map(|line| line.strip_prefix("HOME=")).unwrap();
    assert!(home.contains(".assize/runs/"), "{home}");
}
