//! The configuration section.

use assize_plugin_sdk::PluginError;
use serde::Deserialize;

/// Schema of the configuration section.
pub const CONFIG_SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "program": {"type": "string", "minLength": 1, "description": "Name of the program; claude unless said. Another name is granted by being named in your own configuration."},
    "model": {"type": "string", "minLength": 1, "description": "Model when the lane names none."},
    "max_turns": {"type": "integer", "minimum": 1, "description": "Turns of one launch."},
    "max_budget_usd": {"type": "number", "exclusiveMinimum": 0, "description": "Spend of one launch in US dollars."},
    "login": {"enum": ["key", "user"], "description": "key: a key or token from the environment and a home of its own; user: the user's own login."},
    "base_url": {"type": "string", "pattern": "^https?://[^\\s\"'\\\\]+$", "description": "Service that the program's requests go to; Anthropic's unless said."},
    "gateway": {"type": "boolean", "description": "Whether requests pass the gateway, which holds the key and reads the limits; true unless said."},
    "extra_args": {"type": "array", "items": {"type": "string"}, "description": "More arguments; none may give it rights or change its output."},
    "timeout_ms": {"type": "integer", "minimum": 1, "description": "Milliseconds of one launch; never past the launch's own."},
    "tools": {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1}, "description": "Tools that read; Read, Grep and Glob unless said."}
  }
}"#;

/// Arguments that would lift what makes the review read-only, or change the output that is parsed.
const REFUSED_ARGS: [&str; 18] = [
    "-p",
    "--print",
    "-c",
    "--continue",
    "-r",
    "--resume",
    "--output-format",
    "--input-format",
    "--verbose",
    "--tools",
    "--allowedTools",
    "--allowed-tools",
    "--dangerously-skip-permissions",
    "--allow-dangerously-skip-permissions",
    "--permission-mode",
    "--setting-sources",
    "--mcp-config",
    "--settings",
];

/// Tools that write or run programs; an audited tree is not modified.
const REFUSED_TOOLS: [&str; 7] = ["Bash", "Edit", "Write", "MultiEdit", "NotebookEdit", "PowerShell", "default"];

/// How the program proves who it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Login {
    /// With a key or token of the environment, in a home of its own.
    #[default]
    Key,
    /// With the user's own login, in the user's home.
    User,
}

/// The configuration section, read.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Name of the program.
    pub program: String,
    /// Model when the lane names none.
    pub model: Option<String>,
    /// Turns of one launch.
    pub max_turns: Option<u32>,
    /// US dollars of one launch.
    pub max_budget_usd: Option<f64>,
    /// Whose login.
    pub login: Login,
    /// Service that the requests go to, without a slash at the end.
    pub base_url: Option<String>,
    /// Whether requests pass the gateway.
    pub gateway: bool,
    /// More arguments.
    pub extra_args: Vec<String>,
    /// Milliseconds of one launch.
    pub timeout_ms: Option<u64>,
    /// Tools of the reviewer.
    pub tools: Vec<String>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            program: "claude".to_owned(),
            model: None,
            max_turns: None,
            max_budget_usd: None,
            login: Login::Key,
            base_url: None,
            gateway: true,
            extra_args: Vec::new(),
            timeout_ms: None,
            tools: ["Read", "Grep", "Glob"].map(str::to_owned).to_vec(),
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
            .map_err(|error| refuse(format!("the section of provider claude-code cannot be read: {error}")))?;
        config.check()?;
        config.base_url = config.base_url.map(|url| url.trim_end_matches('/').to_owned());
        Ok(config)
    }

    fn check(&self) -> Result<(), PluginError> {
        if self.program.trim().is_empty() {
            return Err(refuse("`program` is empty; leave it out for `claude`".to_owned()));
        }
        if self.base_url.as_deref().is_some_and(|url| !is_address(url)) {
            return Err(refuse("`base_url` must be a plain address such as `https://api.anthropic.com`".to_owned()));
        }
        for arg in &self.extra_args {
            let name = arg.split('=').next().unwrap_or_default();
            if REFUSED_ARGS.contains(&name) {
                return Err(refuse(format!(
                    "`extra_args` may not hold `{name}`: the review is read-only and its output is parsed"
                )));
            }
        }
        for tool in &self.tools {
            let name = tool.split('(').next().unwrap_or_default().trim();
            if name.is_empty() || tool.contains(',') {
                return Err(refuse(format!("`tools` holds `{tool}`, which is no name of a tool")));
            }
            if REFUSED_TOOLS.contains(&name) {
                return Err(refuse(format!(
                    "`tools` may not hold `{name}`: a reviewer reads, it does not write or run programs"
                )));
            }
        }
        match self.max_budget_usd {
            Some(budget) if !(budget.is_finite() && budget > 0.0) => {
                Err(refuse("`max_budget_usd` must be more than zero".to_owned()))
            }
            _ => Ok(()),
        }
    }
}

/// Whether a text is an address with a host and nothing that would change its meaning where it is put.
fn is_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        !rest.trim_matches('/').is_empty()
            && !rest.chars().any(|c| c.is_whitespace() || c.is_control() || "\"'\\?#@".contains(c))
    })
}

fn refuse(text: String) -> PluginError {
    PluginError::InvalidConfiguration(text)
}
