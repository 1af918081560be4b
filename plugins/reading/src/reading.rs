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
    /// `time-zone`: the zone of the machine on which a program wrote the text, by IANA name or offset.
    pub extra: Extra,
}

impl Evidence {
    /// Whether the service served the request. Such a response carries an answer, which may speak of anything.
    pub fn succeeded(&self) -> bool {
        self.status.is_some_and(|status| status < 400)
    }
}

/// One limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limit {
    /// `requests`, `tokens`, `input-tokens`, `output-tokens`, `concurrency` or `spend`. A plan's window, which services
    /// tell in fractions only, is a window of tokens whose size is not known.
    pub dimension: String,
    /// Length of the window.
    pub window_seconds: Option<u64>,
    /// Size.
    pub limit: Option<u64>,
    /// What is left; zero is a value.
    pub remaining: Option<u64>,
    /// Milliseconds since the Unix epoch.
    pub resets_at_ms: Option<u64>,
    /// `model`, `account` or `workspace`.
    pub scope: String,
    /// `claim` (name of a plan's window), `status`, `utilization` (1 for all of it), `tier`, `policy` (the service's
    /// name of the limit).
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
    /// `cause`: what kind of no it was where it was not a window of the account; the words of [`Cause`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub extra: Extra,
}

/// Why a service said no, where it was not a window that fills again by waiting. The later outweighs the earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// `overloaded`: the service's capacity; it passes in seconds.
    Overloaded,
    /// `concurrency`: too many requests at once; it passes when one of them ends.
    Concurrency,
    /// `spent`: credit or budget is gone; waiting does not help.
    Spent,
}

impl Cause {
    /// The word in a reading.
    pub fn word(self) -> &'static str {
        match self {
            Cause::Overloaded => "overloaded",
            Cause::Concurrency => "concurrency",
            Cause::Spent => "spent",
        }
    }
}

impl Reading {
    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.limits.is_empty() && !self.throttled && self.retry_after_ms.is_none()
    }

    /// The reading, unless it says nothing.
    pub fn into_option(self) -> Option<Self> {
        (!self.is_empty()).then_some(self)
    }

    /// A refusal that names no window.
    pub fn throttled() -> Self {
        Self { throttled: true, ..Self::default() }
    }

    /// A refusal because of this limit.
    pub fn refused(limit: Limit) -> Self {
        Self { limits: vec![limit], ..Self::throttled() }
    }

    /// Limits without a refusal.
    pub fn told(limits: Vec<Limit>) -> Self {
        Self { limits, ..Self::default() }
    }

    /// A refusal with a cause.
    pub fn because(cause: Cause) -> Self {
        let extra = vec![("cause".to_owned(), cause.word().to_owned())];
        let limits = if cause == Cause::Spent { vec![Limit::spent("spend", "account")] } else { Vec::new() };
        Self { limits, extra, ..Self::throttled() }
    }

    /// Its cause.
    pub fn cause(&self) -> Option<Cause> {
        let (_, word) = self.extra.iter().find(|(name, _)| name == "cause")?;
        [Cause::Overloaded, Cause::Concurrency, Cause::Spent].into_iter().find(|cause| cause.word() == word)
    }

    /// Adds what another source says of the same evidence. What is known already stays: the earlier source is the
    /// more exact one. A window is the same when dimension, length, scope, tier and policy are.
    pub fn absorb(&mut self, other: Reading) {
        self.extra = match (self.throttled, other.throttled) {
            (true, true) if weight(&other) > weight(self) => other.extra,
            (false, true) => other.extra,
            _ => std::mem::take(&mut self.extra),
        };
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

/// A limit of the account outweighs want of capacity, because it lasts longer; money that is gone outweighs both.
fn weight(reading: &Reading) -> u8 {
    match reading.cause() {
        Some(Cause::Overloaded) => 0,
        Some(Cause::Concurrency) => 1,
        None => 2,
        Some(Cause::Spent) => 3,
    }
}

impl Limit {
    /// A limit of which nothing more is known.
    pub fn of(dimension: &str, window_seconds: Option<u64>, scope: &str) -> Self {
        Self { dimension: dimension.to_owned(), window_seconds, scope: scope.to_owned(), ..Self::default() }
    }

    /// A limit of which nothing is left.
    pub fn spent(dimension: &str, scope: &str) -> Self {
        Self { remaining: Some(0), ..Self::of(dimension, None, scope) }
    }

    /// Whether it tells more than its name.
    pub fn tells(&self) -> bool {
        self.limit.is_some() || self.remaining.is_some() || self.resets_at_ms.is_some()
    }

    /// A value of `extra`.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.extra.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn same_window(&self, other: &Limit) -> bool {
        let key = |limit: &Limit| {
            let named = |name: &str| limit.value(name).map(str::to_owned);
            (limit.dimension.clone(), limit.window_seconds, limit.scope.clone(), named("tier"), named("policy"))
        };
        key(self) == key(other)
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_that_is_gone_outweighs_a_window_and_a_window_outweighs_capacity() {
        let (over, spent) = (Reading::because(Cause::Overloaded), Reading::because(Cause::Spent));
        for (first, second, cause) in [
            (&over, &Reading::throttled(), None),
            (&Reading::throttled(), &over, None),
            (&Reading::throttled(), &spent, Some(Cause::Spent)),
            (&spent, &over, Some(Cause::Spent)),
            (&Reading::default(), &over, Some(Cause::Overloaded)),
            (&over, &Reading::default(), Some(Cause::Overloaded)),
        ] {
            let mut reading = first.clone();
            reading.absorb(second.clone());
            assert_eq!((reading.throttled, reading.cause()), (true, cause), "{first:?} {second:?}");
        }
    }

    #[test]
    fn the_earlier_source_of_a_window_stays_and_the_later_fills_its_gaps() {
        let limit = |size, remaining| Limit { limit: size, remaining, ..Limit::of("requests", Some(60), "model") };
        let mut reading = Reading::told(vec![limit(Some(5), None)]);
        reading.absorb(Reading::told(vec![limit(Some(7), Some(0)), Limit::of("requests", Some(60), "account")]));
        assert_eq!(reading.limits[0], limit(Some(5), Some(0)));
        assert_eq!(reading.limits.len(), 2);
    }
}
