//! Audits by a model behind the Anthropic Messages API, as the real service was seen to answer.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod api_service;

use api_service::{KEY, SOON, Scene, Service, holds_no_key};
use assize_tests::until;
use rustix::process::Signal;

fn scene() -> Scene {
    Scene::new(Service { provider: "anthropic", key: "ANTHROPIC_API_KEY", model: "claude-sonnet-5-5" })
}

#[test]
fn an_audit_is_streamed_and_counts_as_a_model_s() {
    let scene = scene();
    let outcome = scene.run("ok-findings", &[]).exits(0).json();
    assert_eq!((&outcome["provider"], &outcome["end"]), (&"anthropic".into(), &"complete".into()));
    scene.machine.each_task_once();
    let status = scene.machine.status();
    assert_eq!(status["coverage"]["by_kind"].as_object().unwrap().keys().collect::<Vec<_>>(), ["model"]);
    let asked = scene.asked();
    assert!(asked.iter().all(|entry| entry.stream && entry.credential && entry.path == "/v1/messages"), "{asked:?}");
    assert!(asked.iter().all(|entry| entry.model == "claude-sonnet-5-5" && entry.tasks > 0), "{asked:?}");
}

#[test]
fn answers_are_taken_however_they_are_given() {
    for scenario in ["submit", "prose-around", "double-encoded", "no-tools", "no-cache-control", "gzip"] {
        scene().completes(scenario);
    }
}

#[test]
fn the_model_reads_what_it_asks_for_and_nothing_outside() {
    let scene = scene();
    scene.completes("tool-read+submit");
    let asked = scene.asked();
    assert!(asked.len() >= 2 && asked.iter().all(|entry| entry.status == Some(200)), "{asked:?}");
    self::scene().completes("tool-outside");
    self::scene().completes("tool-unknown");
}

#[test]
fn a_model_that_only_reads_does_not_read_for_ever() {
    let scene = scene();
    scene.run("tool-forever", &["--attempts", "1", "--max-launches", "1"]).says("no-results");
    assert_eq!(scene.asked().len(), 18);
}

#[test]
fn a_rate_limit_is_waited_out() {
    let scene = scene();
    scene.run("429-once", &["--attempts", "1"]).exits(0).says("rate-limited");
    scene.machine.each_task_once();
    assert_eq!(scene.asked().iter().filter(|entry| entry.status == Some(429)).count(), 1);
}

#[test]
fn an_overload_costs_no_attempt_wherever_it_is_told() {
    for scenario in ["529-once", "error-event-once"] {
        scene().completes(scenario);
    }
}

#[test]
fn a_key_that_is_not_accepted_blocks_and_says_what_to_set() {
    scene().fails_then_completes("401", &["unauthenticated", "ANTHROPIC_API_KEY"]);
}

#[test]
fn without_a_key_nothing_is_sent() {
    let scene = scene();
    scene.call("ok", &[]).run().exits(3).says("unauthenticated").says("ANTHROPIC_API_KEY");
    assert!(scene.asked().is_empty());
}

#[test]
fn a_host_that_the_users_own_section_names_needs_no_other_grant() {
    let scene = scene();
    let base = scene.api.scenario("ok");
    scene.machine.configure(&format!("[providers.anthropic]\nbase_url = \"{base}\"\n"));
    let args = ["run", "--no-deepening", "--provider", "anthropic", "--model", "claude-sonnet-5-5"];
    scene.machine.assize(&args).env("ANTHROPIC_API_KEY", KEY).run().exits(0);
    assert!(!scene.asked().is_empty());
}

#[test]
fn what_is_no_answer_does_no_task() {
    for (scenario, reason) in [
        ("disconnect", "crashed"),
        ("badjson", "crashed"),
        ("empty", "crashed"),
        ("empty-answer", "no-results"),
        ("refusal", "refused"),
        ("400-too-long", "context-exceeded"),
        ("404-model", "misconfigured"),
    ] {
        scene().fails_then_completes(scenario, &[reason]);
    }
}

#[test]
fn a_spent_balance_blocks() {
    scene().fails("402", &["quota-exhausted"]);
}

#[test]
fn a_key_that_the_service_repeats_is_kept_nowhere() {
    let scene = scene();
    let end = scene.run("echo-key-ok", &[]).exits(0);
    assert!(!end.stderr.contains(KEY) && !end.stdout.contains(KEY));
    let end = scene.run("echo-key", &["--attempts", "1"]);
    assert!(!end.stderr.contains(KEY) && !end.stdout.contains(KEY));
    holds_no_key(&scene.machine.repo().join(".assize"));
}

#[test]
fn an_interrupt_ends_a_request_that_hangs() {
    let scene = scene();
    let running = scene.call("hang", &[]).env("ANTHROPIC_API_KEY", KEY).limit(SOON).start();
    until("the model is asked", SOON, || !scene.asked().is_empty());
    running.signal(Signal::INT);
    running.wait().exits(130);
    assert_eq!(scene.machine.status()["tasks"]["leased"], 0);
    scene.completes("ok");
}
