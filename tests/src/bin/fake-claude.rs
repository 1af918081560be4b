//! A `claude` that follows a script: copied onto `PATH` under that name, it is called as the real one is, checks how it
//! is called, reads the prompt from standard input, and says what the real one was seen to say.
//!
//! `--model scenario-NAME` chooses the script. What it has to remember from one launch to the next lies beside it.
#![allow(clippy::disallowed_methods, reason = "a reviewer reads its environment and starts what it likes")]
#![allow(clippy::unwrap_used, reason = "whoever calls it wrongly sees where")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{SystemTime, UNIX_EPOCH};

use assize_tests::answer::answer_task;
use assize_tests::prompt::tasks_of;
use serde_json::{Value, json};

fn main() -> ExitCode {
    let scenario = match read_call() {
        Ok(scenario) => scenario,
        Err(problem) => {
            eprintln!("error: unknown option or environment: {problem}");
            return ExitCode::FAILURE;
        }
    };
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt).expect("a prompt");
    let launch = remember_launch();
    play(&scenario, launch, &prompt)
}

/// The scenario, when the call is one that the real program takes and that keeps it read-only.
fn read_call() -> Result<String, String> {
    let (mut scenario, mut seen) = ("ok".to_owned(), Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().unwrap_or_default();
        let is = |wanted: &str, value: String| if value == wanted { Ok(()) } else { Err(format!("{arg} {value}")) };
        match arg.as_str() {
            "-p" | "--verbose" | "--strict-mcp-config" | "--no-session-persistence" => {}
            "--output-format" => is("stream-json", value())?,
            "--tools" => is("Read,Grep,Glob", value())?,
            "--setting-sources" => is("user", value())?,
            "--max-turns" | "--max-budget-usd" => drop(value()),
            "--model" => scenario = value().strip_prefix("scenario-").ok_or("a model that is no scenario")?.to_owned(),
            _ => return Err(arg),
        }
        seen.push(arg);
    }
    for needed in ["-p", "--verbose", "--output-format", "--tools", "--strict-mcp-config", "--setting-sources"] {
        if !seen.iter().any(|arg| arg == needed) {
            return Err(format!("{needed} is missing"));
        }
    }
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    if variable("CLAUDE_CODE_MAX_RETRIES") != "0" {
        return Err("retries are not switched off".to_owned());
    }
    if !Path::new(&variable("HOME")).ends_with("home") || std::env::var_os("STRAY").is_some() {
        return Err("the environment is not a launch's own".to_owned());
    }
    // The copy bears this name as the repository of the tests does; only the repository has the audit's state in it.
    if std::env::current_dir().is_ok_and(|dir| dir.ends_with("repo") && !dir.join(".assize").exists()) {
        Ok(scenario)
    } else {
        Err("not in the copy of the repository".to_owned())
    }
}

fn beside(name: &str) -> PathBuf {
    std::env::current_exe().unwrap().with_file_name(name)
}

/// Counts the launches from 1.
fn remember_launch() -> usize {
    let log = beside("claude.launches");
    let mut file = OpenOptions::new().create(true).append(true).open(&log).unwrap();
    file.write_all(b".").unwrap();
    fs::metadata(log).unwrap().len() as usize
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn say(event: Value) {
    println!("{event}");
}

fn say_init() {
    say(json!({"type": "system", "subtype": "init", "session_id": "3f", "tools": ["Glob", "Grep", "Read"],
        "mcp_servers": [], "model": "claude-test-1", "permissionMode": "default", "claude_code_version": "2.1.332"}));
}

fn say_answer(text: &str) {
    say(json!({"type": "assistant", "message": {"id": "msg_1", "role": "assistant", "model": "claude-test-1",
        "content": [{"type": "text", "text": text}]}, "session_id": "3f"}));
}

/// The last event. Its members stand in another order than one would expect, as the real one's do.
fn say_result(text: &str) {
    say(json!({"stop_reason": "end_turn", "total_cost_usd": 0.0125, "usage": {"input_tokens": 1234,
        "cache_creation_input_tokens": 0, "cache_read_input_tokens": 1000, "output_tokens": 321},
        "terminal_reason": "completed", "is_error": false, "num_turns": 3, "subtype": "success",
        "api_error_status": null, "result": text, "type": "result", "duration_ms": 5}));
}

fn say_error(status: Option<u16>, kind: &str, text: &str) {
    say(json!({"type": "assistant", "is_api_error_message": true, "error": kind, "message": {"model": "<synthetic>",
        "content": [{"type": "text", "text": text}]}, "session_id": "3f"}));
    say(json!({"terminal_reason": "api_error", "is_error": true, "num_turns": 1, "subtype": "success",
        "api_error_status": status, "result": text, "type": "result", "duration_ms": 5, "usage": {}}));
}

fn say_limits(status: &str, utilization: f64, resets_at: u64) {
    let window = json!({"utilization": utilization, "resetsAt": resets_at, "status": status});
    say(json!({"type": "rate_limit_event", "rate_limit_info": {"status": status, "resetsAt": resets_at,
        "rateLimitType": "five_hour", "utilization": utilization, "unifiedWindows": {"five_hour": window}}}));
}

fn answer(prompt: &str) -> String {
    let repo = std::env::current_dir().unwrap();
    let answers: Vec<Value> = tasks_of(prompt).iter().map(|task| answer_task(task, &repo, true)).collect();
    Value::Array(answers).to_string()
}

fn play(scenario: &str, launch: usize, prompt: &str) -> ExitCode {
    match (scenario, launch) {
        ("garbage", _) => {
            print!("\u{1b}[31m}}}}{{ \u{0} half a line");
            return ExitCode::FAILURE;
        }
        ("unauthenticated", _) => {
            println!("Not logged in · Please run /login");
            return ExitCode::FAILURE;
        }
        ("hang-ignoring-sigint", _) => {
            say_init();
            fs::write(beside("claude.started"), "").unwrap();
            let error = Command::new("sh").args(["-c", "trap '' INT; while :; do sleep 1000; done"]).exec();
            panic!("{error}")
        }
        _ => {}
    }
    say_init();
    match (scenario, launch) {
        ("rate-limit", 1) => {
            say_limits("allowed_warning", 0.97, now_s() + 3);
            say(json!({"type": "system", "subtype": "api_retry", "attempt": 1, "max_retries": 10,
                "retry_delay_ms": 1500, "error_status": 429, "error": "rate_limit", "session_id": "3f"}));
            say_error(
                Some(429),
                "rate_limit",
                "API Error: Request rejected (429) · Number of requests has exceeded your rate limit",
            );
            return ExitCode::FAILURE;
        }
        ("usage-limit", _) => {
            say_limits("rejected", 1.0, now_s() + 3600);
            say_error(Some(429), "rate_limit", "You've hit your 5-hour limit · resets 2:01pm (UTC)");
            return ExitCode::FAILURE;
        }
        ("unauthorized", _) => {
            say_error(Some(401), "authentication_failed", "Invalid API key · Fix external API key");
            return ExitCode::FAILURE;
        }
        ("overloaded", _) => {
            say_error(Some(529), "overloaded", "API Error: 529 Overloaded. This is a server-side issue");
            return ExitCode::FAILURE;
        }
        ("no-result-event", _) => say_answer(&answer(prompt)),
        ("max-turns", _) => {
            say(
                json!({"type": "result", "subtype": "error_max_turns", "is_error": true, "terminal_reason": "max_turns",
                "errors": ["Reached maximum number of turns (3)"], "num_turns": 4, "usage": {}}),
            );
            return ExitCode::FAILURE;
        }
        ("prose-around", _) => {
            let text = format!(
                "I read all files. My findings:\n\n```json\n{}\n```\n\nThere is [nothing] more.",
                answer(prompt)
            );
            say_answer(&text);
            say_result(&text);
        }
        ("link", _) => {
            let home = PathBuf::from(std::env::var_os("HOME").unwrap());
            std::os::unix::fs::symlink(beside("precious"), home.with_file_name("audit-results.json")).unwrap();
            say_result(&answer(prompt));
        }
        ("leaky", _) => {
            let key = std::env::var("ANTHROPIC_API_KEY").unwrap_or_default();
            assert!(!key.is_empty(), "the key is there");
            eprintln!("debug: using key {key}");
            println!("{}", json!({"type": "system", "subtype": "status", "x-api-key": key}));
            let text = answer(prompt);
            say_result(&text);
        }
        ("ok" | "rate-limit", _) => {
            let text = format!("```json\n{}\n```", answer(prompt));
            say_answer(&text);
            say_limits("allowed", 0.2, now_s() + 3600);
            say_result(&text);
        }
        (other, _) => panic!("no scenario is called {other}"),
    }
    ExitCode::SUCCESS
}
