//! The configuration files. They are checked strictly: an unknown key or a bad value is an error with its place.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use assize_core::grant::{Grant, GrantKind, GrantTable, NamedGrant};
use assize_core::id::Digest;
use serde::Deserialize;

use super::lanes::{LaneTable, SecretTable, check_lanes, check_secrets};

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file exists but cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// File.
        path: PathBuf,
        /// Cause.
        source: std::io::Error,
    },
    /// The file is not TOML of the documented shape. The message has line and column.
    #[error("in {path}: {message}")]
    Parse {
        /// File.
        path: PathBuf,
        /// What and where.
        message: String,
    },
    /// A value has the right shape but no meaning.
    #[error("{place}: {message}")]
    Value {
        /// File and key, or flag.
        place: String,
        /// What is wrong and what would be right.
        message: String,
    },
    /// The repository asks for what only the user can allow.
    #[error(
        "the repository's assize.toml asks for {what}, which nobody has approved; read it, then approve exactly this \
         content with --approve {digest}, or run with --provider rules"
    )]
    NotApproved {
        /// What it asks for.
        what: String,
        /// First 16 hex digits of the content's digest.
        digest: String,
    },
}

/// What both files may say.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepositoryFile {
    /// Provider to use, or `auto`.
    pub provider: Option<String>,
    /// Lenses to look through.
    pub lens: Option<Vec<String>>,
    /// `quick`, `standard` or `deep`.
    pub depth: Option<String>,
    /// Globs of paths that are left out.
    #[serde(default)]
    pub exclude: Vec<String>,
    /// Whether ignore files are not honoured.
    pub no_ignore: Option<bool>,
    /// Configuration of providers, by provider name.
    #[serde(default)]
    pub providers: BTreeMap<String, toml::Table>,
    /// Configuration of analyzers, by plugin name.
    #[serde(default)]
    pub analyzers: BTreeMap<String, toml::Table>,
}

/// What only the user's file may say, beside all that a repository's may.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UserFile {
    /// As in the repository's file.
    pub provider: Option<String>,
    /// As in the repository's file.
    pub lens: Option<Vec<String>>,
    /// As in the repository's file.
    pub depth: Option<String>,
    /// As in the repository's file.
    #[serde(default)]
    pub exclude: Vec<String>,
    /// As in the repository's file.
    pub no_ignore: Option<bool>,
    /// As in the repository's file.
    #[serde(default)]
    pub providers: BTreeMap<String, toml::Table>,
    /// As in the repository's file.
    #[serde(default)]
    pub analyzers: BTreeMap<String, toml::Table>,
    /// Launches at once.
    pub workers: Option<u32>,
    /// Launches of one run at most.
    pub max_launches: Option<u32>,
    /// Seconds that one launch may take.
    pub timeout: Option<u64>,
    /// Tokens of one run at most.
    pub budget_tokens: Option<u64>,
    /// US dollars of one run at most.
    pub budget_usd: Option<f64>,
    /// Lanes by name.
    #[serde(default)]
    pub lanes: BTreeMap<String, LaneTable>,
    /// Secrets by name.
    #[serde(default)]
    pub secrets: BTreeMap<String, SecretTable>,
    /// How requests reach the network.
    #[serde(default)]
    pub network: NetworkTable,
    /// Components to load, absolute or relative to the file.
    #[serde(default)]
    pub plugins: Vec<PathBuf>,
    /// Grants, by plugin name.
    #[serde(default)]
    pub grants: BTreeMap<String, GrantLists>,
    /// Approved wishes of repositories: the digests that refusals print.
    #[serde(default)]
    pub approve: Vec<String>,
}

/// `[network]`: how requests reach the network.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkTable {
    /// Certificates that are trusted beside the system's: a PEM file, absolute or relative to the configuration.
    pub ca_bundle: Option<PathBuf>,
    /// Hosts, each with its port where it is not 443, that may lie in private networks or be reached without TLS.
    #[serde(default)]
    pub private: Vec<String>,
}

/// Grants of one plugin.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GrantLists {
    /// SHA-256 of the component that they are for, 64 hex digits. Required for every plugin that is not built in.
    pub digest: Option<String>,
    /// Programs.
    #[serde(default)]
    pub program: Vec<String>,
    /// Hosts.
    #[serde(default)]
    pub host: Vec<String>,
    /// Secrets.
    #[serde(default)]
    pub secret: Vec<String>,
}

impl GrantLists {
    /// The grants as a set.
    pub fn grants(&self) -> Vec<Grant> {
        let kinds =
            [(GrantKind::Program, &self.program), (GrantKind::Host, &self.host), (GrantKind::Secret, &self.secret)];
        kinds
            .into_iter()
            .flat_map(|(kind, names)| names.iter().map(move |name| Grant { kind, name: name.clone() }))
            .collect()
    }
}

impl RepositoryFile {
    /// Reads `assize.toml` of a repository; none is an empty one. A symlink is not followed: it could point anywhere.
    pub fn read(root: &Path) -> Result<Self, ConfigError> {
        let path = root.join("assize.toml");
        match std::fs::symlink_metadata(&path) {
            Ok(meta) if meta.is_file() => parse(&path),
            _ => Ok(Self::default()),
        }
    }
}

impl UserFile {
    /// Reads the user's configuration; none is an empty one. Relative plugin paths are resolved against its folder.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        if !path.exists() {
            return Ok(Self::default());
        }
        let mut file: Self = parse(path)?;
        let folder = path.parent().unwrap_or(Path::new("."));
        file.plugins.iter_mut().for_each(|plugin| *plugin = folder.join(&*plugin));
        for at in
            [&mut file.network.ca_bundle].into_iter().chain(file.secrets.values_mut().map(|s| &mut s.file)).flatten()
        {
            *at = folder.join(&*at);
        }
        let name = path.display().to_string();
        check_lanes(&file.lanes, &name)?;
        check_secrets(&file.secrets, &name)?;
        for (plugin, lists) in &file.grants {
            if let Some(grant) = lists.grants().iter().find(|grant| grant.name.contains('*')) {
                let message = format!("a grant takes no pattern: {grant}");
                return Err(ConfigError::Value { place: format!("{}: grants.{plugin}", path.display()), message });
            }
        }
        Ok(file)
    }

    /// The grants that need no digest or whose digest is that of the component, given by `digest_of`.
    pub fn grant_table(
        &self,
        digest_of: &dyn Fn(&str) -> Option<String>,
        built_in: &dyn Fn(&str) -> bool,
    ) -> GrantTable {
        let mut table = GrantTable::default();
        for (plugin, lists) in &self.grants {
            let bound = match &lists.digest {
                Some(digest) => digest_of(plugin).is_some_and(|loaded| loaded.eq_ignore_ascii_case(digest)),
                None => built_in(plugin),
            };
            if bound {
                lists.grants().into_iter().for_each(|grant| table.add(NamedGrant { plugin: plugin.clone(), grant }));
            }
        }
        table
    }
}

/// Sixteen hex digits that stand for exactly this wish of a repository.
pub(super) fn approval_digest(provider: &str, section: &serde_json::Value) -> String {
    Digest::of_parts([provider.as_bytes(), section.to_string().as_bytes()]).short(16)
}

fn parse<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, ConfigError> {
    let text = std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    toml::from_str(&text)
        .map_err(|error| ConfigError::Parse { path: path.to_owned(), message: error.to_string().trim_end().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_an_error_that_names_its_place() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("assize.toml"), "provider = \"rules\"\nlens_es = []\n").unwrap();
        let error = RepositoryFile::read(dir.path()).unwrap_err().to_string();
        assert!(error.contains("assize.toml") && error.contains("line 2") && error.contains("lens_es"), "{error}");
    }

    #[test]
    fn a_repository_cannot_write_what_only_users_may() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("assize.toml"), "[grants.provider-command]\nprogram = [\"sh\"]\n").unwrap();
        assert!(RepositoryFile::read(dir.path()).is_err());
    }

    #[test]
    fn grants_of_a_third_party_plugin_hold_for_one_digest_only() {
        let file: UserFile = toml::from_str("[grants.mine]\ndigest = \"aa\"\nprogram = [\"x\"]\n").unwrap();
        let table = |digest: &'static str| file.grant_table(&move |_| Some(digest.to_owned()), &|_| false);
        assert!(table("AA").of("mine").allows(GrantKind::Program, "x"));
        assert!(!table("bb").of("mine").allows(GrantKind::Program, "x"));
        let unbound: UserFile = toml::from_str("[grants.mine]\nprogram = [\"x\"]\n").unwrap();
        assert!(!unbound.grant_table(&|_| None, &|_| false).of("mine").allows(GrantKind::Program, "x"));
    }
}
