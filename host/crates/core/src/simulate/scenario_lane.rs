//! A lane of a simulation: what the dispatcher is told of it, and how its service really behaves.

use serde::{Deserialize, Serialize};

use super::scenario::Spread;
use crate::dispatch::{Dimension, LaneSpec, Pacing, Price, Scope, WindowSpec};

/// A lane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SimulatedLane {
    /// Name, unique.
    pub name: String,
    /// The account that its limits belong to; absent means one of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    /// The model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Place in the order of preference; absent means its place in the list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Launches at once to begin with.
    #[serde(default = "one")]
    pub width: u32,
    /// Launches at once at most; absent means `width`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widest: Option<u32>,
    /// Whether it makes many requests a launch.
    #[serde(default)]
    pub agent: bool,
    /// What is held back when a window is full.
    #[serde(default)]
    pub pacing: LanePacing,
    /// Share of a limit that is used.
    #[serde(default = "SimulatedLane::usual_margin")]
    pub margin: f64,
    /// Tokens that the model takes, as far as the dispatcher knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Tokens reserved for the answer.
    #[serde(default)]
    pub output_tokens: u64,
    /// Tokens that the harness adds.
    #[serde(default)]
    pub overhead_tokens: u64,
    /// What tokens cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<LanePrice>,
    /// Limits that the configuration names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<TrueLimit>,
    /// How the service behaves.
    pub service: Service,
}

impl SimulatedLane {
    fn usual_margin() -> f64 {
        0.8
    }

    /// The account, whether it is named or not.
    pub fn account(&self) -> &str {
        self.account.as_deref().unwrap_or(&self.name)
    }

    /// Launches at once at most.
    pub fn widest(&self) -> u32 {
        self.widest.unwrap_or(self.width).max(1)
    }

    /// What the dispatcher is told.
    pub fn spec(&self) -> LaneSpec {
        let window = |limit: &TrueLimit| WindowSpec {
            dimension: limit.dimension,
            limit: limit.limit,
            period_ms: limit.period_ms,
            scope: if limit.of_model { Scope::Model } else { Scope::Account },
        };
        LaneSpec {
            name: self.name.clone(),
            account: self.account().to_owned(),
            model: self.model.clone(),
            rank: self.rank,
            width: self.width,
            widest: self.widest(),
            agent: self.agent,
            pacing: if self.pacing == LanePacing::Request { Pacing::Request } else { Pacing::Launch },
            context_tokens: self.context_tokens,
            output_tokens: self.output_tokens,
            overhead_tokens: self.overhead_tokens,
            price: self.price.map(|price| Price {
                input_micro_usd_per_million: price.input_micro_usd_per_million,
                output_micro_usd_per_million: price.output_micro_usd_per_million,
            }),
            windows: self.limits.iter().map(window).collect(),
            margin: self.margin,
        }
    }

    /// Whose a limit is, in the words of the dispatcher.
    pub(super) fn holder(&self, limit: &TrueLimit) -> String {
        match &self.model {
            Some(model) if limit.of_model => format!("{}/{model}", self.account()),
            _ => self.account().to_owned(),
        }
    }

    /// What tokens cost, in millionths of a US dollar.
    pub(super) fn cost(&self, input: u64, output: u64) -> u64 {
        let Some(price) = self.price else { return 0 };
        let part = |tokens: u64, rate: u64| u128::from(tokens) * u128::from(rate);
        let cost = part(input, price.input_micro_usd_per_million) + part(output, price.output_micro_usd_per_million);
        u64::try_from(cost / 1_000_000).unwrap_or(u64::MAX)
    }
}

/// What is held back when a window is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LanePacing {
    /// Launches.
    #[default]
    Launch,
    /// Requests, by the gateway.
    Request,
}

/// What tokens cost, in millionths of a US dollar per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanePrice {
    /// Tokens in.
    pub input_micro_usd_per_million: u64,
    /// Tokens out.
    pub output_micro_usd_per_million: u64,
}

/// A limit: as the service enforces it, or as the configuration names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrueLimit {
    /// What is counted.
    pub dimension: Dimension,
    /// How much.
    pub limit: u64,
    /// Over which time, in milliseconds; 0 for concurrency.
    #[serde(default)]
    pub period_ms: u64,
    /// How it fills up again; the configuration does not say that.
    #[serde(default)]
    pub refill: Refill,
    /// Whether it is the model's alone; else it is the account's.
    #[serde(default)]
    pub of_model: bool,
}

/// How a window fills up again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refill {
    /// All the time: a token bucket.
    #[default]
    Bucket,
    /// At once, when a period ends.
    Fixed,
}

/// How a service behaves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Service {
    /// Milliseconds of a launch.
    pub latency_ms: Spread,
    /// Limits that it enforces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<TrueLimit>,
    /// Whether its answers say what is left of its limits.
    #[serde(default)]
    pub tells_limits: bool,
    /// Whether a refusal says when to come back.
    #[serde(default)]
    pub tells_retry_after: bool,
    /// Whether the end of a launch says what it drew.
    #[serde(default = "yes")]
    pub tells_usage: bool,
    /// Requests of a launch.
    #[serde(default)]
    pub requests: RequestCount,
    /// Tokens in over the estimate.
    #[serde(default = "Service::usual_ratio")]
    pub tokens_ratio: Spread,
    /// Tokens out over the estimate.
    #[serde(default = "Service::usual_output")]
    pub output_share: f64,
    /// Tokens that the model really takes; absent means what the dispatcher knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Milliseconds after which a launch is ended.
    #[serde(default = "Service::usual_timeout")]
    pub timeout_ms: u64,
    /// What goes wrong.
    #[serde(default)]
    pub failures: Failures,
}

impl Service {
    fn usual_ratio() -> Spread {
        Spread::always(1.0)
    }

    fn usual_output() -> f64 {
        0.1
    }

    fn usual_timeout() -> u64 {
        600_000
    }
}

/// How many requests a launch makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestCount {
    /// At least.
    pub least: u32,
    /// At most.
    pub most: u32,
}

impl Default for RequestCount {
    /// One.
    fn default() -> Self {
        Self { least: 1, most: 1 }
    }
}

/// What goes wrong, as shares of launches from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Failures {
    /// The program breaks half way.
    pub crash: f64,
    /// A step of the plugin fails, before the request or after the answer.
    pub plugin: f64,
    /// It hangs until it is ended; every second time it has answered before.
    pub hang: f64,
    /// It ends well without an answer.
    pub no_results: f64,
    /// It answers only some of its tasks.
    pub partial: f64,
    /// The model refuses the content.
    pub refused: f64,
    /// The service is overloaded.
    pub overloaded: f64,
    /// From this time after the beginning on, in milliseconds, the plan is spent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quota_exhausted_at_ms: Option<u64>,
    /// From this time after the beginning on, in milliseconds, the key is bad.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unauthenticated_at_ms: Option<u64>,
}

impl Failures {
    /// The shares by their keys.
    pub(super) fn shares(&self) -> [(&'static str, f64); 7] {
        [
            ("crash", self.crash),
            ("plugin", self.plugin),
            ("hang", self.hang),
            ("no_results", self.no_results),
            ("partial", self.partial),
            ("refused", self.refused),
            ("overloaded", self.overloaded),
        ]
    }
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}
