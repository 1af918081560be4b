//! Broken answers: taken where nothing is lost by it, and otherwise kept as they are, asked again, and counted as no review.

use std::fs;

use assize_tests::answer::answer_task;
use assize_tests::{Ended, Machine};
use rusqlite::{Connection, OpenFlags};
use serde_json::{Value, json};

/// A repository of one packet, and what an honest reviewer would answer.
struct Corpus {
    machine: Machine,
    honest: Vec<Value>,
}

/// What a run came to with one answer, given to every launch.
struct Given {
    end: Ended,
    outcome: Value,
    state: String,
}

impl Corpus {
    fn new() -> Self {
        let machine = Machine::new();
        machine.write("app/go.py", "import os\n\n\ndef go(value):\n    os.system(value)\n    return value\n");
        let tasks = machine.at("data/tasks.json");
        machine.configure(&format!("[providers.command]\ncommand = [\"cp\", \"{{pendingTasksPath}}\", {tasks:?}]\n"));
        machine.assize(&["run", "--no-deepening", "--attempts", "1"]).run().exits(3);
        let tasks: Vec<Value> = serde_json::from_slice(&fs::read(tasks).unwrap()).unwrap();
        assert!(tasks.len() > 2, "one packet of several tasks: {tasks:?}");
        let honest = tasks.iter().map(|task| answer_task(task, machine.repo(), true)).collect();
        Self { machine, honest }
    }

    /// The honest answer as JSON.
    fn whole(&self) -> String {
        text(&self.honest)
    }

    /// The honest answer with each result changed.
    fn changed(&self, change: impl Fn(&mut Value)) -> String {
        let mut answers = self.honest.clone();
        answers.iter_mut().for_each(change);
        text(&answers)
    }

    /// Runs an audit of its own in which every launch gives these bytes.
    fn give(&self, name: &str, bytes: &[u8]) -> Given {
        let state = format!("data/state of {name}");
        let answer = self.machine.at("data/answer");
        fs::write(&answer, bytes).unwrap();
        self.machine.configure(&format!("[providers.command]\ncommand = [\"cp\", {answer:?}, \"{{resultsPath}}\"]\n"));
        let dir = self.machine.at(&state);
        let args = ["run", "--json", "--no-deepening", "--attempts", "2", "--state-dir", dir.to_str().unwrap()];
        let end = self.machine.assize(&args).run();
        let outcome = end.json();
        Given { end, outcome, state }
    }

    /// Every task is done, with everything that the reviewer had found.
    fn is_taken(&self, name: &str, bytes: &[u8]) {
        let Given { end, outcome, .. } = self.give(name, bytes);
        assert_eq!(end.code, Some(0), "{name}: {}\n{}", end.stdout, end.stderr);
        assert_eq!(outcome["launches"], 1, "{name}");
        assert_eq!(outcome["pairs_reviewed"], outcome["pairs_required"], "{name}");
        let found: u64 = outcome["findings"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
        assert!(found > 0, "{name}: the findings are lost: {outcome:#}");
    }

    /// No task is done, each was asked twice, and the answer is kept as it came.
    fn is_refused(&self, name: &str, bytes: &[u8]) {
        let given = self.give(name, bytes);
        let Given { end, outcome, state } = &given;
        assert_eq!(end.code, Some(3), "{name}: {}\n{}", end.stdout, end.stderr);
        assert_eq!(outcome["pairs_reviewed"], 0, "{name}: {outcome:#}");
        assert_eq!(outcome["parked"].as_u64(), Some(self.honest.len() as u64), "{name}");
        assert!(outcome["launches"].as_u64().unwrap() >= 2, "{name} was not tried again");
        assert!(outcome["findings"].as_object().unwrap().is_empty(), "{name}");
        let report = fs::read_to_string(outcome["report"].as_str().unwrap()).unwrap();
        assert!(!report.to_lowercase().contains("audit is complete"), "{name}:\n{report}");
        self.keeps(name, bytes, state);
    }

    /// Some tasks are done, and the others were asked again and are known to be open.
    fn is_taken_in_part(&self, name: &str, bytes: &[u8], done: usize) {
        let Given { end, outcome, state } = self.give(name, bytes);
        assert_eq!(end.code, Some(3), "{name}: {}\n{}", end.stdout, end.stderr);
        assert_eq!(outcome["parked"].as_u64(), Some((self.honest.len() - done) as u64), "{name}: {outcome:#}");
        assert!(outcome["launches"].as_u64().unwrap() >= 2, "{name}: the rest was not asked again");
        assert_eq!(outcome["end"], "incomplete", "{name}");
        self.keeps(name, bytes, &state);
    }

    /// The whole answer lies in the run directory, and what could be read of it in the quarantine.
    fn keeps(&self, name: &str, bytes: &[u8], state: &str) {
        let runs = fs::read_dir(self.machine.at(state).join("runs")).unwrap();
        let files: Vec<_> = runs.flatten().map(|run| run.path().join("audit-results.json")).collect();
        assert!(files.iter().any(|file| fs::read(file).is_ok_and(|kept| kept == bytes)), "{name}: the answer is gone");
        let nothing_to_quarantine = bytes.is_empty() || bytes.len() > 32 << 20 || is_empty_list(bytes);
        let rows = self.quarantined(state);
        assert!(rows > 0 || nothing_to_quarantine, "{name}: nothing is in the quarantine");
    }

    fn quarantined(&self, state: &str) -> i64 {
        let file = self.machine.at(state).join("store.db");
        let store = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        store.query_row("SELECT count(*) FROM quarantine", [], |row| row.get(0)).unwrap()
    }
}

fn text(value: &[Value]) -> String {
    serde_json::to_string(value).unwrap()
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// An answer without results is an answer; there is nothing in it that could be wrong.
fn is_empty_list(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let bare: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    bare.ends_with("[]") || bare.ends_with("[]}") || bare.contains("[]```")
}

fn utf16(text: &str, big: bool) -> Vec<u8> {
    let bytes = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
    std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(bytes).collect()
}

#[test]
fn what_loses_nothing_is_repaired() {
    let corpus = Corpus::new();
    let whole = corpus.whole();
    let each: Vec<String> = corpus.honest.iter().map(Value::to_string).collect();
    let lines = each.join("\n");
    let mut twice = corpus.honest.clone();
    twice.extend(corpus.honest.clone());
    for (name, answer) in [
        ("plain", whole.clone()),
        ("byte order mark", format!("\u{feff}{whole}")),
        ("white space and zero bytes around", format!("\0\0 \r\n\t{whole}\n\0\0")),
        ("fence", format!("```json\n{whole}\n```\n")),
        ("fence without a language", format!("```\n{whole}\n```")),
        ("fence that is never closed", format!("```json\n{whole}\n")),
        ("prose around", format!("I read it [all]. {{Really}}.\n\n{whole}\n\nLet me know if [more] is wanted.")),
        ("prose around a fence", format!("Here:\n```json\n{whole}\n```\nNothing else.")),
        ("the phrase before", format!("No findings worth a stop, but:\n{whole}")),
        ("the phrase after", format!("{whole}\n\nOtherwise there are no findings. Findings: none. []")),
        ("wrapped", format!("{{\"results\":{whole}}}")),
        ("wrapped with more", format!("{{\"status\":\"ok\",\"findings\":\"none\",\"results\":{whole},\"count\":0}}")),
        ("string in string", quoted(&whole)),
        ("string in string in string", quoted(&quoted(&whole))),
        ("wrapped string", format!("{{\"results\":{}}}", quoted(&whole))),
        ("fenced string", format!("```json\n{}\n```", quoted(&whole))),
        ("array of strings", serde_json::to_string(&each).unwrap()),
        ("trailing comma", format!("{},]", whole.trim_end_matches(']'))),
        ("one object a line", lines.clone()),
        ("one object a line, fenced", format!("```jsonl\n{lines}\n```")),
        ("objects without commas", format!("[{}]", each.join(" "))),
        ("two arrays", format!("[{}]\n\n[{}]", each[0], each[1..].join(","))),
        ("every result twice", text(&twice)),
        ("a phrase inside", corpus.changed(|answer| answer["notes"] = json!("no findings"))),
        ("escapes", whole.replace("value", "\\u0076alue")),
        ("ten thousand arrays around it", format!("{}{whole}{}", "[".repeat(10_000), "]".repeat(10_000))),
        ("unknown members", corpus.changed(|answer| answer["model_mood"] = json!({"deep": [[[]]]}))),
    ] {
        corpus.is_taken(name, answer.as_bytes());
    }
}

#[test]
fn what_would_lose_something_is_kept_and_asked_again_and_never_counts_as_no_findings() {
    let corpus = Corpus::new();
    let whole = corpus.whole();
    let first_finding = |answer: &mut Value, change: &dyn Fn(&mut Value)| {
        answer["findings"].as_array_mut().unwrap().iter_mut().for_each(change);
    };
    let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let deep_object = format!("{}1{}", "{\"results\":".repeat(10_000), "}".repeat(10_000));
    for (name, answer) in [
        ("no findings", "No findings.".to_owned()),
        ("no findings, at length", "I reviewed every line of every file. Findings: none.\n\n[] {}".to_owned()),
        ("nothing", String::new()),
        ("white space", " \n\t\n".to_owned()),
        ("null", "null".to_owned()),
        ("true", "true".to_owned()),
        ("a number", "42".to_owned()),
        ("a word in quotation marks", "\"no findings\"".to_owned()),
        ("empty array", "[]".to_owned()),
        ("empty array, fenced", "```json\n[]\n```".to_owned()),
        ("empty object", "{}".to_owned()),
        ("empty results", "{\"results\":[]}".to_owned()),
        ("wrong key", format!("{{\"issues\":{whole}}}")),
        ("wrong key, empty", "{\"issues\":[]}".to_owned()),
        ("findings alone", "{\"findings\":[]}".to_owned()),
        ("findings alone in a list", "[{\"findings\":[]}]".to_owned()),
        ("only the task's name", corpus.changed(|answer| *answer = json!({"task_id": answer["task_id"]}))),
        ("no coverage", corpus.changed(|answer| answer["file_coverage"] = json!([]))),
        ("coverage of no list", corpus.changed(|answer| answer["file_coverage"] = json!("all"))),
        ("findings of no list", corpus.changed(|answer| answer["findings"] = json!("no findings"))),
        ("findings that are null", corpus.changed(|answer| answer["findings"] = Value::Null)),
        ("answers for other tasks", corpus.changed(|answer| answer["task_id"] = json!("src/web:security"))),
        ("answers for no task", corpus.changed(|answer| drop(answer.as_object_mut().unwrap().remove("task_id")))),
        ("another lens", corpus.changed(|answer| answer["lens"] = json!("made-up"))),
        ("another unit", corpus.changed(|answer| answer["unit_id"] = json!("elsewhere"))),
        ("other lines", corpus.changed(|answer| answer["file_coverage"][0]["total_lines"] = json!(7_000))),
        ("negative lines", corpus.changed(|answer| answer["file_coverage"][0]["total_lines"] = json!(-1))),
        ("single quotation marks", whole.replace('"', "'")),
        ("names without quotation marks", whole.replace("\"task_id\"", "task_id")),
        ("cut at the start and in the last result", whole[whole.rfind("file_coverage").unwrap()..].to_owned()),
        ("cut soon after the start", whole[..whole.find("file_coverage").unwrap()].to_owned()),
        ("a raw line break in a string", whole.replace("reaches this", "reaches\nthis")),
        ("not a number", whole.replace("\"line_start\":1", "\"line_start\":NaN")),
        ("comments", whole.replace("\"findings\":", "// found:\n\"findings\":")),
        ("ten thousand arrays", deep(10_000)),
        ("ten thousand objects", deep_object),
        ("severity that is none", corpus.changed(|answer| first_finding(answer, &|f| f["severity"] = json!("awful")))),
        (
            "a place outside",
            corpus.changed(|answer| {
                answer["file_coverage"][0]["path"] = json!("../../../etc/passwd");
            }),
        ),
    ] {
        corpus.is_refused(name, answer.as_bytes());
    }
}

#[test]
fn bytes_that_are_no_text_are_kept_and_asked_again() {
    let corpus = Corpus::new();
    let whole = corpus.whole();
    let padded = [vec![b' '; 40 << 20], whole.clone().into_bytes()].concat();
    let noise: Vec<u8> = (0..4_096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let zeros = whole.as_bytes().iter().flat_map(|byte| [*byte, 0]).collect();
    for (name, answer) in [
        ("UTF-16, little end first", utf16(&whole, false)),
        ("UTF-16, big end first", utf16(&whole, true)),
        ("a zero byte after each", zeros),
        ("noise", noise),
        ("gzip", [&[0x1f, 0x8b, 8, 0][..], whole.as_bytes()].concat()[..40].to_vec()),
        ("forty megabytes", padded),
    ] {
        corpus.is_refused(name, &answer);
    }
}

#[test]
fn of_a_broken_list_the_whole_results_count_and_the_rest_is_asked_again() {
    let corpus = Corpus::new();
    let all = corpus.honest.len();
    let each: Vec<String> = corpus.honest.iter().map(Value::to_string).collect();
    let last = &each[all - 1];
    let but_last = each[..all - 1].join(",");
    let half = &last[..last.len() / 2];
    for (name, answer, done) in [
        ("cut in the last result", format!("[{but_last},{half}"), all - 1),
        ("cut in the first result", format!("{},{}]", &each[0][each[0].len() / 2..], each[1..].join(",")), all - 1),
        ("cut between results", format!("[{but_last}"), all - 1),
        ("the last result left out", format!("[{but_last}]"), all - 1),
        ("a word among results", format!("[{but_last},\"no findings\"]"), all - 1),
        ("null among results", format!("[{but_last},null]"), all - 1),
        (
            "one result for another task",
            format!("[{but_last},{}]", last.replace("\"task_id\":\"", "\"task_id\":\"x")),
            all - 1,
        ),
        ("the first one alone, as an object", each[0].clone(), 1),
    ] {
        corpus.is_taken_in_part(name, answer.as_bytes(), done);
    }
}

#[test]
fn of_two_answers_to_one_task_the_second_is_kept_apart() {
    let corpus = Corpus::new();
    let mut both = corpus.honest.clone();
    both.extend(corpus.honest.iter().cloned().map(|mut answer| {
        answer["findings"] = json!([]);
        answer
    }));
    let state = {
        corpus.is_taken("two answers", text(&both).as_bytes());
        "data/state of two answers"
    };
    assert_eq!(corpus.quarantined(state), corpus.honest.len() as i64);
}
