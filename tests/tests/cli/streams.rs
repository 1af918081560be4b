//! Streams: data on stdout and nothing else, talk on stderr, colour only where it is wanted, and ends that are gone.

use std::fs::OpenOptions;
use std::io::pipe;
use std::process::{Command, Output, Stdio};

use assize_tests::{Machine, assize, cache_dir};

/// A call with its stdout elsewhere.
fn with_stdout(machine: &Machine, args: &[&str], stdout: impl Into<Stdio>) -> Output {
    let mut command = Command::new(assize());
    command.env_clear().env("PATH", "/usr/bin:/bin").env("XDG_CACHE_HOME", cache_dir());
    for (name, place) in [("HOME", "home"), ("XDG_CONFIG_HOME", "config"), ("XDG_DATA_HOME", "data")] {
        command.env(name, machine.at(place));
    }
    command.args(args).current_dir(machine.repo()).stdin(Stdio::null()).stdout(stdout).stderr(Stdio::piped());
    command.spawn().unwrap().wait_with_output().unwrap()
}

#[test]
fn stdout_is_data_and_stderr_is_talk() {
    let machine = Machine::with_files(20);
    let end = machine.assize(&["run", "--json"]).run().exits(0);
    end.json();
    for stage in ["provider:", "inventory:", "plan:", "review:"] {
        assert!(end.stderr.contains(stage), "{}", end.stderr);
    }
    let end = machine.assize(&["run"]).run().exits(0);
    assert!(
        end.stdout.lines().all(|line| line.starts_with("audit complete:") || line.starts_with("report: ")),
        "{}",
        end.stdout
    );
    for words in
        [&["status"][..], &["next"], &["report"], &["plugin", "list"], &["provider", "list"], &["ledger", "show"]]
    {
        let end = machine.assize(words).run().exits(0);
        assert!(end.stderr.is_empty() && !end.stdout.is_empty(), "{words:?}: {}", end.stderr);
    }
}

#[test]
fn what_people_read_has_no_replaced_characters() {
    let machine = Machine::with_files(20);
    machine.assize(&["run"]).run().exits(0);
    let plugins = machine.assize(&["plugin", "list", "--json"]).run().exits(0).json();
    let names = plugins.as_array().unwrap().iter().map(|plugin| plugin["description"]["name"].as_str().unwrap());
    let mut calls: Vec<Vec<&str>> = names.map(|name| vec!["plugin", "inspect", name]).collect();
    calls.extend([
        vec!["status"],
        vec!["report"],
        vec!["ledger", "show"],
        vec!["provider", "list"],
        vec!["plugin", "list"],
    ]);
    for args in calls {
        let end = machine.assize(&args).run().exits(0);
        assert!(!end.stdout.contains('\u{fffd}'), "{args:?}:\n{}", end.stdout);
    }
}

#[test]
fn quiet_says_nothing_but_the_outcome_and_errors() {
    let machine = Machine::with_files(20);
    for place in [&["-q", "run"][..], &["run", "--quiet"], &["plan", "-q"]] {
        let end = machine.assize(place).run().exits(0);
        assert!(end.stderr.is_empty(), "{place:?}: {}", end.stderr);
        assert!(!end.stdout.is_empty(), "{place:?}");
    }
    machine.assize(&["run", "-q", "--provider", "nobody"]).run().exits(2).says("nobody");
}

#[test]
fn colour_only_where_it_is_wanted() {
    let machine = Machine::with_files(4);
    let has_colour = |args: &[&str], env: Option<(&'static str, &str)>| {
        let mut call = machine.assize(args);
        if let Some((name, value)) = env {
            call = call.env(name, value);
        }
        let end = call.run();
        end.stdout.contains('\u{1b}') || end.stderr.contains('\u{1b}')
    };
    assert!(!has_colour(&["status"], None), "a pipe is no terminal");
    assert!(has_colour(&["status", "--color", "always"], None));
    assert!(has_colour(&["--color=always", "status"], Some(("NO_COLOR", "1"))), "the flag is nearer than the variable");
    assert!(!has_colour(&["status", "--color", "never"], None));
    assert!(!has_colour(&["status"], Some(("NO_COLOR", "1"))));
    assert!(!has_colour(&["run"], None));
    assert!(!has_colour(&["report"], None));
    assert!(!has_colour(&["run", "--help"], None));
}

#[test]
fn a_reader_that_went_away_is_no_panic() {
    let machine = Machine::with_files(20);
    machine.assize(&["run"]).run().exits(0);
    for args in [
        &["report"][..],
        &["report", "--format", "sarif"],
        &["plan", "--json"],
        &["run"],
        &["status", "--json"],
        &["ledger", "show"],
        &["--help"],
        &["run", "--help"],
        &["version"],
    ] {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let output = with_stdout(&machine, args, writer);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code().is_some(), "{args:?}: {:?}", output.status);
        assert!(!said.contains("panicked"), "{args:?}: {said}");
        assert_ne!(output.status.code(), Some(101), "{args:?}");
    }
}

#[test]
fn a_report_that_could_not_be_written_is_no_success() {
    let machine = Machine::with_files(20);
    machine.assize(&["run"]).run().exits(0);
    let full = || OpenOptions::new().write(true).open("/dev/full").unwrap();
    let calls = [&["report", "--format", "sarif"][..], &["report"], &["plan", "--json"], &["status"]];
    let silent: Vec<_> =
        calls.into_iter().filter(|args| with_stdout(&machine, args, full()).status.code() == Some(0)).collect();
    assert!(silent.is_empty(), "these lost their output and say that all is well: {silent:?}");
}
