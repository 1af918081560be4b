//! Which of the two programs a launch runs, and what differs between them by name.

use assize_plugin_sdk::{LaunchRequest, PluginError, extra_value};

/// One of the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cli {
    /// Gemini CLI.
    Gemini,
    /// Qwen Code.
    Qwen,
}

impl Cli {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Gemini, Self::Qwen];

    /// The program that was chosen. Both are served by one component, so the host says by which name it was chosen.
    ///
    /// # Errors
    /// `unsupported` for another name.
    pub fn chosen(request: &LaunchRequest) -> Result<Self, PluginError> {
        let Some(name) = extra_value(&request.extra, "provider") else { return Ok(Self::Gemini) };
        let found = Self::ALL.into_iter().find(|cli| cli.name() == name);
        found.ok_or_else(|| PluginError::Unsupported(format!("provider `{name}` is neither gemini nor qwen")))
    }

    /// Name of the provider, and of the program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gemini => "gemini",
            Self::Qwen => "qwen",
        }
    }

    /// Where requests go unless configured.
    pub fn upstream(self) -> &'static str {
        match self {
            Self::Gemini => "https://generativelanguage.googleapis.com",
            Self::Qwen => "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        }
    }

    /// Secrets that are tried in turn. A key of another service is never sent to the default one, so Qwen Code's own
    /// variable counts only where its service was named as well.
    pub fn secrets(self, has_base_url: bool) -> &'static [&'static str] {
        match (self, has_base_url) {
            (Self::Gemini, _) => &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
            (Self::Qwen, false) => &["DASHSCOPE_API_KEY"],
            (Self::Qwen, true) => &["OPENAI_API_KEY"],
        }
    }

    /// What else than a key would do, as the end of a sentence.
    pub fn other_login(self) -> &'static str {
        match self {
            Self::Gemini => ", or log in and use login = \"user\"",
            Self::Qwen => ", or name `secret` and `base_url`",
        }
    }

    /// Variable of the program's address.
    pub fn address_variable(self) -> &'static str {
        match self {
            Self::Gemini => "GOOGLE_GEMINI_BASE_URL",
            Self::Qwen => "OPENAI_BASE_URL",
        }
    }

    /// Variable of the program's key.
    pub fn key_variable(self) -> &'static str {
        match self {
            Self::Gemini => "GEMINI_API_KEY",
            Self::Qwen => "OPENAI_API_KEY",
        }
    }
}
