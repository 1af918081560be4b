//! The catalog of a run without flags, files and variables, and what stands in it.

use std::sync::LazyLock;

use assize::components::{Catalog, Wanted};
use assize::config::{Environment, PlaceFlags, Settings};
use assize_core::grant::{Grant, GrantKind};
use assize_core::plugin::{Description, PluginKind};
use assize_sandbox::{CallContext, Plugin};

/// Compiled once for all tests. The environment is empty, so that nothing of the user's is read or written.
static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    let repository = tempfile::tempdir().unwrap();
    let place = PlaceFlags { root: repository.path().to_owned(), ..PlaceFlags::default() };
    let settings = Settings::gather(&place.alone(), Environment::default()).unwrap();
    Catalog::load(&settings, Wanted::All).unwrap()
});

/// The built-in components.
pub fn catalog() -> &'static Catalog {
    &CATALOG
}

/// The plugin of the provider of this name.
pub fn provider(name: &str) -> &'static Plugin {
    &catalog().provider(name).unwrap().plugin
}

/// A call at a moment that tests can compare with.
pub fn call() -> CallContext {
    CallContext { now_ms: 1_780_488_000_000, ..CallContext::default() }
}

fn requests(description: &Description) -> Vec<Grant> {
    let grant = |kind: &str, name: &str| Grant { kind: GrantKind::parse(kind).unwrap(), name: name.to_owned() };
    let mut requests: Vec<Grant> = description.requests.iter().map(|r| grant(&r.kind, &r.name)).collect();
    requests.sort();
    requests
}

#[test]
fn every_component_is_there_with_its_kind_and_what_it_serves() {
    let mut seen: Vec<(&str, PluginKind, Vec<&str>)> = Vec::new();
    for component in catalog().components() {
        assert!(component.is_built_in());
        let description = component.plugin.description();
        assert_eq!(description.version, env!("CARGO_PKG_VERSION"));
        seen.push((component.name(), description.kind, description.serves.iter().map(|s| s.value.as_str()).collect()));
    }
    seen.sort();
    assert_eq!(
        seen,
        [
            ("analyzer-patterns", PluginKind::Analyzer, vec!["*"]),
            ("anthropic", PluginKind::Provider, vec!["anthropic"]),
            ("anthropic", PluginKind::RateLimit, vec!["claude-code", "anthropic"]),
            ("bedrock", PluginKind::Provider, vec!["bedrock"]),
            ("claude-code", PluginKind::Provider, vec!["claude-code"]),
            ("cli", PluginKind::RateLimit, vec!["*"]),
            ("codex", PluginKind::Provider, vec!["codex"]),
            ("command", PluginKind::Provider, vec!["command"]),
            ("copilot", PluginKind::Provider, vec!["copilot"]),
            ("gemini", PluginKind::Provider, vec!["gemini", "qwen"]),
            ("generic", PluginKind::RateLimit, vec!["*"]),
            ("google", PluginKind::Provider, vec!["google"]),
            ("google", PluginKind::RateLimit, vec!["google", "gemini", "vertex"]),
            ("hand-off", PluginKind::Provider, vec!["hand-off"]),
            ("openai", PluginKind::Provider, vec!["openai"]),
            (
                "openai",
                PluginKind::RateLimit,
                vec![
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
            ("opencode", PluginKind::Provider, vec!["opencode"]),
            ("rules", PluginKind::Provider, vec!["rules"]),
            ("vscode-task", PluginKind::Provider, vec!["vscode-task"]),
        ]
    );
    let readers: Vec<&str> = catalog().rate_limits("claude-code").iter().map(|reader| reader.name()).collect();
    assert_eq!(readers, ["anthropic", "cli", "generic"], "by name first, then those of everybody");
}

#[test]
fn a_component_may_do_exactly_what_it_requests() {
    for component in catalog().components() {
        let mut granted: Vec<Grant> = component.grants.iter().cloned().collect();
        granted.sort();
        assert_eq!(granted, requests(component.plugin.description()), "{}", component.name());
    }
    assert!(catalog().by_name("claude-code").unwrap().grants.allows(GrantKind::Program, "claude"));
}

#[test]
fn every_configuration_schema_refuses_an_unknown_key() {
    for component in catalog().components() {
        let schema = serde_json::from_str(&component.plugin.description().config_schema).unwrap();
        let validator = jsonschema::validator_for(&schema).unwrap();
        let section = serde_json::json!({"command": ["x"], "no-such-key": 1});
        assert!(!validator.is_valid(&section), "{}", component.name());
    }
}
