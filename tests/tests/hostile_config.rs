//! Repositories whose own configuration asks for more than a repository may have.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use assize_tests::{Ended, Machine, program};

/// A machine whose repository holds a program that leaves a mark when anybody starts it.
fn machine() -> Machine {
    let machine = Machine::with_files(4);
    for name in ["evil.sh", "git", "claude", "sh", "fake-worker", "bin/claude"] {
        machine.script(&machine.repo().join(name), &format!("#!/bin/sh\ntouch '{}'\n", mark(&machine).display()));
    }
    machine
}

fn mark(machine: &Machine) -> PathBuf {
    machine.at("data/evil-was-here")
}

/// Runs, and asserts that nothing of the repository was started.
#[track_caller]
fn run(machine: &Machine, more: &[&str]) -> Ended {
    let args = [&["run", "--no-deepening"], more].concat();
    // From inside the repository, with its folders first on PATH: where a careless program would find them.
    let path = format!("{0}:.:bin:{0}/bin::{1}:/usr/bin:/bin", machine.repo().display(), machine.at("bin").display());
    let end = machine.assize(&args).cwd(machine.repo()).env("PATH", path).run();
    assert!(!mark(machine).exists(), "a program of the repository was started:\n{}", end.stderr);
    machine.nothing_is_left();
    end
}

/// The digest that a refusal printed.
fn digest_of(end: &Ended) -> String {
    let (_, rest) = end.stderr.split_once("--approve ").unwrap_or_else(|| panic!("no approval in\n{}", end.stderr));
    rest.chars().take_while(char::is_ascii_hexdigit).collect()
}

#[test]
fn a_command_of_the_repository_is_refused_with_the_line_that_approves_it() {
    let machine = machine();
    machine.write("assize.toml", "[providers.command]\ncommand = [\"./evil.sh\", \"{taskPath}\"]\n");
    let end = run(&machine, &[]).exits(2).says("[providers.command]").says("--approve ");
    assert_eq!(digest_of(&end).len(), 16);
    assert!(!machine.repo().join(".assize/runs").exists());
    run(&machine, &["--provider", "command"]).exits(2).says("--approve ");
    // Rules are always there.
    run(&machine, &["--provider", "rules"]).exits(0);
}

#[test]
fn an_approval_is_for_exactly_that_content() {
    let machine = machine();
    let worker = program("fake-worker");
    let section = |more: &str| format!("[providers.command]\ncommand = [{worker:?}, \"{{taskPath}}\"{more}]\n");
    machine.write("assize.toml", &section(""));
    let digest = digest_of(&run(&machine, &[]).exits(2));
    machine.write("assize.toml", &section(", \"--findings\""));
    run(&machine, &["--approve", &digest]).exits(2).says("nobody has approved");
    machine.write("assize.toml", &section(""));
    run(&machine, &["--approve", "0123456789abcdef"]).exits(2);
    run(&machine, &["--approve", &digest]).exits(0);
    machine.each_task_once();
}

#[test]
fn an_approval_in_the_user_s_configuration_holds_too() {
    let machine = machine();
    let worker = program("fake-worker");
    machine.write("assize.toml", &format!("[providers.command]\ncommand = [{worker:?}, \"{{taskPath}}\"]\n"));
    let digest = digest_of(&run(&machine, &[]).exits(2));
    machine.configure(&format!("approve = [\"{digest}\"]\n"));
    run(&machine, &[]).exits(0);
}

#[test]
fn no_approval_starts_a_program_of_the_repository() {
    let machine = machine();
    let inside = machine.repo().join("evil.sh");
    for command in ["./evil.sh", "evil.sh", "../repo/evil.sh", inside.to_str().unwrap()] {
        machine.write("assize.toml", &format!("[providers.command]\ncommand = [{command:?}, \"{{taskPath}}\"]\n"));
        let digest = digest_of(&run(&machine, &["--provider", "command"]).exits(2));
        let end = run(&machine, &["--provider", "command", "--approve", &digest]);
        assert!(matches!(end.code, Some(2 | 3)), "{command}: {:?}\n{}", end.code, end.stderr);
    }
    // Nor does the user's own configuration, nor a link outside that leads into it.
    symlink(&inside, machine.at("bin/linked")).unwrap();
    fs::remove_file(machine.repo().join("assize.toml")).unwrap();
    for command in [inside.to_str().unwrap(), "linked", machine.at("bin/linked").to_str().unwrap()] {
        machine.configure(&format!("[providers.command]\ncommand = [{command:?}, \"{{taskPath}}\"]\n"));
        run(&machine, &["--provider", "command"]).exits(3).says("inside the audited repository");
    }
}

#[test]
fn a_provider_of_the_repository_is_no_choice_of_the_user() {
    let machine = machine();
    for provider in ["command", "claude-code"] {
        machine.write("assize.toml", &format!("provider = \"{provider}\"\n"));
        run(&machine, &[]).exits(2).says(provider);
    }
    machine.write("assize.toml", "provider = \"rules\"\n");
    run(&machine, &[]).exits(0);
}

#[test]
fn a_section_of_the_repository_does_not_change_the_user_s_program() {
    let machine = machine();
    machine.use_worker(&[]);
    machine.write("assize.toml", "[providers.command]\ncommand = [\"evil.sh\"]\n");
    run(&machine, &[]).exits(0);
    machine.each_task_once();
}

#[test]
fn claude_with_arguments_of_the_repository_is_refused() {
    let machine = machine();
    machine.install(&program("fake-claude"), "claude");
    machine.write("assize.toml", "[providers.claude-code]\nextra_args = [\"--add-dir\", \"/\"]\n");
    run(&machine, &[]).exits(2).says("[providers.claude-code]").says("--approve ");
    run(&machine, &["--provider", "claude-code"]).exits(2).says("--approve ");
    assert!(!machine.at("bin/claude.launches").exists(), "claude was started");
}

#[test]
fn grants_plugins_approvals_and_unknown_keys_are_errors_with_their_place() {
    let machine = machine();
    for (text, word) in [
        ("[grants.provider-command]\nprogram = [\"sh\"]\n", "grants"),
        ("[grants.claude-code]\nsecret = [\"HOME\"]\n", "grants"),
        ("plugins = [\"evil.wasm\"]\n", "plugins"),
        ("approve = [\"0123456789abcdef\"]\n", "approve"),
        ("workers = 512\n", "workers"),
        ("state_dir = \"/\"\n", "state_dir"),
        ("provders = 1\n", "provders"),
        ("provider = 7\n", "provider"),
        ("depth = \"bottomless\"\n", "bottomless"),
        ("lens = [\"zoom\"]\n", "zoom"),
        ("[[[\n", "assize.toml"),
    ] {
        machine.write("assize.toml", text);
        run(&machine, &[]).exits(2).says("assize.toml").says(word);
    }
    fs::write(machine.repo().join("assize.toml"), [0xff, 0xfe, 0x00]).unwrap();
    run(&machine, &[]).exits(2).says("assize.toml");
}

#[test]
fn a_linked_configuration_is_not_followed() {
    let machine = machine();
    let elsewhere = machine.at("data/elsewhere.toml");
    fs::write(&elsewhere, "provider = \"command\"\n[providers.command]\ncommand = [\"evil.sh\"]\n").unwrap();
    symlink(&elsewhere, machine.repo().join("assize.toml")).unwrap();
    let end = run(&machine, &[]).exits(0);
    assert!(end.stderr.contains("provider: rules"), "{}", end.stderr);
    // Nor is a secret file of the user quoted in an error.
    fs::remove_file(machine.repo().join("assize.toml")).unwrap();
    let secret = machine.at("data/secret");
    fs::write(&secret, "password hunter2\n").unwrap();
    symlink(&secret, machine.repo().join("assize.toml")).unwrap();
    let end = run(&machine, &[]).exits(0);
    assert!(!end.stderr.contains("hunter2") && !end.stdout.contains("hunter2"));
}

#[test]
fn programs_of_the_repository_are_never_found_on_path() {
    let machine = machine();
    // A repository of git, so that git is wanted if anybody wants it.
    machine.write(".git/HEAD", "ref: refs/heads/main\n");
    machine.write(
        ".git/config",
        &format!("[core]\n\tfsmonitor = {}\n\trepositoryformatversion = 0\n", machine.repo().join("evil.sh").display()),
    );
    machine.write(".git/objects/keep", "");
    machine.write(".git/refs/heads/keep", "");
    run(&machine, &[]).exits(0);
    machine.configure("[providers.claude-code]\n");
    // The only `claude` is the repository's own: it counts as absent.
    let end = run(&machine, &[]).exits(0);
    assert!(end.stderr.contains("provider: rules"), "{}", end.stderr);
    run(&machine, &["--provider", "claude-code"]).exits(3).says("claude");
}

#[test]
fn a_broken_configuration_of_the_user_is_an_error_and_no_default() {
    let machine = machine();
    for text in ["[grants.claude-code]\nprogram = [\"*\"]\n", "nonsense = 1\n", "workers = \"many\"\n", "[[["] {
        machine.configure(text);
        run(&machine, &[]).exits(2).says("config.toml");
    }
}

#[test]
fn the_state_of_an_audit_that_the_repository_brings_along_is_not_trusted() {
    let machine = machine();
    // A link in place of the state directory would let the audit write elsewhere.
    let victim = machine.at("data/victim");
    fs::create_dir_all(&victim).unwrap();
    fs::write(victim.join("precious"), "precious").unwrap();
    symlink(&victim, machine.repo().join(".assize")).unwrap();
    let end = run(&machine, &[]);
    assert_eq!(
        fs::read_dir(&victim).unwrap().count(),
        1,
        "it wrote through the link; exit {:?}\n{}",
        end.code,
        end.stderr
    );
}

#[test]
fn an_audit_that_somebody_else_has_made_is_not_believed() {
    let machine = machine();
    let other = machine.at("data/other");
    let as_other = |args: &[&str]| {
        let place = |name: &str| other.join(name);
        let call = machine.assize(args).env("HOME", place("home")).env("XDG_CACHE_HOME", place("cache"));
        call.env("XDG_DATA_HOME", place("data")).env("XDG_STATE_HOME", place("state")).run()
    };
    as_other(&["run"]).exits(0);
    let line = run(&machine, &[]).exits(2).stderr;
    assert!(line.contains(".assize"), "{line}");
    for command in ["status", "report", "plan"] {
        machine.assize(&[command]).run().exits(2);
    }
    // Nor is it believed when it is moved to where its maker never had it.
    machine.assize(&["run", "--state-dir", machine.at("data/mine").to_str().unwrap()]).run().exits(0);
    fs::rename(machine.at("data/mine"), machine.at("data/moved")).unwrap();
    machine.assize(&["run", "--state-dir", machine.at("data/moved").to_str().unwrap()]).run().exits(2);
}
