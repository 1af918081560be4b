//! The service as a dialogue sees it.

use assize_plugin_sdk::dialogue::{Brief, ModelApi, Refusal, Reply, Round, Settings, encode_segment};
use assize_plugin_sdk::{
    Description, LaunchRequest, PluginError, Request, Responded, SendRequest, Service, Value, extra_value,
    find_model_facts,
};

use crate::body::{Form, render_body};
use crate::config::{CONFIG_SCHEMA, Config};
use crate::reply::read_chunks;

/// Facts of models that age. What the user configures for a model comes before them.
const MODELS: &str = include_str!("../models.json");
/// Silence after which a stream is given up. The service says nothing while a model thinks, which can take minutes.
const IDLE_MS: u64 = 300_000;
/// Tokens of an answer when neither the configuration, the host nor the facts name any.
const OUTPUT_TOKENS: u64 = 8_192;

/// The Gemini API.
pub struct GoogleApi {
    config: Config,
    settings: Settings,
    form: Form,
    output_tokens: u64,
}

impl ModelApi for GoogleApi {
    fn describe() -> Description {
        let request = |kind: &str, name: &str, reason: &str| Request {
            kind: kind.to_owned(),
            name: name.to_owned(),
            reason: reason.to_owned(),
        };
        Description {
            name: "google".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            summary: "Reviews with a model of the Gemini API".to_owned(),
            license: env!("CARGO_PKG_LICENSE").to_owned(),
            serves: vec![Service { kind: "provider".to_owned(), value: "google".to_owned() }],
            config_schema: CONFIG_SCHEMA.to_owned(),
            requests: vec![
                request(
                    "host",
                    "generativelanguage.googleapis.com",
                    "The source under review is sent to the model there.",
                ),
                request("secret", "GEMINI_API_KEY", "Requests are paid for with this key."),
            ],
            extra: [("reviewer", "model"), ("contents", "prompt"), ("width", "3"), ("models", MODELS)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
        }
    }

    fn start(request: &LaunchRequest) -> Result<Self, PluginError> {
        let config = Config::parse(&request.config)?;
        let Some(model) = request.model.clone().or_else(|| config.model.clone()) else {
            let message = "`model` is missing; name one here or for the run, such as `gemini-2.5-pro`".to_owned();
            return Err(PluginError::InvalidConfiguration(message));
        };
        let model = model.strip_prefix("models/").map(str::to_owned).unwrap_or(model);
        let facts = find_model_facts(MODELS, &model);
        let told = extra_value(&request.extra, "output-tokens").and_then(|text| text.parse().ok());
        let known = facts.as_ref().and_then(|facts| facts.output_tokens);
        let output_tokens = config.max_output_tokens.or(told).or(known).unwrap_or(OUTPUT_TOKENS).max(1);
        let settings = Settings {
            provider: "google",
            model,
            facts,
            credential: format!("set {}", config.secret),
            timeout_ms: config.timeout_ms,
        };
        // Without a file to read there is nothing to call, and the form of the answer can be fixed instead.
        let reads = config.read_files && !request.read_paths.is_empty();
        let form = if reads { Form::Functions } else { Form::Schema };
        Ok(Self { config, settings, form, output_tokens })
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn plan_request(&self, brief: &Brief, rounds: &[Round]) -> SendRequest {
        let text = |name: &str, value: &str| (name.to_owned(), Value::literal(value));
        let model = encode_segment(&self.settings.model);
        SendRequest {
            method: "POST".to_owned(),
            url: format!("{}/v1beta/models/{model}:streamGenerateContent?alt=sse", self.config.base_url),
            headers: vec![
                ("x-goog-api-key".to_owned(), Value::Secret(self.config.secret.clone())),
                text("content-type", "application/json"),
                text("accept", "text/event-stream"),
            ],
            body: render_body(self.output_tokens, self.form, brief, rounds).to_string().into_bytes(),
            timeout_ms: IDLE_MS,
            event_stream: true,
            extra: Vec::new(),
        }
    }

    fn read_reply(&self, responded: &Responded) -> Reply {
        read_chunks(responded)
    }

    fn step_down(&mut self, refusal: &Refusal) -> bool {
        match self.form.after(refusal) {
            Some(form) => {
                self.form = form;
                true
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests;
