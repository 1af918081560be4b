//! All components of a run by what they serve.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assize_core::grant::{Grant, GrantTable, Grants};
use assize_core::inventory::FileRow;
use assize_core::plugin::PluginKind;
use assize_sandbox::{Plugin, Refused, Sandbox, SandboxError, SandboxOptions};
use globset::{Glob, GlobSet, GlobSetBuilder};

use super::built_in::{built_in, fixed_grants, is_needed};
use crate::config::Settings;
use crate::user_key::UserKey;

/// Largest component that is read, in bytes. A Python runtime is about 20 MB.
const LARGEST_COMPONENT: u64 = 256 << 20;

/// Why there is no catalog.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// The sandbox cannot run here.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// A component was refused.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A component's file cannot be read.
    #[error("cannot read the component {path}: {message}")]
    Read {
        /// File.
        path: PathBuf,
        /// Cause.
        message: String,
    },
    /// A component's path patterns are too many or too large together.
    #[error("the path patterns of plugin `{plugin}` cannot be used together: {message}")]
    Patterns {
        /// Plugin.
        plugin: String,
        /// Cause.
        message: String,
    },
    /// A component's path pattern is none.
    #[error("plugin `{plugin}` serves the path pattern {glob:?}, which is none: {message}")]
    Pattern {
        /// Plugin.
        plugin: String,
        /// Pattern.
        glob: String,
        /// Cause.
        message: String,
    },
    /// A grant names a plugin that is not loaded.
    #[error("--grant names the plugin `{0}`, which is not loaded; `assize plugin list` shows those that are")]
    GrantForNobody(String),
}

/// One component of the run.
#[derive(Clone)]
pub struct Component {
    /// The plugin.
    pub plugin: Plugin,
    /// `built in`, or the file.
    pub origin: String,
    /// What it may have done, bound to its digest by being here.
    pub grants: Grants,
    /// Paths that an analyzer serves by pattern.
    patterns: GlobSet,
}

impl Component {
    /// Its name.
    pub fn name(&self) -> &str {
        self.plugin.name()
    }

    /// What its description says under a name of the extension bag.
    pub fn said(&self, name: &str) -> Option<&str> {
        let extra = &self.plugin.description().extra;
        extra.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether it came with the binary.
    pub fn is_built_in(&self) -> bool {
        self.origin == "built in"
    }

    /// Whether an analyzer looks at a file.
    pub fn serves_file(&self, row: &FileRow) -> bool {
        let languages = &mut self.plugin.description().serving("language");
        languages.any(|language| language == "*" || language == row.language) || self.patterns.is_match(&row.path)
    }
}

/// Which of the built-in components are loaded. Those of flags and configuration always are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All of them.
    All,
    /// The analyzers alone, for commands that ask nobody.
    Analyzers,
    /// The analyzers, the providers that the settings can lead to, and readers of limits where one of these has any.
    ForRun,
}

/// All components of a run.
pub struct Catalog {
    components: Vec<Component>,
}

impl Catalog {
    /// Admits the built-in components and those of the settings. One that serves the same name takes the other's place,
    /// kind by kind; the later one wins.
    pub fn load(settings: &Settings, wanted: Wanted) -> Result<Self, CatalogError> {
        let cache = settings.environment.cache_dir();
        // A key of its own beside the cache: whoever clears the one has no use for the other.
        let key = cache.as_deref().and_then(UserKey::read_or_make).map(|key| key.of_component_cache());
        let cache_dir = cache.map(|dir| dir.join("components"));
        let sandbox = Sandbox::new(SandboxOptions {
            cache_dir: cache_dir.filter(|_| key.is_some()),
            cache_key: key.unwrap_or_default(),
            ..SandboxOptions::default()
        })?;
        let mut components: Vec<Component> = Vec::new();
        for (name, bytes) in built_in() {
            let needed = match wanted {
                Wanted::All => true,
                Wanted::Analyzers => name.starts_with("analyzer-"),
                Wanted::ForRun => is_needed(name, settings),
            };
            if !needed {
                continue;
            }
            let plugin = sandbox.admit(bytes, name)?;
            components.push(component(plugin, "built in".to_owned())?);
        }
        for path in &settings.plugins {
            let bytes = read_component(path)?;
            let origin = path.display().to_string();
            let added = component(sandbox.admit(&bytes, &origin)?, origin)?;
            components.retain(|other| !takes_place_of(&added.plugin, &other.plugin));
            components.push(added);
        }
        let mut catalog = Self { components };
        catalog.bind_grants(settings)?;
        Ok(catalog)
    }

    fn bind_grants(&mut self, settings: &Settings) -> Result<(), CatalogError> {
        let digest_of = |name: &str| self.by_name(name).map(|c| c.plugin.digest_sha256().to_owned());
        let is_built_in = |name: &str| self.by_name(name).is_some_and(Component::is_built_in);
        let mut table: GrantTable = settings.user.grant_table(&digest_of, &is_built_in);
        for named in &settings.flag_grants {
            if self.by_name(&named.plugin).is_none() {
                return Err(CatalogError::GrantForNobody(named.plugin.clone()));
            }
            table.add(named.clone());
        }
        for component in &mut self.components {
            let mut grants: Vec<Grant> = table.of(component.plugin.name()).iter().cloned().collect();
            if component.is_built_in() {
                grants.extend(fixed_grants(component.plugin.kind(), component.plugin.name()));
            }
            component.grants = Grants::of(grants);
        }
        Ok(())
    }

    /// All, built-in ones first.
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// The component of a name, or of a built-in component's folder. Names are unique within a kind only; grants are for
    /// providers, so that these come first.
    pub fn by_name(&self, name: &str) -> Option<&Component> {
        let kinds = [PluginKind::Provider, PluginKind::Analyzer, PluginKind::RateLimit];
        let named = kinds.into_iter().find_map(|kind| self.of_kind(kind).find(|c| c.plugin.name() == name));
        named.or_else(|| {
            let (kind, name) = name.split_once('-')?;
            let kind = match kind {
                "provider" => PluginKind::Provider,
                "ratelimit" => PluginKind::RateLimit,
                _ => return None,
            };
            self.of_kind(kind).find(|component| component.plugin.name() == name)
        })
    }

    /// The provider of a name.
    pub fn provider(&self, name: &str) -> Option<&Component> {
        self.serving(PluginKind::Provider, name)
    }

    /// The readers of limits of a provider: those that name it, then those that serve every one, in the order of their
    /// names. Each passes over what is not its own.
    pub fn rate_limits(&self, provider: &str) -> Vec<&Component> {
        let serving = |component: &&Component, name: &str| {
            component.plugin.description().serving("provider").any(|served| served == name)
        };
        let mut named: Vec<&Component> = self.of_kind(PluginKind::RateLimit).filter(|c| serving(c, provider)).collect();
        let mut any: Vec<&Component> = self.of_kind(PluginKind::RateLimit).filter(|c| serving(c, "*")).collect();
        any.sort_by(|a, b| a.name().cmp(b.name()));
        any.retain(|component| !named.iter().any(|other| other.name() == component.name()));
        named.extend(any);
        named
    }

    /// The analyzers, in the order of their names.
    pub fn analyzers(&self) -> Vec<&Component> {
        let mut analyzers: Vec<_> = self.of_kind(PluginKind::Analyzer).collect();
        analyzers.sort_by(|a, b| a.name().cmp(b.name()));
        analyzers
    }

    /// Provider names with their components, sorted.
    pub fn providers(&self) -> BTreeMap<&str, &Component> {
        self.of_kind(PluginKind::Provider)
            .flat_map(|component| component.plugin.description().serving("provider").map(move |name| (name, component)))
            .collect()
    }

    fn of_kind(&self, kind: PluginKind) -> impl Iterator<Item = &Component> {
        self.components.iter().filter(move |component| component.plugin.kind() == kind)
    }

    fn serving(&self, kind: PluginKind, provider: &str) -> Option<&Component> {
        self.of_kind(kind).find(|c| c.plugin.description().serving("provider").any(|name| name == provider))
    }
}

/// Where a component came from, with its digest, for lists.
pub fn describe_origin(component: &Component) -> String {
    format!("{}, sha256 {}", component.origin, component.plugin.digest_sha256())
}

fn component(plugin: Plugin, origin: String) -> Result<Component, CatalogError> {
    let mut patterns = GlobSetBuilder::new();
    for glob in plugin.description().serving("path") {
        let parsed = Glob::new(glob).map_err(|error| CatalogError::Pattern {
            plugin: plugin.name().to_owned(),
            glob: glob.to_owned(),
            message: error.to_string(),
        })?;
        patterns.add(parsed);
    }
    let patterns = patterns
        .build()
        .map_err(|error| CatalogError::Patterns { plugin: plugin.name().to_owned(), message: error.to_string() })?;
    Ok(Component { plugin, origin, grants: Grants::none(), patterns })
}

/// The same kind and the same name, or the same provider name.
fn takes_place_of(new: &Plugin, old: &Plugin) -> bool {
    let providers =
        |plugin: &Plugin| -> Vec<String> { plugin.description().serving("provider").map(str::to_owned).collect() };
    new.kind() == old.kind()
        && (new.name() == old.name() || providers(new).iter().any(|name| providers(old).contains(name)))
}

fn read_component(path: &PathBuf) -> Result<Vec<u8>, CatalogError> {
    let wrong = |message: String| CatalogError::Read { path: path.clone(), message };
    let meta = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?;
    if !meta.is_file() || meta.len() > LARGEST_COMPONENT {
        return Err(wrong(format!("it must be a file of at most {LARGEST_COMPONENT} bytes")));
    }
    std::fs::read(path).map_err(|error| wrong(error.to_string()))
}
