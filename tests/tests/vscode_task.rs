//! Audits by a task that is described as an editor does, with a worker that answers honestly or fails.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use assize_tests::{Ended, Machine, program};

fn machine(section: &str) -> Machine {
    let machine = Machine::with_files(6);
    machine.configure(&format!("[providers.vscode-task]\n{section}\n"));
    machine
}

/// Program and arguments as `tasks.json` has them, apart.
fn apart(machine: &Machine, more: &str) -> String {
    let worker = program("fake-worker");
    let log = machine.at("data/launches");
    format!(
        "label = \"audit\"\ntype = \"process\"\ncommand = {:?}\nargs = [\"{{taskPath}}\", \"--log\", {:?}, {more}]\n",
        worker.to_str().unwrap(),
        log.to_str().unwrap()
    )
}

fn run(machine: &Machine, more: &[&str]) -> Ended {
    let args = [&["run", "--json", "--no-deepening", "--workers", "2", "--provider", "vscode-task"], more].concat();
    machine.assize(&args).run()
}

#[test]
fn a_task_of_an_editor_reviews_the_repository() {
    let machine = machine("");
    let section = apart(&machine, "\"--findings\"");
    machine.configure(&format!("[providers.vscode-task]\n{section}"));
    let outcome = run(&machine, &[]).exits(0).json();
    assert_eq!(outcome["provider"], "vscode-task");
    assert!(outcome["findings"]["medium"].as_u64().unwrap() > 0);
    assert_eq!(outcome["launches"].as_u64(), Some(machine.launches().len() as u64));
    machine.each_task_once();
    machine.nothing_is_left();
}

#[test]
fn a_list_names_program_and_arguments_together() {
    let worker = program("fake-worker");
    let machine = machine(&format!("command = [{:?}, \"{{taskPath}}\"]", worker.to_str().unwrap()));
    run(&machine, &[]).exits(0);
    machine.each_task_once();
}

#[test]
fn a_failing_task_is_tried_again_then_parked() {
    let machine = machine("");
    let section = apart(&machine, "\"--fault\", \"exit1\"");
    machine.configure(&format!("[providers.vscode-task]\n{section}"));
    run(&machine, &["--attempts", "2"]).exits(3).says("crashed");
    assert!(machine.status()["tasks"]["parked"].as_u64().unwrap() > 0);
    machine.nothing_is_left();
}

#[test]
fn what_an_editor_alone_knows_is_refused_before_anything_starts() {
    let worker = program("fake-worker");
    let machine = machine(&format!("command = [{:?}, \"${{file}}\"]", worker.to_str().unwrap()));
    run(&machine, &[]).exits(3).says("${workspaceFolder}");
    assert!(machine.launches().is_empty());
}
