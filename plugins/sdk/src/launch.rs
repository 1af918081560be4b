//! A launch: the request it starts from, the steps it takes, and how it ends.

use serde::{Deserialize, Serialize};

use crate::describe::{Description, Extra, PluginError};
use crate::effect::Effect;
use crate::event::Event;

/// One try of one slot, as a plugin implements it.
pub trait Launch: Sized + 'static {
    /// What the plugin is; the same answer whenever it is asked.
    fn describe() -> Description;

    /// A launch that has done nothing yet.
    ///
    /// # Errors
    /// When the configuration or the request cannot be used.
    fn start(request: LaunchRequest) -> Result<Self, PluginError>;

    /// What happens next: first without an event, then with what the effect before brought.
    ///
    /// # Errors
    /// When the event does not answer the effect before.
    fn next(&mut self, event: Option<Event>) -> Result<Step, PluginError>;
}

/// One file of a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFile {
    /// Repository-relative path.
    pub path: String,
    /// Lines of the whole file.
    pub total_lines: u64,
    /// First and last line to review; absent means the whole file.
    #[serde(default)]
    pub range: Option<(u64, u64)>,
}

/// One lens over a few files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Task {
    /// Name of the task.
    pub task_id: String,
    /// Unit.
    pub unit_id: String,
    /// Pass.
    pub pass_id: String,
    /// Lens.
    pub lens: String,
    /// Files.
    pub files: Vec<TaskFile>,
    /// Machine words.
    pub tags: Vec<String>,
    /// More.
    pub extra: Extra,
}

/// Everything that the host tells of the work that is to be launched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LaunchRequest {
    /// Unique and sortable.
    pub run_id: String,
    /// From 1.
    pub attempt: u32,
    /// The tasks of the packet.
    pub tasks: Vec<Task>,
    /// The whole prompt.
    pub prompt: String,
    /// JSON Schema of the answer.
    pub results_schema: String,
    /// Paths that may be read.
    pub read_paths: Vec<String>,
    /// Model that was asked for.
    pub model: Option<String>,
    /// Milliseconds.
    pub timeout_ms: u64,
    /// Estimate.
    pub estimated_input_tokens: u64,
    /// Configuration section, JSON.
    pub config: String,
    /// Milliseconds since the Unix epoch.
    pub now_ms: u64,
    /// More.
    pub extra: Extra,
}

/// The value of a name in an extension bag.
pub fn extra_value<'a>(extra: &'a [(String, String)], name: &str) -> Option<&'a str> {
    extra.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

/// What became of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// What a launch cost, as far as it was told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens in that were not read from a cache.
    pub input_tokens: Option<u64>,
    /// Tokens out.
    pub output_tokens: Option<u64>,
    /// Tokens in that were read from a cache.
    pub cached_input_tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub cost_micro_usd: Option<u64>,
    /// Model that answered.
    pub model: Option<String>,
    /// Requests that were made to a model.
    pub requests: Option<u32>,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// One piece of evidence from which limits may be read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Provider.
    pub provider: String,
    /// Model that was asked.
    pub model: Option<String>,
    /// HTTP status.
    pub status: Option<u16>,
    /// HTTP headers.
    pub headers: Vec<(String, String)>,
    /// Error text or structured event; never source text or a prompt.
    pub text: String,
    /// Milliseconds since the Unix epoch.
    pub received_at_ms: u64,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// The end of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conclusion {
    /// What became of it.
    pub outcome: Outcome,
    /// Audit results, JSON text; absent where a program wrote the results file.
    pub results: Option<String>,
    /// Cost.
    pub usage: Option<Usage>,
    /// What the rate-limit plugin should read.
    pub evidence: Vec<Evidence>,
    /// One line that a person can act on.
    pub message: String,
    /// More.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

impl Conclusion {
    /// A conclusion that says only what became of the launch.
    pub fn new(outcome: Outcome, message: impl Into<String>) -> Self {
        Self { outcome, results: None, usage: None, evidence: Vec::new(), message: message.into(), extra: Vec::new() }
    }
}

/// What happens next in a launch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Step {
    /// Carry this out.
    Perform(Effect),
    /// It is over.
    Done(Conclusion),
}
