//! Evidence and readings as plain data.

use serde::{Deserialize, Serialize};

/// Names and values that later versions of the interface may add.
pub type Extra = Vec<(String, String)>;

/// One piece of evidence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// Provider.
    pub provider: String,
    /// Model that was asked.
    pub model: Option<String>,
    /// HTTP status, if it is a response.
    pub status: Option<u16>,
    /// HTTP headers; names in any case.
    pub headers: Vec<(String, String)>,
    /// Error text, body or structured event.
    pub text: String,
    /// Milliseconds since the Unix epoch.
    pub received_at_ms: u64,
}

/// One limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limit {
    /// `requests`, `tokens`, `input-tokens` or `output-tokens`. A plan's window, which the service tells in fractions
    /// only, is a window of tokens whose size is not known.
    pub dimension: String,
    /// Length of the window.
    pub window_seconds: Option<u64>,
    /// Size.
    pub limit: Option<u64>,
    /// What is left; zero is a value.
    pub remaining: Option<u64>,
    /// Milliseconds since the Unix epoch.
    pub resets_at_ms: Option<u64>,
    /// `model` or `account`.
    pub scope: String,
    /// `claim` (name of a plan's window), `status`, `utilization` (from 0), `tier`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// What one piece of evidence says.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// Limits.
    pub limits: Vec<Limit>,
    /// The service said no.
    pub throttled: bool,
    /// How long to wait from receipt.
    pub retry_after_ms: Option<u64>,
    /// `cause` = `overloaded` where it was the service's capacity and not a limit of the account.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

impl Reading {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.limits.is_empty() && !self.throttled && self.retry_after_ms.is_none()
    }

    /// A refusal that names no window.
    pub fn throttled() -> Self {
        Self { throttled: true, ..Self::default() }
    }

    /// A refusal for want of capacity.
    pub fn overloaded() -> Self {
        Self { extra: vec![("cause".to_owned(), "overloaded".to_owned())], ..Self::throttled() }
    }

    /// Adds what another source says of the same evidence. What is known already stays: the earlier source is the
    /// more exact one. A window is the same when dimension, length, scope and claim are.
    pub fn absorb(&mut self, other: Reading) {
        // A limit of the account outweighs want of capacity: it lasts longer.
        let limited = |reading: &Reading| reading.throttled && reading.extra.is_empty();
        if limited(self) || limited(&other) {
            self.extra.clear();
        } else if self.extra.is_empty() {
            self.extra = other.extra;
        }
        self.throttled |= other.throttled;
        self.retry_after_ms = self.retry_after_ms.or(other.retry_after_ms);
        for limit in other.limits {
            match self.limits.iter_mut().find(|known| known.same_window(&limit)) {
                Some(known) => known.fill(limit),
                None => self.limits.push(limit),
            }
        }
    }
}

impl Limit {
    fn same_window(&self, other: &Limit) -> bool {
        (&self.dimension, self.window_seconds, &self.scope, self.value("tier"))
            == (&other.dimension, other.window_seconds, &other.scope, other.value("tier"))
    }

    fn fill(&mut self, other: Limit) {
        self.limit = self.limit.or(other.limit);
        self.remaining = self.remaining.or(other.remaining);
        self.resets_at_ms = self.resets_at_ms.or(other.resets_at_ms);
        for (name, value) in other.extra {
            if self.value(&name).is_none() {
                self.extra.push((name, value));
            }
        }
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.extra.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}
