//! A `copilot` that follows a script: copied onto `PATH` under that name, it is called as the real one is, checks how it is
//! called, reads the prompt from standard input, and says what the real one was seen to say.
//!
//! `--model scenario-NAME` chooses the script. What it has to remember from one launch to the next lies beside it.
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

/// Options that make the review what it is.
const NEEDED: [&str; 7] = [
    "--no-custom-instructions",
    "--disable-builtin-mcps",
    "--disable-client-telemetry",
    "--no-auto-update",
    "--no-color",
    "--no-ask-user",
    "--available-tools",
];

fn main() -> ExitCode {
    let scenario = match read_call() {
        Ok(scenario) => scenario,
        Err(problem) => {
            eprintln!("error: unexpected argument '{problem}' found\n\nUsage: copilot [OPTIONS] [COMMAND]");
            return ExitCode::FAILURE;
        }
    };
    if !is_logged_in() {
        eprintln!("Error: No authentication information found.\n\nCopilot can be authenticated with GitHub using");
        return ExitCode::FAILURE;
    }
    let mut prompt = String::new();
    std::io::stdin().read_to_string(&mut prompt).expect("a prompt");
    let launch = remember_launch();
    play(&scenario, launch, &prompt)
}

/// The scenario, when the call is one that the real program takes and that keeps it read-only.
fn read_call() -> Result<String, String> {
    let (mut scenario, mut seen) = ("ok".to_owned(), Vec::new());
    let mut args = std::env::args().skip(1).peekable();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--output-format" if args.next().as_deref() == Some("json") => {}
            "--available-tools" => {
                let tools: Vec<String> = std::iter::from_fn(|| args.next_if(|next| !next.starts_with('-'))).collect();
                if tools != ["view", "grep", "glob"] {
                    return Err(format!("{arg} {tools:?}"));
                }
            }
            "--model" => {
                let model = args.next().unwrap_or_default();
                model.strip_prefix("scenario-").ok_or("--model")?.clone_into(&mut scenario);
            }
            known if NEEDED.contains(&known) => {}
            _ => return Err(arg),
        }
        seen.push(arg);
    }
    match NEEDED.iter().find(|needed| !seen.iter().any(|arg| arg == *needed)) {
        Some(missing) => Err(format!("{missing} is missing")),
        None if std::env::var_os("STRAY").is_some() => Err("STRAY".to_owned()),
        None => Ok(scenario),
    }
}

/// With a service of one's own, which is spoken to offline, or with the login that lies in the user's home.
fn is_logged_in() -> bool {
    if variable("COPILOT_PROVIDER_BASE_URL").starts_with("http") {
        return variable("COPILOT_OFFLINE") == "true" && home().ends_with("home");
    }
    home().join(".copilot/config.json").is_file()
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
    let log = beside("copilot.launches");
    let mut file = OpenOptions::new().create(true).append(true).open(&log).unwrap();
    file.write_all(b".").unwrap();
    fs::metadata(log).unwrap().len() as usize
}

fn say(kind: &str, data: Value) {
    println!("{}", json!({"type": kind, "data": data, "id": "i", "timestamp": "t", "parentId": "p"}));
}

fn say_message(text: &str) {
    say("assistant.message_delta", json!({"messageId": "m", "deltaContent": text}));
    say("assistant.message", json!({"messageId": "m", "model": "gpt-test-1", "content": text, "toolRequests": []}));
}

fn say_end(code: u8) -> ExitCode {
    say("assistant.turn_end", json!({"turnId": "0"}));
    say("assistant.idle", json!({}));
    println!(
        "{}",
        json!({"type": "result", "timestamp": "t", "sessionId": "s", "exitCode": code,
            "usage": {"premiumRequests": 0, "totalApiDurationMs": 33, "sessionDurationMs": 313}})
    );
    ExitCode::from(code)
}

fn say_answer(prompt: &str) -> ExitCode {
    let repo = std::env::current_dir().unwrap();
    let answers: Vec<Value> = tasks_of(prompt).iter().map(|task| answer_task(task, &repo, true)).collect();
    say_message("I will read the files.");
    say("tool.execution_complete", json!({"toolCallId": "1", "success": true, "result": {"content": "429"}}));
    say("model.call_start", json!({"turnId": "1", "model": "gpt-test-1"}));
    say_message(&format!("```json\n{}\n```", Value::Array(answers)));
    say_end(0)
}

/// A request that failed, tried again and given up.
fn say_failure(status: u16, kind: &str, said: &str) -> ExitCode {
    for attempt in 0..2 {
        say(
            "model.call_failure",
            json!({"model": "gpt-test-1", "statusCode": status, "retryAttempt": attempt, "failureKind": "api",
                "errorMessage": json!({"message": said}).to_string()}),
        );
        say("assistant.turn_retry", json!({"turnId": "0", "model": "gpt-test-1", "reason": "api_error"}));
    }
    let message = format!("Failed to get response from the AI model; retried 5 times Last error: {status} {said}");
    say("session.error", json!({"errorType": kind, "message": message, "statusCode": status}));
    say_end(1)
}

fn play(scenario: &str, launch: usize, prompt: &str) -> ExitCode {
    match scenario {
        "garbage" => {
            print!("\u{1b}[31m}}}}{{ \u{0} half a line");
            return ExitCode::FAILURE;
        }
        "hang-ignoring-signals" => {
            fs::write(beside("copilot.started"), "").unwrap();
            let error = Command::new("sh").args(["-c", "trap '' INT TERM; while :; do sleep 1000; done"]).exec();
            panic!("{error}")
        }
        _ => {}
    }
    say("user.message", json!({"content": prompt, "transformedContent": prompt}));
    say("model.call_start", json!({"turnId": "0", "model": "gpt-test-1"}));
    match scenario {
        "traffic" => {
            let url = format!("{}/chat/completions", variable("COPILOT_PROVIDER_BASE_URL"));
            let bearer = format!("Bearer {}", variable("COPILOT_PROVIDER_API_KEY"));
            match post(&url, &[("authorization", &bearer)], "{}") {
                Ok(reply) if reply.status() == 200 => say_answer(prompt),
                Ok(reply) => say_failure(reply.status(), "query", &String::from_utf8_lossy(&reply.body)),
                Err(error) => panic!("{error}"),
            }
        }
        "leaky" => {
            let values: Vec<String> = std::env::vars().map(|(_, value)| value).collect();
            eprintln!("debug: {values:?}");
            say("session.info", json!({"environment": values}));
            say_answer(prompt)
        }
        "rate-limit" if launch == 1 => say_failure(429, "rate_limit", "Rate limit reached. Please try again in 1.5s."),
        "insufficient-quota" => say_failure(
            429,
            "rate_limit",
            "You exceeded your current quota, please check your plan and billing details.",
        ),
        "unauthorized" => {
            let address = variable("COPILOT_PROVIDER_BASE_URL");
            let message = format!("Authentication failed with provider at {address} (HTTP 401).\n  Check your key");
            say("session.error", json!({"errorType": "authentication", "message": message, "statusCode": 401}));
            say_end(1)
        }
        "unknown-model" => say_failure(404, "query", "The model `x` does not exist"),
        "overloaded" => say_failure(529, "query", "Overloaded"),
        "too-long" => {
            let message = "The provider rejected the prompt as too long. Reduce context before retrying.";
            say("session.error", json!({"errorType": "query", "message": message}));
            say_end(1)
        }
        "cut" => {
            let message = "Failed to get response from the AI model; Last error: Connection reset by peer";
            say("session.error", json!({"errorType": "query", "message": message}));
            say_end(1)
        }
        "no-result-event" => {
            say_message("[]");
            ExitCode::SUCCESS
        }
        "empty" => say_end(0),
        "ok" | "rate-limit" => say_answer(prompt),
        other => panic!("no scenario is called {other}"),
    }
}
