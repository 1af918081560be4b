//! What a response tells of the limits, in the form of its service.

use jiff::Timestamp;

use crate::limits::duration::later;
use crate::limits::render_go_duration;
use crate::protocol::Protocol;

/// Limits as a response tells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told {
    /// Of requests.
    pub requests: Option<Gauge>,
    /// Of tokens.
    pub tokens: Option<Gauge>,
    /// Whether those of input and output are told apart too, as shares of the tokens.
    pub split: bool,
    /// Milliseconds until the request would be let in, where that is told.
    pub retry_in_ms: Option<u64>,
}

/// One limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gauge {
    /// What a full window holds.
    pub limit: u64,
    /// What is left of it.
    pub remaining: u64,
    /// Milliseconds until it is full again.
    pub full_in_ms: u64,
}

impl Gauge {
    fn share(self, numerator: u64, denominator: u64) -> Self {
        let part = |amount: u64| amount / denominator * numerator;
        Self { limit: part(self.limit), remaining: part(self.remaining), full_in_ms: self.full_in_ms }
    }
}

impl Told {
    /// Windows that are far from spent.
    pub const EASY: Self = Self {
        requests: Some(Gauge { limit: 50, remaining: 49, full_in_ms: 1_200 }),
        tokens: Some(Gauge { limit: 80_000, remaining: 78_400, full_in_ms: 1_200 }),
        split: true,
        retry_in_ms: None,
    };

    /// Nothing.
    pub const NOTHING: Self = Self { requests: None, tokens: None, split: false, retry_in_ms: None };

    /// Windows of which the one of requests is spent for so long.
    pub fn spent(ms: u64) -> Self {
        let requests = Gauge { limit: 50, remaining: 0, full_in_ms: ms };
        let tokens = Gauge { limit: 80_000, remaining: 40_000, full_in_ms: ms };
        Self { requests: Some(requests), tokens: Some(tokens), split: true, retry_in_ms: Some(ms) }
    }
}

/// The headers of a service. Whole seconds are rounded up, so that nobody comes too early.
pub fn render_headers(protocol: Protocol, told: &Told, now: Timestamp) -> Vec<(String, String)> {
    match protocol {
        Protocol::Messages => render_anthropic(told, now),
        Protocol::Chat | Protocol::Responses => render_openai(told),
        // These services tell nothing in headers.
        Protocol::Gemini | Protocol::Converse => Vec::new(),
    }
}

fn render_anthropic(told: &Told, now: Timestamp) -> Vec<(String, String)> {
    let tokens = told.tokens;
    let shared = |share: (u64, u64)| tokens.filter(|_| told.split).map(|gauge| gauge.share(share.0, share.1));
    let mut headers = Vec::new();
    for (dimension, gauge) in [
        ("requests", told.requests),
        ("tokens", tokens),
        ("input-tokens", shared((3, 4))),
        ("output-tokens", shared((1, 4))),
    ] {
        let Some(gauge) = gauge else { continue };
        let mut tell = |what: &str, value: String| {
            headers.push((format!("anthropic-ratelimit-{dimension}-{what}"), value));
        };
        tell("limit", gauge.limit.to_string());
        tell("remaining", gauge.remaining.to_string());
        tell("reset", later(now, gauge.full_in_ms).to_string());
    }
    headers.extend(told.retry_in_ms.map(retry_after));
    headers
}

fn render_openai(told: &Told) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    for (dimension, gauge) in [("requests", told.requests), ("tokens", told.tokens)] {
        let Some(gauge) = gauge else { continue };
        headers.push((format!("x-ratelimit-limit-{dimension}"), gauge.limit.to_string()));
        headers.push((format!("x-ratelimit-remaining-{dimension}"), gauge.remaining.to_string()));
        headers.push((format!("x-ratelimit-reset-{dimension}"), render_go_duration(gauge.full_in_ms)));
    }
    if let Some(ms) = told.retry_in_ms {
        headers.push(retry_after(ms));
        headers.push(("retry-after-ms".to_owned(), ms.to_string()));
    }
    headers
}

fn retry_after(ms: u64) -> (String, String) {
    ("retry-after".to_owned(), ms.div_ceil(1_000).max(1).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(protocol: Protocol, told: Told) -> impl Fn(&str) -> Option<String> {
        let now: Timestamp = "2026-01-02T03:04:05.250Z".parse().unwrap();
        let headers = render_headers(protocol, &told, now);
        move |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    #[test]
    fn anthropic_s_times_are_never_too_early() {
        let requests = Gauge { limit: 2, remaining: 0, full_in_ms: 9_000 };
        let told = Told { requests: Some(requests), retry_in_ms: Some(4_001), ..Told::NOTHING };
        let of = headers(Protocol::Messages, told);
        assert_eq!(of("anthropic-ratelimit-requests-reset").as_deref(), Some("2026-01-02T03:04:15Z"));
        assert_eq!(of("anthropic-ratelimit-requests-limit").as_deref(), Some("2"));
        assert_eq!(of("anthropic-ratelimit-tokens-limit"), None);
        assert_eq!(of("retry-after").as_deref(), Some("5"));
        let easy = headers(Protocol::Messages, Told::EASY);
        assert_eq!(easy("anthropic-ratelimit-input-tokens-limit").as_deref(), Some("60000"));
        assert_eq!(easy("anthropic-ratelimit-output-tokens-remaining").as_deref(), Some("19600"));
        assert_eq!(easy("retry-after"), None);
    }

    #[test]
    fn openai_tells_when_windows_are_full_as_durations() {
        let of = headers(Protocol::Chat, Told::spent(90_500));
        assert_eq!(of("x-ratelimit-reset-requests").as_deref(), Some("1m30.5s"));
        assert_eq!(of("x-ratelimit-remaining-requests").as_deref(), Some("0"));
        assert_eq!((of("retry-after").as_deref(), of("retry-after-ms").as_deref()), (Some("91"), Some("90500")));
    }

    #[test]
    fn the_others_tell_nothing_in_headers() {
        for protocol in [Protocol::Gemini, Protocol::Converse] {
            assert_eq!(render_headers(protocol, &Told::spent(5), Timestamp::UNIX_EPOCH), []);
        }
    }
}
