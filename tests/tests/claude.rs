//! Audits by a scripted `claude` that says what the real one was seen to say.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use assize_tests::{Ended, Machine, program, until};
use rustix::process::Signal;

const KEY: &str = "sk-test-0123456789abcdef";

fn machine() -> Machine {
    let machine = Machine::new();
    machine.write("src/first.ts", "export function f(input: string): number {\n  eval(input);\n  return 1;\n}\n");
    machine.write("app/second.py", "import os\n\n\ndef go(value):\n    os.system(value)\n    return value\n");
    machine.install(&program("fake-claude"), "claude");
    machine.configure("[providers.claude-code]\n");
    machine
}

fn call<'a>(scenario: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "--json", "--no-deepening", "--workers", "1", "--model", scenario], more].concat()
}

fn run(machine: &Machine, scenario: &str, more: &[&str]) -> Ended {
    machine.assize(&call(scenario, more)).env("ANTHROPIC_API_KEY", KEY).env("STRAY", "1").run()
}

/// Launches that the script counted.
fn launches(machine: &Machine) -> u64 {
    fs::metadata(machine.at("bin/claude.launches")).map_or(0, |meta| meta.len())
}

/// The scenario ends the run blocked with the reason, and afterwards a good one completes it.
fn blocks_then_completes(scenario: &str, reasons: &[&str]) {
    let machine = machine();
    let mut end = run(&machine, scenario, &[]).exits(3);
    for reason in reasons {
        end = end.says(reason);
    }
    assert_eq!(launches(&machine), 1, "a lane that is closed gets nothing more");
    assert_eq!(machine.status()["tasks"]["parked"], 0);
    // A plan that was spent is remembered; a person who has bought more says so.
    machine.bare().args(["quota", "reset"]).run().exits(0);
    run(&machine, "scenario-ok", &[]).exits(0);
    machine.each_task_once();
}

#[test]
fn claude_is_chosen_because_it_is_configured_and_there() {
    let machine = machine();
    let end = run(&machine, "scenario-ok", &[]).exits(0).says("auto: `claude-code` is configured");
    let outcome = end.json();
    assert_eq!((&outcome["provider"], &outcome["end"]), (&"claude-code".into(), &"complete".into()));
    assert!(outcome["findings"]["medium"].as_u64().unwrap() > 0);
    machine.each_task_once();
    let status = machine.status();
    assert_eq!(status["coverage"]["by_kind"].as_object().unwrap().keys().collect::<Vec<_>>(), ["agent"]);
    let findings = machine.assize(&["report", "--format", "findings"]).run().exits(0).stdout;
    assert!(findings.contains("claude-test-1"), "the model that answered is named");
    machine.nothing_is_left();
}

#[test]
fn without_a_section_nobody_s_money_is_spent() {
    let machine = machine();
    machine.configure("");
    let outcome = run(&machine, "scenario-ok", &[]).exits(0).json();
    assert_eq!(outcome["provider"], "rules");
    assert_eq!(launches(&machine), 0);
}

#[test]
fn a_second_look_is_answered_from_the_prompt_alone() {
    let machine = machine();
    let args = ["run", "--json", "--workers", "2", "--model", "scenario-ok"];
    machine.assize(&args).env("ANTHROPIC_API_KEY", KEY).run().exits(0);
    machine.each_task_once();
}

#[test]
fn prose_around_the_answer_is_taken_off() {
    let machine = machine();
    run(&machine, "scenario-prose-around", &[]).exits(0);
    machine.each_task_once();
}

#[test]
fn a_rate_limit_is_waited_out_as_long_as_claude_names_and_no_longer() {
    let machine = machine();
    let begin = Instant::now();
    let end = run(&machine, "scenario-rate-limit", &[]).exits(0).says("rate-limited").says("waiting until");
    // It names one and a half seconds; without a name the wait would be a minute.
    let took = begin.elapsed();
    assert!((Duration::from_millis(1500)..Duration::from_secs(40)).contains(&took), "{took:?}\n{}", end.stderr);
    assert!(launches(&machine) >= 2, "{}", end.stderr);
    machine.each_task_once();
    assert_eq!(machine.status()["tasks"]["parked"], 0, "a limit costs no attempt");
}

#[test]
fn a_spent_plan_blocks_and_says_so() {
    blocks_then_completes("scenario-usage-limit", &["quota-exhausted", "5-hour limit"]);
}

#[test]
fn a_bad_key_blocks_and_says_what_to_do() {
    blocks_then_completes("scenario-unauthorized", &["unauthenticated", "ANTHROPIC_API_KEY"]);
}

#[test]
fn a_missing_login_blocks_and_says_what_to_do() {
    blocks_then_completes("scenario-unauthenticated", &["unauthenticated", "log in"]);
}

#[test]
fn an_overloaded_service_costs_no_attempt() {
    let machine = machine();
    run(&machine, "scenario-overloaded", &["--max-launches", "1"]).exits(4).says("overloaded");
    run(&machine, "scenario-ok", &["--attempts", "1"]).exits(0);
    machine.each_task_once();
}

/// The scenario is a failure of the task: it is parked after its tries, and done when a later run succeeds.
fn parks_then_completes(scenario: &str, reason: &str) {
    let machine = machine();
    run(&machine, scenario, &["--attempts", "1"]).exits(3).says(reason);
    assert!(machine.status()["tasks"]["parked"].as_u64().unwrap() > 0);
    assert_eq!(machine.status()["tasks"]["done"], 0);
    run(&machine, "scenario-ok", &[]).exits(0);
    machine.each_task_once();
}

#[test]
fn garbage_is_a_crash() {
    parks_then_completes("scenario-garbage", "crashed");
}

#[test]
fn an_answer_without_the_final_event_is_none() {
    parks_then_completes("scenario-no-result-event", "no-results");
}

#[test]
fn spent_turns_are_named() {
    parks_then_completes("scenario-max-turns", "max_turns");
}

#[test]
fn an_interrupt_ends_a_claude_that_ignores_it() {
    let machine = machine();
    let call = call("scenario-hang-ignoring-sigint", &[]);
    let running = machine.assize(&call).env("ANTHROPIC_API_KEY", KEY).limit(Duration::from_secs(60)).start();
    let started = machine.at("bin/claude.started");
    until("claude runs", Duration::from_secs(50), || started.exists());
    running.signal(Signal::INT);
    running.wait().exits(130);
    machine.nothing_is_left();
    assert_eq!(machine.status()["tasks"]["leased"], 0);
    run(&machine, "scenario-ok", &["--attempts", "1"]).exits(0);
    machine.each_task_once();
}

#[test]
fn a_link_in_place_of_the_results_file_is_not_written_through() {
    let machine = machine();
    let precious = machine.at("bin/precious");
    fs::write(&precious, "precious").unwrap();
    run(&machine, "scenario-link", &[]).exits(0);
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
    machine.each_task_once();
}

#[test]
fn a_key_that_claude_prints_is_kept_nowhere() {
    let machine = machine();
    let end = run(&machine, "scenario-leaky", &[]).exits(0);
    assert!(!end.stderr.contains(KEY) && !end.stdout.contains(KEY));
    let mut folders = vec![machine.repo().join(".assize")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files += 1;
                assert!(!holds_key(&path), "{} holds the key", path.display());
            }
        }
    }
    assert!(files > 5);
}

fn holds_key(path: &Path) -> bool {
    fs::read(path).unwrap_or_default().windows(KEY.len()).any(|window| window == KEY.as_bytes())
}
