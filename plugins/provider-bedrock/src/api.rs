//! The service as a dialogue sees it.

use assize_plugin_sdk::dialogue::{Brief, ModelApi, Refusal, Reply, Round, Settings, encode_segment};
use assize_plugin_sdk::{
    Description, LaunchRequest, Outcome, PluginError, Request, Responded, SendRequest, Service, Value, extra_value,
    find_model_facts,
};

use crate::body::render_body;
use crate::config::{CONFIG_SCHEMA, Config};
use crate::reply::read_output;

/// Facts of models that age. What the user configures for a model comes before them.
const MODELS: &str = include_str!("../models.json");
/// Time of one request. The whole answer comes at once, and the service itself allows an hour; a review takes minutes.
const REQUEST_MS: u64 = 900_000;
/// Tokens of an answer when neither the configuration, the host nor the facts name any.
const OUTPUT_TOKENS: u64 = 4_096;

/// The Converse API.
pub struct BedrockApi {
    config: Config,
    settings: Settings,
    tools: bool,
    output_tokens: u64,
}

impl ModelApi for BedrockApi {
    fn describe() -> Description {
        let request = |kind: &str, name: &str, reason: &str| Request {
            kind: kind.to_owned(),
            name: name.to_owned(),
            reason: reason.to_owned(),
        };
        Description {
            name: "bedrock".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            summary: "Reviews with a model of Amazon Bedrock".to_owned(),
            license: env!("CARGO_PKG_LICENSE").to_owned(),
            serves: vec![Service { kind: "provider".to_owned(), value: "bedrock".to_owned() }],
            config_schema: CONFIG_SCHEMA.to_owned(),
            requests: vec![
                request(
                    "host",
                    "bedrock-runtime.us-east-1.amazonaws.com",
                    "The source under review is sent to the model there; another region needs the grant of its own host.",
                ),
                request("secret", "AWS_ACCESS_KEY_ID", "Requests are signed for this key."),
                request("secret", "AWS_SECRET_ACCESS_KEY", "Requests are signed with this key."),
                request("secret", "AWS_SESSION_TOKEN", "Keys for a time are valid only together with it."),
            ],
            extra: [("reviewer", "model"), ("contents", "prompt"), ("width", "3"), ("models", MODELS)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
        }
    }

    fn start(request: &LaunchRequest) -> Result<Self, PluginError> {
        let config = Config::parse(&request.config)?;
        let Some(model) = request.model.clone().or_else(|| config.model.clone()) else {
            let message = "`model` is missing; name a model or an inference profile here or for the run".to_owned();
            return Err(PluginError::InvalidConfiguration(message));
        };
        let facts = find_model_facts(MODELS, &model);
        let told = extra_value(&request.extra, "output-tokens").and_then(|text| text.parse().ok());
        let known = facts.as_ref().and_then(|facts| facts.output_tokens);
        let output_tokens = config.max_output_tokens.or(told).or(known).unwrap_or(OUTPUT_TOKENS).max(1);
        let settings = Settings {
            provider: "bedrock",
            model,
            facts,
            credential: "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_SESSION_TOKEN for keys for a time"
                .to_owned(),
            timeout_ms: config.timeout_ms,
        };
        let tools = config.read_files;
        Ok(Self { config, settings, tools, output_tokens })
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn plan_request(&self, brief: &Brief, rounds: &[Round]) -> SendRequest {
        let text = |name: &str, value: &str| (name.to_owned(), Value::literal(value));
        SendRequest {
            method: "POST".to_owned(),
            url: format!("{}/model/{}/converse", self.config.address(), encode_segment(&self.settings.model)),
            headers: vec![text("content-type", "application/json"), text("accept", "application/json")],
            body: render_body(self.output_tokens, self.tools, brief, rounds).to_string().into_bytes(),
            timeout_ms: REQUEST_MS,
            event_stream: false,
            extra: [("sign", "aws-sigv4"), ("sign-region", &self.config.region), ("sign-service", "bedrock")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
        }
    }

    fn read_reply(&self, responded: &Responded) -> Reply {
        read_output(responded)
    }

    fn step_down(&mut self, refusal: &Refusal) -> bool {
        let names_tools = || {
            let said = refusal.text.to_ascii_lowercase();
            ["toolconfig", "tool use", "tool_use", "tools"].iter().any(|words| said.contains(words))
        };
        refusal.status == 400
            && refusal.outcome == Outcome::Misconfigured
            && names_tools()
            && std::mem::take(&mut self.tools)
    }
}

#[cfg(test)]
mod tests;
