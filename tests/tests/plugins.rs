//! Components of others: what one may do, how it is refused, and what comes of one that misbehaves.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "the components are built by the only tool that can")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use assize_tests::{Ended, Machine, program};

/// Where the components are, after they were built once. Cargo's own lock keeps other runs out.
static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("providers/Cargo.toml");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("providers");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--locked", "--quiet", "--examples", "--target", "wasm32-wasip2", "--profile", "plugin"]);
    cargo.arg("--manifest-path").arg(package).arg("--target-dir").arg(&target);
    // What is meant for the host, such as linker flags, must not reach components.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let keep = ["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "CARGO_NET_OFFLINE"].contains(&text.as_ref());
        if !keep && (text.starts_with("CARGO") || text.starts_with("RUST")) {
            cargo.env_remove(&name);
        }
    }
    assert!(cargo.status().expect("cargo runs").success(), "the providers do not build");
    target.join("wasm32-wasip2/plugin/examples")
});

fn component(name: &str) -> String {
    BUILT.join(format!("{name}.wasm")).to_str().unwrap().to_owned()
}

/// A file on the machine with these bytes.
fn file(machine: &Machine, name: &str, bytes: &[u8]) -> String {
    let path = machine.at("data").join(name);
    fs::write(&path, bytes).unwrap();
    path.to_str().unwrap().to_owned()
}

fn machine() -> Machine {
    let machine = Machine::with_files(8);
    machine.write("victim/target.py", "def go(value):\n    total = len(value)\n    return total\n");
    machine
}

/// The user's configuration of `actor`, which is used.
fn act(machine: &Machine, behaviour: &str) {
    machine.configure(&format!("[providers.actor]\nbehaviour = \"{behaviour}\"\nonly = \"victim/\"\n"));
}

fn run(machine: &Machine, more: &[&str]) -> Ended {
    let args = [&["run", "--json", "--no-deepening", "--workers", "2"], more].concat();
    machine.assize(&args).run()
}

fn run_actor(machine: &Machine, more: &[&str]) -> Ended {
    let actor = component("actor");
    run(machine, &[&["--plugin", &actor, "--provider", "actor"], more].concat())
}

#[test]
fn a_provider_of_others_reviews_when_it_is_loaded_and_named() {
    let machine = machine();
    let outcome = run_actor(&machine, &[]).exits(0).json();
    assert_eq!(outcome["provider"], "actor");
    machine.each_task_once();
    // Loaded but not named, it is not taken.
    let actor = component("actor");
    let listed = machine.assize(&["provider", "list", "--json", "--plugin", &actor]).run().exits(0).json();
    let taken: Vec<_> = listed.as_array().unwrap().iter().filter(|p| p["chosen"] == true).collect();
    assert_eq!(taken[0]["name"], "rules", "{listed:#}");
    assert!(listed.as_array().unwrap().iter().any(|p| p["name"] == "actor" && p["origin"] == actor.as_str()));
}

#[test]
fn a_trap_is_a_crash_of_its_launch_and_the_run_goes_on() {
    let machine = machine();
    act(&machine, "trap");
    run_actor(&machine, &["--attempts", "2"]).exits(3).says("crashed").says("trapped").says("is parked");
    let tasks = machine.status()["tasks"].clone();
    assert!(tasks["parked"].as_u64().unwrap() > 0 && tasks["done"].as_u64().unwrap() > 0, "{tasks}");
    assert_eq!((&tasks["pending"], &tasks["leased"]), (&0.into(), &0.into()));
    act(&machine, "answer");
    run_actor(&machine, &[]).exits(0);
    machine.each_task_once();
}

#[test]
fn a_component_that_spins_is_ended_and_the_run_goes_on() {
    let machine = machine();
    act(&machine, "spin");
    run_actor(&machine, &["--attempts", "1"]).exits(3).says("crashed").says("limit").says("is parked");
    let tasks = machine.status()["tasks"].clone();
    assert!(tasks["parked"].as_u64().unwrap() > 0 && tasks["done"].as_u64().unwrap() > 0, "{tasks}");
}

#[test]
fn a_refused_configuration_closes_the_lane_with_the_component_s_words() {
    let machine = machine();
    act(&machine, "refuse");
    run_actor(&machine, &[]).exits(3).says("must not be refuse");
}

#[test]
fn a_program_needs_a_grant_and_the_refusal_prints_it() {
    let machine = machine();
    act(&machine, "run");
    let mark = machine.at("data/tool-ran");
    machine.script(&machine.at("bin/actor-tool"), &format!("#!/bin/sh\ntouch '{}'\n", mark.display()));
    run_actor(&machine, &[]).exits(3).says("--grant actor:program=actor-tool");
    assert!(!mark.exists());
    run_actor(&machine, &["--grant", "actor:program=sh"]).exits(3);
    assert!(!mark.exists());
    run_actor(&machine, &["--grant", "actor:program=actor-tool"]).exits(0);
    assert!(mark.exists());
    machine.each_task_once();
}

#[test]
fn a_grant_in_the_configuration_is_for_one_digest() {
    let machine = machine();
    machine.script(&machine.at("bin/actor-tool"), "#!/bin/sh\n");
    let actor = component("actor");
    let shown = machine.assize(&["plugin", "inspect", "--json", &actor]).run().exits(0).json();
    let digest = shown["sha256"].as_str().unwrap();
    let config = |digest: &str| {
        format!("[providers.actor]\nbehaviour = \"run\"\n[grants.actor]\n{digest}program = [\"actor-tool\"]\n")
    };
    for wrong in [String::new(), format!("digest = \"{}\"\n", "0".repeat(64))] {
        machine.configure(&config(&wrong));
        run_actor(&machine, &[]).exits(3).says("--grant actor:program=actor-tool");
    }
    machine.configure(&config(&format!("digest = \"{digest}\"\n")));
    run_actor(&machine, &[]).exits(0);
}

#[test]
fn a_replacement_has_none_of_what_the_built_in_one_may_do() {
    let machine = machine();
    machine.install(&program("fake-claude"), "claude");
    let usurper = component("usurper");
    let claude = ["--plugin", &usurper, "--provider", "claude-code"];
    run(&machine, &claude).exits(3).says("--grant claude-code:program=claude");
    assert!(!machine.at("bin/claude.launches").exists(), "claude was started");

    // Nor the program that the user's template names for the built-in `command`.
    machine.use_worker(&[]);
    run(&machine, &["--plugin", &usurper, "--provider", "command"]).exits(3).says("--grant claude-code:program=");
    assert!(machine.launches().is_empty());
    // Without it the template works.
    run(&machine, &[]).exits(0);
    assert!(!machine.launches().is_empty());
}

#[test]
fn what_is_no_plugin_is_refused_in_one_line() {
    let machine = machine();
    let actor = fs::read(component("actor")).unwrap();
    let core_module = b"\0asm\x01\0\0\0".to_vec();
    let cases: [(&str, Vec<u8>, &str); 6] = [
        ("core.wasm", core_module, "core module"),
        ("truncated.wasm", actor[..actor.len() / 2].to_vec(), "damaged"),
        ("empty.wasm", Vec::new(), "empty"),
        ("text.wasm", b"#!/bin/sh\necho no\n".to_vec(), "not a component"),
        ("sockets.wasm", replaced(&actor, b"wasi:cli/environment", b"wasi:sockets/network"), "wasi:sockets/network"),
        ("future.wasm", replaced(&actor, b"@0.1.0", b"@0.2.0"), "0.1.x"),
    ];
    for (name, bytes, words) in cases {
        let path = file(&machine, name, &bytes);
        let end = run(&machine, &["--plugin", &path]).exits(2).says(words).says(name);
        assert_eq!(end.stderr.lines().count(), 1, "{}", end.stderr);
        machine.assize(&["plugin", "inspect", &path]).run().exits(2).says(words);
    }
    assert!(!machine.repo().join(".assize").exists(), "nothing was begun");
}

/// One text put for another of the same length, everywhere.
fn replaced(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    let places: Vec<usize> = (0..bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from)).collect();
    assert!(!places.is_empty());
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to);
    }
    bytes
}
