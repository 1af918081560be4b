//! The components that the build embeds, and the grants that are compiled in beside them.

use assize_core::grant::{Grant, GrantKind};
use assize_core::plugin::PluginKind;

use crate::config::Settings;

include!(concat!(env!("OUT_DIR"), "/built_in.rs"));

/// Name and bytes of each.
pub(super) fn built_in() -> impl Iterator<Item = (&'static str, &'static [u8])> {
    BUILT_IN.iter().copied()
}

/// Built-in providers: the folder of the component, the names that it serves, and the fixed grants that it has without
/// being asked about. A replacement of the same name gets none of them.
pub(super) const PROVIDERS: &[BuiltInProvider] = &[
    BuiltInProvider {
        folder: "provider-claude-code",
        serves: &["claude-code"],
        programs: &["claude"],
        hosts: &["api.anthropic.com"],
        secrets: &["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL"],
    },
    BuiltInProvider {
        folder: "provider-codex",
        serves: &["codex"],
        programs: &["codex"],
        hosts: &["api.openai.com"],
        secrets: &["OPENAI_API_KEY", "CODEX_HOME"],
    },
    BuiltInProvider {
        folder: "provider-opencode",
        serves: &["opencode"],
        programs: &["opencode"],
        hosts: &["api.openai.com", "api.anthropic.com"],
        secrets: &["OPENAI_API_KEY", "ANTHROPIC_API_KEY"],
    },
    BuiltInProvider {
        folder: "provider-gemini",
        serves: &["gemini", "qwen"],
        programs: &["gemini", "qwen"],
        hosts: &["generativelanguage.googleapis.com", "dashscope-intl.aliyuncs.com"],
        secrets: &["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GEMINI_BASE_URL", "DASHSCOPE_API_KEY", "OPENAI_API_KEY"],
    },
    BuiltInProvider {
        folder: "provider-copilot",
        serves: &["copilot"],
        programs: &["copilot"],
        hosts: &["api.openai.com", "api.anthropic.com"],
        secrets: &["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "COPILOT_GITHUB_TOKEN"],
    },
    BuiltInProvider {
        folder: "provider-anthropic",
        serves: &["anthropic"],
        programs: &[],
        hosts: &["api.anthropic.com"],
        secrets: &["ANTHROPIC_API_KEY"],
    },
    BuiltInProvider {
        folder: "provider-openai",
        serves: &["openai"],
        programs: &[],
        hosts: &["api.openai.com"],
        secrets: &["OPENAI_API_KEY"],
    },
    BuiltInProvider {
        folder: "provider-google",
        serves: &["google"],
        programs: &[],
        hosts: &["generativelanguage.googleapis.com"],
        secrets: &["GEMINI_API_KEY"],
    },
    BuiltInProvider {
        folder: "provider-bedrock",
        serves: &["bedrock"],
        programs: &[],
        hosts: &["bedrock-runtime.us-east-1.amazonaws.com"],
        secrets: &["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"],
    },
    BuiltInProvider {
        folder: "provider-vscode-task",
        serves: &["vscode-task"],
        programs: &[],
        hosts: &[],
        secrets: &[],
    },
    BuiltInProvider { folder: "provider-command", serves: &["command"], programs: &[], hosts: &[], secrets: &[] },
    BuiltInProvider { folder: "provider-hand-off", serves: &["hand-off"], programs: &[], hosts: &[], secrets: &[] },
    BuiltInProvider { folder: "provider-rules", serves: &["rules"], programs: &[], hosts: &[], secrets: &[] },
];

/// One built-in provider component.
pub(super) struct BuiltInProvider {
    pub(super) folder: &'static str,
    pub(super) serves: &'static [&'static str],
    programs: &'static [&'static str],
    hosts: &'static [&'static str],
    secrets: &'static [&'static str],
}

/// What a built-in component may have done without being asked about. A replacement of the same name gets none of it.
pub(super) fn fixed_grants(kind: PluginKind, name: &str) -> Vec<Grant> {
    let folder = format!("provider-{name}");
    let found = PROVIDERS.iter().find(|provider| kind == PluginKind::Provider && provider.folder == folder);
    let Some(provider) = found else { return Vec::new() };
    let kinds = [
        (GrantKind::Program, provider.programs),
        (GrantKind::Host, provider.hosts),
        (GrantKind::Secret, provider.secrets),
    ];
    let grant = |kind, name: &&str| Grant { kind, name: (*name).to_owned() };
    kinds.into_iter().flat_map(|(kind, names)| names.iter().map(move |name| grant(kind, name))).collect()
}

/// Whether a run with these settings can come to need the component of a folder. Compiling what nobody asks is time lost.
pub(super) fn is_needed(folder: &str, settings: &Settings) -> bool {
    let reached = settings.reachable_providers();
    if let Some(provider) = PROVIDERS.iter().find(|provider| provider.folder == folder) {
        return provider.serves.iter().any(|name| reached.iter().any(|reached| reached == name));
    }
    !folder.starts_with("ratelimit-") || reached.iter().any(|name| !matches!(name.as_str(), "rules" | "hand-off"))
}

/// The names of all built-in providers.
pub(super) fn provider_names() -> impl Iterator<Item = &'static str> {
    PROVIDERS.iter().flat_map(|provider| provider.serves.iter().copied())
}
