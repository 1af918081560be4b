//! A `claude` that asks its model as often as it is told, all at once, without heeding what it is told of limits: copied onto
//! `PATH` under that name and called with `--model burst-N`. What each request came to is written beside it, one status a line.
#![allow(clippy::disallowed_methods, reason = "a reviewer reads its environment")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::process::ExitCode;
use std::thread;

use assize_tests::answer::answer_task;
use assize_tests::http::post;
use assize_tests::prompt::tasks_of;
use serde_json::{Value, json};

fn main() -> ExitCode {
    if std::env::args().any(|arg| arg == "--version") {
        println!("2.1.332 (Claude Code)");
        return ExitCode::SUCCESS;
    }
    let mut prompt = String::new();
    let Ok(_) = std::io::stdin().read_to_string(&mut prompt) else { return ExitCode::FAILURE };
    let statuses = ask_at_once(requests());
    remember(&statuses);
    say(&json!({"type": "system", "subtype": "init", "session_id": "3f", "tools": ["Glob", "Grep", "Read"],
        "mcp_servers": [], "model": "claude-test-1", "permissionMode": "default", "claude_code_version": "2.1.332"}));
    if statuses.iter().all(|status| *status != 200) {
        return fail(statuses.first().copied());
    }
    let answer = answer(&prompt);
    say(&json!({"type": "assistant", "message": {"id": "msg_1", "role": "assistant", "model": "claude-test-1",
        "content": [{"type": "text", "text": answer}]}, "session_id": "3f"}));
    say(&json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": statuses.len(),
        "result": answer, "duration_ms": 5, "usage": {"input_tokens": 100, "output_tokens": 50}}));
    ExitCode::SUCCESS
}

/// `N` of `--model burst-N`; one request unless said.
fn requests() -> usize {
    let mut args = std::env::args().skip_while(|arg| arg != "--model").skip(1);
    args.next().and_then(|model| model.strip_prefix("burst-")?.parse().ok()).unwrap_or(1)
}

/// The status of each request; 0 for one that came to nothing.
fn ask_at_once(count: usize) -> Vec<u16> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let (url, key) = (format!("{}/v1/messages", variable("ANTHROPIC_BASE_URL")), variable("ANTHROPIC_API_KEY"));
    let body = json!({"model": "claude-test-1", "max_tokens": 16, "messages": [{"role": "user", "content": "Go on."}]});
    let body = body.to_string();
    let ask = || post(&url, &[("x-api-key", &key), ("anthropic-version", "2023-06-01")], &body);
    let status = || ask().map_or(0, |answer| answer.status());
    thread::scope(|scope| {
        let asking: Vec<_> = (0..count).map(|_| scope.spawn(status)).collect();
        asking.into_iter().map(|one| one.join().unwrap_or(0)).collect()
    })
}

fn remember(statuses: &[u16]) {
    let beside = std::env::current_exe().unwrap_or_default().with_file_name("claude.statuses");
    let lines: String = statuses.iter().map(|status| format!("{status}\n")).collect();
    let opened = OpenOptions::new().create(true).append(true).open(beside);
    if let Err(error) = opened.and_then(|mut file| file.write_all(lines.as_bytes())) {
        eprintln!("cannot write what was answered: {error}");
    }
}

fn fail(status: Option<u16>) -> ExitCode {
    let status = status.unwrap_or(0);
    let text = format!("API Error: {status}");
    say(
        &json!({"type": "assistant", "is_api_error_message": true, "error": "api_error", "message": {"model": "<synthetic>",
        "content": [{"type": "text", "text": text}]}, "session_id": "3f"}),
    );
    say(
        &json!({"type": "result", "subtype": "success", "is_error": true, "num_turns": 1, "terminal_reason": "api_error",
        "api_error_status": status, "result": text, "duration_ms": 5, "usage": {}}),
    );
    ExitCode::FAILURE
}

/// Who is asked for no task answers in a word.
fn answer(prompt: &str) -> String {
    let repo = std::env::current_dir().unwrap_or_default();
    let answers: Vec<Value> = tasks_of(prompt).iter().map(|task| answer_task(task, &repo, false)).collect();
    if answers.is_empty() { "OK".to_owned() } else { Value::Array(answers).to_string() }
}

fn say(event: &Value) {
    println!("{event}");
}
