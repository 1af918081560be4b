//! The program that one launch runs.

use assize_plugin_sdk::{Gateway, LaunchRequest, Piece, RunProgram, Stdin, Value, extra_value};

use crate::config::{Config, Login, Protocol, WireApi};
use crate::models::default_model;

/// Bytes kept of each output: the answer stands near the end, so that head and tail suffice.
const OUTPUT_CAP: u64 = 16 * 1024 * 1024;

/// The program only reads, says what it does in lines of JSON, and obeys neither the repository nor a question.
const FIXED_ARGS: [&str; 12] = [
    "--output-format",
    "json",
    "--available-tools",
    "view",
    "grep",
    "glob",
    "--no-custom-instructions",
    "--disable-builtin-mcps",
    "--disable-client-telemetry",
    "--no-auto-update",
    "--no-color",
    "--no-ask-user",
];

/// Where the key comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// The configured secret.
    Secret,
    /// Nowhere: the service wants none.
    Keyless,
    /// The user's GitHub login.
    UserLogin,
}

/// How the program reaches its service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// Where the key comes from.
    pub key: Key,
    /// Whether requests go through the gateway.
    pub gateway: bool,
}

/// The model that is asked: the lane's, else the configured one, else the usual one of a usual service. GitHub chooses
/// for its own users.
pub fn choose_model(config: &Config, request: &LaunchRequest) -> Option<String> {
    let is_usual = config.login == Login::Key && config.base_url.is_none();
    let usual = || if is_usual { default_model(config.protocol) } else { None };
    request.model.clone().or_else(|| config.model.clone()).or_else(usual)
}

/// The program of a launch. The prompt goes to its standard input, because one argument may not exceed 128 KiB and
/// arguments are seen by every user of the machine; with a prompt in the arguments the input would be ignored.
pub fn plan_program(config: &Config, request: &LaunchRequest, route: Route) -> RunProgram {
    let mut args = FIXED_ARGS.map(str::to_owned).to_vec();
    if let Some(model) = choose_model(config, request) {
        args.extend(["--model".to_owned(), model]);
    }
    args.extend(config.extra_args.iter().cloned());
    RunProgram {
        program: config.program.clone(),
        args: args.into_iter().map(|arg| vec![Piece::Literal(arg)]).collect(),
        env: plan_env(config, request, route),
        files: Vec::new(),
        stdin: Stdin::Prompt,
        cwd: "repo".to_owned(),
        home: if route.key == Key::UserLogin { "user" } else { "launch" }.to_owned(),
        output_cap: OUTPUT_CAP,
        timeout_ms: config.timeout_ms.map_or(request.timeout_ms, |ms| ms.min(request.timeout_ms)),
        gateway: plan_gateway(config, route),
        extra: Vec::new(),
    }
}

fn plan_env(config: &Config, request: &LaunchRequest, route: Route) -> Vec<(String, Value)> {
    let named = |name: &str, value: Value| (name.to_owned(), value);
    if route.key == Key::UserLogin {
        return vec![named("COPILOT_GITHUB_TOKEN", Value::Inherit)];
    }
    let (_, suffix) = split_address(config);
    let address = match (route.gateway, suffix.is_empty()) {
        (true, true) => Value::Text(vec![Piece::GatewayAddress]),
        (true, false) => Value::Text(vec![Piece::GatewayAddress, Piece::Literal(suffix)]),
        (false, _) => Value::literal(config.address()),
    };
    // Offline means that nothing but the named service is spoken to.
    let mut env = vec![
        named("COPILOT_OFFLINE", Value::literal("true")),
        named("COPILOT_PROVIDER_TYPE", Value::literal(config.protocol.word())),
        named("COPILOT_PROVIDER_BASE_URL", address),
    ];
    match (route.key, route.gateway) {
        (Key::Secret, true) => env.push(named("COPILOT_PROVIDER_API_KEY", Value::Text(vec![Piece::GatewayToken]))),
        (Key::Secret, false) => {
            env.push(named("COPILOT_PROVIDER_API_KEY", Value::Secret(config.secret().to_owned())));
        }
        _ => {}
    }
    if config.protocol != Protocol::Anthropic {
        let word = match config.wire_api {
            WireApi::Completions => "completions",
            WireApi::Responses => "responses",
        };
        env.push(named("COPILOT_PROVIDER_WIRE_API", Value::literal(word)));
    }
    env.extend(plan_sizes(request).map(|(name, tokens)| named(name, Value::literal(tokens.to_string()))));
    env
}

/// What the host knows of the model's size: without it the program takes a model that it does not know for a small one.
fn plan_sizes(request: &LaunchRequest) -> impl Iterator<Item = (&'static str, u64)> {
    let tokens = |name: &str| extra_value(&request.extra, name).and_then(|text| text.parse::<u64>().ok());
    let output = tokens("output-tokens").filter(|tokens| *tokens > 0);
    let context = tokens("context-tokens").map(|whole| whole.saturating_sub(output.unwrap_or(0)));
    [
        context.filter(|tokens| *tokens > 0).map(|tokens| ("COPILOT_PROVIDER_MAX_PROMPT_TOKENS", tokens)),
        output.map(|tokens| ("COPILOT_PROVIDER_MAX_OUTPUT_TOKENS", tokens)),
    ]
    .into_iter()
    .flatten()
}

fn plan_gateway(config: &Config, route: Route) -> Option<Gateway> {
    let (header, prefix) = match config.protocol {
        Protocol::Openai => ("authorization", "Bearer "),
        Protocol::Anthropic => ("x-api-key", ""),
        Protocol::Azure => ("api-key", ""),
    };
    let extra = [("secret-header", header), ("secret-prefix", prefix)];
    route.gateway.then(|| Gateway {
        upstream: split_address(config).0,
        secret: (route.key == Key::Secret).then(|| config.secret().to_owned()),
        extra: extra.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
    })
}

/// The upstream, and what the program's address has after the gateway's. Only with OpenAI's protocol the program wants
/// the version, such as `/v1`, in its address; the gateway mirrors paths, so that the version is taken off the upstream.
fn split_address(config: &Config) -> (String, String) {
    let url = config.address();
    match url.rsplit_once('/') {
        _ if config.protocol != Protocol::Openai => (url.to_owned(), String::new()),
        Some((upstream, last)) if is_version(last) => (upstream.to_owned(), format!("/{last}")),
        _ => (url.to_owned(), "/v1".to_owned()),
    }
}

fn is_version(part: &str) -> bool {
    part.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}
