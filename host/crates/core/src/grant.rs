//! Grants: what one component may have done for it, and the check of every effect against them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::plugin::{Effect, Value};

/// The kinds of grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GrantKind {
    /// Start a program.
    Program,
    /// Reach a host by TLS.
    Host,
    /// Have a secret put into a request or a program's environment.
    Secret,
}

impl GrantKind {
    /// The word of flags and files.
    pub fn as_str(self) -> &'static str {
        match self {
            GrantKind::Program => "program",
            GrantKind::Host => "host",
            GrantKind::Secret => "secret",
        }
    }

    /// The kind of a word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Program, Self::Host, Self::Secret].into_iter().find(|kind| kind.as_str() == word)
    }
}

/// One permission.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Grant {
    /// Its kind.
    pub kind: GrantKind,
    /// Program, host or secret; never a pattern.
    pub name: String,
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.kind.as_str(), self.name)
    }
}

/// A permission for a plugin by name, as the command line takes it: `PLUGIN:KIND=NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedGrant {
    /// Plugin.
    pub plugin: String,
    /// Permission.
    pub grant: Grant,
}

/// A text that is no grant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a grant: {0:?}; write PLUGIN:program=NAME, PLUGIN:host=NAME[:PORT] or PLUGIN:secret=NAME")]
pub struct NotAGrant(pub String);

impl FromStr for NamedGrant {
    type Err = NotAGrant;

    fn from_str(text: &str) -> Result<Self, NotAGrant> {
        let parsed = || {
            let (plugin, rest) = text.split_once(':')?;
            let (kind, name) = rest.split_once('=')?;
            let kind = GrantKind::parse(kind)?;
            let plain = !plugin.is_empty() && !name.is_empty() && !name.contains('*');
            plain.then(|| NamedGrant { plugin: plugin.to_owned(), grant: Grant { kind, name: name.to_owned() } })
        };
        parsed().ok_or_else(|| NotAGrant(text.to_owned()))
    }
}

/// The grants of one component in one run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grants(BTreeSet<Grant>);

impl Grants {
    /// None.
    pub fn none() -> Self {
        Self::default()
    }

    /// These.
    pub fn of(grants: impl IntoIterator<Item = Grant>) -> Self {
        Self(grants.into_iter().collect())
    }

    /// One more.
    pub fn add(&mut self, kind: GrantKind, name: impl Into<String>) {
        self.0.insert(Grant { kind, name: name.into() });
    }

    /// Whether it is there.
    pub fn allows(&self, kind: GrantKind, name: &str) -> bool {
        self.0.contains(&Grant { kind, name: name.to_owned() })
    }

    /// All, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &Grant> {
        self.0.iter()
    }
}

/// An effect that its component has no grant for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("plugin `{plugin}` has no grant {grant}; allow it for this run with --grant {plugin}:{grant}")]
pub struct Denied {
    /// Plugin.
    pub plugin: String,
    /// What it lacks.
    pub grant: Grant,
}

/// Checks an effect against the grants of the component that asks for it. Names the first grant that is missing.
pub fn check_effect(plugin: &str, effect: &Effect, grants: &Grants) -> Result<(), Denied> {
    for grant in needed_grants(effect) {
        if !grants.0.contains(&grant) {
            return Err(Denied { plugin: plugin.to_owned(), grant });
        }
    }
    Ok(())
}

/// The grants that an effect needs, most important first.
pub fn needed_grants(effect: &Effect) -> Vec<Grant> {
    let mut needed = Vec::new();
    match effect {
        Effect::RunProgram(run) => {
            needed.push(Grant { kind: GrantKind::Program, name: run.program.clone() });
            push_secrets(&run.env, &mut needed);
            if let Some(gateway) = &run.gateway {
                needed.push(Grant { kind: GrantKind::Host, name: host_of(&gateway.upstream) });
                needed.extend(gateway.secret.iter().map(|name| Grant { kind: GrantKind::Secret, name: name.clone() }));
            }
        }
        Effect::SendRequest(request) => {
            needed.push(Grant { kind: GrantKind::Host, name: host_of(&request.url) });
            push_secrets(&request.headers, &mut needed);
            if request.extra.iter().any(|(name, _)| name == "sign") {
                let secrets = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];
                needed.extend(secrets.map(|name| Grant { kind: GrantKind::Secret, name: name.to_owned() }));
            }
        }
        Effect::Analyze(_) | Effect::ReadSources(_) | Effect::HandOff(_) | Effect::Wait(_) => {}
    }
    needed
}

fn push_secrets(values: &[(String, Value)], needed: &mut Vec<Grant>) {
    for (variable, value) in values {
        let name = match value {
            Value::Text(_) => continue,
            Value::Secret(name) | Value::PrefixedSecret(_, name) => name,
            Value::Inherit => variable,
        };
        needed.push(Grant { kind: GrantKind::Secret, name: name.clone() });
    }
}

/// Host and, when it is given, port of a URL; the whole text where it is no URL, which no grant can match by accident.
fn host_of(url: &str) -> String {
    let Some((_, rest)) = url.split_once("://") else { return url.to_owned() };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default().to_ascii_lowercase()
}

/// Grants by plugin name, before they are bound to the digests of the components that were loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GrantTable(BTreeMap<String, Grants>);

impl GrantTable {
    /// Adds one.
    pub fn add(&mut self, named: NamedGrant) {
        self.0.entry(named.plugin).or_default().add(named.grant.kind, named.grant.name);
    }

    /// The grants of a plugin.
    pub fn of(&self, plugin: &str) -> Grants {
        self.0.get(plugin).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::{RunProgram, SendRequest, Stdin};

    fn run(program: &str, env: Vec<(String, Value)>) -> Effect {
        Effect::RunProgram(RunProgram {
            program: program.to_owned(),
            args: Vec::new(),
            env,
            files: Vec::new(),
            stdin: Stdin::None,
            cwd: "repo".to_owned(),
            home: "launch".to_owned(),
            output_cap: 0,
            timeout_ms: 0,
            gateway: None,
            extra: Vec::new(),
        })
    }

    #[test]
    fn nothing_is_allowed_without_a_grant_and_the_refusal_is_the_line_that_allows() {
        let denied = check_effect("provider-x", &run("tool", Vec::new()), &Grants::none()).expect_err("no grant");
        assert!(denied.to_string().ends_with("--grant provider-x:program=tool"), "{denied}");
        let line = denied.to_string();
        let flag = line.rsplit(' ').next().expect("a flag");
        let named: NamedGrant = flag.parse().expect("the printed line is taken");
        assert!(check_effect("provider-x", &run("tool", Vec::new()), &Grants::of([named.grant])).is_ok());
    }

    #[test]
    fn an_inherited_variable_is_a_secret_of_its_name() {
        let effect = run("tool", vec![("API_KEY".to_owned(), Value::Inherit)]);
        let mut grants = Grants::none();
        grants.add(GrantKind::Program, "tool");
        assert!(check_effect("p", &effect, &grants).is_err());
        grants.add(GrantKind::Secret, "API_KEY");
        assert!(check_effect("p", &effect, &grants).is_ok());
    }

    #[test]
    fn credentials_in_a_url_do_not_hide_its_host() {
        let effect = Effect::SendRequest(SendRequest {
            method: "GET".to_owned(),
            url: "https://api.good.example@evil.example/x".to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            timeout_ms: 0,
            event_stream: false,
            extra: Vec::new(),
        });
        assert_eq!(needed_grants(&effect)[0].name, "evil.example");
    }

    #[test]
    fn a_pattern_is_no_grant() {
        assert!("p:host=*.example".parse::<NamedGrant>().is_err());
        assert!("p:everything=x".parse::<NamedGrant>().is_err());
        assert!("program=x".parse::<NamedGrant>().is_err());
    }
}
