//! The program that one launch runs.

use assize_plugin_sdk::{LaunchRequest, Piece, RunProgram, Stdin, Value};

use crate::config::{Config, Login};

/// Bytes kept of each output: the answer stands at the end, so that head and tail suffice.
const OUTPUT_CAP: u64 = 16 * 1024 * 1024;

/// Switches of the program's environment. Retries belong to the dispatcher, and nothing but the review leaves the machine.
const SWITCHES: [(&str, &str); 5] = [
    ("CLAUDE_CODE_MAX_RETRIES", "0"),
    ("DISABLE_TELEMETRY", "1"),
    ("DISABLE_AUTOUPDATER", "1"),
    ("DISABLE_ERROR_REPORTING", "1"),
    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
];

/// Where the program goes, and credentials that prove it.
const BASE_URL: &str = "ANTHROPIC_BASE_URL";
const CREDENTIALS: [&str; 2] = ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"];

/// The program of a launch. The prompt goes to its standard input, because one argument may not exceed 128 KiB and
/// arguments are seen by every user of the machine.
pub fn plan_program(config: &Config, request: &LaunchRequest) -> RunProgram {
    let home = match config.login {
        Login::Key => "launch",
        Login::User => "user",
    };
    RunProgram {
        program: config.program.clone(),
        args: plan_args(config, request).into_iter().map(|arg| vec![Piece::Literal(arg)]).collect(),
        env: plan_env(config.login),
        files: Vec::new(),
        stdin: Stdin::Prompt,
        cwd: "repo".to_owned(),
        home: home.to_owned(),
        output_cap: OUTPUT_CAP,
        timeout_ms: config.timeout_ms.map_or(request.timeout_ms, |ms| ms.min(request.timeout_ms)),
        gateway: None,
        extra: Vec::new(),
    }
}

fn plan_args(config: &Config, request: &LaunchRequest) -> Vec<String> {
    let mut args: Vec<String> =
        ["-p", "--output-format", "stream-json", "--verbose", "--tools"].map(str::to_owned).into();
    args.push(config.tools.join(","));
    // The repository is untrusted: its own settings may name hooks, which are programs, so only the user's are read.
    args.extend(["--strict-mcp-config", "--no-session-persistence", "--setting-sources", "user"].map(str::to_owned));
    let model = request.model.as_ref().or(config.model.as_ref());
    let options = [
        ("--model", model.cloned()),
        ("--max-turns", config.max_turns.map(|turns| turns.to_string())),
        ("--max-budget-usd", config.max_budget_usd.map(|usd| usd.to_string())),
    ];
    for (name, value) in options {
        if let Some(value) = value {
            args.extend([name.to_owned(), value]);
        }
    }
    args.extend(config.extra_args.iter().cloned());
    args
}

/// A key in the environment would win over the user's own login, so with `user` no credential is passed on.
fn plan_env(login: Login) -> Vec<(String, Value)> {
    let mut env: Vec<(String, Value)> =
        SWITCHES.iter().map(|(name, value)| ((*name).to_owned(), Value::literal(*value))).collect();
    if login == Login::Key {
        env.extend(CREDENTIALS.iter().map(|name| ((*name).to_owned(), Value::Inherit)));
    }
    env.push((BASE_URL.to_owned(), Value::Inherit));
    env
}
