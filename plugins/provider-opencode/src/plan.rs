//! The program that one launch runs.

use assize_plugin_sdk::{Gateway, LaunchRequest, Piece, RunProgram, Stdin, Value};

use crate::access::Access;
use crate::config::{Config, Login, Protocol};
use crate::models::read_models;
use crate::settings::{PROVIDER, plan_settings};

/// Bytes kept of each output: the answer stands at the end, so that head and tail suffice.
const OUTPUT_CAP: u64 = 16 * 1024 * 1024;

/// Switches of the program's environment. Nothing but the review leaves the machine, and what a repository says to agents
/// is not obeyed.
const SWITCHES: [&str; 6] = [
    "OPENCODE_DISABLE_AUTOUPDATE",
    "OPENCODE_DISABLE_MODELS_FETCH",
    "OPENCODE_DISABLE_LSP_DOWNLOAD",
    "OPENCODE_DISABLE_DEFAULT_PLUGINS",
    "OPENCODE_DISABLE_PROJECT_CONFIG",
    "OPENCODE_DISABLE_CLAUDE_CODE",
];

/// The program of a launch. The prompt goes to its standard input, because one argument may not exceed 128 KiB and
/// arguments are seen by every user of the machine.
pub fn plan_program(config: &Config, request: &LaunchRequest, access: Access) -> RunProgram {
    let home = match config.login {
        Login::Key => "launch",
        Login::User => "user",
    };
    let model = plan_model(config, request);
    RunProgram {
        program: config.program.clone(),
        args: plan_args(config, model.as_deref()).into_iter().map(|arg| vec![Piece::Literal(arg)]).collect(),
        env: plan_env(config, request, access, model.as_deref().unwrap_or_default()),
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

/// The model that is asked; none when the user's own settings choose.
pub fn plan_model(config: &Config, request: &LaunchRequest) -> Option<String> {
    let named = request.model.clone().or_else(|| config.model.clone());
    match config.login {
        Login::User => named,
        Login::Key => named.or_else(|| Some(read_models().defaults.of(config.protocol).to_owned())),
    }
}

/// A title spares the request to a model that would invent one.
fn plan_args(config: &Config, model: Option<&str>) -> Vec<String> {
    let mut args: Vec<String> = ["run", "--format", "json", "--title", "review"].map(str::to_owned).into();
    if let Some(model) = model {
        let name = match config.login {
            Login::Key => format!("{PROVIDER}/{model}"),
            Login::User => model.to_owned(),
        };
        args.extend(["-m".to_owned(), name]);
    }
    args.extend(config.extra_args.iter().cloned());
    args
}

fn plan_env(config: &Config, request: &LaunchRequest, access: Access, model: &str) -> Vec<(String, Value)> {
    let mut env: Vec<(String, Value)> = SWITCHES.iter().map(|name| ((*name).to_owned(), Value::literal("1"))).collect();
    let settings = plan_settings(config, request, access, model);
    env.push(("OPENCODE_CONFIG_CONTENT".to_owned(), Value::Text(settings)));
    if access == Access::Key {
        env.push((config.secret().to_owned(), Value::Secret(config.secret().to_owned())));
    }
    env
}

fn plan_gateway(config: &Config, access: Access) -> Option<Gateway> {
    let header = match config.protocol {
        Protocol::Openai => [("secret-header", "authorization"), ("secret-prefix", "Bearer ")],
        Protocol::Anthropic => [("secret-header", "x-api-key"), ("secret-prefix", "")],
    };
    (access == Access::Gateway).then(|| Gateway {
        upstream: config.upstream().0.to_owned(),
        secret: Some(config.secret().to_owned()),
        extra: header.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
    })
}
