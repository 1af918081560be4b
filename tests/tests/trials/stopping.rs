//! Stops: by a person, by a plan that is spent, by a service that vanishes. Nothing goes on behind anybody's back, and what is
//! done is reported with the way to go on.

use std::fs;
use std::time::{Duration, Instant};

use assize_loopback::LoopbackApi;
use assize_tests::{Machine, Running, processes_of, program, until};
use rustix::process::Signal;

use crate::desk::{Desk, KEY};

/// Time in which nothing of a run may be left: ten seconds of grace, and the killing.
const GONE: Duration = Duration::from_secs(12);
const RUN: [&str; 5] = ["run", "--json", "--no-deepening", "--workers", "3"];

/// A reviewer with children: one in a session of its own, one in its group, and all of them deaf.
fn with_deaf_children() -> Machine {
    let machine = Machine::with_files(40);
    let script = machine.at("bin/reviewer");
    let started = machine.at("data/started");
    let text = format!(
        "#!/bin/sh\ntrap '' TERM INT HUP\nsetsid sh -c \"trap '' TERM INT HUP; while :; do sleep 1000; done\" &\n\
         sh -c 'sleep 1000; sleep 1000' &\nprintf . >> '{}'\nwhile :; do sleep 1000; done\n",
        started.display()
    );
    machine.script(&script, &text);
    machine.configure(&format!("[providers.command]\ncommand = [{script:?}, \"{{taskPath}}\"]\n"));
    machine
}

fn start(machine: &Machine) -> Running {
    let running = machine.assize(&RUN).limit(Duration::from_secs(100)).start();
    let started = machine.at("data/started");
    until("three reviewers have their children", Duration::from_secs(60), || {
        fs::metadata(&started).is_ok_and(|meta| meta.len() == 3)
    });
    assert!(processes_of(&machine.at("")).len() > 9, "three reviewers, their children and the host");
    running
}

#[test]
fn an_interrupt_ends_reviewers_and_all_their_children_in_time() {
    for signal in [Signal::INT, Signal::TERM] {
        let machine = with_deaf_children();
        let running = start(&machine);
        let begin = Instant::now();
        running.signal(signal);
        running.wait().exits(130);
        let dir = machine.at("");
        let left = GONE.saturating_sub(begin.elapsed());
        until("nothing of the run is left", left, || processes_of(&dir).is_empty());
        assert_eq!(machine.status()["tasks"]["leased"], 0);
        assert_eq!(fs::metadata(machine.at("data/started")).unwrap().len(), 3, "nobody was started after the stop");
    }
}

#[test]
fn a_second_interrupt_ends_everything_at_once() {
    let machine = with_deaf_children();
    let mut running = start(&machine);
    running.signal(Signal::INT);
    running.line(|line| line.contains("again to end them now")).expect("it says what the second one does");
    let begin = Instant::now();
    running.signal(Signal::INT);
    running.wait().exits(130);
    let dir = machine.at("");
    until("nothing of the run is left", Duration::from_secs(6), || processes_of(&dir).is_empty());
    assert!(begin.elapsed() < Duration::from_secs(7), "{:?}", begin.elapsed());
}

#[test]
fn a_host_that_is_killed_takes_its_reviewers_with_it() {
    let machine = with_deaf_children();
    let running = start(&machine);
    running.signal(Signal::KILL);
    assert_eq!(running.wait().signal, Some(9));
    machine.nothing_is_left();
}

#[test]
fn after_a_stop_nothing_more_is_sent() {
    let desk = Desk::new(40);
    desk.play("ok+slow-60000");
    let running = desk.call(&["--workers", "3"]).limit(Duration::from_secs(100)).start();
    until("three requests are under way", Duration::from_secs(60), || desk.api.requests().len() == 3);
    let begin = Instant::now();
    running.signal(Signal::INT);
    running.wait().exits(130);
    assert!(begin.elapsed() < GONE, "{:?}", begin.elapsed());
    assert_eq!(desk.api.requests().len(), 3, "a stopped run asks nobody");
    let status = desk.machine.status();
    assert_eq!((&status["tasks"]["leased"], &status["tasks"]["parked"]), (&0.into(), &0.into()));
    desk.play("ok");
    desk.run(&[]).exits(0);
    desk.machine.each_task_once();
}

/// A `codex` whose plan is spent after so many launches, until somebody pays.
fn codex_with_a_plan_of(launches: usize) -> Machine {
    let machine = Machine::with_files(250);
    machine.install(&program("fake-codex"), "real-codex");
    let (count, real) = (machine.at("data/count"), machine.at("bin/real-codex"));
    let text = format!(
        "#!/bin/sh\nprintf . >> '{count}'\nif [ \"$(wc -c < '{count}')\" -gt {launches} ]; then\n\
         for arg in \"$@\"; do shift; case $arg in scenario-ok) arg=scenario-usage-limit;; esac; set -- \"$@\" \"$arg\"; done\n\
         fi\nexec '{real}' \"$@\"\n",
        count = count.display(),
        real = real.display()
    );
    machine.script(&machine.at("bin/codex"), &text);
    machine.configure("[providers.codex]\nbase_url = \"http://127.0.0.1:9\"\n");
    machine
}

#[test]
fn a_plan_that_is_spent_in_the_midst_leaves_a_report_and_a_way_to_go_on() {
    let machine = codex_with_a_plan_of(4);
    let args = ["run", "--json", "--no-deepening", "--workers", "2", "--model", "scenario-ok"];
    let run = || machine.assize(&args).env("OPENAI_API_KEY", KEY).run();
    let end = run().exits(3).says("quota-exhausted");
    let outcome = end.json();
    let (reviewed, required) = (&outcome["pairs_reviewed"], &outcome["pairs_required"]);
    assert!(reviewed.as_u64().unwrap() > 0 && reviewed.as_u64() < required.as_u64(), "{outcome:#}");
    assert!(outcome["causes"].to_string().contains("usage limit"), "{outcome:#}");
    let launched = fs::metadata(machine.at("data/count")).unwrap().len();
    assert!(launched <= 4 + 2, "a spent plan is not asked again: {launched}");

    // The report holds what is done and says what is missing, and `next` how to go on.
    let findings: u64 = outcome["findings"].as_object().unwrap().values().filter_map(serde_json::Value::as_u64).sum();
    assert!(findings > 0);
    let report = fs::read_to_string(outcome["report"].as_str().unwrap()).unwrap();
    assert!(report.contains("app") || report.contains("src"), "it names files:\n{report}");
    assert!(report.to_lowercase().contains("not complete") || report.to_lowercase().contains("incomplete"), "{report}");
    let next = machine.assize(&["next"]).run().exits(0).stdout;
    assert!(next.contains("assize run"), "{next}");
    assert_eq!(machine.status()["tasks"]["parked"], 0, "a spent plan costs no attempt");

    // Until it is full again, another run asks nobody and says until when.
    let causes = run().exits(3).json()["causes"].to_string();
    assert!(causes.contains("full again in") && causes.contains("assize quota reset codex"), "{causes}");
    assert_eq!(fs::metadata(machine.at("data/count")).unwrap().len(), launched);

    // Somebody pays and says so; what was done is not done again.
    machine.bare().args(["quota", "reset"]).run().exits(0);
    machine.install(&program("fake-codex"), "codex");
    run().exits(0);
    machine.each_task_once();
}

#[test]
fn a_service_that_vanishes_leaves_a_report_and_a_way_to_go_on() {
    let mut desk = Desk::new(60);
    desk.play("ok+slow-100");
    let running = desk.call(&["--workers", "2", "--deadline", "20s"]).limit(Duration::from_secs(100)).start();
    until("some of the work is done", Duration::from_secs(60), || desk.with_status(200).len() > 6);
    desk.api = LoopbackApi::start(0).unwrap();
    let end = running.wait().exits(4);
    let outcome = end.json();
    assert!(outcome["causes"].to_string().contains("--deadline"), "{outcome:#}");
    assert!(outcome["pairs_reviewed"].as_u64().unwrap() > 0);
    assert!(fs::metadata(outcome["report"].as_str().unwrap()).unwrap().len() > 0);
    let status = desk.machine.status();
    assert_eq!((&status["tasks"]["leased"], &status["tasks"]["parked"]), (&0.into(), &0.into()), "{status:#}");
    desk.machine.bare().args(["quota", "reset"]).run().exits(0);
    desk.play("ok");
    desk.run(&[]).exits(0);
    desk.machine.each_task_once();
}
