//! Sizes: long lines, large and many files, deep folders, and none at all.

use std::fs::{self, File};
use std::thread;
use std::time::{Duration, Instant};

use assize_tests::Machine;

use crate::audited::{KEY, audit, put, with_key};

const MIB: u64 = 1 << 20;

/// Runs an audit and gives its time and the most memory that it held, in bytes.
fn measured(machine: &Machine) -> (Duration, u64) {
    let start = Instant::now();
    let running = machine.assize(&["run", "--json"]).start();
    let status = format!("/proc/{}/status", running.pid());
    // The kernel keeps the highest mark itself; the last look before the end is the one that counts.
    let watcher = thread::spawn(move || {
        let mut peak = 0;
        while let Ok(text) = fs::read_to_string(&status) {
            let Some(line) = text.lines().find_map(|line| line.strip_prefix("VmHWM:")) else { break };
            peak = line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024;
            thread::park_timeout(Duration::from_millis(1));
        }
        peak
    });
    running.wait().exits(0);
    (start.elapsed(), watcher.join().unwrap())
}

#[test]
fn a_huge_file_costs_neither_memory_nor_minutes() {
    let machine = Machine::new();
    put(&machine, "ok.py", with_key());
    // The first run compiles components where no test has yet; only the second is compared.
    measured(&machine);
    machine.assize(&["clean"]).run().exits(0);
    let (_, without) = measured(&machine);
    machine.assize(&["clean"]).run().exits(0);

    File::create(machine.repo().join("sparse.py")).unwrap().set_len(200 * MIB).unwrap();
    put(&machine, "text.py", "value = 1  # an ordinary line of a very large file\n".repeat(20 * MIB as usize / 50));
    let (time, with) = measured(&machine);
    assert!(with < without + 48 * MIB, "{} MiB instead of {} MiB", with / MIB, without / MIB);
    assert!(time < Duration::from_secs(30), "{time:?}");
    let audited = audit(&machine);
    audited.is("sparse.py", "excluded", "binary");
    audited.is("text.py", "unreadable", "too-large");
    assert!(audited.row("text.py")["digest"].is_string(), "a file that is too large is hashed all the same");
    assert!(audited.report.contains("`text.py`: too-large"), "the report does not name what it left out");
    assert_eq!(audited.auditable(), ["ok.py"]);
}

#[test]
fn one_line_of_ten_megabytes_is_named_or_read_and_never_in_the_way() {
    let machine = Machine::new();
    let long = "0123456789".repeat(1_000_000);
    put(&machine, "bundle.js", format!("var a=\"{long}\";"));
    put(&machine, "table.py", format!("T = \"{long}\"\n"));
    let short = "value = 1  # one of many ordinary lines\n".repeat(20_000);
    put(&machine, "mixed.py", format!("{short}T = \"{long}\"\nKEY = \"{KEY}\"\n"));
    let start = Instant::now();
    let audited = audit(&machine);
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    audited.is("bundle.js", "excluded", "minified");
    audited.is("table.py", "excluded", "long-line");
    audited.is("mixed.py", "auditable", "source");
    audited.key_found("mixed.py", 20_002);
    // No report repeats the line.
    assert!(audited.report.len() < 100_000 && audited.document.to_string().len() < 200_000);
}

#[test]
fn a_finding_in_a_long_line_is_reported_without_the_line() {
    let machine = Machine::new();
    put(
        &machine,
        "a.js",
        format!("run(); const p = \"{}\"; const key = \"{KEY}\"; f();\nlet b = 1;\n", "x y ".repeat(1_000)),
    );
    let audited = audit(&machine);
    audited.key_found("a.js", 1);
    assert!(audited.report.len() < 20_000, "{}", audited.report.len());
}

#[test]
fn five_thousand_small_files_are_quick() {
    let machine = Machine::new();
    for at in 0..5_000 {
        put(&machine, &format!("pkg{}/m{at}.py", at / 50), format!("def f{at}(x):\n    return x + {at}\n"));
    }
    let start = Instant::now();
    let audited = audit(&machine);
    assert!(start.elapsed() < Duration::from_secs(90), "{:?}", start.elapsed());
    assert_eq!(audited.auditable().len(), 5_000);
    assert!(audited.outcome["pairs_reviewed"].as_u64().unwrap() >= 10_000);
    let again = Instant::now();
    let outcome = machine.assize(&["run", "--json"]).run().exits(0).json();
    assert_eq!(outcome["launches"], 0);
    assert!(again.elapsed() < Duration::from_secs(15), "nothing to do took {:?}", again.elapsed());
}

#[test]
fn five_hundred_nested_folders_are_walked_to_their_end() {
    let machine = Machine::new();
    // A path of a thousand bytes; each folder is entered, and the file at the end is read.
    let deep: String = "d/".repeat(500);
    put(&machine, &format!("{deep}end.py"), with_key());
    let audited = audit(&machine);
    audited.key_found(&format!("{deep}end.py"), 3);
    machine.assize(&["explain", &format!("{deep}end.py")]).run().exits(0);
}

#[test]
fn an_empty_tree_is_a_usage_error_that_says_so() {
    let machine = Machine::new();
    for command in ["run", "plan"] {
        machine.assize(&[command]).run().exits(2).says("no file to audit");
    }
    crate::git::init(machine.repo());
    machine.assize(&["run"]).run().exits(2).says("no file to audit");
    let end = machine.assize(&["run", "--json"]).run().exits(2).json();
    assert_eq!(end["exit_code"], 2);
    assert!(end["error"].as_str().unwrap().contains("no file to audit"));
}

#[test]
fn a_tree_of_only_excluded_files_says_why_each_is_left_out() {
    let machine = Machine::new();
    put(&machine, "LICENSE", "Permission is hereby granted.\n");
    put(&machine, "yarn.lock", "# yarn lockfile v1\n");
    put(&machine, "logo.png", b"\x89PNG\r\n\x1a\n\0");
    put(&machine, "node_modules/dep/index.js", "eval(x)\n");
    let end = machine.assize(&["run"]).run().exits(2).says("no file to audit");
    // What the message names must work.
    assert!(end.stderr.contains("assize plan --json"), "{}", end.stderr);
    let plan = machine.assize(&["plan", "--json"]).run();
    let rows = plan.json()["files"].as_array().cloned().unwrap_or_default();
    let reasons: Vec<&str> = rows.iter().filter_map(|row| row["reason"].as_str()).collect();
    for reason in ["license", "lock-file", "binary", "vendored"] {
        assert!(reasons.contains(&reason), "`plan --json` does not give {reason:?}:\n{}{}", plan.stdout, plan.stderr);
    }
}
