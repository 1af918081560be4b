//! A worker of the contract `audit-code-worker/v1alpha1` that answers honestly, or fails in one chosen way.
//!
//! `fake-worker TASK_JSON [--findings] [--log FILE] [--hold FILE] [--free N] [--fault NAME] [--only TEXT] [--first DIR]`
//!
//! `--log` appends a line of JSON when it starts. `--hold` waits for a file before it answers, unless `--free` lets the
//! first so many of the log go. A fault happens only in
//! launches with a file whose path holds `--only`, and with `--first` only when one of the tasks is seen for the first
//! time; the directory remembers them. Everything is told by arguments, because the environment of a launch is empty.
#![allow(clippy::disallowed_methods, reason = "a reviewer that misbehaves starts and reads what it likes")]
#![allow(clippy::unwrap_used, reason = "whoever calls it wrongly sees where")]
#![allow(clippy::zombie_processes, reason = "what it leaves behind is to be found by its host")]
#![allow(clippy::print_stderr, clippy::print_stdout, reason = "it floods its outputs when it is asked to")]

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use assize_tests::answer::answer_task;
use serde_json::{Value, json};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let task_file = args.next().expect("the path of task.json");
    let flags = read_flags(args);
    let read = |path: &str| -> Value { serde_json::from_slice(&fs::read(path).expect(path)).expect(path) };
    let worker = read(&task_file);
    assert_eq!(worker["contract_version"], "audit-code-worker/v1alpha1");
    assert_eq!(worker["worker_command_mode"], "deferred");
    let text = |key: &str| worker[key].as_str().expect(key).to_owned();
    let tasks: Vec<Value> = read(&text("pending_audit_tasks_path")).as_array().expect("a list of tasks").clone();
    if let Some(log) = flags.get("log") {
        let names: Vec<&Value> = tasks.iter().map(|task| &task["task_id"]).collect();
        let line = format!("{}\n", json!({"run": worker["run_id"], "pid": std::process::id(), "tasks": names}));
        let mut file = OpenOptions::new().create(true).append(true).open(log).expect(log);
        file.write_all(line.as_bytes()).expect(log);
    }
    if let Some(hold) = flags.get("hold").filter(|_| !is_free(&flags)) {
        while !Path::new(hold).exists() {
            thread::park_timeout(Duration::from_millis(5));
        }
    }
    let repo = PathBuf::from(text("repo_root"));
    let answers: Vec<Value> =
        tasks.iter().map(|task| answer_task(task, &repo, flags.contains_key("findings"))).collect();
    let desk = Desk { results: PathBuf::from(text("audit_results_path")), repo, tasks, answers };
    match flags.get("fault").filter(|_| desk.is_hit(&flags)) {
        Some(fault) => desk.fail(fault),
        None => desk.give(&Value::Array(desk.answers.clone()).to_string()),
    }
}

fn read_flags(args: impl Iterator<Item = String>) -> HashMap<String, String> {
    let mut flags = HashMap::new();
    let mut args = args.peekable();
    while let Some(flag) = args.next() {
        let name = flag.strip_prefix("--").unwrap_or_else(|| panic!("{flag} is no flag")).to_owned();
        let value = args.next_if(|next| !next.starts_with("--")).unwrap_or_default();
        flags.insert(name, value);
    }
    flags
}

/// Whether this launch is among the first of the log, which do not wait.
fn is_free(flags: &HashMap<String, String>) -> bool {
    let Some(free) = flags.get("free") else { return false };
    let log = fs::read_to_string(flags.get("log").expect("`--free` counts in the log")).expect("the log");
    let own = format!("\"pid\":{},", std::process::id());
    log.lines().take(free.parse().expect("a number")).any(|line| line.contains(&own))
}

struct Desk {
    results: PathBuf,
    repo: PathBuf,
    tasks: Vec<Value>,
    answers: Vec<Value>,
}

impl Desk {
    /// Whether this launch is one that fails.
    fn is_hit(&self, flags: &HashMap<String, String>) -> bool {
        let only = flags.get("only").map(String::as_str).unwrap_or_default();
        let paths = self.tasks.iter().flat_map(|task| task["file_paths"].as_array().expect("paths"));
        let mut named = paths.filter_map(Value::as_str);
        let hit = named.any(|path| path.contains(only));
        let first = |dir: &String| {
            fs::create_dir_all(dir).expect(dir);
            let seen = |task: &Value| {
                let name: String = task["task_id"].to_string().bytes().map(|byte| format!("{byte:02x}")).collect();
                // A long name is cut in its front: the end tells the lens.
                let name = &name[name.len().saturating_sub(200)..];
                OpenOptions::new().write(true).create_new(true).open(Path::new(dir).join(name)).is_err()
            };
            // Every task is to be remembered, so no short cut.
            self.tasks.iter().map(seen).filter(|seen| !seen).count() > 0
        };
        hit && flags.get("first").is_none_or(first)
    }

    fn give(&self, text: &str) -> ExitCode {
        fs::write(&self.results, text).expect("results can be written");
        ExitCode::SUCCESS
    }

    fn give_honestly(&self) -> ExitCode {
        self.give(&Value::Array(self.answers.clone()).to_string())
    }

    fn give_changed(&self, change: impl Fn(&mut Value)) -> ExitCode {
        let mut answers = self.answers.clone();
        answers.iter_mut().for_each(change);
        self.give(&Value::Array(answers).to_string())
    }

    fn fail(&self, fault: &str) -> ExitCode {
        let honest = Value::Array(self.answers.clone()).to_string();
        let (name, number) = fault.split_once(':').unwrap_or((fault, "0"));
        let number: usize = number.parse().expect("a number");
        match name {
            "garbage" => self.give("%PDF-1.4 \u{0} not what was asked for {{{{[[[["),
            "truncated" => self.give(&honest[..honest.len() / 4]),
            "empty" => self.give(""),
            "prose" => {
                self.give(&format!("Here is what I found [1]:\n\n{honest}\n\nTell me if you need more {{detail}}."))
            }
            "fenced" => self.give(&format!("```json\n{honest}\n```\n")),
            "missing" => ExitCode::SUCCESS,
            "exit1" => ExitCode::FAILURE,
            "exit1-answered" => {
                self.give_honestly();
                ExitCode::FAILURE
            }
            "unknown-task" => self.give_changed(|answer| answer["task_id"] = json!("../../evil")),
            "one-unknown" => {
                let mut answers = self.answers.clone();
                let mut stranger = answers[0].clone();
                stranger["task_id"] = json!("nobody:asked");
                answers.push(stranger);
                self.give(&Value::Array(answers).to_string())
            }
            "duplicate" => {
                let twice: Vec<Value> =
                    self.answers.iter().flat_map(|answer| [answer.clone(), answer.clone()]).collect();
                self.give(&Value::Array(twice).to_string())
            }
            "bad-lines" => self.give_changed(|answer| {
                let lines = answer["file_coverage"][0]["total_lines"].as_u64().unwrap();
                answer["file_coverage"][0]["total_lines"] = json!(lines + 7);
            }),
            "escape-path" => self.give_changed(|answer| {
                answer["file_coverage"][0] = json!({"path": "../../../../etc/passwd", "total_lines": 1});
            }),
            "escape-link" => {
                std::os::unix::fs::symlink("/etc/passwd", &self.results).unwrap();
                ExitCode::SUCCESS
            }
            "huge" => self.give(&format!("[\"{}\"]", "x".repeat(40 << 20))),
            "hang" => loop {
                thread::park();
            },
            "hang-ignore-term" => {
                let error =
                    Command::new("sh").args(["-c", "trap '' TERM INT HUP; while :; do sleep 1000; done"]).exec();
                panic!("{error}")
            }
            "grandchild-pipe" => {
                Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap();
                self.give_honestly()
            }
            "setsid-child" => {
                Command::new("setsid")
                    .args(["sh", "-c", "trap '' TERM; while :; do sleep 1000; done"])
                    .stdin(Stdio::null())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap();
                self.give_honestly()
            }
            "flood" => {
                flood(number);
                self.give_honestly()
            }
            "half" => {
                let half = self.answers.len().div_ceil(2);
                self.give(&Value::Array(self.answers[..half].to_vec()).to_string())
            }
            "slow" => {
                thread::park_timeout(Duration::from_millis(number as u64));
                self.give_honestly()
            }
            "write-repo" => {
                let path = self.tasks[0]["file_paths"][0].as_str().unwrap();
                let mut file = OpenOptions::new().append(true).open(self.repo.join(path)).unwrap();
                file.write_all(b"\n").unwrap();
                self.give_honestly()
            }
            other => panic!("no fault is called {other}"),
        }
    }
}

/// So many MiB on each output.
fn flood(mib: usize) {
    let line = [&[b'x'; 1023][..], b"\n"].concat();
    let block = line.repeat(1024);
    let (mut stdout, mut stderr) = (std::io::stdout().lock(), std::io::stderr().lock());
    for _ in 0..mib {
        stdout.write_all(&block).unwrap();
        stderr.write_all(&block).unwrap();
    }
}
