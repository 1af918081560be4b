//! Paths of flags mean what they mean to the caller: relative ones are found from where the caller stands.

use std::fs;

use assize_tests::Machine;

#[test]
fn relative_paths_are_found_from_the_callers_directory() {
    let machine = Machine::with_files(4);
    let here = machine.at("data");
    let outcome =
        machine.bare().cwd(&here).args(["run", "--json", "--state-dir", "state", "../repo"]).run().exits(0).json();
    let state = here.join("state");
    assert_eq!(outcome["report"], state.join("report/audit-report.md").to_str().unwrap());
    assert!(state.join("store.db").is_file() && !machine.repo().join(".assize").exists());
    machine.bare().cwd(&here).args(["status", "--state-dir=state", "../repo"]).run().exits(0);
    machine.bare().cwd(machine.repo()).args(["run"]).run().exits(0);
    assert!(machine.repo().join(".assize/store.db").is_file(), "without a path the current directory is meant");
}

#[test]
fn a_state_directory_is_the_same_however_it_is_spelt() {
    let machine = Machine::with_files(4);
    let here = machine.at("data");
    std::os::unix::fs::symlink(&here, machine.at("alias")).unwrap();
    machine.bare().cwd(&here).args(["run", "--state-dir", "state", "../repo"]).run().exits(0);
    let (plain, alias) = (here.join("state"), machine.at("alias/state"));
    let mut wrong = Vec::new();
    for (cwd, state) in [
        (&here, "./state"),
        (&here, "state/"),
        (&here, "../data/state"),
        (&here, "state/../state"),
        (&machine.at(""), plain.to_str().unwrap()),
        (&machine.at(""), alias.to_str().unwrap()),
    ] {
        let args = ["status", "--json", "--state-dir", state];
        let status = machine.bare().cwd(cwd).args(args).args([machine.repo()]).run();
        if status.code != Some(0) || status.json()["complete"] != true {
            wrong.push(format!("{state}: {}", status.stderr));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_relative_plugin_is_found_from_the_callers_directory() {
    let machine = Machine::with_files(4);
    let here = machine.at("data");
    fs::write(here.join("garbage.wasm"), "no component at all").unwrap();
    for args in [&["run", "--plugin", "garbage.wasm", "../repo"][..], &["plugin", "inspect", "garbage.wasm", "../repo"]]
    {
        let end = machine.bare().cwd(&here).args(args).run().exits(2).says("garbage.wasm");
        assert!(!end.stderr.contains("cannot find") && !end.stderr.contains("o such file"), "{args:?}: {}", end.stderr);
    }
    let end = machine.bare().cwd(&here).args(["run", "--plugin", "missing.wasm", "../repo"]).run().exits(2);
    assert!(end.stderr.contains("missing.wasm"), "{}", end.stderr);
}

#[test]
fn relative_results_are_found_from_the_callers_directory() {
    let machine = Machine::with_files(4);
    machine.assize(&["plan"]).run().exits(0);
    fs::write(machine.at("data/results.json"), "[]").unwrap();
    let end = machine.bare().cwd(machine.at("data")).args(["import-results", "results.json", "../repo"]).run();
    assert!(!end.stderr.contains("o such file"), "{}", end.stderr);
}

#[test]
fn a_path_that_is_no_directory_is_refused_by_its_name() {
    let machine = Machine::with_files(4);
    machine.write("plain.py", "a = 1\n");
    let mut wrong = Vec::new();
    for path in ["nowhere", "repo/plain.py", "repo/plain.py/x"] {
        for command in ["run", "plan", "status", "clean"] {
            let end = machine.bare().args([command, path]).run();
            if end.code != Some(2) || !end.stderr.contains(path) || end.stderr.contains(".py/.assize") {
                wrong.push(format!("{command} {path} ends with {:?}: {}{}", end.code, end.stdout, end.stderr));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!machine.at("nowhere").exists());
}

#[test]
fn a_state_directory_that_is_a_file_is_refused_and_left_alone() {
    let machine = Machine::with_files(4);
    let file = machine.at("data/file");
    fs::write(&file, "mine").unwrap();
    let end = machine.assize(&["run", "--state-dir", file.to_str().unwrap()]).run();
    assert!(matches!(end.code, Some(2 | 5)), "{}{}", end.stdout, end.stderr);
    assert!(end.stderr.contains(file.to_str().unwrap()), "{}", end.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}
