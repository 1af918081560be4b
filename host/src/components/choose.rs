//! Which lanes review: those that were named, or `auto`, with the reason in one line.

use super::built_in::{PROVIDERS, provider_names};
use super::catalog::{Catalog, Component};
use super::lane::{RunLane, secret_of};
use crate::config::{ConfigError, Origin, Settings};
use crate::launch::resolve_program;

/// Chooses the lanes of a run, in the order in which they are preferred. `auto` takes one reviewer that costs money only when
/// the user has configured it and it can work here: nobody is to spend money by running an audit that he did not set up.
pub fn choose_lanes(settings: &Settings, catalog: &Catalog) -> Result<Vec<RunLane>, ConfigError> {
    let wish = &settings.provider;
    let names: Vec<&str> = settings.wanted_names().collect();
    if names.is_empty() || names == ["auto"] {
        return Ok(vec![choose_automatically(settings, catalog)?]);
    }
    let said_by = match wish.origin {
        Origin::Flag => "named by --provider",
        Origin::Repository => "named by the repository's assize.toml",
        Origin::User | Origin::Default => "named by your configuration",
    };
    let mut lanes: Vec<RunLane> = Vec::new();
    for name in names {
        if name == "auto" || lanes.iter().any(|lane| lane.name == name) {
            let message = format!("`{name}` stands beside others; name each lane once, or auto alone");
            return Err(ConfigError::Value { place: "--provider".to_owned(), message });
        }
        check_repository_wish(settings, name)?;
        lanes.push(lane(settings, catalog, name, said_by)?);
    }
    Ok(lanes)
}

/// What a repository names counts only where the user has configured it, or approved the repository's section of it.
fn check_repository_wish(settings: &Settings, name: &str) -> Result<(), ConfigError> {
    let own = settings.user.lanes.contains_key(name);
    if settings.provider.origin != Origin::Repository || name == "rules" || own || settings.is_users_choice(name) {
        return Ok(());
    }
    // The error of the section, when there is one, carries the digest that approves it.
    settings.section(name)?;
    let message = format!(
        "the repository asks for the provider `{name}`, which you have not configured; if you want it, say --provider {name}"
    );
    Err(ConfigError::Value { place: "assize.toml: provider".to_owned(), message })
}

/// The first that is configured and can work here; the rules otherwise.
fn choose_automatically(settings: &Settings, catalog: &Catalog) -> Result<RunLane, ConfigError> {
    // People are not to be asked by surprise, and the rules come last.
    let candidates = provider_names().filter(|name| !matches!(*name, "rules" | "hand-off"));
    for name in candidates {
        let Some(section) = settings.providers.get(name) else { continue };
        if section.origin == Origin::Repository {
            settings.section(name)?;
        }
        let found = lane(settings, catalog, name, "")?;
        let Some(why) = can_work(settings, &found) else { continue };
        return Ok(RunLane { why: format!("auto: `{name}` is configured and {why}"), ..found });
    }
    let why = "auto: no reviewer is configured that can work here, so the built-in rules review";
    lane(settings, catalog, "rules", why)
}

/// Why a lane can work here: its program is there, or the secret that it pays with.
fn can_work(settings: &Settings, lane: &RunLane) -> Option<&'static str> {
    if let Some(program) = lane.program() {
        let found = resolve_program(&program, settings.environment.path(), &settings.root).is_ok();
        return found.then_some("its program is there");
    }
    let requests = &lane.component.plugin.description().requests;
    let asked = || requests.iter().find(|request| request.kind == "secret").map(|request| request.name.clone());
    match secret_of(&lane.config, asked) {
        Some(name) if settings.user.secrets.contains_key(&name) => Some("its key is configured"),
        Some(name) => settings.environment.get(&name).map(|_| "its key is there"),
        None => Some("needs no key"),
    }
}

/// The lane of a name: one of the user's table, or else the provider itself.
fn lane(settings: &Settings, catalog: &Catalog, name: &str, why: &str) -> Result<RunLane, ConfigError> {
    let provider = settings.user.lanes.get(name).and_then(|lane| lane.provider.as_deref()).unwrap_or(name);
    let component = catalog.provider(provider).ok_or_else(|| unknown_provider(provider, settings, catalog))?;
    let mut config = settings.section(provider)?;
    let mut place = format!("[providers.{provider}]");
    let own = settings.user.lanes.get(name).map(|lane| &lane.config).filter(|own| !own.is_empty());
    if let (Some(own), Some(section)) = (own, config.as_object_mut()) {
        place = format!("[lanes.{name}.config] over {place}");
        section.extend(own.iter().map(|(key, value)| (key.clone(), serde_json::to_value(value).unwrap_or_default())));
    }
    check_config(component, &config, &place)?;
    let lane = RunLane::new(name, provider, component, config, settings, catalog);
    if component.said("snapshot") == Some("needed") && !lane.snapshot {
        let message = format!(
            "`{provider}` runs what the folder that it works in tells it to; it needs the copy of the repository, so leave \
             --no-snapshot and `snapshot = false` out"
        );
        return Err(ConfigError::Value { place: format!("lane {name}"), message });
    }
    Ok(RunLane { why: why.to_owned(), ..lane })
}

/// Checks a section against its component's schema; the error names key and mend.
fn check_config(component: &Component, config: &serde_json::Value, place: &str) -> Result<(), ConfigError> {
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

fn unknown_provider(name: &str, settings: &Settings, catalog: &Catalog) -> ConfigError {
    let mut known: Vec<&str> = provider_names().collect();
    known.extend(catalog.providers().into_keys().filter(|loaded| !PROVIDERS.iter().any(|p| p.serves.contains(loaded))));
    known.extend(settings.user.lanes.keys().map(String::as_str));
    known.sort_unstable();
    known.dedup();
    let message = format!("no provider or lane is called {name:?}; there are {} and auto", known.join(", "));
    ConfigError::Value { place: "--provider".to_owned(), message }
}
