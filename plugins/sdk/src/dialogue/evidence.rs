//! What the rate-limit plugin gets to read of a response.

use crate::event::Responded;
use crate::launch::Evidence;

use super::api::{Ending, Reply, Settings};

/// Longest error that is passed on, in characters.
const TEXT_CHARS: usize = 4_000;
/// Most headers of a response that are passed on.
const HEADERS: usize = 64;
/// Longest header value that is passed on, in bytes; values of limits are short.
const VALUE_BYTES: usize = 512;

/// Parts of the names of headers that speak of limits.
const LIMIT_WORDS: [&str; 4] = ["ratelimit", "rate-limit", "retry-after", "should-retry"];
/// Parts of the names of headers that tell an error apart.
const ERROR_WORDS: [&str; 2] = ["request-id", "errortype"];

/// Evidence of one response. A success that says nothing of limits is none.
pub(super) fn derive_evidence(responded: &Responded, reply: &Reply, settings: &Settings) -> Option<Evidence> {
    let refusal = match &reply.ending {
        Ending::Refused(refusal) => Some(refusal),
        _ => None,
    };
    let headers = pick_headers(&responded.headers, refusal.is_some());
    if headers.is_empty() && refusal.is_none() {
        return None;
    }
    Some(Evidence {
        provider: settings.provider.to_owned(),
        model: Some(settings.model.clone()),
        status: Some(refusal.map_or(responded.status, |refusal| refusal.status)),
        headers,
        text: refusal.map(|refusal| refusal.evidence.chars().take(TEXT_CHARS).collect()).unwrap_or_default(),
        received_at_ms: responded.received_at_ms,
        extra: Vec::new(),
    })
}

fn pick_headers(headers: &[(String, String)], refused: bool) -> Vec<(String, String)> {
    let wanted = |name: &str| {
        let name = name.to_ascii_lowercase();
        let holds = |words: &[&str]| words.iter().any(|word| name.contains(word));
        // Priority Tier's limits do not have the word of the others in their names.
        holds(&LIMIT_WORDS) || name.starts_with("anthropic-priority-") || (refused && holds(&ERROR_WORDS))
    };
    headers.iter().filter(|(name, value)| value.len() <= VALUE_BYTES && wanted(name)).take(HEADERS).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::launch::Outcome;

    use super::super::api::Refusal;

    fn header(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    fn responded() -> Responded {
        let headers = vec![
            header("Content-Type", "text/event-stream"),
            header("Anthropic-RateLimit-Requests-Remaining", "3"),
            header("anthropic-priority-input-tokens-limit", "9"),
            header("set-cookie", "a=b"),
            header("request-id", "req_1"),
            header("x-ratelimit-long", &"9".repeat(1_000)),
        ];
        Responded { status: 200, headers, received_at_ms: 7, ..Responded::default() }
    }

    #[test]
    fn a_success_passes_on_its_limits_and_nothing_else() {
        let evidence = derive_evidence(&responded(), &Reply::default(), &Settings::default()).expect("limits");
        let names: Vec<&str> = evidence.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Anthropic-RateLimit-Requests-Remaining", "anthropic-priority-input-tokens-limit"]);
        assert_eq!((evidence.status, evidence.text.as_str(), evidence.received_at_ms), (Some(200), "", 7));
        assert_eq!(derive_evidence(&Responded::default(), &Reply::default(), &Settings::default()), None);
    }

    #[test]
    fn an_error_in_a_stream_has_the_status_that_its_name_stands_for() {
        let refusal =
            Refusal { status: 429, outcome: Outcome::RateLimited, text: "t".into(), evidence: "e".repeat(9_000) };
        let reply = Reply { ending: Ending::Refused(refusal), ..Reply::default() };
        let evidence = derive_evidence(&responded(), &reply, &Settings::default()).expect("a refusal");
        assert_eq!((evidence.status, evidence.text.len(), evidence.headers.len()), (Some(429), TEXT_CHARS, 3));
    }
}
