//! What a plugin says of itself, and how it says no.

use serde::{Deserialize, Serialize};

/// Names and values that later versions of the interface may add.
pub type Extra = Vec<(String, String)>;

/// One thing that a plugin is chosen by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// `provider`, `language`, `path` or `format`.
    pub kind: String,
    /// Name, language, glob or format.
    pub value: String,
}

/// A wish for a grant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// `program`, `host` or `secret`.
    pub kind: String,
    /// Which program, host or secret.
    pub name: String,
    /// One sentence that a person can judge.
    pub reason: String,
}

/// What a provider plugin says of itself; its kind is always `provider`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Kebab-case name.
    pub name: String,
    /// SemVer.
    pub version: String,
    /// One sentence.
    pub summary: String,
    /// SPDX expression.
    pub license: String,
    /// What it is chosen by.
    pub serves: Vec<Service>,
    /// JSON Schema of its configuration section.
    pub config_schema: String,
    /// Grants that it will need.
    pub requests: Vec<Request>,
    /// What the host should know of its launches; the names are documented in `wit/v0.1/types.wit`.
    #[serde(default)]
    pub extra: Extra,
}

/// Why a call did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PluginError {
    /// The configuration cannot be used; the text names the key and the mend.
    InvalidConfiguration(String),
    /// The input is of a kind that the plugin does not serve.
    Unsupported(String),
    /// The input is damaged; the text names the place.
    MalformedInput(String),
    /// A fault of the plugin itself.
    Internal(String),
}
