//! Values of secrets, read at the moment when one is first used: from the environment, a file, or a program of the user's.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::Mutex;

use super::ask::{AskError, ask_program};
use super::resolve::{ResolveError, resolve_program};
use crate::config::{Environment, SecretTable};

/// A password store may ask a person to unlock it.
const COMMAND_LIMIT: Duration = Duration::from_secs(120);
/// Bytes of a secret at most: a file that is larger is not one.
const LARGEST: u64 = 64 << 10;

/// Why a secret has no value. Values appear in no message.
#[derive(Debug, Error)]
pub enum SecretError {
    /// The variable is not set.
    #[error("the environment has no variable {variable}; set it, or say in [secrets.{name}] where the value is")]
    Unset {
        /// Secret.
        name: String,
        /// Variable.
        variable: String,
    },
    /// The file cannot be read.
    #[error("[secrets.{name}]: {} cannot be read: {message}", .path.display())]
    File {
        /// Secret.
        name: String,
        /// File.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// The program is not where it could be used.
    #[error("[secrets.{name}]: {source}")]
    Program {
        /// Secret.
        name: String,
        /// Why.
        source: ResolveError,
    },
    /// The program gave no value.
    #[error("[secrets.{name}]: {source}")]
    Command {
        /// Secret.
        name: String,
        /// Why.
        source: AskError,
    },
    /// There is nothing in it.
    #[error("[secrets.{name}]: the value is empty or no single line of text")]
    Empty {
        /// Secret.
        name: String,
    },
    /// It may not go there.
    #[error("[secrets.{name}] may go to {allowed} only, not to {host}; add it to its `hosts` if it may")]
    Elsewhere {
        /// Secret.
        name: String,
        /// Where it may go.
        allowed: String,
        /// Where it was to go.
        host: String,
    },
}

/// Reads secrets; one that was read is kept for the run, so that a password store is asked once.
pub struct Secrets {
    environment: Arc<Environment>,
    tables: BTreeMap<String, SecretTable>,
    root: PathBuf,
    read: Mutex<HashMap<String, String>>,
}

impl Secrets {
    /// Nothing is read yet. Programs are never taken from inside `root`.
    pub fn new(environment: Arc<Environment>, tables: BTreeMap<String, SecretTable>, root: PathBuf) -> Self {
        Self { environment, tables, root, read: Mutex::default() }
    }

    /// The value of a secret.
    pub async fn value(&self, name: &str) -> Result<String, SecretError> {
        let mut read = self.read.lock().await;
        if let Some(value) = read.get(name) {
            return Ok(value.clone());
        }
        let value = self.fetch(name).await?;
        let text = value.trim();
        if text.is_empty() || text.contains(['\n', '\r', '\0']) {
            return Err(SecretError::Empty { name: name.to_owned() });
        }
        read.insert(name.to_owned(), text.to_owned());
        Ok(text.to_owned())
    }

    /// Whether the user's configuration says where this secret comes from.
    pub fn is_configured(&self, name: &str) -> bool {
        self.tables.contains_key(name)
    }

    /// Refuses to send a secret to a host that its table does not name, where it names some.
    pub fn check_host(&self, name: &str, host: &str) -> Result<(), SecretError> {
        let hosts = self.tables.get(name).map(|table| &table.hosts[..]).unwrap_or_default();
        if hosts.is_empty() || hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(host)) {
            return Ok(());
        }
        Err(SecretError::Elsewhere { name: name.to_owned(), allowed: hosts.join(", "), host: host.to_owned() })
    }

    async fn fetch(&self, name: &str) -> Result<String, SecretError> {
        let table = self.tables.get(name);
        if let Some(path) = table.and_then(|table| table.file.as_ref()) {
            return read_file(name, path);
        }
        if let Some([program, args @ ..]) = table.and_then(|table| table.command.as_deref()) {
            return self.run(name, program, args).await;
        }
        let variable = table.and_then(|table| table.env.as_deref()).unwrap_or(name);
        let unset = || SecretError::Unset { name: name.to_owned(), variable: variable.to_owned() };
        self.environment.get(variable).map(str::to_owned).ok_or_else(unset)
    }

    /// The user's own program runs in the user's own environment.
    async fn run(&self, name: &str, program: &str, args: &[String]) -> Result<String, SecretError> {
        let resolved = resolve_program(program, self.environment.path(), &self.root)
            .map_err(|source| SecretError::Program { name: name.to_owned(), source })?;
        let env: Vec<(String, String)> =
            self.environment.all().iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        let answer = ask_program(&resolved.path, args, &env, COMMAND_LIMIT)
            .await
            .map_err(|source| SecretError::Command { name: name.to_owned(), source })?;
        String::from_utf8(answer).map_err(|_| SecretError::Empty { name: name.to_owned() })
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets")
    }
}

fn read_file(name: &str, path: &PathBuf) -> Result<String, SecretError> {
    let wrong = |message: String| SecretError::File { name: name.to_owned(), path: path.clone(), message };
    let meta = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?;
    if !meta.is_file() || meta.len() > LARGEST {
        return Err(wrong(format!("it must be a file of at most {LARGEST} bytes")));
    }
    std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(table: SecretTable) -> Secrets {
        let tables = BTreeMap::from([("KEY".to_owned(), table)]);
        let root = tempfile::tempdir().unwrap().keep();
        Secrets::new(Arc::new(Environment::of([("PATH", "/bin:/usr/bin"), ("OTHER", " v1 ")])), tables, root)
    }

    #[tokio::test]
    async fn a_secret_comes_from_a_variable_a_file_or_a_program() {
        let env = secrets(SecretTable { env: Some("OTHER".to_owned()), ..SecretTable::default() });
        assert_eq!(env.value("KEY").await.unwrap(), "v1");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "v2\n").unwrap();
        let from_file = secrets(SecretTable { file: Some(file.path().to_owned()), ..SecretTable::default() });
        assert_eq!(from_file.value("KEY").await.unwrap(), "v2");
        let command = ["sh", "-c", "echo v3"].map(str::to_owned).to_vec();
        let from_program = secrets(SecretTable { command: Some(command), ..SecretTable::default() });
        assert_eq!(from_program.value("KEY").await.unwrap(), "v3");
    }

    #[tokio::test]
    async fn what_is_missing_or_empty_is_told_with_its_mend() {
        let unset = secrets(SecretTable::default()).value("KEY").await.unwrap_err().to_string();
        assert!(unset.contains("KEY") && unset.contains("[secrets.KEY]"), "{unset}");
        let command = ["sh", "-c", "printf 'a\\nb'"].map(str::to_owned).to_vec();
        let two = secrets(SecretTable { command: Some(command), ..SecretTable::default() });
        assert!(matches!(two.value("KEY").await, Err(SecretError::Empty { .. })));
    }

    #[test]
    fn a_bound_secret_goes_nowhere_else() {
        let bound = secrets(SecretTable { hosts: vec!["api.good.example".to_owned()], ..SecretTable::default() });
        assert!(bound.check_host("KEY", "api.good.example").is_ok());
        assert!(bound.check_host("KEY", "evil.example").is_err());
        assert!(secrets(SecretTable::default()).check_host("KEY", "any.example").is_ok());
    }
}
