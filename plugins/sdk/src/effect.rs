//! What a provider may ask the host to do.

use serde::{Deserialize, Serialize};

use crate::describe::Extra;
use crate::text;

/// A piece of a program argument or of a value. Pieces are joined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Piece {
    /// As it is.
    Literal(String),
    /// Absolute path of a place that the host knows.
    Place(String),
    /// The gateway's address.
    GatewayAddress,
    /// The gateway's token.
    GatewayToken,
}

/// Where the value of a variable or header comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    /// The pieces, joined.
    Text(Vec<Piece>),
    /// A secret by its name.
    Secret(String),
    /// A prefix and the name of a secret.
    PrefixedSecret(String, String),
    /// The host's own variable of the same name.
    Inherit,
}

impl Value {
    /// Literal text.
    pub fn literal(value: impl Into<String>) -> Self {
        Value::Text(vec![Piece::Literal(value.into())])
    }
}

/// A file to be placed in the run directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedFile {
    /// Plain file name.
    pub name: String,
    /// Bytes.
    #[serde(with = "text::bytes")]
    pub content: Vec<u8>,
}

/// What a program reads from its standard input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stdin {
    /// Nothing.
    None,
    /// The launch's prompt.
    Prompt,
    /// These bytes.
    Bytes(#[serde(with = "text::bytes")] Vec<u8>),
}

/// A loopback endpoint that forwards to one upstream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gateway {
    /// `https` URL.
    pub upstream: String,
    /// Secret that the host injects.
    pub secret: Option<String>,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// Start a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunProgram {
    /// Name; the host resolves it.
    pub program: String,
    /// Arguments, each in pieces.
    pub args: Vec<Vec<Piece>>,
    /// Variables on top of the host's allow-list.
    pub env: Vec<(String, Value)>,
    /// Files to place first.
    pub files: Vec<PlacedFile>,
    /// Standard input.
    pub stdin: Stdin,
    /// `repo` or `run-dir`.
    pub cwd: String,
    /// `launch` or `user`.
    pub home: String,
    /// Bytes kept of each output.
    pub output_cap: u64,
    /// Milliseconds.
    pub timeout_ms: u64,
    /// Gateway, if one is wanted.
    pub gateway: Option<Gateway>,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// Send one HTTP request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendRequest {
    /// Method.
    pub method: String,
    /// URL.
    pub url: String,
    /// Headers.
    pub headers: Vec<(String, Value)>,
    /// Body.
    #[serde(with = "text::bytes")]
    pub body: Vec<u8>,
    /// Milliseconds.
    pub timeout_ms: u64,
    /// Whether the answer is a stream of events.
    pub event_stream: bool,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// Ask analyzers for observations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Analyze {
    /// Paths within the launch's read paths.
    pub paths: Vec<String>,
    /// Only findings of this lens.
    pub lens: Option<String>,
    /// Analyzer names; empty means all.
    pub analyzers: Vec<String>,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// Ask for the text of files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadSources {
    /// Paths within the launch's read paths.
    pub paths: Vec<String>,
    /// Bytes kept of each file.
    pub cap: u64,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// What a provider wants done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Start a program; answered by `exited`.
    RunProgram(RunProgram),
    /// Send a request; answered by `responded`.
    SendRequest(SendRequest),
    /// Ask analyzers; answered by `analyzed`.
    Analyze(Analyze),
    /// Read files; answered by `sources`.
    ReadSources(ReadSources),
    /// Instructions for a person; answered by `handed-off`.
    HandOff(String),
    /// Milliseconds; answered by `waited`.
    Wait(u64),
}
