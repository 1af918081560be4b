//! The service's windows: the headers that tell of them, and a bucket that they are true of.

use jiff::{SignedDuration, Timestamp};

/// The window of requests as headers tell it. The windows of tokens are told in proportion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Requests in a window.
    pub limit: u32,
    /// Requests left.
    pub remaining: u32,
    /// Milliseconds until it is full again.
    pub full_in_ms: u64,
    /// Milliseconds until the next request is let in, when this one was not.
    pub retry_in_ms: Option<u64>,
}

impl Window {
    /// A window that is far from spent.
    pub const EASY: Self = Self { limit: 50, remaining: 49, full_in_ms: 1_200, retry_in_ms: None };

    /// A window that is spent for some seconds.
    pub fn spent(seconds: u64) -> Self {
        Self { limit: 50, remaining: 0, full_in_ms: seconds * 1_000, retry_in_ms: Some(seconds * 1_000) }
    }

    /// The headers. Times are whole seconds and never too early.
    pub fn headers(&self, now: Timestamp) -> Vec<(String, String)> {
        let full_in = SignedDuration::from_millis(i64::try_from(self.full_in_ms).unwrap_or(i64::MAX));
        let reset = render_reset(now, full_in);
        let mut headers = Vec::new();
        for (dimension, share) in [("requests", 1), ("tokens", 1_600), ("input-tokens", 1_200), ("output-tokens", 400)]
        {
            let tell = |what: &str, value: String| (format!("anthropic-ratelimit-{dimension}-{what}"), value);
            headers.push(tell("limit", (u64::from(self.limit) * share).to_string()));
            headers.push(tell("remaining", (u64::from(self.remaining) * share).to_string()));
            headers.push(tell("reset", reset.clone()));
        }
        if let Some(ms) = self.retry_in_ms {
            headers.push(("retry-after".to_owned(), ms.div_ceil(1_000).max(1).to_string()));
        }
        headers
    }
}

fn render_reset(now: Timestamp, in_time: SignedDuration) -> String {
    let at = now.checked_add(in_time).unwrap_or(now);
    let seconds = at.as_second() + i64::from(at.subsec_nanosecond() > 0);
    Timestamp::from_second(seconds).unwrap_or(at).to_string()
}

/// A token bucket. It starts full.
#[derive(Clone, Copy, Debug)]
pub struct Bucket {
    level: f64,
    at_ms: u64,
}

impl Bucket {
    /// A full bucket.
    pub fn full(limit: u32, now_ms: u64) -> Self {
        Self { level: f64::from(limit), at_ms: now_ms }
    }

    /// Takes one token if there is one, and tells the window after that.
    pub fn take(&mut self, limit: u32, seconds: u32, now_ms: u64) -> Window {
        let capacity = f64::from(limit);
        let per_ms = capacity / (f64::from(seconds) * 1_000.0);
        let passed = now_ms.saturating_sub(self.at_ms) as f64;
        self.level = (self.level + passed * per_ms).min(capacity);
        self.at_ms = now_ms;
        let allowed = self.level >= 1.0;
        if allowed {
            self.level -= 1.0;
        }
        let ms_until = |level: f64| ((level - self.level) / per_ms).ceil().max(0.0) as u64;
        Window {
            limit,
            remaining: self.level.floor() as u32,
            full_in_ms: ms_until(capacity),
            retry_in_ms: (!allowed).then(|| ms_until(1.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_lets_in_what_it_holds_and_then_what_flows_in() {
        let mut bucket = Bucket::full(2, 0);
        let mut take = |now| bucket.take(2, 10, now);
        assert_eq!((take(0).remaining, take(0).remaining), (1, 0));
        let refused = take(1_000);
        assert_eq!((refused.retry_in_ms, refused.full_in_ms), (Some(4_000), 9_000));
        assert_eq!(take(4_999).retry_in_ms, Some(1));
        assert_eq!(take(5_000).retry_in_ms, None);
        assert_eq!(take(1_000_000).remaining, 1);
    }

    #[test]
    fn headers_are_never_too_early() {
        let now: Timestamp = "2026-01-02T03:04:05.250Z".parse().unwrap();
        let window = Window { limit: 2, remaining: 0, full_in_ms: 9_000, retry_in_ms: Some(4_001) };
        let headers = window.headers(now);
        let of = |name: &str| headers.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        assert_eq!(of("anthropic-ratelimit-requests-reset"), Some("2026-01-02T03:04:15Z"));
        assert_eq!(of("anthropic-ratelimit-requests-limit"), Some("2"));
        assert_eq!(of("anthropic-ratelimit-output-tokens-remaining"), Some("0"));
        assert_eq!(of("retry-after"), Some("5"));
        assert!(!Window::EASY.headers(now).iter().any(|(name, _)| name == "retry-after"));
    }
}
