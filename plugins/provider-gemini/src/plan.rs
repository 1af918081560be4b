//! The program that one launch runs.

use assize_plugin_sdk::{Gateway, LaunchRequest, Piece, PlacedFile, RunProgram, Stdin, Value};
use serde_json::json;

use crate::cli::Cli;
use crate::config::{Config, Login};
use crate::models::default_model;

/// Bytes kept of each output: the answer stands at the end, so that head and tail suffice.
const OUTPUT_CAP: u64 = 16 * 1024 * 1024;

/// What follows the prompt in what the program is told. The prompt itself goes to its standard input, because one
/// argument may not exceed 128 KiB and arguments are seen by every user of the machine.
const CLOSING_WORDS: &str = "Do what the text above asks, and answer as it says.";

/// Where Gemini CLI reads its settings in the launch's home. A file that its variable for a system's settings names is
/// read only when root owns it and every folder above it.
const SETTINGS: &str = "home/.gemini/settings.json";
/// Length of the context file's name, longer than a file system takes: no file of the repository gives orders to the
/// reviewer.
const NO_CONTEXT_FILE_CHARS: usize = 300;

/// Tools that write, run programs or leave the machine.
const GEMINI_REFUSED_TOOLS: [&str; 6] =
    ["run_shell_command", "write_file", "replace", "save_memory", "web_fetch", "google_web_search"];
const QWEN_REFUSED_TOOLS: [&str; 4] = ["run_shell_command", "edit", "notebook_edit", "write_file"];

/// Time that is left to the program to end by itself, before the host ends it.
const FAREWELL_MS: u64 = 5_000;

/// Variables of Gemini CLI that say where a login is sent, or that it may be sent to anyone.
const PINNED: [(&str, &str); 4] = [
    ("CODE_ASSIST_ENDPOINT", ""),
    ("GOOGLE_GEMINI_BASE_URL", ""),
    ("GOOGLE_VERTEX_BASE_URL", ""),
    ("NODE_TLS_REJECT_UNAUTHORIZED", "1"),
];

/// Where the key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// A secret of this name.
    Secret(String),
    /// Nowhere: the service wants none.
    Keyless,
    /// The user's own login.
    UserLogin,
}

/// How the program reaches its service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Where the key comes from.
    pub key: Key,
    /// Whether requests go through the gateway.
    pub gateway: bool,
}

/// The model that is asked: the lane's, else the configured one, else the usual one.
pub fn choose_model(cli: Cli, config: &Config, request: &LaunchRequest) -> String {
    request.model.clone().or_else(|| config.model.clone()).unwrap_or_else(|| default_model(cli))
}

/// The program of a launch.
pub fn plan_program(cli: Cli, config: &Config, request: &LaunchRequest, route: &Route) -> RunProgram {
    let timeout_ms = config.timeout_ms.map_or(request.timeout_ms, |ms| ms.min(request.timeout_ms));
    let mut args = match cli {
        Cli::Gemini => plan_gemini_args(),
        Cli::Qwen => plan_qwen_args(config, timeout_ms),
    };
    args.extend(["-m".to_owned(), choose_model(cli, config, request)]);
    args.extend(config.extra_args.iter().cloned());
    args.extend(["-p".to_owned(), CLOSING_WORDS.to_owned()]);
    RunProgram {
        program: config.program.clone().unwrap_or_else(|| cli.name().to_owned()),
        args: args.into_iter().map(|arg| vec![Piece::Literal(arg)]).collect(),
        env: [plan_switches(cli), plan_access(cli, config, route)].concat(),
        files: match (cli, config.login) {
            (Cli::Gemini, Login::Key) => vec![plan_settings(config)],
            // The user's home keeps the user's settings, and Qwen Code reads none.
            _ => Vec::new(),
        },
        stdin: Stdin::Prompt,
        cwd: "repo".to_owned(),
        home: if config.login == Login::User { "user" } else { "launch" }.to_owned(),
        output_cap: OUTPUT_CAP,
        timeout_ms,
        gateway: plan_gateway(cli, config, route),
        extra: Vec::new(),
    }
}

fn plan_gemini_args() -> Vec<String> {
    // Without extensions: they bring tools, and programs that serve them.
    ["-o", "stream-json", "--approval-mode", "default", "-e", "none"].map(str::to_owned).to_vec()
}

/// Qwen Code reads no settings and no `.env` with `--bare`, and makes no requests for its memory.
fn plan_qwen_args(config: &Config, timeout_ms: u64) -> Vec<String> {
    let mut args = ["--auth-type", "openai", "--bare"].map(str::to_owned).to_vec();
    args.extend(["-o", "stream-json", "--approval-mode", "plan", "--exclude-tools"].map(str::to_owned));
    args.extend(QWEN_REFUSED_TOOLS.map(str::to_owned));
    // It cannot be kept from retrying for most of an hour. Its own limit ends it with a word, the host's would not.
    let wall_s = (timeout_ms.saturating_sub(FAREWELL_MS) / 1000).max(1);
    args.extend(["--max-wall-time".to_owned(), format!("{wall_s}s")]);
    if let Some(turns) = config.max_turns {
        args.extend(["--max-session-turns".to_owned(), turns.to_string()]);
    }
    args
}

fn plan_switches(cli: Cli) -> Vec<(String, Value)> {
    let named = |name: &str, value: &str| (name.to_owned(), Value::literal(value));
    match cli {
        // A second process would ignore the signals that end the first.
        Cli::Gemini => vec![
            named("GEMINI_CLI_NO_RELAUNCH", "true"),
            named("GEMINI_CLI_TRUST_WORKSPACE", "true"),
            named("GEMINI_TELEMETRY_ENABLED", "false"),
        ],
        Cli::Qwen => vec![named("QWEN_CODE_NO_RELAUNCH", "true"), named("QWEN_TELEMETRY_ENABLED", "false")],
    }
}

/// Retries belong to the dispatcher, and nothing but the review leaves the machine: a repository's `.env` could name a
/// proxy. The kind of login has to be said, because with an address of its own the program would take it for a kind that
/// it then refuses.
fn plan_settings(config: &Config) -> PlacedFile {
    let mut settings = json!({
        "general": {"maxAttempts": 1, "enableAutoUpdate": false, "enableAutoUpdateNotification": false},
        "privacy": {"usageStatisticsEnabled": false},
        "context": {"fileName": "none-".repeat(NO_CONTEXT_FILE_CHARS / 5)},
        "tools": {"exclude": GEMINI_REFUSED_TOOLS},
        "hooksConfig": {"enabled": false},
        "advanced": {"ignoreLocalEnv": true},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
    });
    if let Some(turns) = config.max_turns {
        settings["model"] = json!({"maxSessionTurns": turns});
    }
    PlacedFile { name: SETTINGS.to_owned(), content: settings.to_string().into_bytes() }
}

/// Address and key. The user's own login has both, and variables that are there keep a repository's `.env` from sending
/// it elsewhere.
fn plan_access(cli: Cli, config: &Config, route: &Route) -> Vec<(String, Value)> {
    let key = match &route.key {
        Key::UserLogin => return PINNED.map(|(name, value)| (name.to_owned(), Value::literal(value))).to_vec(),
        // The program does not start without one.
        Key::Keyless => Value::literal("none"),
        Key::Secret(_) if route.gateway => Value::Text(vec![Piece::GatewayToken]),
        Key::Secret(secret) => Value::Secret(secret.clone()),
    };
    let (_, suffix) = split_address(cli, config);
    let address = match (route.gateway, &config.base_url, cli) {
        (true, _, Cli::Gemini) => Value::Text(vec![Piece::GatewayAddress]),
        (true, _, Cli::Qwen) => Value::Text(vec![Piece::GatewayAddress, Piece::Literal(suffix)]),
        (false, Some(url), _) => Value::literal(url.clone()),
        (false, None, Cli::Gemini) => Value::Inherit,
        (false, None, Cli::Qwen) => Value::literal(cli.upstream()),
    };
    vec![(cli.address_variable().to_owned(), address), (cli.key_variable().to_owned(), key)]
}

fn plan_gateway(cli: Cli, config: &Config, route: &Route) -> Option<Gateway> {
    let secret = match &route.key {
        Key::UserLogin => return None,
        Key::Keyless => None,
        Key::Secret(secret) => Some(secret.clone()),
    };
    let (header, prefix) = match cli {
        Cli::Gemini => ("x-goog-api-key", ""),
        Cli::Qwen => ("authorization", "Bearer "),
    };
    let mut extra = vec![("secret-header", header), ("secret-prefix", prefix)];
    // What the configuration says comes before the environment. An address of Qwen Code ends in a version that the
    // gateway has to know, and one of another service would be sent the key of the usual one.
    if cli == Cli::Gemini && config.base_url.is_none() {
        extra.push(("upstream-variable", cli.address_variable()));
    }
    route.gateway.then(|| Gateway {
        upstream: split_address(cli, config).0,
        secret,
        extra: extra.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
    })
}

/// The upstream, and what the program's address has after the gateway's. Qwen Code wants the version, such as `/v1`, in
/// its address; the gateway mirrors paths, so that the version is taken off the upstream.
fn split_address(cli: Cli, config: &Config) -> (String, String) {
    let url = config.base_url.as_deref().unwrap_or(cli.upstream()).trim_end_matches('/');
    if cli == Cli::Gemini {
        return (url.to_owned(), String::new());
    }
    match url.rsplit_once('/') {
        Some((upstream, last)) if is_version(last) => (upstream.to_owned(), format!("/{last}")),
        _ => (url.to_owned(), "/v1".to_owned()),
    }
}

fn is_version(part: &str) -> bool {
    part.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}
