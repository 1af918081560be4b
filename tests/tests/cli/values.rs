//! Bad values: refused before anything is started, with the flag and what it takes.

use std::fs;

use assize_tests::Machine;

#[test]
fn a_bad_value_is_refused_with_its_flag_and_what_is_right() {
    let machine = Machine::with_files(4);
    let lenses = ["correctness", "security", "reliability", "data_integrity", "performance", "concurrency"];
    let mut wrong = Vec::new();
    for (args, right) in [
        (&["run", "--lens", "securty"][..], &[&["--lens"][..], &lenses].concat()[..]),
        (&["run", "--lens", "security,nope"], &["nope", "security"]),
        (&["run", "--lens", ""], &["--lens", "security"]),
        (&["run", "--workers", "0"], &["--workers", "1..=512"]),
        (&["run", "--workers", "many"], &["--workers"]),
        (&["run", "--workers", "-1"], &["-1"]),
        (&["run", "--depth", "x"], &["--depth", "quick", "standard", "deep"]),
        (&["run", "--fail-on", "bad"], &["--fail-on", "critical", "high", "medium", "low", "info"]),
        (&["run", "--fail-on"], &["--fail-on", "SEVERITY"]),
        (&["run", "--timeout", "0"], &["--timeout"]),
        (&["run", "--attempts", "0"], &["--attempts"]),
        (&["run", "--require", "robot"], &["--require", "agent", "person"]),
        (&["run", "--grant", "x"], &["program=NAME"]),
        (&["run", "--grant", "a:program=*"], &["*"]),
        (&["run", "--exclude", "a["], &["a["]),
        (&["run", "--provider", "nobody"], &["nobody", "rules"]),
        (&["provider", "check", "nobody"], &["nobody", "rules"]),
        (&["plugin", "inspect", "nobody"], &["nobody", "plugin list"]),
        (&["ledger", "show", "--limit", "x"], &["--limit"]),
    ] {
        let end = machine.assize(args).run();
        if end.code != Some(2) {
            wrong.push(format!("{args:?} ends with {:?}: {}", end.code, end.stderr));
        }
        for word in right.iter().filter(|word| !end.stderr.contains(**word)) {
            wrong.push(format!("{args:?} does not say {word:?}: {}", end.stderr));
        }
        if fs::remove_dir_all(machine.repo().join(".assize")).is_ok() {
            wrong.push(format!("{args:?} started an audit"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn zero_launches_are_refused_or_pause_at_once() {
    let machine = Machine::with_files(4);
    let end = machine.assize(&["run", "--json", "--max-launches", "0"]).run();
    match end.code {
        Some(2) => assert!(end.stderr.contains("--max-launches"), "{}", end.stderr),
        Some(4) => assert_eq!((&end.json()["end"], &end.json()["launches"]), (&"paused".into(), &0.into())),
        code => panic!("{code:?}: {}{}", end.stdout, end.stderr),
    }
}

#[test]
fn lenses_and_exclusions_choose_what_is_planned() {
    let machine = Machine::with_files(20);
    let plan = machine.assize(&["plan", "--json", "--lens", "security,correctness"]).run().exits(0).json();
    for task in plan["tasks"].as_array().unwrap() {
        assert!(["security", "correctness"].contains(&task["lens"].as_str().unwrap()), "{task:#}");
    }
    let plan = machine.assize(&["plan", "--json", "--exclude", "*.ts", "--exclude", "crates"]).run().exits(0).json();
    for row in plan["files"].as_array().unwrap() {
        let path = row["path"].as_str().unwrap();
        if path.ends_with(".ts") || path.starts_with("crates/") {
            assert_eq!(row["reason"], "user-ignored", "{row:#}");
        }
    }
    let count = |depth: &str| {
        let plan = machine.assize(&["plan", "--json", "--depth", depth]).run().exits(0).json();
        plan["required"].as_array().unwrap().len()
    };
    let (quick, standard, deep) = (count("quick"), count("standard"), count("deep"));
    assert!(quick <= standard && standard <= deep && quick < deep, "{quick}, {standard}, {deep}");
}
