//! From a piece of evidence to a reading: the body's details first, then its message, then the status.

use assize_reading::{
    Cause, Evidence, Frame, Headers, Limit, Reading, derive_tail, find_wait, json_lines, parse_count, read_report,
    read_status, read_wait,
};
use serde_json::Value;

use crate::detail::{Details, dimension_of, read_details};

/// What the evidence says of limits; absent when it says nothing.
pub fn read_evidence(evidence: &Evidence) -> Option<Reading> {
    let frame = Frame::of(evidence);
    let mut reading = Reading::default();
    if evidence.status.is_none_or(|status| status >= 400) {
        reading.retry_after_ms = read_wait(&Headers(&evidence.headers), evidence.received_at_ms);
    }
    let errors: Vec<Value> = values(&evidence.text).into_iter().filter_map(take_error).collect();
    let told = errors.iter().find_map(|error| read_error(error, evidence.status, &frame));
    let refused = evidence.status.filter(|status| *status >= 400);
    match (told, refused) {
        (Some(told), _) => reading.absorb(told),
        (None, Some(status)) => {
            reading.absorb(read_status(status));
            if errors.is_empty() {
                let first = evidence.text.trim().lines().next().unwrap_or_default();
                reading.absorb(read_report(first, &frame));
            }
        }
        (None, None) => {}
    }
    reading.into_option()
}

/// JSON in a text. A stream without events is one array of answers.
fn values(text: &str) -> Vec<Value> {
    json_lines(derive_tail(text))
        .into_iter()
        .flat_map(|value| match value {
            Value::Array(items) => items,
            value => vec![value],
        })
        .collect()
}

/// The error of a body. Some programs put the whole body into the message of another error.
fn take_error(mut value: Value) -> Option<Value> {
    let error = value.get_mut("error").filter(|error| error.is_object()).map(Value::take)?;
    let nested = error["message"].as_str().filter(|message| message.trim_start().starts_with('{'));
    let nested = nested.and_then(|message| serde_json::from_str::<Value>(message).ok());
    match nested {
        Some(mut inner) if inner["error"].is_object() => Some(inner["error"].take()),
        _ => Some(error),
    }
}

/// What one error says; absent when it does not speak of a limit.
fn read_error(error: &Value, status: Option<u16>, frame: &Frame) -> Option<Reading> {
    let message = error["message"].as_str().unwrap_or_default();
    let coded = error["code"].as_u64().and_then(|code| u16::try_from(code).ok()).or(status.filter(|s| *s >= 400));
    let exhausted = error["status"] == "RESOURCE_EXHAUSTED";
    if !(exhausted || coded == Some(429)) {
        let overloaded = coded == Some(503) && read_report(message, frame).cause() == Some(Cause::Overloaded);
        return overloaded.then(|| Reading::because(Cause::Overloaded));
    }
    let spent = read_report(message, frame);
    if spent.cause() == Some(Cause::Spent) {
        return Some(spent);
    }
    let Details { mut limits, retry_after_ms, overloaded } = read_details(&error["details"], frame.received_at_ms);
    if overloaded {
        return Some(Reading { retry_after_ms, ..Reading::because(Cause::Overloaded) });
    }
    if limits.is_empty() {
        limits.extend(read_metric(message));
    }
    // Where a limit tells its reset, the words of the message tell the same once more.
    let told_reset = limits.iter().any(|limit| limit.resets_at_ms.is_some());
    let wait = retry_after_ms.or_else(|| if told_reset { None } else { find_wait(message, frame) });
    Some(Reading { limits, retry_after_ms: wait, ..Reading::throttled() })
}

/// `Quota exceeded for metric: …/generate_content_free_tier_requests, limit: 250`
fn read_metric(message: &str) -> Option<Limit> {
    if let Some(rest) = message.strip_prefix("Quota exceeded for quota metric '") {
        return read_login_metric(rest);
    }
    let (_, rest) = message.split_once("Quota exceeded for metric: ")?;
    let (metric, rest) = rest.split_once(", limit: ")?;
    let size = parse_count(&rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())])?;
    let scope = if rest.contains(", model: ") { "model" } else { "account" };
    let limit = Limit::of(dimension_of(metric)?, None, scope);
    Some(Limit { limit: Some(size), remaining: Some(0), ..limit })
}

/// `… Requests' and limit '… Requests per day per user per tier' of service`, which a Google login is told.
fn read_login_metric(rest: &str) -> Option<Limit> {
    let (metric, rest) = rest.split_once("' and limit '")?;
    let (limit, _) = rest.split_once('\'')?;
    let window = [(" per minute", 60), (" per day", 86_400)].iter().find(|(words, _)| limit.contains(words));
    let limit = Limit::of(dimension_of(metric)?, window.map(|(_, seconds)| *seconds), "account");
    Some(Limit { remaining: Some(0), ..limit })
}
