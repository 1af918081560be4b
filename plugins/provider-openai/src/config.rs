//! The configuration section.

use std::collections::BTreeMap;

use assize_plugin_sdk::PluginError;
use serde::Deserialize;

use crate::endpoint::{check_headers, check_query, is_openai, read_base_url};

/// Schema of the configuration section.
pub const CONFIG_SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "api": {"enum": ["chat", "responses"], "description": "Chat Completions or Responses; responses for api.openai.com and chat elsewhere unless said."},
    "base_url": {"type": "string", "minLength": 1, "description": "Address before /chat/completions or /responses; https://api.openai.com/v1 unless said."},
    "secret": {"anyOf": [{"type": "string"}, {"const": false}], "description": "Name of the secret that holds the key; OPENAI_API_KEY unless said. false for a server without keys."},
    "model": {"type": "string", "minLength": 1, "description": "Model when the lane names none; needed with another base_url."},
    "max_output_tokens": {"type": "integer", "minimum": 1, "description": "Tokens of one answer, thoughts included; what is known of the model unless said."},
    "format": {"enum": ["json_schema", "json_object", "plain"], "description": "How the service is held to JSON, to begin with; a service that refuses one is asked for the next."},
    "stream": {"type": "boolean", "description": "Whether answers are streamed; true unless said."},
    "tools": {"type": "boolean", "description": "Whether the model may read more of the task's files; true unless said."},
    "reasoning_effort": {"type": "string", "minLength": 1, "description": "Passed on to the model, such as low or high."},
    "api_key_header": {"type": "string", "minLength": 1, "description": "Header of the key: authorization with Bearer unless said, api-key for Azure."},
    "query": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Query of each request, such as api-version; never a key."},
    "headers": {"type": "object", "additionalProperties": {"type": "string"}, "description": "More headers; never a key."},
    "timeout_ms": {"type": "integer", "minimum": 1, "description": "Milliseconds of one launch; never past the launch's own."}
  }
}"#;

/// Where OpenAI itself answers.
const BASE_URL: &str = "https://api.openai.com/v1";
/// Asked for at OpenAI itself when nobody names a model.
const MODEL: &str = "gpt-5.1";
/// The header that carries `Bearer` before the key.
pub(crate) const AUTHORIZATION: &str = "authorization";

/// Which of the two APIs is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Api {
    /// Chat Completions, which nearly every compatible server has.
    Chat,
    /// Responses.
    Responses,
}

/// How a service is held to JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// By the schema of the results.
    #[default]
    JsonSchema,
    /// To some JSON object.
    JsonObject,
    /// By words alone.
    Plain,
}

/// Where the key comes from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Secret {
    /// The secret's name; empty means none.
    Name(String),
    /// `false` means none; `true` says nothing.
    Wanted(bool),
}

/// The configuration section, read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Which API; derived from the address when absent.
    pub api: Option<Api>,
    /// Address without a slash at its end.
    pub base_url: String,
    /// Key.
    pub secret: Secret,
    /// Model when the lane names none.
    pub model: Option<String>,
    /// Tokens of one answer.
    pub max_output_tokens: Option<u64>,
    /// Format to begin with.
    pub format: Format,
    /// Whether answers are streamed.
    pub stream: bool,
    /// Whether the model may read.
    pub tools: bool,
    /// Passed on.
    pub reasoning_effort: Option<String>,
    /// Header of the key, lower case.
    pub api_key_header: String,
    /// Query of each request.
    pub query: BTreeMap<String, String>,
    /// More headers.
    pub headers: BTreeMap<String, String>,
    /// Milliseconds of one launch.
    pub timeout_ms: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            api: None,
            base_url: BASE_URL.to_owned(),
            secret: Secret::Name("OPENAI_API_KEY".to_owned()),
            model: None,
            max_output_tokens: None,
            format: Format::JsonSchema,
            stream: true,
            tools: true,
            reasoning_effort: None,
            api_key_header: AUTHORIZATION.to_owned(),
            query: BTreeMap::new(),
            headers: BTreeMap::new(),
            timeout_ms: None,
        }
    }
}

impl Config {
    /// Reads the section; an empty text is an empty section.
    ///
    /// # Errors
    /// `invalid-configuration` with the key and the mend.
    pub fn parse(json: &str) -> Result<Self, PluginError> {
        let json = if json.trim().is_empty() { "{}" } else { json };
        let mut config: Self = serde_json::from_str(json)
            .map_err(|error| refuse(format!("the section of provider openai cannot be read: {error}")))?;
        config.base_url = read_base_url(&config.base_url, config.secret().is_some())?;
        config.api_key_header = config.api_key_header.to_ascii_lowercase();
        config.check()?;
        Ok(config)
    }

    /// Name of the secret, if there is one.
    pub fn secret(&self) -> Option<&str> {
        match &self.secret {
            Secret::Name(name) if !name.is_empty() => Some(name),
            _ => None,
        }
    }

    /// Which API is spoken.
    pub fn api(&self) -> Api {
        self.api.unwrap_or(if self.is_openai() { Api::Responses } else { Api::Chat })
    }

    /// Whether OpenAI itself is asked. Its prices and names hold nowhere else.
    pub fn is_openai(&self) -> bool {
        is_openai(&self.base_url)
    }

    /// The model that is asked: the lane's, the section's, or what OpenAI itself is asked for.
    ///
    /// # Errors
    /// `invalid-configuration` when nobody names one for another service.
    pub fn choose_model(&self, lane: Option<&str>) -> Result<String, PluginError> {
        let named = lane.or(self.model.as_deref()).map(str::trim).filter(|model| !model.is_empty());
        match named {
            Some(model) => Ok(model.to_owned()),
            None if self.is_openai() => Ok(MODEL.to_owned()),
            None => {
                Err(refuse(format!("`model` is missing: {} has no model that is known to be there", self.base_url)))
            }
        }
    }

    fn check(&self) -> Result<(), PluginError> {
        if self.secret == Secret::Wanted(true) {
            return Err(refuse("`secret` is the name of a secret, or false for a server without keys".to_owned()));
        }
        if self.max_output_tokens == Some(0) {
            return Err(refuse("`max_output_tokens` must be more than zero".to_owned()));
        }
        check_headers(&self.headers, &self.api_key_header)?;
        check_query(&self.query)
    }
}

pub(crate) fn refuse(text: String) -> PluginError {
    PluginError::InvalidConfiguration(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<Config, PluginError> {
        Config::parse(json)
    }

    #[test]
    fn openai_itself_speaks_responses_and_others_chat() {
        assert_eq!(parse("").unwrap().api(), Api::Responses);
        let local = parse(r#"{"base_url":"http://127.0.0.1:11434/v1/","secret":false,"model":"m"}"#).unwrap();
        assert_eq!(
            (local.api(), local.secret(), local.base_url.as_str()),
            (Api::Chat, None, "http://127.0.0.1:11434/v1")
        );
        assert_eq!(parse(r#"{"api":"chat"}"#).unwrap().api(), Api::Chat);
    }

    #[test]
    fn a_foreign_service_needs_a_model_and_the_lane_s_comes_first() {
        let foreign = parse(r#"{"base_url":"https://openrouter.ai/api/v1"}"#).unwrap();
        assert!(
            matches!(foreign.choose_model(None), Err(PluginError::InvalidConfiguration(text)) if text.contains("`model`"))
        );
        assert_eq!(foreign.choose_model(Some("lane")).unwrap(), "lane");
        assert_eq!(parse(r#"{"model":"m"}"#).unwrap().choose_model(None).unwrap(), "m");
        assert_eq!(parse("").unwrap().choose_model(Some(" ")).unwrap(), MODEL);
    }

    #[test]
    fn an_empty_name_and_false_mean_no_key() {
        for json in [r#"{"secret":""}"#, r#"{"secret":false}"#] {
            assert_eq!(parse(json).unwrap().secret(), None, "{json}");
        }
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_its_mend() {
        for (json, part) in [
            (r#"{"modle":"x"}"#, "modle"),
            (r#"{"secret":true}"#, "`secret`"),
            (r#"{"max_output_tokens":0}"#, "`max_output_tokens`"),
            (r#"{"format":"xml"}"#, "xml"),
            (r#"{"headers":{"Authorization":"Bearer x"}}"#, "`secret`"),
            (r#"{"headers":{"a b":"x"}}"#, "a b"),
            (r#"{"headers":{"a":"x\ny"}}"#, "`headers`"),
            (r#"{"api_key_header":"x y"}"#, "`api_key_header`"),
            (r#"{"api_key_header":"X-Key","headers":{"x-key":"v"}}"#, "`secret`"),
            (r#"{"query":{"api_key":"v"}}"#, "`secret`"),
            (r#"{"base_url":"https://h/v1?key=1"}"#, "`query`"),
        ] {
            let Err(PluginError::InvalidConfiguration(text)) = parse(json) else { panic!("{json}") };
            assert!(text.contains(part), "{json}: {text}");
        }
    }

    #[test]
    fn the_schema_names_every_key_that_is_read() {
        let schema: serde_json::Value = serde_json::from_str(CONFIG_SCHEMA).unwrap();
        let keys: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        let error = format!("{:?}", parse(r#"{"none of them":1}"#));
        assert!(keys.iter().all(|key| error.contains(&format!("`{key}`"))), "{error}");
        assert_eq!(error.matches('`').count() / 2, keys.len() + 1);
    }
}
