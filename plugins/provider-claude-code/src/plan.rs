//! The program that one launch runs.

use assize_plugin_sdk::{Gateway, LaunchRequest, Piece, RunProgram, Stdin, Value};

use crate::access::Access;
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
const API_KEY: &str = "ANTHROPIC_API_KEY";
const OAUTH_TOKEN: &str = "CLAUDE_CODE_OAUTH_TOKEN";
/// Where the requests go unless the user says otherwise.
const UPSTREAM: &str = "https://api.anthropic.com";

/// The program of a launch. The prompt goes to its standard input, because one argument may not exceed 128 KiB and
/// arguments are seen by every user of the machine.
pub fn plan_program(config: &Config, request: &LaunchRequest, access: Access) -> RunProgram {
    let home = match config.login {
        Login::Key => "launch",
        Login::User => "user",
    };
    RunProgram {
        program: config.program.clone(),
        args: plan_args(config, request).into_iter().map(|arg| vec![Piece::Literal(arg)]).collect(),
        env: plan_env(config, access),
        files: Vec::new(),
        stdin: Stdin::Prompt,
        cwd: "repo".to_owned(),
        home: home.to_owned(),
        output_cap: OUTPUT_CAP,
        timeout_ms: config.timeout_ms.map_or(request.timeout_ms, |ms| ms.min(request.timeout_ms)),
        gateway: plan_gateway(config, access),
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

/// A key in the environment would win over the user's own login and over a subscription's token, so each way of access
/// gets the one credential that belongs to it.
fn plan_env(config: &Config, access: Access) -> Vec<(String, Value)> {
    let mut env: Vec<(String, Value)> =
        SWITCHES.iter().map(|(name, value)| ((*name).to_owned(), Value::literal(*value))).collect();
    let base_url = match (access, &config.base_url) {
        (Access::GatewayKey | Access::GatewayOwn, _) => Value::Text(vec![Piece::GatewayAddress]),
        (Access::Direct, Some(url)) => Value::literal(url.as_str()),
        (Access::Direct, None) => Value::Inherit,
    };
    env.push((BASE_URL.to_owned(), base_url));
    match (config.login, access) {
        (Login::User, _) => {}
        (Login::Key, Access::GatewayKey) => {
            env.push((API_KEY.to_owned(), Value::Text(vec![Piece::GatewayToken])));
        }
        (Login::Key, Access::GatewayOwn) => env.push((OAUTH_TOKEN.to_owned(), Value::Inherit)),
        (Login::Key, Access::Direct) => {
            env.extend([API_KEY, OAUTH_TOKEN].map(|name| (name.to_owned(), Value::Inherit)));
        }
    }
    env
}

/// The service's own header carries the key bare. Whoever moved the service by its variable finds it where it was moved,
/// unless the configuration names the place.
fn plan_gateway(config: &Config, access: Access) -> Option<Gateway> {
    if access == Access::Direct {
        return None;
    }
    let named = config.base_url.is_some();
    let mut extra = vec![("secret-header", "x-api-key"), ("secret-prefix", "")];
    if !named {
        extra.push(("upstream-variable", BASE_URL));
    }
    Some(Gateway {
        upstream: config.base_url.clone().unwrap_or_else(|| UPSTREAM.to_owned()),
        secret: (access == Access::GatewayKey).then(|| API_KEY.to_owned()),
        extra: extra.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
    })
}
