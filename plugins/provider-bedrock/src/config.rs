//! The configuration section.

use assize_plugin_sdk::PluginError;
use assize_plugin_sdk::dialogue::check_base_url;
use serde::Deserialize;

/// Schema of the configuration section.
pub const CONFIG_SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "required": ["region"],
  "properties": {
    "region": {"type": "string", "pattern": "^[a-z0-9-]+$", "description": "Region that is asked, such as us-east-1. Its host needs its own grant."},
    "base_url": {"type": "string", "minLength": 1, "description": "Address before /model; the region's own unless said. Another host is granted by being named in your own configuration."},
    "model": {"type": "string", "minLength": 1, "description": "Model or inference profile, by id or ARN, when the lane names none."},
    "max_output_tokens": {"type": "integer", "minimum": 1, "description": "Tokens of one answer; what the model gives unless said."},
    "read_files": {"type": "boolean", "description": "Whether the model may ask for further lines of the files under review; true unless said."},
    "timeout_ms": {"type": "integer", "minimum": 1, "description": "Milliseconds of one launch; never past the launch's own."}
  }
}"#;

/// The configuration section, read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Region that is asked and signed for.
    pub region: String,
    /// Address before `/model`, without a slash at its end; the region's own where none is named.
    pub base_url: Option<String>,
    /// Model when the lane names none.
    pub model: Option<String>,
    /// Tokens of one answer.
    pub max_output_tokens: Option<u64>,
    /// Whether the model may ask for further lines.
    #[serde(default = "reads_unless_said")]
    pub read_files: bool,
    /// Milliseconds of one launch.
    pub timeout_ms: Option<u64>,
}

fn reads_unless_said() -> bool {
    true
}

impl Config {
    /// Reads the section; an empty text is an empty section.
    ///
    /// # Errors
    /// `invalid-configuration` with the key and the mend.
    pub fn parse(json: &str) -> Result<Self, PluginError> {
        let json = if json.trim().is_empty() { "{}" } else { json };
        let mut config: Self = serde_json::from_str(json)
            .map_err(|error| refuse(format!("the section of provider bedrock cannot be read: {error}")))?;
        // The region becomes a part of a host's name.
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if config.region.is_empty() || !config.region.chars().all(is_word) {
            return Err(refuse("`region` is no region; write it like `us-east-1`".to_owned()));
        }
        config.base_url = config.base_url.map(|url| check_base_url(&url)).transpose().map_err(refuse)?;
        Ok(config)
    }

    /// Address before `/model`.
    pub fn address(&self) -> String {
        self.base_url.clone().unwrap_or_else(|| format!("https://bedrock-runtime.{}.amazonaws.com", self.region))
    }
}

fn refuse(text: String) -> PluginError {
    PluginError::InvalidConfiguration(text)
}
