//! `import-results`: results that were written elsewhere, checked like every other answer.

use std::fs;
use std::path::PathBuf;

use assize_tests::Machine;
use assize_tests::answer::answer_task;
use serde_json::{Map, Value, json};

/// A planned audit, and an honest result for each of its tasks.
fn planned() -> (Machine, Vec<Value>) {
    let machine = Machine::with_files(12);
    let plan = machine.assize(&["plan", "--json"]).run().exits(0).json();
    let results = plan["tasks"].as_array().unwrap().iter().map(|task| answer_task(&asked(task), machine.repo(), true));
    let results: Vec<Value> = results.collect();
    assert!(results.len() > 2);
    (machine, results)
}

/// A task of the plan in the form that workers are given.
fn asked(task: &Value) -> Value {
    let files = task["files"].as_array().unwrap();
    let counts: Map<String, Value> =
        files.iter().map(|file| (file["path"].as_str().unwrap().to_owned(), file["total_lines"].clone())).collect();
    json!({
        "task_id": task["name"], "unit_id": task["unit"], "pass_id": task["pass_id"], "lens": task["lens"],
        "file_paths": files.iter().map(|file| &file["path"]).collect::<Vec<_>>(), "file_line_counts": counts,
    })
}

fn put(machine: &Machine, name: &str, text: &str) -> PathBuf {
    let path = machine.at("data").join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_file_is_ingested_once_and_counts_as_imported() {
    let (machine, results) = planned();
    let file = put(&machine, "results.json", &Value::from(results.clone()).to_string());
    let import = |flags: &[&str]| {
        let args = [&["import-results", "--json", file.to_str().unwrap()], flags].concat();
        machine.assize(&args).run().exits(0).json()
    };
    let dry = import(&["--dry-run"]);
    assert_eq!(dry["ingested"], results.len());
    assert_eq!(machine.status()["tasks"]["done"], 0, "a dry run ingested something");
    let first = import(&[]);
    assert_eq!((&first["ingested"], &first["already"]), (&results.len().into(), &0.into()));
    let second = import(&[]);
    assert_eq!((&second["ingested"], &second["already"]), (&0.into(), &results.len().into()));
    machine.each_task_once_or_deepening();
    let status = machine.status();
    assert_eq!(status["coverage"]["by_kind"].as_object().unwrap().keys().collect::<Vec<_>>(), ["imported"]);
    assert_eq!(status["tasks"]["done"], results.len());
}

/// What the tests of imports ask of the ledger.
trait Once {
    fn each_task_once_or_deepening(&self);
}

impl Once for Machine {
    #[track_caller]
    fn each_task_once_or_deepening(&self) {
        let counts = self.results_by_task();
        assert!(counts.values().all(|count| *count == 1), "{counts:?}");
    }
}

#[test]
fn a_directory_of_files_is_ingested_in_the_name_of_a_person() {
    let (machine, results) = planned();
    for (at, result) in results.iter().enumerate() {
        put(&machine, &format!("results/{at}.json"), &json!([result]).to_string());
    }
    put(&machine, "results/readme.txt", "no results");
    let dir = machine.at("data/results");
    let args = ["import-results", "--json", "--by", "person", dir.to_str().unwrap()];
    assert_eq!(machine.assize(&args).run().exits(0).json()["ingested"], results.len());
    let by = machine.status()["coverage"]["by_kind"].clone();
    assert_eq!(by.as_object().unwrap().keys().collect::<Vec<_>>(), ["person"]);
    let report = machine.assize(&["report"]).run().stdout;
    assert!(!report.contains("No agent, model or person has looked"), "{report}");
}

#[test]
fn a_bad_result_is_named_with_its_place_and_costs_no_neighbour() {
    let (machine, mut results) = planned();
    results[0]["file_coverage"][0]["total_lines"] = json!(9_999);
    results[1]["findings"] = json!([{"title": "only a title"}]);
    let file = put(&machine, "results.json", &Value::from(results.clone()).to_string());
    let end = machine.assize(&["import-results", "--json", file.to_str().unwrap()]).run().exits(3);
    let told = end.json();
    assert_eq!(told["ingested"], results.len() - 2);
    let problems = told["problems"].to_string();
    for (at, word) in [(0, "total_lines"), (1, "findings")] {
        let task = serde_json::to_string(&results[at]["task_id"]).unwrap();
        assert!(problems.contains(task.trim_matches('"')) && problems.contains(word), "{problems}");
    }
    assert!(problems.contains("results.json"), "{problems}");
}

#[test]
fn a_file_that_holds_no_results_is_refused_with_its_name() {
    let (machine, results) = planned();
    let foreign = results[0].to_string().replace(results[0]["task_id"].as_str().unwrap(), "nobody:security");
    for (name, text) in [
        ("prose.json", "I have looked at everything and it is fine.".to_owned()),
        ("cut.json", Value::from(results.clone()).to_string()[..200].to_owned()),
        ("foreign.json", format!("[{foreign}]")),
        ("bytes.json", "\u{0}\u{1}\u{2}".to_owned()),
        ("empty.json", String::new()),
    ] {
        let file = put(&machine, name, &text);
        let end = machine.assize(&["import-results", file.to_str().unwrap()]).run();
        assert_eq!(end.code, Some(3), "{name}: {}{}", end.stdout, end.stderr);
        assert!(end.stdout.contains(name), "{name}: {}", end.stdout);
    }
    assert_eq!(machine.status()["tasks"]["done"], 0);
    let empty = machine.at("data/none");
    fs::create_dir_all(&empty).unwrap();
    machine.assize(&["import-results", empty.to_str().unwrap()]).run().exits(2).says("*.json");
}

#[test]
fn results_for_a_file_that_has_changed_since_are_refused() {
    let (machine, results) = planned();
    let path = results[0]["file_coverage"][0]["path"].as_str().unwrap();
    let text = fs::read_to_string(machine.repo().join(path)).unwrap();
    // Of the same length and lines, so that only the content tells.
    fs::write(machine.repo().join(path), text.replacen('e', "o", 1)).unwrap();
    let file = put(&machine, "results.json", &json!([results[0]]).to_string());
    let end = machine.assize(&["import-results", file.to_str().unwrap()]).run().exits(3);
    assert!(end.stdout.contains("changed"), "{}", end.stdout);
}
