//! The configuration section.

use assize_plugin_sdk::PluginError;
use serde::Deserialize;

/// Schema of the configuration section.
pub const CONFIG_SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "program": {"type": "string", "minLength": 1, "description": "Name of the program; codex unless said. Another name is granted by being named in your own configuration."},
    "model": {"type": "string", "minLength": 1, "description": "Model when the lane names none; without both the program chooses."},
    "login": {"enum": ["key", "user"], "description": "key: an API key and a home of its own; user: the user's own login, without a gateway."},
    "base_url": {"type": "string", "pattern": "^https?://[^\\s\"'\\\\]+$", "description": "Service that speaks the Responses API; OpenAI's unless said. A version at the end, such as /v1, may stand or not."},
    "secret": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$", "description": "Name of the secret that holds the key; OPENAI_API_KEY unless said."},
    "gateway": {"type": "boolean", "description": "Whether requests pass the gateway, which holds the key and reads the limits; true unless said."},
    "reasoning_effort": {"enum": ["none", "minimal", "low", "medium", "high", "xhigh"], "description": "How long the model thinks; its own default unless said."},
    "credential_store": {"enum": ["file", "keyring", "auto"], "description": "Where the user's login is kept, for login = user; file unless said."},
    "extra_args": {"type": "array", "items": {"type": "string"}, "description": "More arguments, by their long names; none may give it rights or change its output."},
    "timeout_ms": {"type": "integer", "minimum": 1, "description": "Milliseconds of one launch; never past the launch's own."}
  }
}"#;

/// Options that would lift what makes the review read-only, change the output that is parsed, or say again what the
/// plugin says. The short ones are all refused: they can be joined to each other and to their values.
const REFUSED_ARGS: [&str; 26] = [
    "--add-dir",
    "--ask-for-approval",
    "--cd",
    "--config",
    "--dangerously-bypass-approvals-and-sandbox",
    "--dangerously-bypass-hook-trust",
    "--disable",
    "--enable",
    "--ephemeral",
    "--experimental-json",
    "--full-auto",
    "--help",
    "--ignore-rules",
    "--ignore-user-config",
    "--json",
    "--local-provider",
    "--model",
    "--oss",
    "--output-last-message",
    "--output-schema",
    "--profile",
    "--remote",
    "--sandbox",
    "--skip-git-repo-check",
    "--version",
    "--yolo",
];

/// How the program proves who it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Login {
    /// With a key, in a home of its own.
    #[default]
    Key,
    /// With the user's own login, in the user's home.
    User,
}

/// How long the model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effort {
    /// Not at all.
    None,
    /// As little as it can.
    Minimal,
    /// Little.
    Low,
    /// Its usual measure.
    Medium,
    /// Long.
    High,
    /// As long as it can.
    Xhigh,
}

impl Effort {
    /// The program's own word.
    pub fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
        }
    }
}

/// Where the program keeps the user's login.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CredentialStore {
    /// In a file of its home.
    File,
    /// In the system's keyring.
    Keyring,
    /// In the keyring where there is one.
    Auto,
}

impl CredentialStore {
    /// The program's own word.
    pub fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Keyring => "keyring",
            Self::Auto => "auto",
        }
    }
}

/// The configuration section, read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Name of the program.
    pub program: String,
    /// Model when the lane names none.
    pub model: Option<String>,
    /// Whose login.
    pub login: Login,
    /// Service that the requests go to.
    pub base_url: String,
    /// Secret that holds the key.
    pub secret: String,
    /// Whether requests pass the gateway.
    pub gateway: bool,
    /// How long the model thinks.
    pub reasoning_effort: Option<Effort>,
    /// Where the user's login is kept.
    pub credential_store: Option<CredentialStore>,
    /// More arguments.
    pub extra_args: Vec<String>,
    /// Milliseconds of one launch.
    pub timeout_ms: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            program: "codex".to_owned(),
            model: None,
            login: Login::Key,
            base_url: "https://api.openai.com".to_owned(),
            secret: "OPENAI_API_KEY".to_owned(),
            gateway: true,
            reasoning_effort: None,
            credential_store: None,
            extra_args: Vec::new(),
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
        let config: Self = serde_json::from_str(json)
            .map_err(|error| refuse(format!("the section of provider codex cannot be read: {error}")))?;
        config.check()?;
        Ok(config)
    }

    /// The service's address without its version, and the version, such as `v1`: users write it in both forms.
    pub fn upstream(&self) -> (&str, &str) {
        let url = self.base_url.trim_end_matches('/');
        match url.rsplit_once('/') {
            Some((rest, last)) if !rest.ends_with('/') && is_version(last) => (rest.trim_end_matches('/'), last),
            _ => (url, "v1"),
        }
    }

    fn check(&self) -> Result<(), PluginError> {
        if self.program.trim().is_empty() {
            return Err(refuse("`program` is empty; leave it out for `codex`".to_owned()));
        }
        if !is_address(&self.base_url) {
            return Err(refuse("`base_url` must be a plain address such as `https://api.openai.com`".to_owned()));
        }
        if !is_variable(&self.secret) {
            return Err(refuse("`secret` must be a name such as `OPENAI_API_KEY`, never the key itself".to_owned()));
        }
        for arg in &self.extra_args {
            let name = arg.split('=').next().unwrap_or_default();
            let is_short = arg == "-" || arg == "--" || (arg.starts_with('-') && !arg.starts_with("--"));
            if is_short || REFUSED_ARGS.contains(&name) {
                return Err(refuse(format!(
                    "`extra_args` may not hold `{name}`: the review is read-only and its output is parsed"
                )));
            }
        }
        Ok(())
    }
}

fn is_version(segment: &str) -> bool {
    let mut chars = segment.chars();
    chars.next() == Some('v') && chars.next().is_some_and(|c| c.is_ascii_digit())
}

/// Whether a text is an address with a host and nothing that would change its meaning where it is put.
fn is_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| {
        !rest.trim_matches('/').is_empty()
            && !rest.chars().any(|c| c.is_whitespace() || c.is_control() || "\"'\\?#@".contains(c))
    })
}

fn is_variable(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn refuse(text: String) -> PluginError {
    PluginError::InvalidConfiguration(text)
}
