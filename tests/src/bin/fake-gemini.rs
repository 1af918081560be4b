//! A `gemini`, or a `qwen` when it has that name, that follows a script: copied onto `PATH`, it is called as the real one
//! is, checks how it is called, reads the prompt from standard input, and says what the real one was seen to say.
//!
//! `-m scenario-NAME` chooses the script. What it has to remember from one launch to the next lies beside it.
#![allow(clippy::disallowed_methods, reason = "a reviewer reads its environment and starts what it likes")]
#![allow(clippy::unwrap_used, reason = "whoever calls it wrongly sees where")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use assize_tests::answer::answer_task;
use assize_tests::http::post;
use assize_tests::prompt::tasks_of;
use serde_json::{Value, json};

fn main() -> ExitCode {
    let is_qwen = own_name() == "qwen";
    let read = if is_qwen { read_qwen_call() } else { read_gemini_call() };
    let scenario = match read {
        Ok(scenario) => scenario,
        Err(problem) => {
            eprintln!("{problem}\nUsage: {} [options] [command]", own_name());
            return ExitCode::FAILURE;
        }
    };
    if !is_qwen && !has_settings() {
        eprintln!("Invalid auth method selected.");
        return ExitCode::from(41);
    }
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt).expect("a prompt");
    let launch = remember_launch();
    match scenario.as_str() {
        "garbage" => {
            print!("\u{1b}[31m}}}}{{ \u{0} half a line");
            return ExitCode::FAILURE;
        }
        "hang-ignoring-signals" => {
            fs::write(beside(&format!("{}.started", own_name())), "").unwrap();
            let error = Command::new("sh").args(["-c", "trap '' INT TERM; while :; do sleep 1000; done"]).exec();
            panic!("{error}")
        }
        _ => {}
    }
    if is_qwen { play_qwen(&scenario, launch, &prompt) } else { play_gemini(&scenario, launch, &prompt) }
}

/// Takes the arguments one by one, with the real programs' words for what they do not take. Every one of `once` must be
/// there with its value; the scenario is the model's name.
fn read_call(once: &[(&str, &str)], free: &[&str], lists: &[(&str, &[&str])]) -> Result<String, String> {
    let (mut scenario, mut seen) = (None, Vec::new());
    let mut args = std::env::args().skip(1).peekable();
    while let Some(arg) = args.next() {
        let name = arg.trim_start_matches('-').to_owned();
        if let Some((_, wanted)) = lists.iter().find(|(option, _)| *option == arg) {
            let values: Vec<String> = std::iter::from_fn(|| args.next_if(|next| !next.starts_with('-'))).collect();
            if values != *wanted {
                return Err(format!("Invalid values: {arg} {values:?}"));
            }
        } else if let Some((_, wanted)) = once.iter().find(|(option, _)| *option == arg) {
            let value = if wanted.is_empty() { String::new() } else { args.next().unwrap_or_default() };
            if value != *wanted {
                return Err(format!("Invalid values: {arg} {value}"));
            }
        } else if arg == "-m" {
            let model = args.next().ok_or("Not enough arguments following: m")?;
            scenario = model.strip_prefix("scenario-").map(str::to_owned);
        } else if free.contains(&arg.as_str()) {
            args.next().ok_or(format!("Not enough arguments following: {name}"))?;
        } else {
            return Err(format!("Unknown argument: {name}"));
        }
        seen.push(arg);
    }
    let wanted = once.iter().map(|(option, _)| option).chain(lists.iter().map(|(option, _)| option));
    if let Some(missing) = wanted.chain(["-p"].iter()).find(|option| !seen.iter().any(|arg| arg == *option)) {
        return Err(format!("Invalid values: {missing} is missing"));
    }
    if std::env::var_os("STRAY").is_some() || !home().ends_with("home") {
        return Err("Invalid values: the environment is not a launch's own".to_owned());
    }
    scenario.ok_or("Invalid values: a model that is no scenario".to_owned())
}

fn read_gemini_call() -> Result<String, String> {
    for (name, wanted) in [("GEMINI_CLI_NO_RELAUNCH", "true"), ("GEMINI_CLI_TRUST_WORKSPACE", "true")] {
        if variable(name) != wanted {
            return Err(format!("Gemini CLI is not running in a trusted directory: {name}"));
        }
    }
    read_call(&[("-o", "stream-json"), ("--approval-mode", "default"), ("-e", "none")], &["-p"], &[])
}

fn read_qwen_call() -> Result<String, String> {
    let refused = ["run_shell_command", "edit", "notebook_edit", "write_file"];
    read_call(
        &[("--auth-type", "openai"), ("--bare", ""), ("-o", "stream-json"), ("--approval-mode", "plan")],
        &["-p", "--max-wall-time", "--max-session-turns"],
        &[("--exclude-tools", &refused)],
    )
}

/// Whether the settings let the real program start, try once, and read no file of the repository as its own.
fn has_settings() -> bool {
    let text = fs::read_to_string(home().join(".gemini/settings.json")).unwrap_or_default();
    let settings: Value = serde_json::from_str(&text).unwrap_or_default();
    settings["security"]["auth"]["selectedType"] == "gemini-api-key"
        && settings["general"]["maxAttempts"] == 1
        && settings["advanced"]["ignoreLocalEnv"] == true
}

fn own_name() -> String {
    std::env::current_exe().unwrap().file_name().unwrap().to_string_lossy().into_owned()
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn home() -> PathBuf {
    PathBuf::from(std::env::var_os("HOME").unwrap_or_default())
}

fn beside(name: &str) -> PathBuf {
    std::env::current_exe().unwrap().with_file_name(name)
}

/// Counts the launches from 1.
fn remember_launch() -> usize {
    let log = beside(&format!("{}.launches", own_name()));
    let mut file = OpenOptions::new().create(true).append(true).open(&log).unwrap();
    file.write_all(b".").unwrap();
    fs::metadata(log).unwrap().len() as usize
}

fn say(event: Value) {
    println!("{event}");
}

fn answer(prompt: &str) -> String {
    let repo = std::env::current_dir().unwrap();
    let answers: Vec<Value> = tasks_of(prompt).iter().map(|task| answer_task(task, &repo, true)).collect();
    format!("```json\n{}\n```", Value::Array(answers))
}

/// Everything that the program knows, as a careless one would print it.
fn leak() {
    let values: Vec<String> = std::env::vars().map(|(_, value)| value).collect();
    eprintln!("debug: {values:?}");
    say(json!({"type": "debug", "environment": values}));
}

/// One request to the service, and what the real programs say of its refusal.
fn ask(path: &str, address: &str, header: (&str, &str)) -> Result<(), (u16, String)> {
    let reply = post(&format!("{address}{path}"), &[header], "{}").map_err(|error| (0, error.to_string()))?;
    match reply.status() {
        200 => Ok(()),
        status => Err((status, String::from_utf8_lossy(&reply.body).into_owned())),
    }
}

fn gemini_message(text: &str) {
    say(json!({"type": "message", "timestamp": "t", "role": "assistant", "content": text, "delta": true}));
}

fn gemini_success() -> ExitCode {
    say(json!({"type": "result", "timestamp": "t", "status": "success", "stats": {"total_tokens": 1555,
        "input_tokens": 1234, "output_tokens": 321, "cached": 1000, "input": 234, "duration_ms": 5,
        "tool_calls": 0, "models": {"gemini-test-1": {"total_tokens": 1555}}}}));
    ExitCode::SUCCESS
}

/// The real program exits with the status modulo 256.
fn gemini_error(kind: &str, message: &str, code: u16) -> ExitCode {
    say(json!({"type": "result", "timestamp": "t", "status": "error", "error": {"type": kind, "message": message},
        "stats": {"total_tokens": 0, "input_tokens": 0, "output_tokens": 0, "cached": 0, "input": 0, "models": {}}}));
    ExitCode::from((code % 256) as u8)
}

fn play_gemini(scenario: &str, launch: usize, prompt: &str) -> ExitCode {
    eprintln!("Warning: 256-color support not detected.\nRipgrep is not available. Falling back to GrepTool.");
    say(json!({"type": "init", "timestamp": "t", "session_id": "b8", "model": format!("scenario-{scenario}")}));
    say(json!({"type": "message", "timestamp": "t", "role": "user", "content": prompt}));
    match scenario {
        "traffic" => {
            let (address, key) = (variable("GOOGLE_GEMINI_BASE_URL"), variable("GEMINI_API_KEY"));
            let path = "/v1beta/models/gemini-test-1:streamGenerateContent?alt=sse";
            if let Err((status, body)) = ask(path, &address, ("x-goog-api-key", &key)) {
                return gemini_error("unknown", &format!("[API Error: {body}]"), status);
            }
        }
        "leaky" => leak(),
        "rate-limit" if launch == 1 => {
            eprintln!(
                "RetryableQuotaError: slow down\n  cause: {{\n    code: 429\n  }},\n  retryDelayMs: 2000,\n  status: 429\n}}"
            );
            let message = "[API Error: You exceeded your current quota, please check your plan and billing details.\n\
                Suggested retry after 2s.]\nPlease wait and try again later.";
            return gemini_error("unknown", message, 429);
        }
        "daily-quota" => {
            let message = "[API Error: You have exhausted your daily quota on this model.]";
            return gemini_error("unknown", message, 429);
        }
        "unauthorized" => {
            let message = r#"[API Error: {"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]"#;
            return gemini_error("unknown", message, 400);
        }
        "unknown-model" => {
            eprintln!("ModelNotFoundError: models/x\n    at f (x.js:1:2) {{\n  code: 404\n}}");
            return gemini_error("unknown", "[API Error: models/x]", 1);
        }
        "overloaded" => return gemini_error("unknown", "[API Error: The model is overloaded.]", 503),
        "too-long" => {
            let message =
                "[API Error: The input token count (1250000) exceeds the maximum number of tokens allowed (1048576).]";
            return gemini_error("unknown", message, 400);
        }
        "blocked" => {
            let message = "[API Error: The model response was blocked due to safety settings.]";
            return gemini_error("unknown", message, 1);
        }
        "turns" => {
            let message = "Reached max session turns for this session. Increase the number of turns.";
            return gemini_error("FatalTurnLimitedError", message, 53);
        }
        "cut" => {
            gemini_message("[{");
            return gemini_error("unknown", "[API Error: terminated]", 0);
        }
        "no-result-event" => {
            gemini_message(&answer(prompt));
            return ExitCode::SUCCESS;
        }
        "empty" => return gemini_success(),
        "ok" | "rate-limit" => {}
        other => panic!("no scenario is called {other}"),
    }
    gemini_message("I read all files.");
    say(json!({"type": "tool_use", "timestamp": "t", "tool_name": "read_file", "tool_id": "1", "parameters": {}}));
    say(json!({"type": "tool_result", "timestamp": "t", "tool_id": "1", "status": "success", "output": "429"}));
    let text = answer(prompt);
    let middle = (0..=text.len() / 2).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    gemini_message(&text[..middle]);
    println!("a line that is no event");
    gemini_message(&text[middle..]);
    gemini_success()
}

fn qwen_message(text: &str) {
    say(json!({"type": "assistant", "uuid": "d5", "session_id": "b6", "parent_tool_use_id": null, "message": {
        "id": "d5", "type": "message", "role": "assistant", "model": "qwen-test-1",
        "content": [{"type": "text", "text": text}], "stop_reason": null,
        "usage": {"input_tokens": 1234, "output_tokens": 321}}}));
}

fn qwen_success(text: &str) -> ExitCode {
    say(json!({"type": "result", "subtype": "success", "uuid": "c2", "session_id": "b6", "is_error": false,
        "num_turns": 2, "result": text, "usage": {"input_tokens": 1234, "output_tokens": 321,
        "cache_read_input_tokens": 1000, "total_tokens": 1555}, "permission_denials": []}));
    ExitCode::SUCCESS
}

/// The real program says an error as a message too.
fn qwen_error(message: &str) -> ExitCode {
    qwen_message(message);
    say(json!({"type": "result", "subtype": "error_during_execution", "uuid": "c2", "session_id": "b6",
        "is_error": true, "num_turns": 1, "usage": {"input_tokens": 0, "output_tokens": 0},
        "permission_denials": [], "error": {"message": message}}));
    ExitCode::FAILURE
}

fn play_qwen(scenario: &str, launch: usize, prompt: &str) -> ExitCode {
    say(json!({"type": "system", "subtype": "init", "session_id": "b6", "tools": ["read_file"],
        "model": format!("scenario-{scenario}"), "permission_mode": "plan", "qwen_code_version": "0.24.4"}));
    say(json!({"type": "stream_event", "session_id": "b6", "event": {"type": "goal_state"}}));
    match scenario {
        "traffic" => {
            let (address, key) = (variable("OPENAI_BASE_URL"), format!("Bearer {}", variable("OPENAI_API_KEY")));
            if let Err((status, body)) = ask("/chat/completions", &address, ("authorization", &key)) {
                return qwen_error(&format!("[API Error: {status} {body}]"));
            }
        }
        "leaky" => leak(),
        "retries-to-the-wall" if launch == 1 => {
            say(json!({"type": "system", "subtype": "retry", "session_id": "b6",
                "data": {"attempt": 1, "maxRetries": 10, "delayMs": 60000}}));
            eprintln!(
                "Retrying in 60s (attempt 1/10): [API Error: 429 Requests rate limit exceeded, please try again later]"
            );
            eprintln!("Run aborted: wall-clock budget of 55s exceeded (--max-wall-time).");
            return ExitCode::from(55);
        }
        "wall" => {
            eprintln!("Run aborted: wall-clock budget of 55s exceeded (--max-wall-time).");
            return ExitCode::from(55);
        }
        "turns" => {
            eprintln!("Reached max session turns for this session. Increase the number of turns.");
            return ExitCode::from(53);
        }
        "insufficient-quota" => {
            return qwen_error(
                "[API Error: 429 You exceeded your current quota, please check your plan and billing details.]",
            );
        }
        "unauthorized" => return qwen_error("[API Error: 401 Incorrect API key provided.]"),
        "unknown-model" => return qwen_error("[API Error: 404 The model `x` does not exist]"),
        "overloaded" => return qwen_error("[API Error: 503 The service is busy]"),
        "too-long" => {
            let message = "[API Error: Context is too large to send safely after automatic compression.]";
            return qwen_error(message);
        }
        "no-result-event" => {
            qwen_message(&answer(prompt));
            return ExitCode::SUCCESS;
        }
        "empty" => return qwen_success(""),
        "ok" | "retries-to-the-wall" => {}
        other => panic!("no scenario is called {other}"),
    }
    let text = answer(prompt);
    qwen_message(&text);
    qwen_success(&text)
}
