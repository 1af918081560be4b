//! An `opencode` that follows a script: copied onto `PATH` under that name, it is called as the real one is, checks how it
//! is called, reads the prompt from standard input, and says what the real one was seen to say.
//!
//! `-m assize/scenario-NAME` chooses the script. What it has to remember from one launch to the next lies beside it.
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

/// What the call says.
struct Call {
    scenario: String,
    settings: Value,
}

fn main() -> ExitCode {
    let call = match read_call() {
        Ok(call) => call,
        Err(problem) => {
            eprintln!("opencode run [message..]\n\n{problem}");
            return ExitCode::FAILURE;
        }
    };
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt).expect("a prompt");
    if prompt.trim().is_empty() {
        eprintln!("\u{1b}[91m\u{1b}[1mError: \u{1b}[0mYou must provide a message or a command");
        return ExitCode::FAILURE;
    }
    let launch = remember_launch();
    play(&call, launch, &prompt)
}

/// The scenario and the settings, when the call is one that the real program takes and that keeps it read-only.
fn read_call() -> Result<Call, String> {
    let mut model = String::new();
    let mut seen = Vec::new();
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() != Some("run") {
        return Err("Unknown argument: the command".to_owned());
    }
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("Not enough arguments following: {arg}"));
        match arg.as_str() {
            "--format" if value()? == "json" => {}
            "--title" | "--variant" => drop(value()?),
            "-m" => model = value()?,
            _ => return Err(format!("Unknown argument: {arg}")),
        }
        seen.push(arg);
    }
    if !seen.iter().any(|arg| arg == "--format") {
        return Err("Invalid values: the output is not asked for as events".to_owned());
    }
    let settings = read_settings()?;
    let scenario = model.rsplit_once("/scenario-").ok_or("Invalid values: the model is no scenario")?.1.to_owned();
    Ok(Call { scenario, settings })
}

/// What a launch of ours must have so that it only reads and finds nothing of the user's or the repository's.
fn read_settings() -> Result<Value, String> {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    let invalid = |what: &str| format!("Error: Configuration is invalid at OPENCODE_CONFIG_CONTENT: {what}");
    let settings: Value =
        serde_json::from_str(&variable("OPENCODE_CONFIG_CONTENT")).map_err(|error| invalid(&error.to_string()))?;
    for denied in ["*", "bash", "edit", "webfetch", "external_directory"] {
        if settings["permission"][denied] != "deny" {
            return Err(invalid(&format!("{denied} is not denied")));
        }
    }
    if settings["share"] != "disabled" || settings["autoupdate"] != false {
        return Err(invalid("it would share or update"));
    }
    for switch in ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "PROJECT_CONFIG"] {
        if variable(&format!("OPENCODE_DISABLE_{switch}")) != "1" {
            return Err(invalid(&format!("{switch} is not switched off")));
        }
    }
    if !home().ends_with("home") || std::env::var_os("STRAY").is_some() {
        return Err(invalid("the environment is not a launch's own"));
    }
    Ok(settings)
}

impl Call {
    fn provider(&self) -> &Value {
        &self.settings["provider"]["assize"]
    }

    /// The credential: the provider's own, the variable that it names, or the user's login.
    fn key(&self) -> Option<String> {
        let provider = self.provider();
        if provider.is_null() {
            return fs::read_to_string(home().join(".local/share/opencode/auth.json")).ok();
        }
        let own = provider["options"]["apiKey"].as_str().map(str::to_owned);
        own.or_else(|| std::env::var(provider["env"][0].as_str()?).ok())
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
    let log = beside("opencode.launches");
    let mut file = OpenOptions::new().create(true).append(true).open(&log).unwrap();
    file.write_all(b".").unwrap();
    fs::metadata(log).unwrap().len() as usize
}

fn say(kind: &str, member: &str, value: Value) {
    println!("{}", json!({"type": kind, "timestamp": 1_796_040_657_853_u64, "sessionID": "ses_1", member: value}));
}

fn say_start() {
    say("step_start", "part", json!({"id": "prt_1", "sessionID": "ses_1", "type": "step-start"}));
}

fn say_text(text: &str) {
    say("text", "part", json!({"id": "prt_2", "type": "text", "text": text, "time": {"start": 1, "end": 2}}));
}

fn say_finish(reason: &str) -> ExitCode {
    let tokens =
        json!({"total": 1555, "input": 234, "output": 321, "reasoning": 0, "cache": {"write": 0, "read": 1000}});
    say("step_finish", "part", json!({"reason": reason, "type": "step-finish", "tokens": tokens, "cost": 0}));
    ExitCode::SUCCESS
}

fn say_error(name: &str, data: Value) -> ExitCode {
    say("error", "error", json!({"name": name, "data": data}));
    ExitCode::FAILURE
}

/// What the real program says of a response that it did not take.
fn say_refusal(status: u16, headers: Value, body: &str) -> ExitCode {
    say_error(
        "APIError",
        json!({"message": "refused", "statusCode": status, "isRetryable": status >= 429, "responseHeaders": headers,
            "responseBody": body, "metadata": {"url": "http://h/v1/chat/completions"}}),
    )
}

fn error_body(message: &str, kind: &str, code: &str) -> String {
    json!({"error": {"message": message, "type": kind, "param": null, "code": code}}).to_string()
}

fn answer(prompt: &str) -> String {
    let repo = std::env::current_dir().unwrap();
    let answers: Vec<Value> = tasks_of(prompt).iter().map(|task| answer_task(task, &repo, true)).collect();
    format!("```json\n{}\n```", Value::Array(answers))
}

/// One request in the protocol of the configured package, with the answer's end as the real program tells it.
fn ask(call: &Call, key: &str, prompt: &str) -> ExitCode {
    let provider = call.provider();
    let base = provider["options"]["baseURL"].as_str().unwrap_or_default();
    let bearer = format!("Bearer {key}");
    let (path, header) = match provider["npm"].as_str() {
        Some("@ai-sdk/anthropic") => ("messages", ("x-api-key", key)),
        _ => ("chat/completions", ("authorization", bearer.as_str())),
    };
    let body = json!({"model": "m", "max_tokens": 16, "messages": [{"role": "user", "content": "Reply with OK"}]});
    let reply = match post(&format!("{base}/{path}"), &[header], &body.to_string()) {
        Ok(reply) => reply,
        Err(error) => return say_error("UnknownError", json!({"message": error.to_string()})),
    };
    if reply.status() != 200 {
        let headers = reply.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        return say_refusal(reply.status(), Value::Object(headers), &String::from_utf8_lossy(&reply.body));
    }
    say_text(&answer(prompt));
    say_finish("stop")
}

fn play(call: &Call, launch: usize, prompt: &str) -> ExitCode {
    let scenario = call.scenario.as_str();
    if scenario == "garbage" {
        print!("\u{1b}[31m}}}}{{ \u{0} half a line");
        return ExitCode::FAILURE;
    }
    if scenario == "unknown-model" {
        return say_error("UnknownError", json!({"message": "Model not found: assize/m. Did you mean: n?"}));
    }
    say_start();
    let Some(key) = call.key().filter(|key| !key.trim().is_empty()) else {
        return say_error("ProviderAuthError", json!({"providerID": "assize", "message": "no key"}));
    };
    match scenario {
        "hang-ignoring-signals" => {
            fs::write(beside("opencode.started"), "").unwrap();
            let error = Command::new("sh").args(["-c", "trap '' INT TERM; while :; do sleep 1000; done"]).exec();
            panic!("{error}")
        }
        "traffic" => ask(call, &key, prompt),
        "leaky" => {
            let values: Vec<String> = std::env::vars().map(|(_, value)| value).collect();
            eprintln!("debug: using key {key} in {values:?}");
            say("reasoning", "part", json!({"type": "reasoning", "text": key, "environment": values}));
            say_text(&answer(prompt));
            say_finish("stop")
        }
        "prose-around" => {
            say_text("I read all files.");
            say_finish("tool-calls");
            say_start();
            say_text(&format!("My findings:\n\n{}\n\nThere is [nothing] more.", answer(prompt)));
            say_finish("stop")
        }
        "empty" => say_finish("stop"),
        "permission" => {
            say_finish("tool-calls");
            eprintln!("\u{1b}[93m! permission requested: bash (cat x); auto-rejecting\u{1b}[0m");
            ExitCode::SUCCESS
        }
        "no-end" => {
            say_text(&answer(prompt));
            ExitCode::SUCCESS
        }
        "rate-limit" if launch == 1 => say_refusal(
            429,
            json!({"retry-after": "2", "x-ratelimit-remaining-requests": "0"}),
            &error_body("Rate limit reached for m", "requests", "rate_limit_exceeded"),
        ),
        "insufficient-quota" => say_refusal(
            429,
            json!({}),
            &error_body("You exceeded your current quota", "insufficient_quota", "insufficient_quota"),
        ),
        "unauthorized" => {
            say_refusal(401, json!({}), &error_body("Incorrect API key", "invalid_request_error", "invalid_api_key"))
        }
        "overloaded" => say_refusal(503, json!({}), "busy"),
        "too-long" => say_error("ContextOverflowError", json!({"message": "prompt is too long", "responseBody": ""})),
        "refused" => say_finish("content-filter"),
        "cut" => say_error("UnknownError", json!({"message": "The socket connection was closed unexpectedly."})),
        "ok" | "rate-limit" => {
            say_text(&answer(prompt));
            say_finish("stop")
        }
        other => panic!("no scenario is called {other}"),
    }
}
