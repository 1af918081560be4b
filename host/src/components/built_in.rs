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

/// Built-in readers of limits: the folder of the component, and the providers that it serves.
pub(super) const READERS: &[(&str, &[&str])] = &[
    ("ratelimit-anthropic", &["claude-code", "anthropic"]),
    ("ratelimit-cli", &["*"]),
    ("ratelimit-generic", &["*"]),
    ("ratelimit-google", &["google", "gemini", "vertex"]),
    (
        "ratelimit-openai",
        &[
            "openai",
            "codex",
            "azure",
            "azure-openai",
            "groq",
            "mistral",
            "xai",
            "openrouter",
            "github-models",
            "cerebras",
            "fireworks",
        ],
    ),
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
    let Some((_, serves)) = READERS.iter().find(|(reader, _)| *reader == folder) else { return true };
    let limited = |name: &&String| !matches!(name.as_str(), "rules" | "hand-off");
    reached.iter().filter(limited).any(|name| serves.contains(&"*") || serves.contains(&name.as_str()))
}

/// The names of all built-in providers.
pub(super) fn provider_names() -> impl Iterator<Item = &'static str> {
    PROVIDERS.iter().flat_map(|provider| provider.serves.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::components::{Catalog, Wanted};
    use crate::config::{Environment, PlaceFlags, Settings};

    fn settings(provider: &str) -> Settings {
        let repository = tempfile::tempdir().unwrap();
        let place = PlaceFlags { root: repository.path().to_owned(), ..PlaceFlags::default() };
        let flags = crate::config::RunFlags { provider: Some(provider.to_owned()), ..place.alone() };
        Settings::gather(&flags, Environment::default()).unwrap()
    }

    #[test]
    fn the_tables_say_what_the_components_say_of_themselves() {
        let catalog = Catalog::load(&settings("rules"), Wanted::All).unwrap();
        let tables = READERS.iter().copied().chain(PROVIDERS.iter().map(|provider| (provider.folder, provider.serves)));
        for (folder, serves) in tables {
            let component = catalog.by_name(folder).unwrap_or_else(|| panic!("there is no {folder}"));
            let said: Vec<&str> = component.plugin.description().serving("provider").collect();
            assert_eq!(said, serves, "{folder}");
        }
        assert_eq!(catalog.components().len(), READERS.len() + PROVIDERS.len() + catalog.analyzers().len());
    }

    #[test]
    fn a_run_compiles_what_it_can_come_to_need_and_no_more() {
        let needed = |provider: &str| -> Vec<&str> {
            let settings = settings(provider);
            built_in().map(|(folder, _)| folder).filter(|folder| is_needed(folder, &settings)).collect()
        };
        assert_eq!(needed("rules"), ["analyzer-patterns", "provider-rules"]);
        assert_eq!(
            needed("qwen"),
            ["analyzer-patterns", "provider-gemini", "ratelimit-cli", "ratelimit-generic"],
            "readers that serve every provider, and none of another one's"
        );
        let codex = needed("codex");
        assert!(codex.contains(&"ratelimit-openai") && !codex.contains(&"ratelimit-google"), "{codex:?}");
    }
}
