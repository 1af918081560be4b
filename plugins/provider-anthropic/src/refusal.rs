//! Errors of the service, in a response of their own or as an event of a stream that began well.

use assize_plugin_sdk::dialogue::{Refusal, judge_status};
use assize_plugin_sdk::{Outcome, derive_one_line};
use serde_json::{Value, json};

/// Longest text of a body that is no error document, in characters.
const FOREIGN_CHARS: usize = 300;
/// Longest sentence of an error that is evidence, in characters, so that the whole stays a document.
const SENTENCE_CHARS: usize = 1_000;

/// What the body of a failed response says. A proxy on the way may answer with anything.
pub(crate) fn read_refusal(status: u16, body: &[u8]) -> Refusal {
    match serde_json::from_slice::<Value>(body) {
        Ok(value) if value["error"].is_object() => judge_error(Some(status), &value["error"]),
        _ => {
            let text = derive_one_line(&String::from_utf8_lossy(body), FOREIGN_CHARS);
            Refusal { status, outcome: judge_status(status), evidence: text.clone(), text }
        }
    }
}

/// What an error means; without a status, the one that its type stands for counts.
pub fn judge_error(status: Option<u16>, error: &Value) -> Refusal {
    let kind = error["type"].as_str().unwrap_or_default();
    let text = error["message"].as_str().unwrap_or_default().to_owned();
    let status = status.unwrap_or_else(|| status_of(kind));
    let outcome =
        judge_sentence(&text.to_ascii_lowercase()).or_else(|| judge_kind(kind)).unwrap_or_else(|| judge_status(status));
    let said: String = text.chars().take(SENTENCE_CHARS).collect();
    let evidence = json!({"type": "error", "error": {"type": kind, "message": said}}).to_string();
    Refusal { status, outcome, text, evidence }
}

/// Meanings for which the service has no type: they all come as `invalid_request_error`, or with a limit's own.
fn judge_sentence(folded: &str) -> Option<Outcome> {
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| folded.contains(phrase));
    if says(&["credit balance is too low", "specified api usage limits", "specified workspace api usage limits"]) {
        return Some(Outcome::QuotaExhausted);
    }
    if says(&["prompt is too long", "exceed context limit", "exceeds the maximum allowed number of input tokens"]) {
        return Some(Outcome::ContextExceeded);
    }
    says(&["blocked by content filtering policy"]).then_some(Outcome::Refused)
}

fn judge_kind(kind: &str) -> Option<Outcome> {
    Some(match kind {
        "authentication_error" | "permission_error" => Outcome::Unauthenticated,
        "billing_error" => Outcome::QuotaExhausted,
        "rate_limit_error" => Outcome::RateLimited,
        "overloaded_error" | "api_error" | "timeout_error" => Outcome::Overloaded,
        "request_too_large" => Outcome::ContextExceeded,
        "not_found_error" => Outcome::Misconfigured,
        _ => return None,
    })
}

fn status_of(kind: &str) -> u16 {
    match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" => 429,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => 500,
    }
}
