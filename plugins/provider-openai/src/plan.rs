//! The request that is sent.

use assize_plugin_sdk::{LaunchRequest, ModelFacts, SendRequest, Value as Source, extra_value};
use serde_json::{Value, json};

use crate::chat::render_chat;
use crate::config::{AUTHORIZATION, Api, Config, Format};
use crate::endpoint::render_url;
use crate::features::Features;
use crate::responses::render_responses;

/// Everything that a request says.
#[derive(Clone, Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) features: Features,
    pub(crate) model: &'a str,
    /// What stands beside the prompt, in a message of its own where the service knows one.
    pub(crate) rules: &'a str,
    pub(crate) prompt: &'a str,
    /// Schema of an object that holds the results.
    pub(crate) schema: &'a Value,
    /// What was said since, in the API's own form.
    pub(crate) turns: &'a [Value],
    pub(crate) max_output_tokens: Option<u64>,
    pub(crate) reasoning_effort: Option<&'a str>,
    /// Whether nothing more may be read.
    pub(crate) must_answer: bool,
}

/// The effect of a request. The key is put in by the host; here it is only named.
pub(crate) fn plan_request(config: &Config, ask: &Ask<'_>, timeout_ms: u64) -> SendRequest {
    let (end, body) = match config.api() {
        Api::Chat => ("/chat/completions", render_chat(ask)),
        Api::Responses => ("/responses", render_responses(ask)),
    };
    let accept = if ask.features.stream { "text/event-stream" } else { "application/json" };
    let mut headers = vec![
        ("content-type".to_owned(), Source::literal("application/json")),
        ("accept".to_owned(), Source::literal(accept)),
    ];
    if let Some(secret) = config.secret() {
        let value = if config.api_key_header == AUTHORIZATION {
            Source::PrefixedSecret("Bearer ".to_owned(), secret.to_owned())
        } else {
            Source::Secret(secret.to_owned())
        };
        headers.push((config.api_key_header.clone(), value));
    }
    headers.extend(config.headers.iter().map(|(name, value)| (name.clone(), Source::literal(value.clone()))));
    SendRequest {
        method: "POST".to_owned(),
        url: render_url(&config.base_url, end, &config.query),
        headers,
        body: body.to_string().into_bytes(),
        timeout_ms,
        event_stream: ask.features.stream,
        extra: Vec::new(),
    }
}

/// What is said beside the prompt: the form of the answer where the service is held to one, which is always an object,
/// and what can be read.
pub(crate) fn render_rules(features: Features) -> String {
    let mut rules = String::from("You are a reviewer of source code. Follow the instructions of the first message.");
    if features.format != Format::Plain {
        rules.push_str(
            " Answer with one JSON object that has the single member \"results\": the array that the instructions ask for.",
        );
    }
    if features.tools {
        rules.push_str(" Lines that are not shown can be read with the tool read_file; use it only where a finding depends on them.");
    }
    rules
}

/// The schema of the results inside an object, because services take no other root. Definitions move to the new root,
/// so that what refers to them still does.
pub(crate) fn wrap_schema(results_schema: &str) -> Value {
    let mut results: Value = serde_json::from_str(results_schema).unwrap_or(Value::Null);
    if !results.is_object() {
        results = json!({"type": "array"});
    }
    let mut wrapped =
        json!({"type": "object", "properties": {}, "required": ["results"], "additionalProperties": false});
    if let Value::Object(members) = &mut results {
        members.remove("$schema");
        for key in ["$defs", "definitions"] {
            if let Some(definitions) = members.remove(key) {
                wrapped[key] = definitions;
            }
        }
    }
    wrapped["properties"]["results"] = results;
    wrapped
}

/// Tokens that an answer may have: the user's word, the host's, what is known of the model, or the service's own.
pub(crate) fn choose_output_tokens(
    config: &Config,
    request: &LaunchRequest,
    facts: Option<&ModelFacts>,
) -> Option<u64> {
    let told = || extra_value(&request.extra, "output-tokens").and_then(|tokens| tokens.parse().ok());
    let known = || facts.and_then(|facts| facts.output_tokens);
    config.max_output_tokens.or_else(told).or_else(known).filter(|tokens| *tokens > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrapped_schema_keeps_what_its_references_point_to() {
        let schema = r##"{"$schema":"x","type":"array","items":{"$ref":"#/$defs/r"},"$defs":{"r":{"type":"object"}}}"##;
        let wrapped = wrap_schema(schema);
        assert_eq!(wrapped["$defs"]["r"]["type"], "object");
        assert_eq!(wrapped["properties"]["results"], json!({"type": "array", "items": {"$ref": "#/$defs/r"}}));
        assert_eq!(wrap_schema("no schema")["properties"]["results"], json!({"type": "array"}));
    }

    #[test]
    fn the_user_s_word_on_length_comes_before_the_host_s_and_the_table_s() {
        let facts = ModelFacts { output_tokens: Some(3), ..ModelFacts::default() };
        let told = LaunchRequest { extra: vec![("output-tokens".into(), "2".into())], ..LaunchRequest::default() };
        let odd = LaunchRequest { extra: vec![("output-tokens".into(), "many".into())], ..LaunchRequest::default() };
        let own = Config { max_output_tokens: Some(1), ..Config::default() };
        assert_eq!(choose_output_tokens(&own, &told, Some(&facts)), Some(1));
        assert_eq!(choose_output_tokens(&Config::default(), &told, Some(&facts)), Some(2));
        assert_eq!(choose_output_tokens(&Config::default(), &odd, Some(&facts)), Some(3));
        assert_eq!(choose_output_tokens(&Config::default(), &odd, None), None);
    }
}
