//! The one place that reads the environment.
#![allow(clippy::disallowed_methods, reason = "this is the place that the lint names")]

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

/// The environment as it was when the program started.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    variables: BTreeMap<String, String>,
    path: OsString,
}

impl Environment {
    /// Reads it. Variables that are not UTF-8 are left out; no setting of ours can be one.
    pub fn read() -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Self { variables, path: std::env::var_os("PATH").unwrap_or_default() }
    }

    /// An environment of these variables, for tests.
    #[cfg(test)]
    pub(crate) fn of<const N: usize>(variables: [(&str, &str); N]) -> Self {
        let variables: BTreeMap<String, String> =
            variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let path = variables.get("PATH").map(OsString::from).unwrap_or_default();
        Self { variables, path }
    }

    /// A variable, absent when unset or empty.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// All variables.
    pub fn all(&self) -> &BTreeMap<String, String> {
        &self.variables
    }

    /// `PATH`, exactly.
    pub fn path(&self) -> &OsString {
        &self.path
    }

    /// The user's configuration file, whether or not it exists.
    pub fn user_config(&self) -> Option<PathBuf> {
        Some(self.base("XDG_CONFIG_HOME", ".config")?.join("assize/config.toml"))
    }

    /// Where compiled components are kept.
    pub fn cache_dir(&self) -> Option<PathBuf> {
        Some(self.base("XDG_CACHE_HOME", ".cache")?.join("assize"))
    }

    /// Where the user's secret key is kept; clearing caches must not make every audit foreign.
    pub fn state_dir(&self) -> Option<PathBuf> {
        Some(self.base("XDG_STATE_HOME", ".local/state")?.join("assize"))
    }

    /// An XDG base directory. The specification says that a relative one is to be ignored.
    fn base(&self, variable: &str, below_home: &str) -> Option<PathBuf> {
        let named = self.get(variable).map(PathBuf::from).filter(|dir| dir.is_absolute());
        named.or_else(|| Some(PathBuf::from(self.get("HOME")?).join(below_home)))
    }
}
