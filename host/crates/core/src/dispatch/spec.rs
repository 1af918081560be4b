//! What a run is given: its lanes, their limits and what it may spend.

use super::window::Dimension;

/// A lane as it is configured: one provider, one model, one account.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneSpec {
    /// Name, unique in the run.
    pub name: String,
    /// The account that its limits belong to; lanes of one account share windows.
    pub account: String,
    /// The model, if one is named.
    pub model: Option<String>,
    /// Place in the order of preference, lowest first; absent means its place in the list. Lanes of one rank are
    /// ordered by health, then by load.
    pub rank: Option<u32>,
    /// Launches at once to begin with.
    pub width: u32,
    /// Launches at once at most.
    pub widest: u32,
    /// Whether it makes many requests a launch.
    pub agent: bool,
    /// What is held back when a window is full.
    pub pacing: Pacing,
    /// Tokens of prompt and answer together that the model takes; absent means unknown, and then everything fits.
    pub context_tokens: Option<u64>,
    /// Tokens reserved for the answer.
    pub output_tokens: u64,
    /// Tokens that the harness adds to the prompt.
    pub overhead_tokens: u64,
    /// What tokens cost.
    pub price: Option<Price>,
    /// Limits that the configuration names.
    pub windows: Vec<WindowSpec>,
    /// Share of a limit that is used, from 0 to 1.
    pub margin: f64,
}

impl Default for LaneSpec {
    /// One launch at a time, paced by launches, without any limit.
    fn default() -> Self {
        Self {
            name: String::new(),
            account: String::new(),
            model: None,
            rank: None,
            width: 1,
            widest: 1,
            agent: false,
            pacing: Pacing::Launch,
            context_tokens: None,
            output_tokens: 0,
            overhead_tokens: 0,
            price: None,
            windows: Vec::new(),
            margin: 0.8,
        }
    }
}

/// What is admitted against the windows of a lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pacing {
    /// Launches: the whole expected draw is taken when one starts.
    #[default]
    Launch,
    /// Requests, one by one, because a gateway holds them.
    Request,
}

/// What tokens cost, in millionths of a US dollar per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Price {
    /// Tokens in.
    pub input_micro_usd_per_million: u64,
    /// Tokens out.
    pub output_micro_usd_per_million: u64,
}

/// A limit that the configuration names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowSpec {
    /// What is counted.
    pub dimension: Dimension,
    /// How much, in the dimension's unit.
    pub limit: u64,
    /// Over which time, in milliseconds; 0 for concurrency.
    pub period_ms: u64,
    /// Whose limit it is.
    pub scope: Scope,
}

/// Whose a limit is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Every model of the account draws on it.
    #[default]
    Account,
    /// This model's alone.
    Model,
}

/// What one run may do and spend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// Launches at once over all lanes.
    pub workers: u32,
    /// Tries of a task before it is parked.
    pub attempts: u32,
    /// Launches of the run; absent means no limit.
    pub launches: Option<u32>,
    /// Tokens, in and out together.
    pub tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub micro_usd: Option<u64>,
    /// Nothing starts at or after this instant, milliseconds since the Unix epoch.
    pub deadline_ms: Option<u64>,
}
