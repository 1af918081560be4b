//! Audits by a scripted `opencode` that says what the real one was seen to say.
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
    machine.install(&program("fake-opencode"), "opencode");
    machine.configure(&format!("[providers.opencode]\n{section}\n"));
    machine
}

fn at(url: &str) -> Machine {
    machine(&format!("base_url = \"{url}\""))
}

fn call<'a>(scenario: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["run", "--json", "--no-deepening", "--workers", "1", "--model", scenario], more].concat()
}

fn run(machine: &Machine, scenario: &str, more: &[&str]) -> Ended {
    let assize = machine.assize(&call(scenario, more)).env("STRAY", "1");
    assize.env("OPENAI_API_KEY", KEY).env("ANTHROPIC_API_KEY", KEY).run()
}

/// Launches that the script counted.
fn launches(machine: &Machine) -> u64 {
    fs::metadata(machine.at("bin/opencode.launches")).map_or(0, |meta| meta.len())
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

#[test]
fn opencode_is_chosen_because_it_is_configured_and_there() {
    let machine = at(NOBODY);
    let before = machine.tree();
    let end = run(&machine, "scenario-ok", &[]).exits(0).says("auto: `opencode` is configured");
    let outcome = end.json();
    assert_eq!((&outcome["provider"], &outcome["end"]), (&"opencode".into(), &"complete".into()));
    assert!(outcome["findings"]["medium"].as_u64().unwrap() > 0);
    machine.each_task_once();
    let status = machine.status();
    assert_eq!(status["coverage"]["by_kind"].as_object().unwrap().keys().collect::<Vec<_>>(), ["agent"]);
    assert!(machine.tree() == before, "the checkout is as it was");
    machine.nothing_is_left();
}

#[test]
fn the_text_of_the_last_step_is_the_answer() {
    let machine = at(NOBODY);
    run(&machine, "scenario-prose-around", &[]).exits(0);
    machine.each_task_once();
}

#[test]
fn requests_pass_the_gateway_in_either_protocol_with_the_key_that_it_alone_has() {
    for (protocol, path, header, prefix) in
        [("openai", "/v1/chat/completions", "authorization", "Bearer "), ("anthropic", "/v1/messages", "x-api-key", "")]
    {
        let service = Service::start(&["200 OK\r\ncontent-type: application/json\r\n\r\n{}"]);
        let machine = machine(&format!("base_url = \"{}\"\nprotocol = \"{protocol}\"", service.url()));
        run(&machine, "scenario-traffic", &[]).exits(0);
        machine.each_task_once();
        let asked = service.asked();
        assert_eq!(asked.len() as u64, launches(&machine), "{protocol}");
        for request in asked {
            assert_eq!((request.path(), request.header(header)), (path, Some(&*format!("{prefix}{KEY}"))));
        }
    }
}

#[test]
fn a_limit_is_waited_out_as_long_as_its_header_says() {
    let machine = at(NOBODY);
    let begin = Instant::now();
    let end = run(&machine, "scenario-rate-limit", &[]).exits(0).says("rate-limited");
    // Its header names two seconds; without it the wait would be a minute.
    let took = begin.elapsed();
    assert!((Duration::from_secs(2)..Duration::from_secs(40)).contains(&took), "{took:?}\n{}", end.stderr);
    assert!(launches(&machine) >= 2, "{}", end.stderr);
    machine.each_task_once();
    assert_eq!(machine.status()["tasks"]["parked"], 0, "a limit costs no attempt");
}

#[test]
fn a_limit_of_the_service_behind_the_gateway_is_waited_out() {
    let service = Service::start(&["429 Too Many Requests\r\nretry-after: 2\r\n\r\n{}", "200 OK\r\n\r\n{}"]);
    let machine = at(&service.url());
    let begin = Instant::now();
    let end = run(&machine, "scenario-traffic", &[]).exits(0);
    let took = begin.elapsed();
    assert!((Duration::from_secs(2)..Duration::from_secs(40)).contains(&took), "{took:?}\n{}", end.stderr);
    machine.each_task_once();
}

#[test]
fn a_spent_balance_blocks_and_says_so() {
    blocks_then_completes("scenario-insufficient-quota", &["quota-exhausted", "current quota"]);
}

#[test]
fn a_bad_key_blocks_and_says_what_to_do() {
    blocks_then_completes("scenario-unauthorized", &["unauthenticated", "OPENAI_API_KEY"]);
}

#[test]
fn an_unknown_model_blocks_and_says_so() {
    blocks_then_completes("scenario-unknown-model", &["misconfigured", "Model not found"]);
}

#[test]
fn a_missing_key_starts_nothing_and_says_which() {
    let machine = machine(&format!("base_url = \"{NOBODY}\"\nprotocol = \"anthropic\""));
    let end = machine.assize(&call("scenario-ok", &[])).run().exits(3).says("ANTHROPIC_API_KEY");
    assert_eq!(launches(&machine), 0, "{}", end.stderr);
    run(&machine, "scenario-ok", &[]).exits(0);
    machine.each_task_once();
}

#[test]
fn without_a_gateway_the_key_stands_in_its_variable() {
    let service = Service::start(&["200 OK\r\n\r\n{}"]);
    let machine = machine(&format!("base_url = \"{}\"\ngateway = false", service.url()));
    run(&machine, "scenario-traffic", &[]).exits(0);
    machine.each_task_once();
    let bearer = format!("Bearer {KEY}");
    assert!(service.asked().iter().all(|request| request.header("authorization") == Some(&bearer)));
}

#[test]
fn the_user_s_login_is_found_in_the_user_s_home_without_a_key() {
    let machine = machine("login = \"user\"");
    fs::create_dir_all(machine.at("home/.local/share/opencode")).unwrap();
    fs::write(machine.at("home/.local/share/opencode/auth.json"), "{}").unwrap();
    machine.assize(&call("vendor/scenario-ok", &[])).run().exits(0);
    machine.each_task_once();
}

#[test]
fn an_overloaded_service_costs_no_attempt() {
    let machine = at(NOBODY);
    run(&machine, "scenario-overloaded", &["--max-launches", "1"]).exits(4).says("overloaded");
    run(&machine, "scenario-ok", &["--attempts", "1"]).exits(0);
    machine.each_task_once();
}

#[test]
fn garbage_is_a_crash() {
    parks_then_completes("scenario-garbage", "crashed");
}

#[test]
fn a_connection_that_was_cut_is_a_crash() {
    parks_then_completes("scenario-cut", "crashed");
}

#[test]
fn an_end_without_a_text_is_no_result() {
    parks_then_completes("scenario-empty", "no-results");
}

#[test]
fn a_text_without_the_end_of_its_step_is_no_result() {
    parks_then_completes("scenario-no-end", "no-results");
}

#[test]
fn a_permission_that_was_not_given_is_named() {
    parks_then_completes("scenario-permission", "does not permit");
}

#[test]
fn a_refusal_is_named() {
    parks_then_completes("scenario-refused", "refused");
}

#[test]
fn a_context_that_is_full_is_too_large_a_packet() {
    parks_then_completes("scenario-too-long", "context-exceeded");
}

#[test]
fn an_interrupt_ends_an_opencode_that_ignores_signals() {
    let machine = at(NOBODY);
    let call = call("scenario-hang-ignoring-signals", &[]);
    let running = machine.assize(&call).env("OPENAI_API_KEY", KEY).limit(Duration::from_secs(60)).start();
    let started = machine.at("bin/opencode.started");
    until("opencode runs", Duration::from_secs(50), || started.exists());
    running.signal(Signal::INT);
    running.wait().exits(130);
    machine.nothing_is_left();
    assert_eq!(machine.status()["tasks"]["leased"], 0);
    run(&machine, "scenario-ok", &["--attempts", "1"]).exits(0);
    machine.each_task_once();
}

#[test]
fn an_opencode_that_prints_its_whole_environment_gives_no_key_away() {
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
