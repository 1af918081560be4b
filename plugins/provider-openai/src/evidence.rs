//! What the rate-limit component gets to read: every response's status and headers about limits, and the sentence of an
//! error. Never a part of the answer.

use assize_plugin_sdk::{Evidence, Responded};

use crate::service_error::ServiceError;

/// Responses of one launch whose limits are kept, the newest.
const KEPT: usize = 32;
/// Headers of one response that are kept.
const HEADERS: usize = 64;
/// Longest value that says something about a limit.
const VALUE_BYTES: usize = 1024;
/// Longest error that is passed on, in characters.
const TEXT_CHARS: usize = 4000;

/// The limits that a launch has seen.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen(Vec<Evidence>);

impl Seen {
    /// Notes one response. One that says nothing of limits leaves no trace unless it failed.
    pub(crate) fn note(&mut self, responded: &Responded, error: Option<&ServiceError>, model: &str) {
        let headers: Vec<(String, String)> = responded
            .headers
            .iter()
            .filter(|(name, value)| is_about_limits(name) && value.len() <= VALUE_BYTES)
            .take(HEADERS)
            .cloned()
            .collect();
        if headers.is_empty() && error.is_none() {
            return;
        }
        if self.0.len() >= KEPT {
            self.0.remove(0);
        }
        self.0.push(Evidence {
            provider: "openai".to_owned(),
            model: Some(model.to_owned()),
            status: Some(responded.status),
            headers,
            text: error.map(|error| error.evidence.chars().take(TEXT_CHARS).collect()).unwrap_or_default(),
            received_at_ms: responded.received_at_ms,
            extra: Vec::new(),
        });
    }

    /// All that was noted, oldest first.
    pub(crate) fn into_evidence(self) -> Vec<Evidence> {
        self.0
    }
}

fn is_about_limits(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let begins =
        ["retry-after", "x-should-retry", "x-ms-error-code", "x-error-message", "x-endpoint-", "x-trial-", "x-codex-"];
    begins.iter().any(|start| name.starts_with(start))
        || ["ratelimit", "rate-limit", "quota"].iter().any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_headers_about_limits_are_kept() {
        let headers = [
            "X-RateLimit-Remaining-Tokens",
            "retry-after-ms",
            "RateLimit",
            "Set-Cookie",
            "x-request-id",
            "openai-organization",
        ]
        .map(|name| (name.to_owned(), "1".to_owned()));
        let mut seen = Seen::default();
        seen.note(&Responded { headers: headers.to_vec(), ..Responded::default() }, None, "m");
        seen.note(&Responded { headers: headers[3..].to_vec(), ..Responded::default() }, None, "m");
        let evidence = seen.into_evidence();
        assert_eq!((evidence.len(), evidence[0].headers.len()), (1, 3));
    }

    #[test]
    fn only_the_newest_responses_are_kept() {
        let mut seen = Seen::default();
        for at in 0..100 {
            let responded = Responded { received_at_ms: at, ..Responded::default() };
            seen.note(&responded, Some(&ServiceError::default()), "m");
        }
        let times: Vec<u64> = seen.into_evidence().iter().map(|evidence| evidence.received_at_ms).collect();
        assert_eq!((times.len(), times[0], times[KEPT - 1]), (KEPT, 100 - KEPT as u64, 99));
    }
}
