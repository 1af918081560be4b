//! The configuration section, which has the same keys for both programs.

use assize_plugin_sdk::PluginError;
use serde::Deserialize;

use crate::cli::Cli;

/// Schema of the configuration section.
pub const CONFIG_SCHEMA: &str = r#"{
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "program": {"type": "string", "minLength": 1, "description": "Name of the program; gemini or qwen unless said. Another name is granted by being named in your own configuration."},
    "model": {"type": "string", "minLength": 1, "description": "Model when the lane names none."},
    "login": {"enum": ["key", "user"], "description": "key: a key from the environment and a home of its own; user: the user's own login, without a gateway; not for qwen."},
    "base_url": {"type": "string", "pattern": "^https?://", "description": "Address of the service. For qwen as OPENAI_BASE_URL has it, mostly with /v1 at its end."},
    "gateway": {"type": "boolean", "description": "Whether requests go through the gateway, which reads limits and holds the key; true unless said."},
    "secret": {"type": "string", "minLength": 1, "description": "Name of the secret with the key. gemini: GEMINI_API_KEY, then GOOGLE_API_KEY; qwen: DASHSCOPE_API_KEY, or OPENAI_API_KEY beside a base_url. Another name is granted by being named in your own configuration."},
    "max_turns": {"type": "integer", "minimum": 1, "description": "Turns of one launch; for gemini only with login = key."},
    "extra_args": {"type": "array", "items": {"type": "string"}, "description": "More arguments; none may give it rights or change its output."},
    "timeout_ms": {"type": "integer", "minimum": 1, "description": "Milliseconds of one launch; never past the launch's own."}
  }
}"#;

/// Options that would lift what makes the review read-only, change the output that is parsed, put a key into the
/// arguments, or name twice what the section names. Written without dashes, because the programs take `--approvalMode`
/// for `--approval-mode`.
const REFUSED_OPTIONS: [&str; 34] = [
    "acp",
    "adminpolicy",
    "allowedmcpservernames",
    "allowedtools",
    "approvalmode",
    "authtype",
    "bare",
    "chatrecording",
    "continue",
    "coretools",
    "debug",
    "excludetools",
    "experimentalacp",
    "extensions",
    "includedirectories",
    "inputformat",
    "includepartialmessages",
    "jsonschema",
    "mcpconfig",
    "maxsessionturns",
    "maxwalltime",
    "model",
    "openaiapikey",
    "openaibaseurl",
    "openailogging",
    "outputformat",
    "policy",
    "prompt",
    "promptinteractive",
    "rawoutput",
    "resume",
    "sessionid",
    "worktree",
    "yolo",
];

/// The same as single letters, which may also be joined, as in `-dy`.
const REFUSED_LETTERS: &str = "cdeimopry";

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

/// The configuration section, read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Name of the program, where it is not the usual one.
    pub program: Option<String>,
    /// Model when the lane names none.
    pub model: Option<String>,
    /// Whose login.
    pub login: Login,
    /// Address of the service.
    pub base_url: Option<String>,
    /// Whether requests go through the gateway.
    pub gateway: bool,
    /// Name of the secret.
    pub secret: Option<String>,
    /// Turns of one launch.
    pub max_turns: Option<u32>,
    /// More arguments.
    pub extra_args: Vec<String>,
    /// Milliseconds of one launch.
    pub timeout_ms: Option<u64>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            program: None,
            model: None,
            login: Login::Key,
            base_url: None,
            gateway: true,
            secret: None,
            max_turns: None,
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
    pub fn parse(json: &str, cli: Cli) -> Result<Self, PluginError> {
        let json = if json.trim().is_empty() { "{}" } else { json };
        let config: Self = serde_json::from_str(json)
            .map_err(|error| refuse(format!("the section of provider {} cannot be read: {error}", cli.name())))?;
        config.check(cli)?;
        Ok(config)
    }

    /// Secrets that are tried in turn.
    pub fn secrets(&self, cli: Cli) -> Vec<String> {
        match &self.secret {
            Some(secret) => vec![secret.clone()],
            None => cli.secrets(self.base_url.is_some()).iter().map(|name| (*name).to_owned()).collect(),
        }
    }

    /// Whether the service is on this machine and no key was named for it: such services mostly want none.
    pub fn may_be_keyless(&self, cli: Cli) -> bool {
        let local = ["http://127.0.0.1", "http://localhost", "http://[::1]"];
        let here = |url: &String| local.iter().any(|host| is_at(url, host));
        cli == Cli::Qwen && self.secret.is_none() && self.base_url.as_ref().is_some_and(here)
    }

    fn check(&self, cli: Cli) -> Result<(), PluginError> {
        for (key, value) in [("program", &self.program), ("model", &self.model), ("secret", &self.secret)] {
            if value.as_ref().is_some_and(|value| value.trim().is_empty()) {
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
        if self.login == Login::User && (self.secret.is_some() || self.base_url.is_some()) {
            let words = "`secret` and `base_url` belong to login = \"key\"; the user's own login has its own service";
            return Err(refuse(words.to_owned()));
        }
        match (cli, self.login) {
            (Cli::Qwen, Login::User) => {
                let words =
                    "`login` = \"user\" is not for qwen, whose users log in with keys; name `secret` and `base_url`";
                return Err(refuse(words.to_owned()));
            }
            (Cli::Gemini, Login::User) if self.max_turns.is_some() => {
                let words = "`max_turns` of gemini needs login = \"key\"; with the user's own login set model.maxSessionTurns in ~/.gemini/settings.json";
                return Err(refuse(words.to_owned()));
            }
            _ => {}
        }
        match self.extra_args.iter().find(|arg| is_refused(arg)) {
            Some(arg) => Err(refuse(format!(
                "`extra_args` may not hold `{}`: the review is read-only, its output is parsed, and {} has keys for the rest",
                arg.split('=').next().unwrap_or_default(),
                cli.name()
            ))),
            None => Ok(()),
        }
    }
}

/// Whether an address is at a host, at whatever port and path.
fn is_at(url: &str, host: &str) -> bool {
    url.strip_prefix(host).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
}

/// Whether an argument is a refused option, in any spelling that the programs' argument parser takes.
fn is_refused(arg: &str) -> bool {
    let name = arg.split(['=', '.']).next().unwrap_or_default();
    if let Some(long) = name.strip_prefix("--") {
        let folded: String = long.chars().filter(|c| *c != '-').flat_map(char::to_lowercase).collect();
        let positive = folded.strip_prefix("no").unwrap_or(&folded);
        // A lone `--` would turn what follows into a second prompt.
        return folded.is_empty() || [folded.as_str(), positive].iter().any(|name| REFUSED_OPTIONS.contains(name));
    }
    name.strip_prefix('-').is_some_and(|letters| letters.chars().any(|letter| REFUSED_LETTERS.contains(letter)))
}

fn refuse(text: String) -> PluginError {
    PluginError::InvalidConfiguration(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<Config, PluginError> {
        Config::parse(json, Cli::Gemini)
    }

    #[test]
    fn every_spelling_of_a_refused_option_is_refused() {
        for arg in [
            "--yolo",
            "-y",
            "-sy",
            "--approval-mode",
            "--approvalMode=yolo",
            "--APPROVAL-MODE",
            "--no-bare",
            "--output-format=text",
            "-o",
            "--prompt",
            "--openai-api-key=k",
            "--yolo.x",
            "--",
            "-m=x",
        ] {
            let json = serde_json::json!({"extra_args": [arg]}).to_string();
            assert!(matches!(parse(&json), Err(PluginError::InvalidConfiguration(_))), "{arg}");
        }
        assert!(parse(r#"{"extra_args":["--skip-trust","--proxy","http://p","-s"]}"#).is_ok());
    }

    #[test]
    fn what_cannot_be_used_is_refused_with_its_key() {
        for (json, word) in [
            (r#"{"program":" "}"#, "program"),
            (r#"{"secret":""}"#, "secret"),
            (r#"{"model":"-y"}"#, "model"),
            (r#"{"base_url":"ftp://x"}"#, "base_url"),
            (r#"{"base_url":"https://"}"#, "base_url"),
            (r#"{"login":"user","secret":"K"}"#, "login"),
            (r#"{"login":"user","max_turns":3}"#, "max_turns"),
            (r#"{"modle":"x"}"#, "modle"),
        ] {
            let Err(PluginError::InvalidConfiguration(text)) = parse(json) else { panic!("{json}") };
            assert!(text.contains(word), "{text}");
        }
    }

    #[test]
    fn qwen_has_no_login_of_the_user() {
        let Err(PluginError::InvalidConfiguration(text)) = Config::parse(r#"{"login":"user"}"#, Cli::Qwen) else {
            panic!("it is refused")
        };
        assert!(text.contains("base_url"), "{text}");
    }

    #[test]
    fn the_schema_knows_exactly_the_keys_of_the_section() {
        let schema: serde_json::Value = serde_json::from_str(CONFIG_SCHEMA).expect("it is JSON");
        for key in schema["properties"].as_object().expect("an object").keys() {
            let Err(PluginError::InvalidConfiguration(text)) = parse(&format!(r#"{{"{key}":{{}}}}"#)) else {
                panic!("{key}")
            };
            assert!(!text.contains("unknown field"), "{text}");
        }
    }

    #[test]
    fn a_key_of_another_service_is_never_sent_to_the_usual_one() {
        let secrets = |json: &str| Config::parse(json, Cli::Qwen).expect("it is good").secrets(Cli::Qwen);
        assert_eq!(secrets("{}"), ["DASHSCOPE_API_KEY"]);
        assert_eq!(secrets(r#"{"base_url":"https://llm.example/v1"}"#), ["OPENAI_API_KEY"]);
        assert_eq!(secrets(r#"{"secret":"MINE"}"#), ["MINE"]);
    }
}
