//! Machines on which nothing can be kept or contained: a run says so before anything is spent, and what it had stays whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use assize_tests::{Machine, assize, cache_dir, program};
use serde_json::Value;

use crate::desk::{Desk, KEY};

/// The program in odd surroundings: a script that gets the call as its arguments.
fn odd(machine: &Machine, before: &[&str], script: &str, args: &[&str]) -> Output {
    let outer = [before, &["sh", "-c", script, "sh"]].concat();
    let mut command = Command::new(outer[0]);
    command.args(&outer[1..]).arg(assize()).args(args).arg(machine.repo()).env_clear();
    command.env("PATH", format!("{}:/usr/bin:/bin:/usr/sbin:/sbin", machine.at("bin").display()));
    command.env("XDG_CACHE_HOME", cache_dir()).env("LANG", "C.UTF-8").env("OPENAI_API_KEY", KEY);
    for (name, place) in [("HOME", "home"), ("XDG_CONFIG_HOME", "config"), ("DATA", "data"), ("STATE", "state")] {
        command.env(name, machine.at(place));
    }
    command.output().unwrap()
}

/// In a name space of its own, where the user may mount.
const MOUNTING: [&str; 4] = ["unshare", "--user", "--map-root-user", "--mount"];

/// Whether the kernel lets a user mount something of his own. Where it does not, there is no full disk to try.
fn may_mount(machine: &Machine) -> bool {
    fs::create_dir_all(machine.at("state")).unwrap();
    odd(machine, &MOUNTING, "mount -t tmpfs tmpfs \"$STATE\"", &[]).status.success()
}

fn run_args(state: &Path) -> Vec<&str> {
    let state = state.to_str().unwrap();
    vec!["run", "--json", "--no-deepening", "--provider", "openai", "--workers", "4", "--state-dir", state]
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn a_state_directory_that_cannot_be_made_costs_nothing() {
    let desk = Desk::new(10);
    desk.play("ok");
    for place in ["/proc/nowhere", "/dev/null"] {
        let end = desk.run(&["--state-dir", &format!("{place}/state")]);
        assert!(matches!(end.code, Some(2 | 5)), "{:?}\n{}", end.code, end.stderr);
        assert!(end.stderr.contains(place), "it names the place:\n{}", end.stderr);
    }
    assert!(desk.api.requests().is_empty());
}

#[test]
fn a_state_directory_that_is_read_only_costs_nothing() {
    let desk = Desk::new(10);
    desk.play("ok");
    if !may_mount(&desk.machine) {
        return;
    }
    let state: PathBuf = desk.machine.at("state");
    let script = "mount -t tmpfs -o ro tmpfs \"$STATE\" && exec \"$@\"";
    let output = odd(&desk.machine, &MOUNTING, script, &run_args(&state));
    assert!(matches!(output.status.code(), Some(2 | 5)), "{output:?}");
    assert!(said(&output).contains(state.to_str().unwrap()), "{}", said(&output));
    assert!(desk.api.requests().is_empty());
}

#[test]
fn an_audit_whose_directory_became_read_only_costs_nothing() {
    let desk = Desk::new(10);
    desk.play("ok");
    if !may_mount(&desk.machine) {
        return;
    }
    let state: PathBuf = desk.machine.at("state");
    let script = "mount -t tmpfs tmpfs \"$STATE\" && \"$@\" --max-launches 0 >\"$DATA/first\" 2>&1; \
                  mount -o remount,ro \"$STATE\" && exec \"$@\"";
    let output = odd(&desk.machine, &MOUNTING, script, &run_args(&state));
    let first = fs::read_to_string(desk.machine.at("data/first")).unwrap();
    assert!(matches!(output.status.code(), Some(2 | 5)), "{output:?}\n{first}");
    assert!(desk.api.requests().is_empty(), "{}", said(&output));
}

#[test]
fn a_disk_that_is_full_from_the_start_costs_nothing() {
    let desk = Desk::new(10);
    desk.play("ok");
    if !may_mount(&desk.machine) {
        return;
    }
    let state: PathBuf = desk.machine.at("state");
    let script =
        "mount -t tmpfs -o size=1m tmpfs \"$STATE\" && cat /dev/zero > \"$STATE/filler\" 2>/dev/null; exec \"$@\"";
    let output = odd(&desk.machine, &MOUNTING, script, &run_args(&state));
    assert!(matches!(output.status.code(), Some(2 | 5)), "{output:?}");
    assert!(desk.api.requests().is_empty(), "{}", said(&output));
}

#[test]
fn a_disk_that_fills_up_keeps_what_was_done_and_the_next_run_goes_on() {
    let desk = Desk::new(200);
    desk.play("ok-findings");
    if !may_mount(&desk.machine) {
        return;
    }
    let state: PathBuf = desk.machine.at("state");
    // Survey and plan find room; then what is left is two hundred and fifty-six kibibytes.
    let script = "mount -t tmpfs -o size=64m tmpfs \"$STATE\" || exit 99\n\
        exe=$1; place=\"--state-dir $STATE\"; for repo; do :; done\n\
        \"$@\" --max-launches 1 >\"$DATA/zero\" 2>&1; echo zero $?\n\
        used=$(du -sk \"$STATE\" | cut -f1); mount -o remount,size=$((used + 256))k \"$STATE\" || exit 98\n\
        \"$@\" >\"$DATA/first\" 2>&1; echo first $?\n\
        mount -o remount,size=64m \"$STATE\"\n\
        \"$exe\" status --json $place \"$repo\" >\"$DATA/status\"; echo status $?\n\
        \"$@\" >\"$DATA/second\" 2>\"$DATA/second.err\"; echo second $?\n\
        \"$exe\" ledger verify $place \"$repo\"; echo verify $?\n\
        \"$exe\" status --json $place \"$repo\" >\"$DATA/last\"\n";
    let output = odd(&desk.machine, &MOUNTING, script, &run_args(&state));
    let said = said(&output);
    let read = |name: &str| fs::read_to_string(desk.machine.at("data").join(name)).unwrap_or_default();
    let about = format!("{said}\n{}\n{}", read("first"), read("second.err"));
    assert!(said.contains("zero 4"), "{about}\n{}", read("zero"));
    assert!(said.contains("first 5"), "the disk was full:\n{about}");
    assert!(read("first").contains("full") || read("first").contains("space"), "it says why:\n{about}");
    assert!(said.contains("status 0") && said.contains("second 0") && said.contains("verify 0"), "{about}");
    let tasks = |name: &str| -> Value { serde_json::from_str::<Value>(&read(name)).unwrap()["tasks"].clone() };
    let (saved, total) = (tasks("status")["done"].as_u64().unwrap(), tasks("last")["done"].as_u64().unwrap());
    assert_eq!(tasks("last")["pending"], 0);
    let asked: usize = desk.api.requests().iter().map(|entry| entry.tasks).sum();
    assert!(saved > 0 && asked as u64 >= total);
    // Lost is at most what four launches had brought when there was no room for it.
    let most = desk.api.requests().iter().map(|entry| entry.tasks).max().unwrap() as u64;
    assert!(asked as u64 <= total + 4 * most, "{asked} asked, {total} done, {most} a launch\n{about}");
}

#[test]
fn a_limit_on_the_size_of_files_keeps_what_was_done_and_the_next_run_goes_on() {
    let desk = Desk::new(60);
    desk.play("ok-findings");
    desk.run(&["--max-launches", "1"]).exits(4);
    let state = desk.machine.repo().join(".assize");
    let size = fs::metadata(state.join("store.db")).unwrap().len();
    let script = format!("trap '' XFSZ; ulimit -f {}; exec \"$@\"", size / 4_096);
    let output = odd(&desk.machine, &["env"], &script, &run_args(&state));
    assert_eq!(output.status.code(), Some(5), "there was no room: {}", said(&output));
    let before = desk.machine.status()["tasks"]["done"].as_u64().unwrap();
    assert!(before > 0);
    desk.run(&[]).exits(0);
    desk.machine.each_task_once();
}

/// A host whose own binary is gone, as after an update in the midst of a run: it cannot be the parent of any program.
#[test]
fn programs_that_cannot_be_contained_are_not_started() {
    let machine = Machine::with_files(6);
    machine.install(&program("fake-codex"), "codex");
    machine.configure("[providers.codex]\nbase_url = \"http://127.0.0.1:9\"\n");
    let script = "cp \"$1\" \"$DATA/copy\" && exec 9<\"$DATA/copy\" && rm \"$DATA/copy\" && shift && exec /proc/self/fd/9 \"$@\"";
    let args = ["run", "--json", "--no-deepening", "--provider", "codex", "--model", "scenario-ok"];
    let output = odd(&machine, &["env"], script, &args);
    assert!(matches!(output.status.code(), Some(2 | 3 | 5)), "{output:?}");
    assert!(said(&output).contains("contain"), "{}", said(&output));
    assert!(!machine.at("bin/codex.launches").exists(), "nobody was started: {}", said(&output));
    assert_eq!(machine.status()["tasks"]["parked"], 0);
}

#[test]
fn a_ping_of_a_dead_lane_ends_the_run_before_any_task() {
    for (scenario, word) in
        [("401", "unauthenticated"), ("insufficient-quota", "quota-exhausted"), ("500", "overloaded")]
    {
        let desk = Desk::new(6);
        desk.play(scenario);
        let end = desk.run(&["--ping"]).exits(3).says(word);
        let requests = desk.api.requests();
        assert_eq!(requests.len(), 1, "{scenario}: {}", end.stderr);
        assert_eq!(requests[0].tasks, 0, "{scenario}: it carried work");
        assert_eq!(desk.machine.status()["tasks"]["leased"], 0);
        let started = desk.machine.ledger().iter().any(|entry| entry["kind"] == "launch-started");
        assert!(!started, "{scenario}");
    }
}

#[test]
fn a_ping_is_one_of_the_launches_that_a_run_may_make() {
    let desk = Desk::new(6);
    desk.play("ok");
    let outcome = desk.run(&["--ping", "--max-launches", "1"]).exits(4).json();
    assert_eq!(outcome["launches"], 1, "{outcome:#}");
    assert!(outcome["tokens"].as_u64().unwrap() > 0, "{outcome:#}");
    assert_eq!(desk.api.requests().len(), 1);
}

#[test]
fn a_ping_that_is_answered_costs_one_small_request() {
    let desk = Desk::new(6);
    desk.play("ok");
    desk.run(&["--ping"]).exits(0).says("answered the ping");
    desk.machine.each_task_once();
    let requests = desk.api.requests();
    let sent = desk.machine.ledger().iter().filter(|entry| entry["kind"] == "request-sent").count();
    assert_eq!(sent, requests.len(), "what left the machine is in the ledger, the ping included");
    assert_eq!(requests[0].tasks, 0);
    assert!(requests[1..].iter().all(|entry| entry.tasks > 0));
    assert!(requests[0].bytes < requests[1].bytes);
}
