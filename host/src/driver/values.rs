//! Values of variables and headers: pieces put together, secrets put in, and kept in mind so that they can be taken out
//! of whatever comes back.

use assize_core::plugin::{Failure, Piece, Value};

use crate::config::Environment;
use crate::launch::{Places, SecretError, Secrets, resolve_pieces};

/// Where values come from.
pub(super) struct Values<'a> {
    pub(super) places: &'a Places,
    pub(super) environment: &'a Environment,
    pub(super) secrets: &'a Secrets,
}

/// One value, and whether it is or holds a secret.
pub(super) struct Resolved {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) secret: bool,
}

impl Values<'_> {
    /// Pieces as one text.
    pub(super) fn text(&self, pieces: &[Piece]) -> Result<String, Failure> {
        resolve_pieces(pieces, self.places).map_err(|error| Failure::new(error.kind(), error.to_string()))
    }

    /// A secret that goes to `host`; to a program when there is none. Its value is added to what is taken out later.
    pub(super) async fn secret(
        &self,
        name: &str,
        host: Option<&str>,
        seen: &mut Vec<String>,
    ) -> Result<String, Failure> {
        self.secrets.check_host(name, host.unwrap_or("a program")).map_err(|error| failure(&error))?;
        let value = self.secrets.value(name).await.map_err(|error| failure(&error))?;
        seen.push(value.clone());
        Ok(value)
    }

    /// All values. An inherited variable that is not there is left out; a secret that is not there is an error.
    pub(super) async fn resolve(
        &self,
        wanted: &[(String, Value)],
        host: Option<&str>,
        seen: &mut Vec<String>,
    ) -> Result<Vec<Resolved>, Failure> {
        let mut values = Vec::with_capacity(wanted.len());
        for (name, value) in wanted {
            let (text, secret) = match value {
                Value::Text(pieces) => (self.text(pieces)?, false),
                Value::Secret(secret) => (self.secret(secret, host, seen).await?, true),
                Value::PrefixedSecret(prefix, secret) => {
                    (format!("{prefix}{}", self.secret(secret, host, seen).await?), true)
                }
                // A secret that the user has a source for is taken from there, and may be bound to hosts.
                Value::Inherit if self.secrets.is_configured(name) => (self.secret(name, host, seen).await?, true),
                Value::Inherit => match self.environment.get(name) {
                    Some(text) => {
                        seen.push(text.to_owned());
                        (text.to_owned(), true)
                    }
                    None => continue,
                },
            };
            values.push(Resolved { name: name.clone(), value: text, secret });
        }
        Ok(values)
    }
}

fn failure(error: &SecretError) -> Failure {
    match error {
        SecretError::Unset { .. } => {
            let mut failure = Failure::new("not-found", error.to_string());
            failure.extra.push(("missing".to_owned(), "secret".to_owned()));
            failure
        }
        SecretError::Elsewhere { .. } => Failure::new("denied", error.to_string()),
        // A source that the user has configured and that gives nothing is for him to mend; there is no way around it.
        _ => Failure::new("invalid", error.to_string()),
    }
}
