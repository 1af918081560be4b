//! The configuration section.

use assize_plugin_sdk::PluginError;
use serde::Deserialize;

/// Schema of the configuration section.
pub const CONFIG_SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "program": {"type": "string", "minLength": 1, "description": "Name of the program; copilot unless said. Another name is granted by being named in your own configuration."},
    "model": {"type": "string", "minLength": 1, "description": "Model when the lane names none."},
    "login": {"enum": ["key", "user"], "description": "key: a key for a service of your own and a home of its own; user: the user's GitHub login, without a gateway."},
    "protocol": {"enum": ["openai", "anthropic", "azure"], "description": "What the service of login = key speaks; openai unless said."},
    "wire_api": {"enum": ["completions", "responses"], "description": "Which API of OpenAI's the service has; completions unless said."},
    "base_url": {"type": "string", "pattern": "^https?://", "description": "Address of the service. For openai mostly with /v1 at its end; azure needs it."},
    "gateway": {"type": "boolean", "description": "Whether requests go through the gateway, which reads limits and holds the key; true unless said."},
    "secret": {"type": "string", "minLength": 1, "description": "Name of the secret with the key: OPENAI_API_KEY, ANTHROPIC_API_KEY or AZURE_OPENAI_API_KEY unless said. Another name is granted by being named in your own configuration."},
    "extra_args": {"type": "array", "items": {"type": "string"}, "description": "More arguments; none may give it rights or change its output."},
    "timeout_ms": {"type": "integer", "minimum": 1, "description": "Milliseconds of one launch; never past the launch's own."}
  }
}"#;

/// Options that may be added: they neither give rights, nor change the output, nor name what the section names. The
/// program gains options that give rights every few weeks, so what is not known is refused.
const TAKEN_OPTIONS: [&str; 11] = [
    "--context",
    "--deny-tool",
    "--deny-url",
    "--disable-mcp-server",
    "--disallow-temp-dir",
    "--excluded-tools",
    "--log-level",
    "--max-ai-credits",
    "--no-experimental",
    "--no-remote-export",
    "--reasoning-effort",
];

/// How the program proves who it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Login {
    /// With a key for a service of the user's own, in a home of its own.
    #[default]
    Key,
    /// With the user's GitHub login, in the user's home.
    User,
}

/// What the service speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// OpenAI's APIs, by whomever.
    #[default]
    Openai,
    /// Anthropic's Messages API.
    Anthropic,
    /// Azure OpenAI.
    Azure,
}

impl Protocol {
    /// The program's word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
            Self::Azure => "azure",
        }
    }

    /// Where requests go unless configured; Azure has an address for each customer.
    pub fn upstream(self) -> Option<&'static str> {
        match self {
            Self::Openai => Some("https://api.openai.com/v1"),
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::Azure => None,
        }
    }

    /// Name of the usual secret.
    pub fn secret(self) -> &'static str {
        match self {
            Self::Openai => "OPENAI_API_KEY",
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::Azure => "AZURE_OPENAI_API_KEY",
        }
    }
}

/// Which API of OpenAI's is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WireApi {
    /// Chat Completions.
    #[default]
    Completions,
    /// Responses.
    Responses,
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
    /// What the service speaks.
    pub protocol: Protocol,
    /// Which API of OpenAI's.
    pub wire_api: WireApi,
    /// Address of the service.
    pub base_url: Option<String>,
    /// Whether requests go through the gateway.
    pub gateway: bool,
    /// Name of the secret.
    pub secret: Option<String>,
    /// More arguments.
    pub extra_args: Vec<String>,
    /// Milliseconds of one launch.
    pub timeout_ms: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            program: "copilot".to_owned(),
            model: None,
            login: Login::Key,
            protocol: Protocol::Openai,
            wire_api: WireApi::Completions,
            base_url: None,
            gateway: true,
            secret: None,
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
            .map_err(|error| refuse(format!("the section of provider copilot cannot be read: {error}")))?;
        config.check()?;
        Ok(config)
    }

    /// Address of the service, without a slash at its end.
    pub fn address(&self) -> &str {
        let url = self.base_url.as_deref().or(self.protocol.upstream()).unwrap_or_default();
        url.trim_end_matches('/')
    }

    /// Name of the secret.
    pub fn secret(&self) -> &str {
        self.secret.as_deref().unwrap_or(self.protocol.secret())
    }

    /// Whether the service is on this machine and no key was named for it: such services mostly want none.
    pub fn may_be_keyless(&self) -> bool {
        let local = ["http://127.0.0.1", "http://localhost", "http://[::1]"];
        self.secret.is_none() && self.base_url.as_ref().is_some_and(|url| local.iter().any(|host| is_at(url, host)))
    }

    fn check(&self) -> Result<(), PluginError> {
        let named =
            [("program", Some(&self.program)), ("model", self.model.as_ref()), ("secret", self.secret.as_ref())];
        for (key, value) in named {
            if value.is_some_and(|value| value.trim().is_empty()) {
                return Err(refuse(format!("`{key}` is empty; leave it out for the usual one")));
            }
        }
        if self.model.as_ref().is_some_and(|model| model.starts_with('-')) {
            return Err(refuse("`model` starts with `-`, so that the program would take it for an option".to_owned()));
        }
        if let Some(url) = &self.base_url
            && !["https://", "http://"].iter().any(|scheme| url.len() > scheme.len() && url.starts_with(scheme))
        {
            return Err(refuse(format!("`base_url` is `{url}`; it must start with https:// (http:// for loopback)")));
        }
        if self.login == Login::Key && self.address().is_empty() {
            return Err(refuse("`protocol` = \"azure\" needs `base_url`, the address of your resource".to_owned()));
        }
        if self.login == Login::User && (self.secret.is_some() || self.base_url.is_some()) {
            let words = "`secret` and `base_url` belong to login = \"key\"; a GitHub login has its own service";
            return Err(refuse(words.to_owned()));
        }
        match self.extra_args.iter().find(|arg| is_refused(arg)) {
            Some(arg) => Err(refuse(format!(
                "`extra_args` may not hold `{}`: the review is read-only and its output is parsed; it may hold {}",
                arg.split('=').next().unwrap_or_default(),
                TAKEN_OPTIONS.join(", ")
            ))),
            None => Ok(()),
        }
    }
}

/// Whether an address is at a host, at whatever port and path.
fn is_at(url: &str, host: &str) -> bool {
    url.strip_prefix(host).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
}

/// What starts with a dash is an option; anything else is the value of the one before.
fn is_refused(arg: &str) -> bool {
    arg.starts_with('-') && !TAKEN_OPTIONS.contains(&arg.split('=').next().unwrap_or_default())
}

fn refuse(text: String) -> PluginError {
    PluginError::InvalidConfiguration(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(json: &str) -> String {
        match Config::parse(json) {
            Err(PluginError::InvalidConfiguration(text)) => text,
            other => panic!("{json}: {other:?}"),
        }
    }

    #[test]
    fn what_gives_rights_or_is_not_known_is_refused() {
        for arg in
            ["--allow-all-tools", "--yolo", "-p", "--trust-folder", "--output-format=text", "--new-one", "--", "-"]
        {
            let text = refusal(&serde_json::json!({"extra_args": [arg]}).to_string());
            assert!(text.contains("extra_args") && text.contains("--reasoning-effort"), "{text}");
        }
        assert!(Config::parse(r#"{"extra_args":["--reasoning-effort","high","--max-ai-credits=3"]}"#).is_ok());
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_its_key() {
        for (json, word) in [
            (r#"{"program":" "}"#, "program"),
            (r#"{"secret":""}"#, "secret"),
            (r#"{"model":"--yolo"}"#, "model"),
            (r#"{"base_url":"localhost:1"}"#, "base_url"),
            (r#"{"protocol":"azure"}"#, "base_url"),
            (r#"{"protocol":"gemini"}"#, "gemini"),
            (r#"{"login":"user","base_url":"https://a"}"#, "login"),
            (r#"{"modle":"x"}"#, "modle"),
        ] {
            assert!(refusal(json).contains(word), "{json}");
        }
    }

    #[test]
    fn only_a_service_on_this_machine_may_want_no_key() {
        let keyless = |json: &str| Config::parse(json).expect("it is good").may_be_keyless();
        assert!(keyless(r#"{"base_url":"http://localhost:11434/v1"}"#));
        assert!(keyless(r#"{"base_url":"http://127.0.0.1"}"#));
        assert!(!keyless(r#"{"base_url":"http://localhost.example.com"}"#));
        assert!(!keyless(r#"{"base_url":"http://localhost:1","secret":"KEY"}"#));
        assert!(!keyless("{}"));
    }

    #[test]
    fn the_schema_knows_exactly_the_keys_of_the_section() {
        let schema: serde_json::Value = serde_json::from_str(CONFIG_SCHEMA).expect("it is JSON");
        for key in schema["properties"].as_object().expect("an object").keys() {
            assert!(!refusal(&format!(r#"{{"{key}":{{}}}}"#)).contains("unknown field"), "{key}");
        }
    }
}
