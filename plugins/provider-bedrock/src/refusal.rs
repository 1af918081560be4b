//! Errors of the service: a type in a header, a sentence in the body.

use assize_plugin_sdk::dialogue::{Refusal, judge_status};
use assize_plugin_sdk::{Outcome, Responded, derive_one_line};
use serde_json::{Value, json};

/// Longest text of a body that is no error document, in characters.
const FOREIGN_CHARS: usize = 300;
/// Longest sentence of an error that is evidence, in characters, so that the whole stays a document.
const SENTENCE_CHARS: usize = 1_000;

/// What a failed response says.
pub fn read_refusal(responded: &Responded) -> Refusal {
    let status = responded.status;
    let body: Value = serde_json::from_slice(&responded.body).unwrap_or_default();
    let kind = read_kind(responded, &body);
    let said = [&body["message"], &body["Message"]].into_iter().find_map(Value::as_str);
    let text = match said {
        Some(said) => said.to_owned(),
        None if body.is_object() => kind.clone(),
        None => derive_one_line(&String::from_utf8_lossy(&responded.body), FOREIGN_CHARS),
    };
    let outcome = judge_sentence(&text.to_ascii_lowercase())
        .or_else(|| judge_kind(&kind))
        .unwrap_or_else(|| judge_status(status));
    let sentence: String = text.chars().take(SENTENCE_CHARS).collect();
    let evidence = json!({"type": kind, "message": sentence}).to_string();
    Refusal { status, outcome, text, evidence }
}

/// The error's type without the address behind it, from the header or else from the body.
fn read_kind(responded: &Responded, body: &Value) -> String {
    let header = responded.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("x-amzn-errortype"));
    let told = header.map(|(_, value)| value.as_str()).or_else(|| body["__type"].as_str()).unwrap_or_default();
    let name = told.split(':').next().unwrap_or_default();
    let name = name.rsplit('#').next().unwrap_or_default();
    name.chars().filter(char::is_ascii_alphanumeric).take(80).collect()
}

/// Meanings for which the service has no type of their own.
fn judge_sentence(folded: &str) -> Option<Outcome> {
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| folded.contains(phrase));
    if says(&["too many tokens per day", "too many requests per day"]) {
        return Some(Outcome::QuotaExhausted);
    }
    if says(&["input is too long", "prompt is too long", "exceed context limit", "maximum context length"]) {
        return Some(Outcome::ContextExceeded);
    }
    says(&["blocked by content filtering policy"]).then_some(Outcome::Refused)
}

fn judge_kind(kind: &str) -> Option<Outcome> {
    Some(match kind {
        "ThrottlingException" | "TooManyRequestsException" => Outcome::RateLimited,
        "ServiceQuotaExceededException" => Outcome::QuotaExhausted,
        "AccessDeniedException"
        | "UnrecognizedClientException"
        | "InvalidSignatureException"
        | "IncompleteSignatureException"
        | "MissingAuthenticationTokenException"
        | "ExpiredTokenException" => Outcome::Unauthenticated,
        "ModelNotReadyException"
        | "ModelTimeoutException"
        | "ModelErrorException"
        | "ServiceUnavailableException"
        | "InternalServerException" => Outcome::Overloaded,
        _ => return None,
    })
}
