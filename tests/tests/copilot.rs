//! Audits by a scripted `copilot` that says what the real one was seen to say.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use assize_tests::http::Service;
use assize_tests::{Ended, Machine, program, until};
use rustix::process::Signal;

const KEY: &str = "sk-test-0123456789abcdef";
/// Where nobody listens: a script that makes no request needs no service.
const NOBODY: &str = "http://127.0.0.1:9";

fn machine(section: &str) -> Machine {
    let machine = Machine::new();
    machine.write("src/first.ts", "export function f(input: string): number {\n  eval(input);\n  return 1;\n}\n");
    machine.write("app/second.py", "import os\n\n\ndef go(value):\n    os.system(value)\n    return value\n");
    machine.install(&program("fake-copilot"), "copilot");
    machine.configure(&format!("[providers.copilot]\n{section}\n"));
    machine
}

fn at(url: &str) -> Machine {
    machine(&format!("base_url = \"{url}\""))
}

fn call<'a>(scenario: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "--json", "--no-deepening", "--workers", "1", "--model", scenario], more].concat()
}

fn run(machine: &Machine, scenario: &str, more: &[&str]) -> Ended {
    machine.assize(&call(scenario, more)).env("OPENAI_API_KEY", KEY).env("STRAY", "1").run()
}

/// Launches that the script counted.
fn launches(machine: &Machine) -> u64 {
    fs::metadata(machine.at("bin/copilot.launches")).map_or(0, |meta| meta.len())
}

/// The scenario ends the run blocked with the reason, and afterwards a good one completes it.
fn blocks_then_completes(scenario: &str, reasons: &[&str]) {
    let machine = at(NOBODY);
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

/// The scenario is a failure of the task: it is parked after its tries, and done when a later run succeeds.
fn parks_then_completes(scenario: &str, reason: &str) {
    let machine = at(NOBODY);
    run(&machine, scenario, &["--attempts", "1"]).exits(3).says(reason);
    assert!(machine.status()["tasks"]["parked"].as_u64().unwrap() > 0);
    assert_eq!(machine.status()["tasks"]["done"], 0);
    run(&machine, "scenario-ok", &[]).exits(0);
    machine.each_task_once();
}

/// The scenario costs no attempt, and its reason is told.
fn is_told_and_costs_no_attempt(scenario: &str, reason: &str) {
    let machine = at(NOBODY);
    run(&machine, scenario, &["--max-launches", "1"]).exits(4).says(reason);
    assert_eq!(machine.status()["tasks"]["parked"], 0);
    run(&machine, "scenario-ok", &["--attempts", "1"]).exits(0);
    machine.each_task_once();
}

#[test]
fn copilot_is_chosen_because_it_is_configured_and_there() {
    let machine = at(NOBODY);
    let before = machine.tree();
    let end = run(&machine, "scenario-ok", &[]).exits(0).says("auto: `copilot` is configured");
    let outcome = end.json();
    assert_eq!((&outcome["provider"], &outcome["end"]), (&"copilot".into(), &"complete".into()));
    assert!(outcome["findings"]["medium"].as_u64().unwrap() > 0);
    machine.each_task_once();
    let status = machine.status();
    assert_eq!(status["coverage"]["by_kind"].as_object().unwrap().keys().collect::<Vec<_>>(), ["agent"]);
    assert!(machine.tree() == before, "the checkout is as it was");
    machine.nothing_is_left();
}

#[test]
fn requests_pass_the_gateway_which_alone_has_the_key() {
    let service = Service::start(&["200 OK\r\ncontent-type: application/json\r\n\r\n{}"]);
    let machine = at(&format!("{}/v1", service.url()));
    run(&machine, "scenario-traffic", &[]).exits(0);
    machine.each_task_once();
    let asked = service.asked();
    assert_eq!(asked.len() as u64, launches(&machine));
    for request in asked {
        let (path, sent) = (request.path(), request.header("authorization"));
        assert!(path.starts_with("/v1/chat/completions"), "{path}");
        assert_eq!(sent, Some(&*format!("Bearer {KEY}")));
    }
    machine.nothing_is_left();
}

#[test]
fn without_a_gateway_the_key_stands_in_its_variable() {
    let service = Service::start(&["200 OK\r\n\r\n{}"]);
    let machine = machine(&format!("base_url = \"{}/v1\"\ngateway = false", service.url()));
    run(&machine, "scenario-traffic", &[]).exits(0);
    machine.each_task_once();
    let asked = service.asked();
    assert!(!asked.is_empty());
    assert!(asked.iter().all(|request| request.header("authorization") == Some(&*format!("Bearer {KEY}"))));
}

#[test]
fn a_limit_is_waited_out_as_long_as_its_sentence_says() {
    let machine = at(NOBODY);
    let begin = Instant::now();
    let end = run(&machine, "scenario-rate-limit", &[]).exits(0).says("rate-limited");
    // Without the sentence the wait would be a minute.
    let took = begin.elapsed();
    assert!((Duration::from_millis(1500)..Duration::from_secs(40)).contains(&took), "{took:?}\n{}", end.stderr);
    assert!(launches(&machine) >= 2, "{}", end.stderr);
    machine.each_task_once();
    assert_eq!(machine.status()["tasks"]["parked"], 0, "a limit costs no attempt");
}

#[test]
fn a_missing_key_starts_nothing_and_says_which() {
    let machine = machine("");
    let end = machine.assize(&call("scenario-ok", &[])).run().exits(3).says("OPENAI_API_KEY");
    assert_eq!(launches(&machine), 0, "{}", end.stderr);
    machine.configure(&format!("[providers.copilot]\nbase_url = \"{NOBODY}\"\n"));
    run(&machine, "scenario-ok", &[]).exits(0);
    machine.each_task_once();
}

#[test]
fn a_service_on_this_machine_is_asked_without_a_key_where_none_is_set() {
    let service = Service::start(&["200 OK\r\n\r\n{}"]);
    let machine = at(&service.url());
    machine.assize(&call("scenario-traffic", &[])).run().exits(0);
    machine.each_task_once();
    assert!(!service.asked().is_empty());
}

#[test]
fn a_github_login_is_found_in_the_user_s_home_without_a_key() {
    let machine = machine("login = \"user\"");
    machine.assize(&call("scenario-ok", &[])).run().exits(3).says("copilot login");
    assert_eq!(launches(&machine), 0);
    fs::create_dir_all(machine.at("home/.copilot")).unwrap();
    fs::write(machine.at("home/.copilot/config.json"), "{}").unwrap();
    machine.assize(&call("scenario-ok", &[])).run().exits(0);
    machine.each_task_once();
}

#[test]
fn a_spent_balance_blocks_and_says_so() {
    blocks_then_completes("scenario-insufficient-quota", &["quota-exhausted", "billing"]);
}

#[test]
fn a_stream_that_was_cut_is_a_crash() {
    parks_then_completes("scenario-cut", "crashed");
}

#[test]
fn an_overloaded_service_costs_no_attempt() {
    is_told_and_costs_no_attempt("scenario-overloaded", "overloaded");
}

#[test]
fn a_bad_key_blocks_and_says_what_to_do() {
    blocks_then_completes("scenario-unauthorized", &["unauthenticated", "OPENAI_API_KEY"]);
}

#[test]
fn an_unknown_model_blocks_and_says_so() {
    blocks_then_completes("scenario-unknown-model", &["misconfigured", "HTTP 404"]);
}

#[test]
fn input_that_is_too_long_is_named() {
    parks_then_completes("scenario-too-long", "context-exceeded");
}

#[test]
fn garbage_is_a_crash() {
    parks_then_completes("scenario-garbage", "crashed");
}

#[test]
fn an_empty_answer_is_none() {
    parks_then_completes("scenario-empty", "no-results");
}

#[test]
fn an_answer_without_the_final_event_is_none() {
    parks_then_completes("scenario-no-result-event", "no-results");
}

#[test]
fn an_interrupt_ends_a_copilot_that_ignores_signals() {
    let machine = at(NOBODY);
    let call = call("scenario-hang-ignoring-signals", &[]);
    let running = machine.assize(&call).env("OPENAI_API_KEY", KEY).limit(Duration::from_secs(60)).start();
    let started = machine.at("bin/copilot.started");
    until("copilot runs", Duration::from_secs(50), || started.exists());
    running.signal(Signal::INT);
    running.wait().exits(130);
    machine.nothing_is_left();
    assert_eq!(machine.status()["tasks"]["leased"], 0);
    run(&machine, "scenario-ok", &["--attempts", "1"]).exits(0);
    machine.each_task_once();
}

#[test]
fn a_copilot_that_prints_its_whole_environment_gives_no_key_away() {
    for section in ["", "gateway = false"] {
        let machine = machine(&format!("base_url = \"{NOBODY}\"\n{section}"));
        let end = run(&machine, "scenario-leaky", &[]).exits(0);
        assert!(!end.stderr.contains(KEY) && !end.stdout.contains(KEY));
        let files = files_of(&machine.repo().join(".assize"));
        assert!(files.len() > 5);
        for path in files {
            let bytes = fs::read(&path).unwrap_or_default();
            let holds_key = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
            assert!(!holds_key, "{} holds the key", path.display());
        }
    }
}

fn files_of(folder: &Path) -> Vec<PathBuf> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files
}
