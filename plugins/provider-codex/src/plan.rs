//! The program that one launch runs.

use assize_plugin_sdk::{Gateway, LaunchRequest, Piece, RunProgram, Stdin, Value};

use crate::access::Access;
use crate::config::{Config, Login};

/// Bytes kept of each output: the answer stands at the end, so that head and tail suffice.
const OUTPUT_CAP: u64 = 16 * 1024 * 1024;
/// Variable that carries the gateway's token. It has a name of its own, so that no habit of the program takes it for a
/// key of some service.
const TOKEN_VARIABLE: &str = "ASSIZE_GATEWAY_TOKEN";
/// Name of the provider table. The built-in provider cannot be told to leave retries to the dispatcher.
const PROVIDER: &str = "assize";
/// Silence after which the program gives up a stream, in milliseconds: long enough for a model that thinks.
const IDLE_MS: u32 = 300_000;

/// Settings of every launch. Nothing but the review leaves the machine, one agent does it, and what a repository says to
/// agents is not obeyed. A version that does not know one of them warns and goes on.
const SETTINGS: [&str; 8] = [
    "project_doc_max_bytes=0",
    "web_search=\"disabled\"",
    "features.plugins=false",
    "features.multi_agent=false",
    "features.goals=false",
    "analytics.enabled=false",
    "check_for_update_on_startup=false",
    "history.persistence=\"none\"",
];

/// The program of a launch. The prompt goes to its standard input, because one argument may not exceed 128 KiB and
/// arguments are seen by every user of the machine.
pub fn plan_program(config: &Config, request: &LaunchRequest, access: Access) -> RunProgram {
    let home = match config.login {
        Login::Key => "launch",
        Login::User => "user",
    };
    RunProgram {
        program: config.program.clone(),
        args: plan_args(config, request, access),
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

/// The user's configuration may name servers and hooks, which are programs, so it is not read; a login is found without it.
fn plan_args(config: &Config, request: &LaunchRequest, access: Access) -> Vec<Vec<Piece>> {
    let mut args: Vec<Vec<Piece>> = [
        "exec",
        "--json",
        "-s",
        "read-only",
        "--skip-git-repo-check",
        "--ephemeral",
        "--ignore-user-config",
        "--ignore-rules",
    ]
    .map(literal)
    .into();
    let mut set = |pieces: Vec<Piece>| args.extend([literal("-c"), pieces]);
    for setting in SETTINGS {
        set(literal(setting));
    }
    if let Some(effort) = config.reasoning_effort {
        set(literal(&format!("model_reasoning_effort=\"{}\"", effort.word())));
    }
    match access {
        Access::User => {
            if let Some(store) = config.credential_store {
                set(literal(&format!("cli_auth_credentials_store=\"{}\"", store.word())));
            }
        }
        Access::Gateway | Access::Key => {
            set(literal(&format!("model_provider=\"{PROVIDER}\"")));
            set(plan_provider(config, access));
        }
    }
    if let Some(model) = request.model.as_ref().or(config.model.as_ref()) {
        args.extend([literal("-m"), literal(model)]);
    }
    args.extend(config.extra_args.iter().map(|arg| literal(arg)));
    args.push(literal("-"));
    args
}

/// The provider table as an inline table. The key's variable is named in it, the key itself stands in the variable alone.
fn plan_provider(config: &Config, access: Access) -> Vec<Piece> {
    let (upstream, version) = config.upstream();
    let (base, variable) = match access {
        Access::Gateway => (Piece::GatewayAddress, TOKEN_VARIABLE),
        Access::Key | Access::User => (Piece::Literal(upstream.to_owned()), config.secret.as_str()),
    };
    vec![
        Piece::Literal(format!("model_providers.{PROVIDER}={{name=\"{PROVIDER}\",base_url=\"")),
        base,
        Piece::Literal(format!(
            "/{version}\",env_key=\"{variable}\",wire_api=\"responses\",request_max_retries=0,stream_max_retries=0,\
             stream_idle_timeout_ms={IDLE_MS}}}"
        )),
    ]
}

/// Without a gateway the program's own trace of responses is the only place where the limits can be read.
fn plan_env(config: &Config, access: Access) -> Vec<(String, Value)> {
    let trace = || ("RUST_LOG".to_owned(), Value::literal("off,codex_http_client::client=debug"));
    match access {
        Access::Gateway => vec![(TOKEN_VARIABLE.to_owned(), Value::Text(vec![Piece::GatewayToken]))],
        Access::Key => vec![trace(), (config.secret.clone(), Value::Secret(config.secret.clone()))],
        Access::User => vec![trace(), ("CODEX_HOME".to_owned(), Value::Inherit)],
    }
}

fn plan_gateway(config: &Config, access: Access) -> Option<Gateway> {
    (access == Access::Gateway).then(|| Gateway {
        upstream: config.upstream().0.to_owned(),
        secret: Some(config.secret.clone()),
        extra: [("secret-header", "authorization"), ("secret-prefix", "Bearer ")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec(),
    })
}

fn literal(text: &str) -> Vec<Piece> {
    vec![Piece::Literal(text.to_owned())]
}
