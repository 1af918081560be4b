//! Lanes and secrets as the user configures them. A repository can write neither: lanes spend the user's money, and
//! secrets are the user's.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use super::ConfigError;

/// `[lanes.NAME]`: what a launch goes to and what a limit belongs to. A provider that is named without such a table is a
/// lane of its own name with everything as the provider says.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaneTable {
    /// Provider; the lane's own name unless said.
    pub provider: Option<String>,
    /// Model to ask for; `--model` comes before it.
    pub model: Option<String>,
    /// What limits of an account belong to: lanes with the same account share them. The provider's name and the
    /// configured secret unless said.
    pub account: Option<String>,
    /// Launches at once to begin with.
    pub width: Option<u32>,
    /// Launches at once at most.
    pub widest: Option<u32>,
    /// Part of a limit that may be used at once, above 0 and at most 1.
    pub margin: Option<f64>,
    /// Tokens that the model takes, prompt and answer together.
    pub context_tokens: Option<u64>,
    /// Tokens that are kept free for the answer.
    pub output_tokens: Option<u64>,
    /// Tokens that the program adds around the prompt.
    pub overhead_tokens: Option<u64>,
    /// Limits that are known beforehand.
    #[serde(default)]
    pub limits: LimitTable,
    /// Prices, in US dollars for a million tokens.
    pub price: Option<PriceTable>,
    /// Keys of the provider's section that this lane has otherwise.
    #[serde(default)]
    pub config: toml::Table,
    /// Whether programs work in a copy of the repository; they do unless it says `false`.
    pub snapshot: Option<bool>,
}

/// `[lanes.NAME.limits]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LimitTable {
    /// Requests in a minute.
    pub requests_per_minute: Option<u64>,
    /// Requests in a day.
    pub requests_per_day: Option<u64>,
    /// Tokens in and out in a minute.
    pub tokens_per_minute: Option<u64>,
    /// Tokens in and out in a day.
    pub tokens_per_day: Option<u64>,
    /// Tokens in, in a minute.
    pub input_tokens_per_minute: Option<u64>,
    /// Tokens out, in a minute.
    pub output_tokens_per_minute: Option<u64>,
    /// Requests at once.
    pub concurrency: Option<u64>,
}

/// `[lanes.NAME.price]`: US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PriceTable {
    /// Tokens in.
    pub input_usd_per_million: f64,
    /// Tokens out.
    pub output_usd_per_million: f64,
    /// Tokens in that come from a cache; as tokens in unless said.
    pub cached_input_usd_per_million: Option<f64>,
}

/// `[secrets.NAME]`: where the value of a secret comes from, and where it may go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SecretTable {
    /// Environment variable; the secret's own name unless something else is said.
    pub env: Option<String>,
    /// File that holds it; blanks around it are not part of it.
    pub file: Option<PathBuf>,
    /// Program with arguments that prints it; a password store, for example.
    pub command: Option<Vec<String>>,
    /// The only hosts that it may be sent to; none said means those that are granted beside it.
    #[serde(default)]
    pub hosts: Vec<String>,
}

/// Checks what the shape alone does not say.
pub(super) fn check_lanes(lanes: &BTreeMap<String, LaneTable>, file: &str) -> Result<(), ConfigError> {
    for (name, lane) in lanes {
        let wrong = |key: &str, message: String| {
            Err(ConfigError::Value { place: format!("{file}: lanes.{name}.{key}"), message })
        };
        if name.is_empty() || name == "auto" || name.contains([',', '/']) {
            return wrong("", "a lane's name is a word without commas and slashes, and not `auto`".to_owned());
        }
        if let Some(margin) = lane.margin.filter(|margin| !(*margin > 0.0 && *margin <= 1.0)) {
            return wrong("margin", format!("{margin} is not above 0 and at most 1"));
        }
        if lane.width == Some(0) || lane.widest == Some(0) {
            return wrong("width", "a lane without a launch at once can do nothing; say 1 or more".to_owned());
        }
        if let (Some(width), Some(widest)) = (lane.width, lane.widest)
            && width > widest
        {
            return wrong("width", format!("{width} is more than `widest`, which is {widest}"));
        }
        let zero = lane.limits.all().into_iter().find(|(_, limit)| *limit == Some(0));
        if let Some((key, _)) = zero {
            return wrong(
                &format!("limits.{key}"),
                "a limit of 0 allows nothing; leave the lane out instead".to_owned(),
            );
        }
        let prices = lane.price.map(|price| {
            [
                price.input_usd_per_million,
                price.output_usd_per_million,
                price.cached_input_usd_per_million.unwrap_or(0.0),
            ]
        });
        if prices.is_some_and(|prices| prices.iter().any(|price| !price.is_finite() || *price < 0.0)) {
            return wrong("price", "a price is a number from 0 on".to_owned());
        }
    }
    Ok(())
}

/// Checks what the shape alone does not say. A secret has one source.
pub(super) fn check_secrets(secrets: &BTreeMap<String, SecretTable>, file: &str) -> Result<(), ConfigError> {
    for (name, secret) in secrets {
        let sources = [secret.env.is_some(), secret.file.is_some(), secret.command.is_some()];
        let message = if sources.iter().filter(|given| **given).count() > 1 {
            "it has more than one source; keep one of `env`, `file` and `command`"
        } else if secret.command.as_ref().is_some_and(|command| command.first().is_none_or(String::is_empty)) {
            "`command` names no program"
        } else {
            continue;
        };
        return Err(ConfigError::Value { place: format!("{file}: secrets.{name}"), message: message.to_owned() });
    }
    Ok(())
}

impl LimitTable {
    /// Every limit with its key.
    pub fn all(&self) -> [(&'static str, Option<u64>); 7] {
        [
            ("requests_per_minute", self.requests_per_minute),
            ("requests_per_day", self.requests_per_day),
            ("tokens_per_minute", self.tokens_per_minute),
            ("tokens_per_day", self.tokens_per_day),
            ("input_tokens_per_minute", self.input_tokens_per_minute),
            ("output_tokens_per_minute", self.output_tokens_per_minute),
            ("concurrency", self.concurrency),
        ]
    }
}
