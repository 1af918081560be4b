//! Plugins as plain data: descriptions, launches, effects, events, conclusions and readings.
//! The mirror of the plugin interface, so that nothing but the sandbox knows how components are run.

use serde::{Deserialize, Serialize};

use crate::fact::{Extra, Observation};

/// The three kinds of plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PluginKind {
    /// Launches a reviewer.
    Provider,
    /// Reads limits.
    RateLimit,
    /// Reads files and reports.
    Analyzer,
}

impl PluginKind {
    /// The word of the interface.
    pub fn as_str(self) -> &'static str {
        match self {
            PluginKind::Provider => "provider",
            PluginKind::RateLimit => "rate-limit",
            PluginKind::Analyzer => "analyzer",
        }
    }
}

/// One thing that a plugin is chosen by.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Service {
    /// `provider`, `language`, `path` or `format`.
    pub kind: String,
    /// Name, language, glob or format.
    pub value: String,
}

/// A wish for a grant.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request {
    /// `program`, `host` or `secret`.
    pub kind: String,
    /// Which.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// What a plugin says of itself.
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
    /// Kind; agrees with what the component exports.
    pub kind: PluginKind,
    /// What it is chosen by.
    pub serves: Vec<Service>,
    /// JSON Schema of its configuration section.
    pub config_schema: String,
    /// Grants that it will need.
    pub requests: Vec<Request>,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

impl Description {
    /// The values of one kind of service.
    pub fn serving<'a>(&'a self, kind: &'a str) -> impl Iterator<Item = &'a str> {
        self.serves.iter().filter(move |s| s.kind == kind).map(|s| s.value.as_str())
    }
}

/// One file of a task, as a provider is told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchFile {
    /// Repository-relative path.
    pub path: String,
    /// Lines of the whole file.
    pub total_lines: u64,
    /// First and last line to review.
    pub range: Option<(u64, u64)>,
}

/// One task, as a provider is told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchTask {
    /// Name of the task.
    pub task_id: String,
    /// Unit.
    pub unit_id: String,
    /// Pass.
    pub pass_id: String,
    /// Lens.
    pub lens: String,
    /// Files.
    pub files: Vec<LaunchFile>,
    /// Machine words.
    pub tags: Vec<String>,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// Everything that the host tells of the work that is to be launched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaunchRequest {
    /// Launch id.
    pub run_id: String,
    /// From 1.
    pub attempt: u32,
    /// The tasks of the packet.
    pub tasks: Vec<LaunchTask>,
    /// The whole prompt.
    pub prompt: String,
    /// JSON Schema of the answer.
    pub results_schema: String,
    /// Paths that may be read.
    pub read_paths: Vec<String>,
    /// Model, if one was asked for.
    pub model: Option<String>,
    /// Milliseconds.
    pub timeout_ms: u64,
    /// Estimate.
    pub estimated_input_tokens: u64,
    /// The provider's configuration section, JSON.
    pub config: String,
    /// Milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// A piece of a program argument or of a value.
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

/// Where a value comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    /// The pieces, joined.
    Text(Vec<Piece>),
    /// A secret.
    Secret(String),
    /// A prefix and a secret.
    PrefixedSecret(String, String),
    /// The host's own variable of the same name.
    Inherit,
}

/// A file to be placed in the run directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedFile {
    /// Plain file name.
    pub name: String,
    /// Bytes.
    pub content: Vec<u8>,
}

/// What a program reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stdin {
    /// Nothing.
    None,
    /// The prompt.
    Prompt,
    /// These bytes.
    Bytes(Vec<u8>),
}

/// A loopback endpoint that forwards to one upstream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gateway {
    /// Upstream URL.
    pub upstream: String,
    /// Secret to inject.
    pub secret: Option<String>,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// Start a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunProgram {
    /// Name.
    pub program: String,
    /// Arguments, each in pieces.
    pub args: Vec<Vec<Piece>>,
    /// Variables.
    pub env: Vec<(String, Value)>,
    /// Files.
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
    /// Gateway.
    pub gateway: Option<Gateway>,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// Send a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendRequest {
    /// Method.
    pub method: String,
    /// URL.
    pub url: String,
    /// Headers.
    pub headers: Vec<(String, Value)>,
    /// Body.
    pub body: Vec<u8>,
    /// Milliseconds.
    pub timeout_ms: u64,
    /// Whether the answer is a stream of events.
    pub event_stream: bool,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// Ask analyzers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Analyze {
    /// Paths.
    pub paths: Vec<String>,
    /// Lens.
    pub lens: Option<String>,
    /// Analyzers; empty means all.
    pub analyzers: Vec<String>,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// Read files of the launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadSources {
    /// Paths.
    pub paths: Vec<String>,
    /// Bytes kept of each.
    pub cap: u64,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// What a provider wants done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Start a program.
    RunProgram(RunProgram),
    /// Send a request.
    SendRequest(SendRequest),
    /// Ask analyzers.
    Analyze(Analyze),
    /// Read files.
    ReadSources(ReadSources),
    /// Instructions for a person.
    HandOff(String),
    /// Milliseconds.
    Wait(u64),
}

/// A program has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exited {
    /// Exit code.
    pub code: Option<i32>,
    /// Signal.
    pub signal: Option<i32>,
    /// Ended at the deadline.
    pub timed_out: bool,
    /// Ended because the run was interrupted.
    pub interrupted: bool,
    /// Head and tail of standard output.
    pub stdout: Vec<u8>,
    /// Head and tail of standard error.
    pub stderr: Vec<u8>,
    /// Bytes not kept.
    pub stdout_dropped: u64,
    /// Bytes not kept.
    pub stderr_dropped: u64,
    /// Wall time.
    pub wall_ms: u64,
    /// Whether the results file exists and is not empty.
    pub results_written: bool,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// A response has arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Responded {
    /// Status.
    pub status: u16,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
    /// Bytes not kept.
    pub body_dropped: u64,
    /// When.
    pub received_at_ms: u64,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// Text of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Path.
    pub path: String,
    /// Text.
    pub text: String,
    /// Whether it was cut.
    pub truncated: bool,
}

/// Why an effect was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// `denied`, `unsupported`, `not-found`, `spawn`, `unreachable`, `tls`, `timeout`, `too-large`, `invalid`, `interrupted`.
    pub kind: String,
    /// One line.
    pub message: String,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

impl Failure {
    /// A failure without more.
    pub fn new(kind: &str, message: impl Into<String>) -> Self {
        Self { kind: kind.to_owned(), message: message.into(), extra: Vec::new() }
    }
}

/// What an effect brought.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EffectEvent {
    /// A program has ended.
    Exited(Exited),
    /// A response has arrived.
    Responded(Responded),
    /// Observations.
    Analyzed(Vec<Observation>),
    /// Texts.
    Sources(Vec<Source>),
    /// A person was told.
    HandedOff,
    /// Time has passed.
    Waited,
    /// It was refused or failed.
    Failed(Failure),
}

/// What became of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It answered.
    Completed,
    /// It ended well but did not answer.
    NoResults,
    /// A limit said no, for now.
    RateLimited,
    /// The service is overloaded.
    Overloaded,
    /// A plan or budget is spent.
    QuotaExhausted,
    /// Not logged in, or the key is bad.
    Unauthenticated,
    /// The model or service refused the content.
    Refused,
    /// The input does not fit.
    ContextExceeded,
    /// It did not end in time.
    TimedOut,
    /// The run was interrupted.
    Interrupted,
    /// It broke.
    Crashed,
    /// It cannot work as configured.
    Misconfigured,
}

impl Outcome {
    /// The word of the interface.
    pub fn as_str(self) -> &'static str {
        match self {
            Outcome::Completed => "completed",
            Outcome::NoResults => "no-results",
            Outcome::RateLimited => "rate-limited",
            Outcome::Overloaded => "overloaded",
            Outcome::QuotaExhausted => "quota-exhausted",
            Outcome::Unauthenticated => "unauthenticated",
            Outcome::Refused => "refused",
            Outcome::ContextExceeded => "context-exceeded",
            Outcome::TimedOut => "timed-out",
            Outcome::Interrupted => "interrupted",
            Outcome::Crashed => "crashed",
            Outcome::Misconfigured => "misconfigured",
        }
    }
}

/// What a launch cost, as far as it was told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens in.
    pub input_tokens: Option<u64>,
    /// Tokens out.
    pub output_tokens: Option<u64>,
    /// Tokens in that were cached.
    pub cached_input_tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub cost_micro_usd: Option<u64>,
    /// Model that answered.
    pub model: Option<String>,
    /// Requests to a model.
    pub requests: Option<u32>,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// One piece of evidence of limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Provider.
    pub provider: String,
    /// Model.
    pub model: Option<String>,
    /// HTTP status.
    pub status: Option<u16>,
    /// Headers.
    pub headers: Vec<(String, String)>,
    /// Error text.
    pub text: String,
    /// When.
    pub received_at_ms: u64,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// The end of a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conclusion {
    /// What became of it.
    pub outcome: Outcome,
    /// Results, JSON text.
    pub results: Option<String>,
    /// Cost.
    pub usage: Option<Usage>,
    /// What the rate-limit plugin should read.
    pub evidence: Vec<Evidence>,
    /// One line.
    pub message: String,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// What happens next in a launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Carry this out.
    Perform(Effect),
    /// It is over.
    Done(Conclusion),
}

/// One limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limit {
    /// `requests`, `tokens`, `input-tokens`, `output-tokens`, `concurrency`, `spend`.
    pub dimension: String,
    /// Window, seconds.
    pub window_seconds: Option<u64>,
    /// Size.
    pub limit: Option<u64>,
    /// What is left.
    pub remaining: Option<u64>,
    /// When it is full again, milliseconds since the Unix epoch.
    pub resets_at_ms: Option<u64>,
    /// `model`, `account`, `workspace`.
    pub scope: String,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// What one piece of evidence says of limits.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Limits.
    pub limits: Vec<Limit>,
    /// The service said no because of a limit.
    pub throttled: bool,
    /// How long to wait from receipt.
    pub retry_after_ms: Option<u64>,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// An error that a plugin returned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum PluginError {
    /// Configuration cannot be used.
    #[error("invalid configuration: {0}")]
    InvalidConfiguration(String),
    /// Not served.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// Damaged input.
    #[error("malformed input: {0}")]
    MalformedInput(String),
    /// A fault of the plugin.
    #[error("internal fault: {0}")]
    Internal(String),
}
