//! `assize stop`: another call ends a run as Ctrl-C does, and only a run.

use std::time::Duration;

use assize_tests::{Machine, until};

/// A machine whose worker does not end, with a launch of it under way.
fn hanging(machine: &Machine) -> assize_tests::Running {
    machine.write("src/a.py", "import os\n\n\ndef go(value):\n    os.system(value)\n");
    machine.use_worker(&["--fault", "hang"]);
    let running = machine.assize(&["run", "--no-deepening"]).limit(Duration::from_secs(60)).start();
    let log = machine.at("data/launches");
    until("a launch runs", Duration::from_secs(40), || log.exists());
    running
}

#[test]
fn a_run_is_stopped_by_another_call_and_nothing_is_left() {
    let machine = Machine::new();
    let running = hanging(&machine);
    assert!(machine.assize(&["stop"]).run().exits(0).stdout.contains("was asked to stop"));
    running.wait().exits(130);
    machine.nothing_is_left();
    assert!(machine.assize(&["stop"]).run().exits(0).stdout.contains("nobody works on this audit"));
}

#[test]
fn a_run_that_is_to_stop_now_ends_its_launches_at_once() {
    let machine = Machine::new();
    let running = hanging(&machine);
    let stopped = machine.assize(&["stop", "--now", "--json"]).run().exits(0).json();
    assert!(stopped["stopped"].as_u64().is_some(), "{stopped}");
    running.wait().exits(130);
    machine.nothing_is_left();
}

#[test]
fn where_nothing_was_audited_nothing_is_stopped_and_nothing_made() {
    let machine = Machine::new();
    assert!(machine.assize(&["stop"]).run().exits(0).stdout.contains("nobody works on this audit"));
    assert!(!machine.repo().join(".assize").exists());
}
