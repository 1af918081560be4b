//! Hosts that are killed while a model answers: the report is that of a run in peace, and nothing is paid twice but what was
//! under way.

use std::time::Duration;

use assize_tests::{Machine, Random, Running, until};
use rustix::process::Signal;
use serde_json::Value;

use crate::desk::Desk;

const FILES: usize = 120;
const WORKERS: [&str; 2] = ["--workers", "4"];
const KILLS: usize = 12;

/// The findings file, without what differs from run to run by its nature: instants, launches, and what the launches took.
fn report_of(machine: &Machine) -> Value {
    let mut document = machine.assize(&["report", "--format", "findings"]).run().exits(0).json();
    let about = document["x-assize"].as_object_mut().unwrap();
    about.retain(|name, _| !matches!(name.as_str(), "generated_at" | "run"));
    forget_launches(&mut document);
    document
}

fn forget_launches(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| name != "launch");
            members.values_mut().for_each(forget_launches);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_launches),
        _ => {}
    }
}

/// Places at which two documents differ, with what stands there.
fn differences(left: &Value, right: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![(String::new(), left, right)];
    while let Some((place, left, right)) = open.pop() {
        match (left, right) {
            (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
                open.extend(a.iter().map(|(name, value)| (format!("{place}/{name}"), value, &b[name])));
            }
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                open.extend((0..a.len()).map(|at| (format!("{place}/{at}"), &a[at], &b[at])));
            }
            _ if left == right => {}
            _ => found.push(format!("{place}: {left} and {right}")),
        }
    }
    found
}

/// Kills hosts, each after some more of what `count` counts, and gives the tasks that were under way then.
fn kill_hosts(machine: &Machine, start: impl Fn() -> Running, count: impl Fn() -> usize) -> u64 {
    let mut random = Random::new(7);
    let (mut kills, mut under_way) = (0, 0);
    while kills < KILLS {
        let mut running = start();
        let wanted = count() + 1 + random.below(5);
        until("some more or the end", Duration::from_secs(100), || running.is_over() || count() >= wanted);
        running.signal(Signal::KILL);
        if running.wait().signal != Some(9) {
            break;
        }
        kills += 1;
        machine.nothing_is_left();
        under_way += machine.status()["tasks"]["leased"].as_u64().unwrap();
    }
    assert!(kills > 6, "hosts were killed {kills} times only");
    under_way
}

#[test]
fn kills_at_any_moment_cost_only_what_was_under_way() {
    let calm = Desk::new(FILES);
    calm.play("ok");
    calm.run(&WORKERS).exits(0);

    let desk = Desk::new(FILES);
    desk.play("ok+slow-40");
    let under_way = kill_hosts(&desk.machine, || desk.call(&WORKERS).start(), || desk.api.requests().len());
    desk.run(&WORKERS).exits(0);
    desk.machine.each_task_once();
    let paid: usize = desk.api.requests().iter().map(|entry| entry.tasks).sum();
    let done = desk.machine.status()["tasks"]["done"].as_u64().unwrap();
    assert!(paid as u64 <= done + under_way, "{paid} tasks were paid, {done} are done, {under_way} were under way");
    assert_eq!(differences(&report_of(&desk.machine), &report_of(&calm.machine)), [""; 0]);
}

#[test]
fn kills_at_any_moment_change_no_finding() {
    let machines = [(); 2].map(|()| Machine::with_files(FILES * 3));
    let [calm, machine] = &machines;
    for machine in &machines {
        machine.use_worker(&["--findings"]);
    }
    let args = ["run", "--json", "--no-deepening", "--workers", "4"];
    calm.assize(&args).run().exits(0);
    kill_hosts(machine, || machine.assize(&args).start(), || machine.launches().len());
    machine.assize(&args).run().exits(0);
    machine.each_task_once();
    let report = report_of(machine);
    assert!(!report["findings"].as_array().unwrap().is_empty());
    assert_eq!(differences(&report, &report_of(calm)), [""; 0]);
}

#[test]
fn what_had_failed_before_the_kill_is_not_taken_for_done() {
    let desk = Desk::new(30);
    desk.play("empty-answer-times-4+slow-40");
    let running = desk.call(&["--workers", "1"]).start();
    until("some answers were empty", Duration::from_secs(60), || desk.api.requests().len() >= 3);
    running.signal(Signal::KILL);
    running.wait();
    assert_eq!(desk.machine.status()["tasks"]["done"], 0);
    desk.play("ok");
    desk.run(&WORKERS).exits(0);
    desk.machine.each_task_once();
}
