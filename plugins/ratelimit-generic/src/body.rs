//! Error bodies and sentences of services that have no reader of their own.

use assize_reading::{
    Cause, ErrorBody, Frame, Limit, Reading, find_wait, parse_count, read_record, read_report, whole,
};
use serde_json::Value;

use crate::header::read_headers;

/// What a body says; absent when it does not speak of a limit. Without the status of a refusal a message counts only
/// under `error` or beside a known code.
pub fn read_body(value: &Value, refused: bool, frame: &Frame) -> Option<Reading> {
    if let Some(event) = value.get("throttlingException") {
        let message = event["message"].as_str().unwrap_or_default();
        let mut reading = read_report(message, frame);
        reading.absorb(Reading::throttled());
        return Some(reading);
    }
    let mut reading = read_record(value, frame.received_at_ms, read_headers);
    let body = ErrorBody::of(value).unwrap_or_default();
    let known = body.read_codes();
    if refused || body.explicit || known.throttled {
        let told = read_sentence(&body.message).unwrap_or_else(|| read_report(&body.message, frame));
        reading.absorb(told);
    }
    // A cause in the codes is more exact than a status; a status is more exact than nothing.
    match known.cause() {
        Some(Cause::Overloaded | Cause::Concurrency) if reading.cause() != Some(Cause::Spent) => {
            reading.extra = known.extra
        }
        _ => reading.absorb(known),
    }
    reading.throttled |= !reading.extra.is_empty();
    if reading.throttled && reading.retry_after_ms.is_none() {
        let seconds = value["retry_after"].as_f64().or_else(|| value["error"]["retry_after"].as_f64());
        reading.retry_after_ms = seconds.and_then(|seconds| whole(seconds * 1000.0));
        if reading.cause() != Some(Cause::Spent) {
            reading.retry_after_ms = reading.retry_after_ms.or_else(|| find_wait(&body.message, frame));
        }
    }
    reading.into_option()
}

/// The sentence of Cohere's trial keys.
pub fn read_sentence(line: &str) -> Option<Reading> {
    let folded = line.trim().to_ascii_lowercase();
    let rest = folded.strip_prefix("you are using a trial key, which is limited to ")?;
    let (size, rest) = rest.split_once(' ')?;
    let limit = Limit { limit: Some(parse_count(size)?), ..Limit::spent("requests", "account") };
    rest.starts_with("api calls / minute").then(|| Reading::refused(Limit { window_seconds: Some(60), ..limit }))
}
