//! The configuration section.

use assize_plugin_sdk::PluginError;
use serde::Deserialize;

/// Schema of the configuration section.
pub const CONFIG_SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "program": {"type": "string", "minLength": 1, "description": "Name of the program; opencode unless said. Another name is granted by being named in your own configuration."},
    "model": {"type": "string", "minLength": 1, "description": "Model when the lane names none; with login = user it is written provider/model."},
    "protocol": {"enum": ["openai", "anthropic"], "description": "What the service speaks: openai (Chat Completions, also of compatible services) or anthropic (Messages); openai unless said."},
    "login": {"enum": ["key", "user"], "description": "key: a key and a home of its own; user: the user's own providers and logins, without a gateway."},
    "base_url": {"type": "string", "pattern": "^https?://[^\\s\"'\\\\]+$", "description": "Service that the requests go to; the protocol's own unless said. A version at the end, such as /v1, may stand or not."},
    "secret": {"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$", "description": "Name of the secret that holds the key; OPENAI_API_KEY or ANTHROPIC_API_KEY unless said."},
    "gateway": {"type": "boolean", "description": "Whether requests pass the gateway, which holds the key and reads the limits; true unless said."},
    "extra_args": {"type": "array", "items": {"type": "string"}, "description": "More arguments, by their long names; none may give it rights or change its output."},
    "timeout_ms": {"type": "integer", "minimum": 1, "description": "Milliseconds of one launch; never past the launch's own."}
  }
}"#;

/// Options that would lift what makes the review read-only, change the output that is parsed, or say again what the
/// plugin says; compared without dashes, because the program takes `--camelCase` and `--no-` forms too. The short ones
/// are all refused.
const REFUSED_ARGS: [&str; 22] = [
    "agent",
    "attach",
    "auto",
    "command",
    "continue",
    "dangerouslyskippermissions",
    "demo",
    "dir",
    "file",
    "fork",
    "format",
    "help",
    "interactive",
    "mini",
    "model",
    "password",
    "port",
    "session",
    "share",
    "title",
    "username",
    "yolo",
];

/// What the service speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// Chat Completions of OpenAI and of those that imitate it.
    #[default]
    Openai,
    /// Messages of Anthropic.
    Anthropic,
}

/// How the program proves who it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Login {
    /// With a key, in a home of its own.
    #[default]
    Key,
    /// With the user's own providers and logins, in the user's home.
    User,
}

/// The configuration section, read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Name of the program.
    pub program: String,
    /// Model when the lane names none.
    pub model: Option<String>,
    /// What the service speaks.
    pub protocol: Protocol,
    /// Whose login.
    pub login: Login,
    /// Service that the requests go to; the protocol's own when absent.
    pub base_url: Option<String>,
    /// Secret that holds the key; the protocol's own when absent.
    pub secret: Option<String>,
    /// Whether requests pass the gateway.
    pub gateway: bool,
    /// More arguments.
    pub extra_args: Vec<String>,
    /// Milliseconds of one launch.
    pub timeout_ms: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            program: "opencode".to_owned(),
            model: None,
            protocol: Protocol::Openai,
            login: Login::Key,
            base_url: None,
            secret: None,
            gateway: true,
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
            .map_err(|error| refuse(format!("the section of provider opencode cannot be read: {error}")))?;
        config.check()?;
        Ok(config)
    }

    /// The service's address without its version, and the version, such as `v1`: users write it in both forms.
    pub fn upstream(&self) -> (&str, &str) {
        let own = match self.protocol {
            Protocol::Openai => "https://api.openai.com",
            Protocol::Anthropic => "https://api.anthropic.com",
        };
        let url = self.base_url.as_deref().unwrap_or(own).trim_end_matches('/');
        match url.rsplit_once('/') {
            Some((rest, last)) if !rest.ends_with('/') && is_version(last) => (rest.trim_end_matches('/'), last),
            _ => (url, "v1"),
        }
    }

    /// Name of the secret that holds the key.
    pub fn secret(&self) -> &str {
        match (&self.secret, self.protocol) {
            (Some(name), _) => name,
            (None, Protocol::Openai) => "OPENAI_API_KEY",
            (None, Protocol::Anthropic) => "ANTHROPIC_API_KEY",
        }
    }

    fn check(&self) -> Result<(), PluginError> {
        if self.program.trim().is_empty() {
            return Err(refuse("`program` is empty; leave it out for `opencode`".to_owned()));
        }
        if self.base_url.as_deref().is_some_and(|url| !is_address(url)) {
            return Err(refuse("`base_url` must be a plain address such as `https://api.openai.com`".to_owned()));
        }
        if !is_variable(self.secret()) {
            return Err(refuse("`secret` must be a name such as `OPENAI_API_KEY`, never the key itself".to_owned()));
        }
        match self.extra_args.iter().find(|arg| is_refused(arg)) {
            Some(arg) => Err(refuse(format!(
                "`extra_args` may not hold `{}`: the review is read-only and its output is parsed",
                arg.split('=').next().unwrap_or_default()
            ))),
            None => Ok(()),
        }
    }
}

fn is_refused(arg: &str) -> bool {
    let Some(long) = arg.strip_prefix("--") else { return arg.starts_with('-') };
    let name = long.split(['=', '.']).next().unwrap_or_default();
    let folded: String = name.chars().filter(|c| *c != '-' && *c != '_').collect::<String>().to_lowercase();
    let positive = folded.strip_prefix("no").unwrap_or(&folded);
    folded.is_empty() || REFUSED_ARGS.contains(&folded.as_str()) || REFUSED_ARGS.contains(&positive)
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
            && !rest.chars().any(|c| c.is_whitespace() || c.is_control() || "\"'\\?#@{}".contains(c))
    })
}

fn is_variable(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn refuse(text: String) -> PluginError {
    PluginError::InvalidConfiguration(text)
}
