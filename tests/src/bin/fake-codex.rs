//! A `codex` that follows a script: copied onto `PATH` under that name, it is called as the real one is, checks how it is
//! called, reads the prompt from standard input, and says what the real one was seen to say.
//!
//! `-m scenario-NAME` chooses the script. What it has to remember from one launch to the next lies beside it.
#![allow(clippy::disallowed_methods, reason = "a reviewer reads its environment and starts what it likes")]
#![allow(clippy::unwrap_used, reason = "whoever calls it wrongly sees where")]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "it is a program")]

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use assize_tests::answer::answer_task;
use assize_tests::http::post;
use assize_tests::prompt::tasks_of;
use serde_json::{Value, json};

/// What the call says.
#[derive(Default)]
struct Call {
    scenario: String,
    settings: Vec<String>,
    flags: Vec<String>,
}

fn main() -> ExitCode {
    let call = match read_call() {
        Ok(call) => call,
        Err(problem) => {
            eprintln!("error: {problem}\n\nUsage: codex exec [OPTIONS] [PROMPT]");
            return ExitCode::from(2);
        }
    };
    if let Err(problem) = check_surroundings(&call) {
        eprintln!("error: invalid value '{problem}' for the test's own rules");
        return ExitCode::from(2);
    }
    eprintln!("Reading additional input from stdin...");
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt).expect("a prompt");
    let launch = remember_launch();
    play(&call, launch, &prompt)
}

/// Takes what the real program takes, with its own words for what it does not.
fn read_call() -> Result<Call, String> {
    let mut call = Call { scenario: "ok".to_owned(), ..Call::default() };
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() != Some("exec") {
        return Err("unrecognized subcommand".to_owned());
    }
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("a value is required for '{arg}' but none was supplied"));
        match arg.as_str() {
            "--json" | "--skip-git-repo-check" | "--ephemeral" | "--ignore-user-config" | "--ignore-rules" | "-" => {}
            "-s" if value()? == "read-only" => {}
            "-c" => {
                let setting = value()?;
                call.settings.push(setting);
            }
            "-m" => value()?.strip_prefix("scenario-").ok_or("invalid value for '-m'")?.clone_into(&mut call.scenario),
            "--color" => drop(value()?),
            _ => return Err(format!("unexpected argument '{arg}' found")),
        }
        if call.flags.last().is_some_and(|last| last == "-") {
            return Err(format!("unexpected argument '{arg}' found"));
        }
        call.flags.push(arg);
    }
    Ok(call)
}

/// What a launch of ours must have so that it only reads, tries once and finds nothing of the user's.
fn check_surroundings(call: &Call) -> Result<(), String> {
    for needed in
        ["--json", "-s", "--skip-git-repo-check", "--ephemeral", "--ignore-user-config", "--ignore-rules", "-"]
    {
        if !call.flags.iter().any(|flag| flag == needed) {
            return Err(format!("{needed} is missing"));
        }
    }
    if std::env::var_os("STRAY").is_some() || !home().ends_with("home") {
        return Err("the environment is not a launch's own".to_owned());
    }
    match call.provider() {
        Some(table) if !table.contains("request_max_retries=0,stream_max_retries=0") => {
            Err("retries are not switched off".to_owned())
        }
        _ => Ok(()),
    }
}

impl Call {
    /// The provider table; none when the built-in provider is used.
    fn provider(&self) -> Option<&str> {
        self.settings.iter().find_map(|setting| setting.strip_prefix("model_providers.assize="))
    }

    fn of_table(&self, key: &str) -> String {
        let table = self.provider().unwrap_or_default();
        let (_, after) = table.split_once(&format!("{key}=\"")).unwrap_or_default();
        after.split('"').next().unwrap_or_default().to_owned()
    }

    /// The credential: the variable that the table names, or the user's login.
    fn key(&self) -> Option<String> {
        if self.provider().is_some() {
            return std::env::var(self.of_table("env_key")).ok();
        }
        fs::read_to_string(home().join(".codex/auth.json")).ok()
    }
}

fn home() -> PathBuf {
    PathBuf::from(std::env::var_os("HOME").unwrap_or_default())
}

fn beside(name: &str) -> PathBuf {
    std::env::current_exe().unwrap().with_file_name(name)
}

/// Counts the launches from 1.
fn remember_launch() -> usize {
    let log = beside("codex.launches");
    let mut file = OpenOptions::new().create(true).append(true).open(&log).unwrap();
    file.write_all(b".").unwrap();
    fs::metadata(log).unwrap().len() as usize
}

fn say(event: Value) {
    println!("{event}");
}

fn say_begin() {
    say(json!({"type": "thread.started", "thread_id": "01a2"}));
    say(json!({"type": "item.completed", "item": {"id": "item_0", "type": "error",
        "message": "Model metadata for `m` not found. Defaulting to fallback metadata; 429 Too Many Requests"}}));
    say(json!({"type": "turn.started"}));
}

fn say_message(text: &str) {
    say(json!({"type": "item.completed", "item": {"id": "item_2", "type": "agent_message", "text": text}}));
}

fn say_end() -> ExitCode {
    say(json!({"type": "turn.completed", "usage": {"input_tokens": 1234, "cached_input_tokens": 1000,
        "cache_write_input_tokens": 0, "output_tokens": 321, "reasoning_output_tokens": 0}}));
    ExitCode::SUCCESS
}

fn say_failure(message: &str) -> ExitCode {
    say(json!({"type": "error", "message": message}));
    say(json!({"type": "turn.failed", "error": {"message": message}}));
    ExitCode::FAILURE
}

fn answer(prompt: &str) -> String {
    let repo = std::env::current_dir().unwrap();
    let answers: Vec<Value> = tasks_of(prompt).iter().map(|task| answer_task(task, &repo, true)).collect();
    format!("```json\n{}\n```", Value::Array(answers))
}

/// One request to the service; what the real program says when it is refused.
fn ask(call: &Call, key: &str) -> Result<(), String> {
    let url = format!("{}/responses", call.of_table("base_url"));
    let body = json!({"model": "gpt-test", "input": "Reply with OK", "stream": false}).to_string();
    let reply = post(&url, &[("authorization", &format!("Bearer {key}"))], &body).map_err(|error| error.to_string())?;
    let request = reply.header("x-request-id").map(|id| format!(", request id: {id}")).unwrap_or_default();
    match reply.status() {
        200 => Ok(()),
        429 => Err(format!("exceeded retry limit, last status: 429 Too Many Requests{request}")),
        status => {
            Err(format!("unexpected status {status} Whatever: {}, url: {url}", String::from_utf8_lossy(&reply.body)))
        }
    }
}

fn play(call: &Call, launch: usize, prompt: &str) -> ExitCode {
    match call.scenario.as_str() {
        "garbage" => {
            print!("\u{1b}[31m}}}}{{ \u{0} half a line");
            return ExitCode::FAILURE;
        }
        "too-long-at-the-start" => {
            eprintln!(
                "Error: turn/start: turn/start failed: Input exceeds the maximum length of 1048576 characters. (code -32602)"
            );
            return ExitCode::FAILURE;
        }
        "hang-ignoring-signals" => {
            say_begin();
            fs::write(beside("codex.started"), "").unwrap();
            let error = Command::new("sh").args(["-c", "trap '' INT TERM; while :; do sleep 1000; done"]).exec();
            panic!("{error}")
        }
        _ => {}
    }
    say_begin();
    let Some(key) = call.key().filter(|key| !key.trim().is_empty()) else {
        return say_failure(&format!("Missing environment variable: `{}`.", call.of_table("env_key")));
    };
    match call.scenario.as_str() {
        "traffic" => match ask(call, &key) {
            Ok(()) => {
                say_message(&answer(prompt));
                say_end()
            }
            Err(message) => say_failure(&message),
        },
        "leaky" => {
            let values: Vec<String> = std::env::vars().map(|(_, value)| value).collect();
            eprintln!("debug: using key {key} in {values:?}");
            say(json!({"type": "item.completed", "item": {"type": "reasoning", "text": key, "environment": values}}));
            say_message(&answer(prompt));
            say_end()
        }
        "link" => {
            let target = home().with_file_name("audit-results.json");
            std::os::unix::fs::symlink(Path::new(&beside("precious")), target).unwrap();
            say_message(&answer(prompt));
            say_end()
        }
        "prose-around" => {
            say_message("I read all files.");
            say_message(&format!("My findings:\n\n{}\n\nThere is [nothing] more.", answer(prompt)));
            say_end()
        }
        "empty" => say_end(),
        "no-end" => {
            say_message(&answer(prompt));
            ExitCode::SUCCESS
        }
        "retried" => {
            say(
                json!({"type": "error", "message": "Reconnecting... 1/5 (exceeded retry limit, last status: 429 Too Many Requests)"}),
            );
            say_message(&answer(prompt));
            say_end()
        }
        "rate-limit" if launch == 1 => say_failure(
            "rate limit exceeded: Rate limit reached for gpt-test in organization org-1 on requests per min (RPM): \
             Limit 3, Used 3, Requested 1. Please try again in 1.5s.",
        ),
        "usage-limit" => say_failure("You\u{2019}ve hit your usage limit. Upgrade to Pro or try again at 5:00 PM."),
        "insufficient-quota" => say_failure("Quota exceeded. Check your plan and billing details."),
        "unauthorized" => {
            say_failure("unexpected status 401 Unauthorized: Incorrect API key provided, url: http://h/v1/responses")
        }
        "overloaded" => say_failure("Selected model is at capacity. Please try a different model."),
        "unknown-model" => {
            say_failure("unexpected status 404 Not Found: The model `m` does not exist, url: http://h/v1/responses")
        }
        "cut" => say_failure("stream disconnected before completion: stream closed before response.completed"),
        "refused" => say_failure(
            r#"{"error":{"message":"Invalid prompt: it was flagged as potentially violating our usage policy.","type":"invalid_request_error","code":"invalid_prompt"}}"#,
        ),
        "ok" | "rate-limit" => {
            say_message(&answer(prompt));
            say_end()
        }
        other => panic!("no scenario is called {other}"),
    }
}
