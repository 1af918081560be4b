//! Which provider reviews: the one that was named, or `auto`, with the reason in one line.

use assize_core::grant::{Grant, GrantKind, Grants};

use super::catalog::{Catalog, Component};
use crate::config::{ConfigError, Origin, Settings};
use crate::launch::resolve_program;

/// The provider of a run.
#[derive(Clone)]
pub struct Chosen {
    /// Provider name.
    pub name: String,
    /// Its component.
    pub component: Component,
    /// Its grants: those bound to its digest, and the program of a command template that the user wrote or approved.
    pub grants: Grants,
    /// Its configuration section, checked against its schema.
    pub config: serde_json::Value,
    /// Why it was chosen, one line.
    pub why: String,
    /// Launches at once when nobody says otherwise.
    pub width: u32,
}

/// Agent CLIs that `auto` looks for, in this order.
const AUTO_ORDER: [&str; 2] = ["claude-code", "command"];

/// Chooses. `auto` takes an agent CLI only when the user has configured it and its program is there: nobody is to spend
/// money by running an audit that he did not set up.
pub fn choose_provider(settings: &Settings, catalog: &Catalog) -> Result<Chosen, ConfigError> {
    let wish = &settings.provider;
    if wish.name != "auto" {
        let said_by = match wish.origin {
            Origin::Flag => "named by --provider",
            Origin::Repository => "named by the repository's assize.toml",
            Origin::User | Origin::Default => "named by your configuration",
        };
        if wish.origin == Origin::Repository && wish.name != "rules" && !settings.is_users_choice(&wish.name) {
            // The error of the section, when there is one, carries the digest that approves it.
            settings.section(&wish.name)?;
            let message = format!(
                "the repository asks for the provider `{0}`, which you have not configured; if you want it, say --provider {0}",
                wish.name
            );
            return Err(ConfigError::Value { place: "assize.toml: provider".to_owned(), message });
        }
        return chosen(settings, catalog, &wish.name, said_by.to_owned());
    }
    for name in AUTO_ORDER {
        let Some(section) = settings.providers.get(name) else { continue };
        if section.origin == Origin::Repository {
            settings.section(name)?;
        }
        let candidate =
            chosen(settings, catalog, name, format!("auto: `{name}` is configured and its program is there"))?;
        let program = program_of(name, &candidate.config);
        if program.is_some_and(|p| resolve_program(&p, settings.environment.path(), &settings.root).is_ok()) {
            return Ok(candidate);
        }
    }
    let why = "auto: no agent CLI is configured with its program present, so the built-in rules review";
    chosen(settings, catalog, "rules", why.to_owned())
}

fn chosen(settings: &Settings, catalog: &Catalog, name: &str, why: String) -> Result<Chosen, ConfigError> {
    let component = catalog.provider(name).ok_or_else(|| unknown_provider(name, catalog))?;
    let config = settings.section(name)?;
    check_config(component, &config, &format!("[providers.{name}]"))?;
    let mut grants: Vec<Grant> = component.grants.iter().cloned().collect();
    // Whoever writes a command template into his own configuration has named the program in the plainest way there is.
    if name == "command" && component.is_built_in() {
        grants.extend(program_of(name, &config).map(|program| Grant { kind: GrantKind::Program, name: program }));
    }
    let width = match name {
        "rules" => std::thread::available_parallelism().map_or(2, |n| n.get() as u32),
        "command" => 1,
        _ => 8,
    };
    Ok(Chosen { name: name.to_owned(), component: component.clone(), grants: Grants::of(grants), config, why, width })
}

/// Checks a section against its component's schema; the error names key and mend.
pub(crate) fn check_config(component: &Component, config: &serde_json::Value, place: &str) -> Result<(), ConfigError> {
    let wrong = |message: String| ConfigError::Value { place: place.to_owned(), message };
    let schema: serde_json::Value = serde_json::from_str(&component.plugin.description().config_schema)
        .map_err(|error| wrong(format!("the schema of plugin `{}` is not JSON: {error}", component.name())))?;
    let validator = jsonschema::validator_for(&schema)
        .map_err(|error| wrong(format!("the schema of plugin `{}` is no JSON Schema: {error}", component.name())))?;
    match validator.iter_errors(config).next() {
        None => Ok(()),
        Some(error) => {
            let at = error.instance_path().to_string();
            Err(wrong(if at.is_empty() { error.to_string() } else { format!("{at}: {error}") }))
        }
    }
}

/// The program that a provider's configuration names.
pub(crate) fn program_of(provider: &str, config: &serde_json::Value) -> Option<String> {
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    match provider {
        "command" => text(config.get("command")?.get(0)?),
        _ => config.get("program").and_then(text).or_else(|| Some("claude".to_owned())),
    }
}

fn unknown_provider(name: &str, catalog: &Catalog) -> ConfigError {
    let known: Vec<&str> = catalog.providers().into_keys().collect();
    let message = format!("no provider is called {name:?}; there are {} and auto", known.join(", "));
    ConfigError::Value { place: "--provider".to_owned(), message }
}
