//! The service as a dialogue sees it.

use assize_plugin_sdk::dialogue::{Brief, ModelApi, Refusal, Reply, Round, Settings};
use assize_plugin_sdk::{
    Description, LaunchRequest, PluginError, Request, Responded, SendRequest, Service, Value, extra_value,
    find_model_facts,
};

use crate::body::{Features, render_body};
use crate::config::{CONFIG_SCHEMA, Config};
use crate::reply::read_message;

/// Facts of models that age. What the user configures for a model comes before them.
const MODELS: &str = include_str!("../models.json");
/// Version of the protocol that requests and answers are written in.
const PROTOCOL: &str = "2023-06-01";
/// Silence after which a stream is given up. The service sends pings every few seconds while a model thinks.
const IDLE_MS: u64 = 120_000;
/// Tokens of an answer when neither the configuration, the host nor the facts name any.
const OUTPUT_TOKENS: u64 = 8_192;

/// The Messages API.
pub struct AnthropicApi {
    config: Config,
    settings: Settings,
    features: Features,
    output_tokens: u64,
}

impl ModelApi for AnthropicApi {
    fn describe() -> Description {
        let request = |kind: &str, name: &str, reason: &str| Request {
            kind: kind.to_owned(),
            name: name.to_owned(),
            reason: reason.to_owned(),
        };
        Description {
            name: "anthropic".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            summary: "Reviews with a model of the Anthropic Messages API".to_owned(),
            license: env!("CARGO_PKG_LICENSE").to_owned(),
            serves: vec![Service { kind: "provider".to_owned(), value: "anthropic".to_owned() }],
            config_schema: CONFIG_SCHEMA.to_owned(),
            requests: vec![
                request("host", "api.anthropic.com", "The source under review is sent to the model there."),
                request("secret", "ANTHROPIC_API_KEY", "Requests are paid for with this key."),
            ],
            extra: [("reviewer", "model"), ("contents", "prompt"), ("width", "3"), ("models", MODELS)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
        }
    }

    fn start(request: &LaunchRequest) -> Result<Self, PluginError> {
        let config = Config::parse(&request.config)?;
        let Some(model) = request.model.clone().or_else(|| config.model.clone()) else {
            let message = "`model` is missing; name one here or for the run, such as `claude-sonnet-5-5`".to_owned();
            return Err(PluginError::InvalidConfiguration(message));
        };
        let facts = find_model_facts(MODELS, &model);
        let told = extra_value(&request.extra, "output-tokens").and_then(|text| text.parse().ok());
        let known = facts.as_ref().and_then(|facts| facts.output_tokens);
        let output_tokens = config.max_output_tokens.or(told).or(known).unwrap_or(OUTPUT_TOKENS).max(1);
        let settings = Settings {
            provider: "anthropic",
            model,
            facts,
            credential: format!("set {}", config.secret),
            timeout_ms: config.timeout_ms,
        };
        let features = Features { cache: true, tools: true, read_files: config.read_files };
        Ok(Self { config, settings, features, output_tokens })
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn plan_request(&self, brief: &Brief, rounds: &[Round]) -> SendRequest {
        let text = |name: &str, value: &str| (name.to_owned(), Value::literal(value));
        let body = render_body(&self.settings.model, self.output_tokens, self.features, brief, rounds);
        SendRequest {
            method: "POST".to_owned(),
            url: format!("{}/v1/messages", self.config.base_url),
            headers: vec![
                ("x-api-key".to_owned(), Value::Secret(self.config.secret.clone())),
                text("anthropic-version", PROTOCOL),
                text("content-type", "application/json"),
                text("accept", "text/event-stream"),
            ],
            body: body.to_string().into_bytes(),
            timeout_ms: IDLE_MS,
            event_stream: true,
            extra: Vec::new(),
        }
    }

    fn read_reply(&self, responded: &Responded) -> Reply {
        read_message(responded)
    }

    fn step_down(&mut self, refusal: &Refusal) -> bool {
        self.features.leave_out(refusal)
    }
}

#[cfg(test)]
mod tests;
