//! The configuration section.

use assize_plugin_sdk::PluginError;
use assize_plugin_sdk::dialogue::check_base_url;
use serde::Deserialize;

/// Schema of the configuration section.
pub const CONFIG_SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "base_url": {"type": "string", "minLength": 1, "description": "Address before /v1beta/models; https://generativelanguage.googleapis.com unless said. Another host is granted by being named in your own configuration."},
    "model": {"type": "string", "minLength": 1, "description": "Model when the lane names none."},
    "max_output_tokens": {"type": "integer", "minimum": 1, "description": "Tokens of one answer; what the model gives unless said."},
    "secret": {"type": "string", "minLength": 1, "description": "Name of the secret that is the key; GEMINI_API_KEY unless said. Another name is granted by being named in your own configuration."},
    "read_files": {"type": "boolean", "description": "Whether the model may ask for further lines of the files under review; true unless said."},
    "timeout_ms": {"type": "integer", "minimum": 1, "description": "Milliseconds of one launch; never past the launch's own."}
  }
}"#;

/// The configuration section, read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Address before `/v1beta/models`, without a slash at its end.
    pub base_url: String,
    /// Model when the lane names none.
    pub model: Option<String>,
    /// Tokens of one answer.
    pub max_output_tokens: Option<u64>,
    /// Name of the secret that is the key.
    pub secret: String,
    /// Whether the model may ask for further lines.
    pub read_files: bool,
    /// Milliseconds of one launch.
    pub timeout_ms: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            base_url: "https://generativelanguage.googleapis.com".to_owned(),
            model: None,
            max_output_tokens: None,
            secret: "GEMINI_API_KEY".to_owned(),
            read_files: true,
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
        let mut config: Self = serde_json::from_str(json).map_err(|error| {
            PluginError::InvalidConfiguration(format!("the section of provider google cannot be read: {error}"))
        })?;
        config.base_url = check_base_url(&config.base_url).map_err(PluginError::InvalidConfiguration)?;
        if config.secret.trim().is_empty() {
            let message = "`secret` is empty; leave it out for `GEMINI_API_KEY`".to_owned();
            return Err(PluginError::InvalidConfiguration(message));
        }
        Ok(config)
    }
}
