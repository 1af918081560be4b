//! The configuration section.

use assize_plugin_sdk::PluginError;
use serde::Deserialize;

/// Schema of the configuration section.
pub const CONFIG_SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "note": {"type": "string", "maxLength": 4000, "description": "Said at the top of the instructions, such as who is to review."}
  }
}"#;

/// Longest note, in characters.
const NOTE_CHARS: usize = 4000;

/// The configuration section, read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Said at the top of the instructions; empty says nothing.
    pub note: String,
}

impl Config {
    /// Reads the section; an empty text is an empty section.
    ///
    /// # Errors
    /// `invalid-configuration` with the key and the mend.
    pub fn parse(json: &str) -> Result<Self, PluginError> {
        let json = if json.trim().is_empty() { "{}" } else { json };
        let config: Self = serde_json::from_str(json).map_err(|error| {
            PluginError::InvalidConfiguration(format!("the section of provider hand-off cannot be read: {error}"))
        })?;
        if config.note.chars().count() > NOTE_CHARS {
            let text = format!("`note` has more than {NOTE_CHARS} characters");
            return Err(PluginError::InvalidConfiguration(text));
        }
        Ok(config)
    }
}
