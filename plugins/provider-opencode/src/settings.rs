//! The program's settings for one launch, as the JSON text that it takes from a variable.

use assize_plugin_sdk::{LaunchRequest, Piece, extra_value};
use serde_json::{Map, Value, json};

use crate::access::Access;
use crate::config::{Config, Protocol};

/// Name of the provider in the program's settings. One that begins as a vendor's would get that vendor's habits, such as
/// trying again what was not found.
pub const PROVIDER: &str = "assize";

/// The text in pieces, since the host alone knows the gateway's address and token.
pub fn plan_settings(config: &Config, request: &LaunchRequest, access: Access, model: &str) -> Vec<Piece> {
    let mut settings = base_settings();
    if access == Access::User {
        return vec![Piece::Literal(Value::Object(settings).to_string())];
    }
    // Side requests go the same way, and nobody else is asked.
    settings.insert("small_model".to_owned(), json!(format!("{PROVIDER}/{model}")));
    settings.insert("enabled_providers".to_owned(), json!([PROVIDER]));
    let provider = provider(config, request, access, model);
    let (upstream, version) = config.upstream();
    let (base, key) = match access {
        Access::Gateway => (Piece::GatewayAddress, vec![literal("\",\"apiKey\":\""), Piece::GatewayToken]),
        Access::Key | Access::User => (literal(upstream), Vec::new()),
    };
    let begin = format!("{{\"provider\":{{\"{PROVIDER}\":{},\"options\":{{\"baseURL\":\"", without_end(&provider));
    let end = format!("\"}}}}}},{}", without_begin(&Value::Object(settings)));
    let mut pieces = vec![Piece::Literal(begin), base, Piece::Literal(format!("/{version}"))];
    pieces.extend(key);
    pieces.push(Piece::Literal(end));
    pieces
}

/// What every launch gets: tools that read, nothing that starts programs or leaves the machine. Of two rules the later one
/// counts, so the one for everything stands first.
fn base_settings() -> Map<String, Value> {
    let settings = json!({
        // What does not fit is told by the service; the program would shorten it by itself and lose the tasks.
        "compaction": {"auto": false, "prune": false},
        "permission": {
            "*": "deny",
            "read": "allow",
            "grep": "allow",
            "glob": "allow",
            "list": "allow",
            "bash": "deny",
            "edit": "deny",
            "webfetch": "deny",
            "websearch": "deny",
            "task": "deny",
            "external_directory": "deny",
            "doom_loop": "deny",
        },
        "autoupdate": false,
        "share": "disabled",
        "snapshot": false,
        "lsp": false,
        "formatter": false,
    });
    match settings {
        Value::Object(settings) => settings,
        _ => Map::new(),
    }
}

/// The provider without its options. Its key stands in a variable when no gateway holds it.
fn provider(config: &Config, request: &LaunchRequest, access: Access, model: &str) -> Value {
    let npm = match config.protocol {
        Protocol::Openai => "@ai-sdk/openai-compatible",
        Protocol::Anthropic => "@ai-sdk/anthropic",
    };
    let mut facts = json!({"name": model});
    let tokens = |name: &str| extra_value(&request.extra, name).and_then(|text| text.parse::<u64>().ok());
    if let (Some(context), Some(output)) = (tokens("context-tokens"), tokens("output-tokens")) {
        facts["limit"] = json!({"context": context, "output": output});
    }
    let mut provider = json!({"npm": npm, "name": PROVIDER, "models": {model: facts}});
    if access == Access::Key {
        provider["env"] = json!([config.secret()]);
    }
    provider
}

fn without_end(object: &Value) -> String {
    let text = object.to_string();
    text.strip_suffix('}').unwrap_or(&text).to_owned()
}

fn without_begin(object: &Value) -> String {
    let text = object.to_string();
    text.strip_prefix('{').unwrap_or(&text).to_owned()
}

fn literal(text: &str) -> Piece {
    Piece::Literal(text.to_owned())
}
