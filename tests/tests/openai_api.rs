//! Audits by a model behind OpenAI's two APIs, played by a server on this machine that says what services were seen to say.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use assize_loopback::LoopbackApi;
use assize_tests::{Ended, Machine};

const KEY: &str = "sk-test-0123456789abcdef";
const APIS: [&str; 2] = ["chat", "responses"];

struct Desk {
    machine: Machine,
    service: LoopbackApi,
}

impl Desk {
    fn new() -> Self {
        let machine = Machine::new();
        machine.write("src/first.ts", "export function f(input: string): number {\n  eval(input);\n  return 1;\n}\n");
        machine.write("app/second.py", "import os\n\n\ndef go(value):\n    os.system(value)\n    return value\n");
        Self { machine, service: LoopbackApi::start(0).unwrap() }
    }

    /// Points the provider at a scenario; more keys of its section may follow.
    fn play(&self, api: &str, scenario: &str, more: &str) -> &Self {
        let base = self.service.scenario(scenario);
        self.machine.configure(&format!(
            "[providers.openai]\nbase_url = \"{base}/v1\"\napi = \"{api}\"\nmodel = \"m-1\"\n{more}\n"
        ));
        self
    }

    fn run(&self, more: &[&str]) -> Ended {
        let args = [&["run", "--json", "--no-deepening", "--workers", "1", "--provider", "openai"], more].concat();
        self.machine.assize(&args).env("OPENAI_API_KEY", KEY).run()
    }

    /// Statuses of the requests so far, in their order.
    fn statuses(&self) -> Vec<u16> {
        self.service.requests().iter().filter_map(|entry| entry.status).collect()
    }
}

/// The scenario ends the run with the reason after one request, and afterwards a good one completes it.
fn blocks_then_completes(scenario: &str, reasons: &[&str]) {
    for api in APIS {
        let desk = Desk::new();
        let mut end = desk.play(api, scenario, "").run(&[]).exits(3);
        for reason in reasons {
            end = end.says(reason);
        }
        assert_eq!(desk.service.requests().len(), 1, "{api} {scenario}: a lane that is closed gets nothing more");
        assert_eq!(desk.machine.status()["tasks"]["parked"], 0, "{api} {scenario}");
        desk.play(api, "ok", "").run(&[]).exits(0);
        desk.machine.each_task_once();
    }
}

/// The scenario fails the first try of a packet; the second gets all done.
fn is_overcome(scenario: &str) {
    for api in APIS {
        let desk = Desk::new();
        desk.play(api, scenario, "").run(&[]).exits(0);
        desk.machine.each_task_once();
        let requeued = desk.machine.ledger().iter().any(|entry| entry["kind"] == "task-requeued");
        assert!(requeued, "{api} {scenario} did not happen");
    }
}

/// The scenario costs requests, but neither an attempt nor a task.
fn is_taken_at_once(scenario: &str, more: &str) -> Vec<Vec<u16>> {
    APIS.map(|api| {
        let desk = Desk::new();
        let outcome = desk.play(api, scenario, more).run(&["--attempts", "1"]).exits(0).json();
        desk.machine.each_task_once();
        assert_eq!(outcome["parked"], 0, "{api} {scenario}");
        desk.statuses()
    })
    .to_vec()
}

/// The scenario parks what it fails, with the reason.
fn parks(scenario: &str, more: &[&str], reason: &str) {
    for api in APIS {
        let desk = Desk::new();
        let args = [&["--attempts", "1"], more].concat();
        desk.play(api, scenario, "").run(&args).exits(3).says(reason);
        assert!(desk.machine.status()["tasks"]["parked"].as_u64().unwrap() > 0, "{api} {scenario}");
    }
}

#[test]
fn a_model_answers_every_task_by_either_api() {
    for api in APIS {
        let desk = Desk::new();
        let outcome = desk.play(api, "ok-findings", "").run(&[]).exits(0).json();
        assert_eq!((&outcome["provider"], &outcome["end"]), (&"openai".into(), &"complete".into()));
        assert!(outcome["findings"]["high"].as_u64().unwrap() > 0, "{api}: the prompt showed lines to quote");
        desk.machine.each_task_once();
        let status = desk.machine.status();
        assert_eq!(status["coverage"]["by_kind"].as_object().unwrap().keys().collect::<Vec<_>>(), ["model"]);
        let requests = desk.service.requests();
        assert!(requests.iter().all(|entry| entry.stream && entry.credential && entry.model == "m-1"), "{api}");
        assert!(outcome["tokens"].as_u64().unwrap() > 0, "{api}: what it cost is told");
    }
}

#[test]
fn answers_count_however_they_are_dressed() {
    for scenario in ["prose-around", "double-encoded"] {
        is_taken_at_once(scenario, "");
    }
}

#[test]
fn without_streams_it_works_as_well() {
    let statuses = is_taken_at_once("ok", "stream = false");
    assert!(statuses.iter().flatten().all(|status| *status == 200));
}

#[test]
fn what_a_service_refuses_is_left_out_and_the_task_is_done() {
    for scenario in ["no-json-schema", "no-json-schema+no-json-object", "no-stream"] {
        for statuses in is_taken_at_once(scenario, "") {
            assert!(statuses.contains(&400) && statuses.contains(&200), "{scenario}: {statuses:?}");
        }
    }
}

#[test]
fn a_model_reads_what_the_prompt_does_not_show() {
    for api in APIS {
        let desk = Desk::new();
        // Only a file of which a part is under review hides something.
        let lines: String = (0..4000).map(|n| format!("value_{n} = {n}\n")).collect();
        desk.machine.write("big/values.py", &lines);
        desk.play(api, "tool-read", "").run(&[]).exits(0);
        desk.machine.each_task_once();
        let launches = desk.machine.ledger().iter().filter(|entry| entry["kind"] == "launch-started").count();
        assert!(desk.service.requests().len() > launches, "{api}: a file was read between two requests");
    }
}

#[test]
fn a_path_that_leads_out_is_told_to_the_model_and_read_by_nobody() {
    for api in APIS {
        let desk = Desk::new();
        let lines: String = (0..4000).map(|n| format!("value_{n} = {n}\n")).collect();
        desk.machine.write("big/values.py", &lines);
        desk.play(api, "tool-outside", "").run(&[]).exits(0);
        desk.machine.each_task_once();
    }
}

#[test]
fn a_limit_is_waited_out_and_costs_no_attempt() {
    for api in APIS {
        let desk = Desk::new();
        desk.play(api, "429-once", "").run(&["--attempts", "1"]).exits(0).says("rate-limited");
        desk.machine.each_task_once();
        assert_eq!(desk.service.answered(429), 1, "{api}");
    }
}

#[test]
fn a_spent_balance_blocks_and_says_so() {
    blocks_then_completes("insufficient-quota", &["quota-exhausted"]);
    blocks_then_completes("402", &["quota-exhausted"]);
}

#[test]
fn a_key_that_is_not_taken_blocks_and_is_named() {
    blocks_then_completes("401", &["unauthenticated", "OPENAI_API_KEY"]);
    blocks_then_completes("403", &["unauthenticated"]);
}

#[test]
fn a_model_that_is_not_there_blocks() {
    blocks_then_completes("404-model", &["misconfigured"]);
}

#[test]
fn a_redirect_is_not_followed() {
    blocks_then_completes("redirect", &["misconfigured"]);
}

#[test]
fn an_overloaded_service_costs_no_attempt() {
    for api in APIS {
        for scenario in ["500", "503", "502-html", "error-event"] {
            let desk = Desk::new();
            desk.play(api, scenario, "").run(&["--max-launches", "1"]).exits(4).says("overloaded");
            desk.play(api, "ok", "").run(&["--attempts", "1"]).exits(0);
            desk.machine.each_task_once();
        }
    }
}

#[test]
fn a_broken_answer_is_tried_again() {
    for scenario in ["badjson-once", "empty-once", "disconnect-once"] {
        is_overcome(scenario);
    }
}

#[test]
fn a_refusal_is_recorded_with_its_reason() {
    parks("refusal", &[], "refused");
    parks("content-filter", &[], "refused");
}

#[test]
fn an_empty_answer_is_none() {
    parks("empty-answer", &[], "no-results");
}

#[test]
fn a_service_that_hangs_is_left_at_the_deadline() {
    parks("hang", &["--timeout", "2"], "timed-out");
    parks("stall", &["--timeout", "2"], "timed-out");
}

#[test]
fn a_prompt_that_does_not_fit_says_so() {
    for api in APIS {
        let desk = Desk::new();
        desk.play(api, "400-too-long", "").run(&["--attempts", "1"]).exits(3).says("context-exceeded");
    }
}

#[test]
fn without_a_key_nothing_is_sent() {
    let desk = Desk::new();
    desk.play("chat", "ok", "");
    let args = ["run", "--json", "--no-deepening", "--provider", "openai"];
    desk.machine.assize(&args).run().exits(3).says("OPENAI_API_KEY");
    assert!(desk.service.requests().is_empty());
}

#[test]
fn a_server_without_keys_gets_none() {
    let desk = Desk::new();
    desk.play("chat", "ok", "secret = false").run(&[]).exits(0);
    desk.machine.each_task_once();
    assert!(desk.service.requests().iter().all(|entry| !entry.credential));
    let desk = Desk::new();
    desk.play("chat", "need-key", "secret = false").run(&[]).exits(3).says("`secret`");
}

#[test]
fn another_header_and_another_secret_carry_the_key() {
    let desk = Desk::new();
    let scenario = format!("key-{KEY}");
    desk.play(
        "chat",
        &scenario,
        "secret = \"AZURE_KEY\"\napi_key_header = \"api-key\"\nquery = { api-version = \"1\" }",
    );
    let args = ["run", "--json", "--no-deepening", "--provider", "openai"];
    desk.machine.assize(&args).env("AZURE_KEY", KEY).run().exits(0);
    desk.machine.each_task_once();
}

#[test]
fn a_key_that_a_service_repeats_is_kept_nowhere() {
    for api in APIS {
        for (scenario, code) in [("echo-key-ok", 0), ("echo-key", 3)] {
            let desk = Desk::new();
            let end = desk.play(api, scenario, "").run(&[]).exits(code);
            assert!(!end.stdout.contains(KEY) && !end.stderr.contains(KEY), "{api} {scenario}");
            let kept = files_with(&desk.machine.at(""), KEY);
            assert!(kept.is_empty(), "{api} {scenario}: {kept:?}");
        }
    }
}

/// Files below a folder that hold a text.
fn files_with(folder: &Path, text: &str) -> Vec<PathBuf> {
    let (mut found, mut open) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                open.push(path);
            } else if fs::read(&path).is_ok_and(|bytes| bytes.windows(text.len()).any(|at| at == text.as_bytes())) {
                found.push(path);
            }
        }
    }
    found
}
