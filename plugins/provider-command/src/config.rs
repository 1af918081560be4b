//! The configuration section.

use std::collections::BTreeMap;

use assize_plugin_sdk::PluginError;
use serde::Deserialize;

/// Schema of the configuration section.
pub const CONFIG_SCHEMA: &str = r#"{
  "type": "object",
  "required": ["command"],
  "additionalProperties": false,
  "properties": {
    "command": {"type": "array", "minItems": 1, "items": {"type": "string"},
      "description": "Program and arguments. Placeholders such as {taskPath} are replaced without a shell; {{ and }} are braces."},
    "env": {"type": "object", "additionalProperties": {"type": "string"},
      "description": "Variables for the program; placeholders as in command."},
    "inherit": {"type": "array", "items": {"type": "string", "minLength": 1},
      "description": "Variables taken from the host's own environment; each needs a secret grant."},
    "model": {"type": "string", "description": "Value of {model} when the lane names none."},
    "stdin": {"enum": ["none", "prompt"], "description": "What the program reads; none unless said."},
    "cwd": {"enum": ["repo", "run-dir"], "description": "Where the program starts; repo unless said."},
    "output_cap": {"type": "integer", "minimum": 0, "description": "Bytes kept of standard output and of standard error."},
    "home": {"enum": ["launch", "user"], "description": "launch: a home of its own; user: the user's home, so that a login is found."}
  }
}"#;

/// Bytes kept of each output unless configured; the host's own default.
const OUTPUT_CAP: u64 = 16 * 1024 * 1024;

/// What the program reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StdinChoice {
    /// Nothing.
    #[default]
    None,
    /// The prompt.
    Prompt,
}

/// Where the program starts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CwdChoice {
    /// The repository.
    #[default]
    Repo,
    /// The run directory.
    RunDir,
}

/// Whose home the program sees.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HomeChoice {
    /// Its own.
    #[default]
    Launch,
    /// The user's.
    User,
}

/// The configuration section, read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Program and arguments, as templates.
    pub command: Vec<String>,
    /// Variables, values as templates.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Variables of the host's own environment.
    #[serde(default)]
    pub inherit: Vec<String>,
    /// Model when the lane names none.
    #[serde(default)]
    pub model: Option<String>,
    /// Standard input.
    #[serde(default)]
    pub stdin: StdinChoice,
    /// Working directory.
    #[serde(default)]
    pub cwd: CwdChoice,
    /// Bytes kept of each output.
    #[serde(default = "default_output_cap")]
    pub output_cap: u64,
    /// Home.
    #[serde(default)]
    pub home: HomeChoice,
}

fn default_output_cap() -> u64 {
    OUTPUT_CAP
}

impl Config {
    /// Reads the section.
    ///
    /// # Errors
    /// `invalid-configuration` with the key and the place.
    pub fn parse(json: &str) -> Result<Self, PluginError> {
        let config: Self = serde_json::from_str(json).map_err(|error| {
            PluginError::InvalidConfiguration(format!("the section of provider command cannot be read: {error}"))
        })?;
        let bad_name = |name: &str| name.is_empty() || name.contains(['=', '\0']);
        if let Some(name) = config.env.keys().chain(&config.inherit).find(|name| bad_name(name)) {
            return Err(PluginError::InvalidConfiguration(format!("`{name}` is no name of a variable")));
        }
        Ok(config)
    }
}
