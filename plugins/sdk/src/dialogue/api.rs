//! What a service looks like to a dialogue, and what they say to each other.

use serde_json::Value;

use crate::describe::{Description, PluginError};
use crate::effect::SendRequest;
use crate::event::Responded;
use crate::launch::{LaunchRequest, Outcome};
use crate::models::{ModelFacts, Tokens};

use super::answer::Brief;

/// A service that answers conversations, one request after the other.
pub trait ModelApi: Sized + 'static {
    /// What the plugin is; the same answer whenever it is asked.
    fn describe() -> Description;

    /// Reads the configuration.
    ///
    /// # Errors
    /// When the configuration or the request cannot be used.
    fn start(request: &LaunchRequest) -> Result<Self, PluginError>;

    /// What the dialogue must know of it.
    fn settings(&self) -> &Settings;

    /// The request that carries the whole conversation so far. The dialogue shortens its time to what is left.
    fn plan_request(&self, brief: &Brief, rounds: &[Round]) -> SendRequest;

    /// What a response says.
    fn read_reply(&self, responded: &Responded) -> Reply;

    /// Leaves out an optional feature that the refusal names. Whether one was left out, so that asking again has a purpose;
    /// each can be left out once.
    fn step_down(&mut self, refusal: &Refusal) -> bool;
}

/// What the dialogue must know of a service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settings {
    /// Name of the provider.
    pub provider: &'static str,
    /// Model that is asked.
    pub model: String,
    /// What is known of the model.
    pub facts: Option<ModelFacts>,
    /// What a person must set where no credential is found.
    pub credential: String,
    /// Milliseconds of the launch that the configuration allows; never past the launch's own.
    pub timeout_ms: Option<u64>,
}

/// One request's answer from the model, and what it was told then.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Round {
    /// What the model said, in the form in which the service wants to be reminded of it.
    pub said: Value,
    /// Answers to its calls, in their order; none where it only paused.
    pub answers: Vec<Answered>,
}

/// A call of a tool by the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// The service's name for this call; empty where it has none.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments, JSON text as far as it came.
    pub input: String,
}

/// The answer to a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answered {
    /// The call's.
    pub id: String,
    /// The tool's.
    pub name: String,
    /// What the model is told.
    pub text: String,
    /// Whether it says that the call could not be served.
    pub is_error: bool,
}

/// What a response says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// How it ended.
    pub ending: Ending,
    /// Text of the answer, without the model's thoughts.
    pub text: String,
    /// Calls of tools, in their order.
    pub calls: Vec<Call>,
    /// What the model said, for [`Round::said`].
    pub said: Value,
    /// What it cost.
    pub tokens: Tokens,
    /// How many of the input tokens were written into a cache, which costs a quarter more.
    pub cache_writes: u64,
    /// Model that answered.
    pub model: Option<String>,
}

/// How a response ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Ending {
    /// The model said all that it wanted to say in this round.
    #[default]
    Complete,
    /// The service wants to be asked to go on.
    Paused,
    /// The output limit, or the end of the context, was reached.
    Cut,
    /// The model or a filter of the service would not go on; one line says why.
    Declined(String),
    /// The response is not whole or not readable; one line says how.
    Broken(String),
    /// The service said no.
    Refused(Refusal),
}

/// An error that the service told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status, or the one that the error's name stands for when it came in a stream that began well.
    pub status: u16,
    /// What it means.
    pub outcome: Outcome,
    /// The service's sentence.
    pub text: String,
    /// The error as the rate-limit plugin should read it.
    pub evidence: String,
}
