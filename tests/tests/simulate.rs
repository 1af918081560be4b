//! `assize simulate`: scenarios through the real binary.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

use assize_tests::Machine;

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/simulation")
}

const SMALL: &str = r#"
seed = 3
[trace]
tasks = 12
tokens = { median = 1000, sigma = 0.3 }
[limits]
workers = 4
[[lanes]]
name = "api"
width = 4
output_tokens = 500
limits = [{ dimension = "requests", limit = 6, period_ms = 60000 }]
[lanes.service]
latency_ms = { median = 4000, sigma = 0.4 }
windows = [{ dimension = "requests", limit = 6, period_ms = 60000 }]
tells_limits = true
"#;

fn with_file(text: &str) -> (Machine, PathBuf) {
    let machine = Machine::new();
    let file = machine.at("data/scenario.toml");
    fs::write(&file, text).unwrap();
    (machine, file)
}

#[test]
fn every_example_keeps_every_law() {
    let machine = Machine::new();
    let mut files: Vec<PathBuf> = fs::read_dir(examples()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    assert!(files.len() >= 2);
    for file in files {
        let end = machine.bare().args(["simulate", "--seeds", "2"]).args([&file]).run().exits(0);
        assert!(end.stdout.contains("every law held in 2 replays"), "{}", end.stdout);
    }
}

#[test]
fn it_prints_the_makespan_beside_the_bound_and_barrier_waves() {
    let (machine, file) = with_file(SMALL);
    let value = machine.bare().args(["simulate", "--json"]).args([&file]).run().exits(0).json();
    let replay = &value["replays"][0];
    assert_eq!((replay["seed"].as_u64(), replay["tasks"]["done"].as_u64()), (Some(3), Some(12)));
    let figures = &replay["figures"];
    let number = |key: &str| figures[key].as_f64().unwrap();
    // Six are free, then one goes every ten seconds.
    assert_eq!((number("bound_ms"), number("rate_limited")), (60_000.0, 0.0));
    assert!(number("ratio") >= 1.0 && number("ratio") < 2.0, "{figures}");
    assert!(replay["waves"]["makespan_ms"].as_u64().unwrap() > 0, "{replay}");
    assert_eq!(replay["violations"].as_array().unwrap().len(), 0);
}

#[test]
fn one_seed_gives_one_and_the_same_replay() {
    let (machine, file) = with_file(SMALL);
    let run =
        |seed: &str| machine.bare().args(["simulate", "--json", "--seed", seed]).args([&file]).run().exits(0).stdout;
    assert_eq!(run("7"), run("7"));
    assert_ne!(run("7"), run("8"));
    assert!(fs::read_dir(machine.repo()).unwrap().next().is_none(), "it leaves nothing behind");
}

#[test]
fn a_random_scenario_is_replayed_by_its_number() {
    let machine = Machine::new();
    let value = machine.bare().args(["simulate", "--random", "11", "--json"]).run().exits(0).json();
    assert_eq!(value["replays"][0]["seed"].as_u64(), Some(11));
}

#[test]
fn a_file_that_cannot_be_used_is_refused_with_key_and_place() {
    for (from, to, words) in [
        ("tasks = 12", "tusks = 12", &["tusks", "line 4"][..]),
        ("workers = 4", "workers = 0", &["limits.workers", "1 to 1000"]),
        ("period_ms = 60000 }]\n[lanes", "period_ms = 1 }]\n[lanes", &["lane api.limits", "period_ms"]),
        ("latency_ms = { median = 4000", "latency_ms = { median = 0", &["lane api.service.latency_ms", "median"]),
    ] {
        let (machine, file) = with_file(&SMALL.replace(from, to));
        let end = machine.bare().args(["simulate"]).args([&file]).run().exits(2);
        for word in words.iter().chain(&["scenario.toml"]) {
            assert!(end.stderr.contains(word), "{to}: {word} is not in {}", end.stderr);
        }
    }
    let machine = Machine::new();
    machine.bare().args(["simulate", "nowhere.toml"]).run().exits(2);
    machine.bare().args(["simulate"]).run().exits(2);
}
