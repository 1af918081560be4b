//! Errors of the service, in a response of their own or as a chunk of a stream that began well.

use assize_plugin_sdk::dialogue::{Refusal, judge_status};
use assize_plugin_sdk::{Outcome, derive_one_line};
use serde_json::{Value, json};

/// Longest text of a body that is no error document, in characters.
const FOREIGN_CHARS: usize = 300;
/// Longest sentence of an error that is evidence, in characters, so that the whole stays a document.
const SENTENCE_CHARS: usize = 1_000;
/// Most details of an error that are evidence.
const DETAILS: usize = 4;

/// What the body of a failed response says. It is an object, or a list of one; a proxy on the way may answer with anything.
pub(crate) fn read_refusal(status: u16, body: &[u8]) -> Refusal {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let document = value.get(0).unwrap_or(&value);
    if document["error"].is_object() {
        return judge_error(Some(status), &document["error"]);
    }
    let text = derive_one_line(&String::from_utf8_lossy(body), FOREIGN_CHARS);
    Refusal { status, outcome: judge_status(status), evidence: text.clone(), text }
}

/// What an error means; without a status, its own code counts.
pub fn judge_error(status: Option<u16>, error: &Value) -> Refusal {
    let code = error["code"].as_u64().and_then(|code| u16::try_from(code).ok());
    let status = status.or(code).unwrap_or(500);
    let word = error["status"].as_str().unwrap_or_default();
    let text = error["message"].as_str().unwrap_or_default().to_owned();
    let outcome = judge_details(error)
        .or_else(|| judge_sentence(&text.to_ascii_lowercase()))
        .or_else(|| judge_word(word))
        .unwrap_or_else(|| judge_status(status));
    let said: String = text.chars().take(SENTENCE_CHARS).collect();
    let evidence = json!({"error": {"code": status, "message": said, "status": word, "details": pick_details(error)}});
    Refusal { status, outcome, text, evidence: evidence.to_string() }
}

/// The details that speak of limits. Others may repeat what was asked, which is the repository's text.
fn pick_details(error: &Value) -> Value {
    let speaks = |detail: &&Value| ["violations", "retryDelay", "reason"].iter().any(|name| detail.get(name).is_some());
    let details = error["details"].as_array();
    details.map_or(Value::Null, |details| details.iter().filter(speaks).take(DETAILS).cloned().collect())
}

/// What the typed details say: a quota of a day is spent for today, one of a minute is not.
fn judge_details(error: &Value) -> Option<Outcome> {
    let details = error["details"].as_array()?;
    let reasons: Vec<&str> = details.iter().filter_map(|detail| detail["reason"].as_str()).collect();
    if reasons.iter().any(|reason| reason.starts_with("API_KEY_")) {
        return Some(Outcome::Unauthenticated);
    }
    if reasons.contains(&"QUOTA_EXHAUSTED") {
        return Some(Outcome::QuotaExhausted);
    }
    if reasons.contains(&"MODEL_CAPACITY_EXHAUSTED") {
        return Some(Outcome::Overloaded);
    }
    let violations = details.iter().filter_map(|detail| detail["violations"].as_array()).flatten();
    let mut quotas = violations.filter_map(|violation| violation["quotaId"].as_str());
    quotas.any(|quota| quota.contains("PerDay")).then_some(Outcome::QuotaExhausted)
}

/// Meanings for which the service has no word of their own.
fn judge_sentence(folded: &str) -> Option<Outcome> {
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| folded.contains(phrase));
    if says(&["input token count", "exceeds the maximum number of tokens"]) {
        return Some(Outcome::ContextExceeded);
    }
    if says(&["api key not valid", "api key expired"]) {
        return Some(Outcome::Unauthenticated);
    }
    says(&["prepayment credits are depleted", "spending cap"]).then_some(Outcome::QuotaExhausted)
}

fn judge_word(word: &str) -> Option<Outcome> {
    Some(match word {
        "UNAUTHENTICATED" | "PERMISSION_DENIED" => Outcome::Unauthenticated,
        "RESOURCE_EXHAUSTED" => Outcome::RateLimited,
        "UNAVAILABLE" | "INTERNAL" | "DEADLINE_EXCEEDED" | "UNKNOWN" | "ABORTED" => Outcome::Overloaded,
        _ => return None,
    })
}
