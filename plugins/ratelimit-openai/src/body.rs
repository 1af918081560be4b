//! Error bodies, and error events in streams that began well.

use assize_reading::{ErrorBody, Frame, PlanWindow, Reading, find_wait, instant_of_number, read_report, whole};
use serde_json::Value;

use crate::openrouter::read_upstream;
use crate::sentence::read_message;

/// What the body of a refusal says; absent when it does not speak of a limit. Without the status of a refusal a message
/// counts only beside a known code or under `error`.
pub fn read_body(value: &Value, refused: bool, frame: &Frame) -> Option<Reading> {
    let body = ErrorBody::of(value)?;
    if let Some(told) = read_usage_limit(value, frame).or_else(|| read_upstream(value, frame.received_at_ms)) {
        return Some(told);
    }
    let mut reading = body.read_codes();
    let known = reading.throttled;
    if reading.cause().is_none() && (known || refused || body.explicit) {
        if let Some(told) = read_message(&body.message, frame) {
            // The sentence of a request that is too large says that waiting does not help.
            if told.throttled {
                reading.absorb(told);
            } else {
                return Some(told);
            }
        } else {
            let told = read_report(&body.message, frame);
            if told.cause().is_some() {
                return Some(told);
            }
            reading.absorb(told);
        }
        if reading.throttled {
            reading.retry_after_ms = reading.retry_after_ms.or_else(|| find_wait(&body.message, frame));
        }
    }
    reading.into_option()
}

/// An error in a stream: `response.failed`, `error`, or a chunk with an error beside its choices.
pub fn read_stream_event(value: &Value, frame: &Frame) -> Option<Reading> {
    match value["type"].as_str() {
        Some("response.failed") => read_body(&value["response"], true, frame),
        Some("error") if value["error"].is_null() => {
            let known = ErrorBody::of(value).is_some_and(|body| body.read_codes().throttled);
            if known { read_body(value, true, frame) } else { None }
        }
        Some(_) | None if value["error"].is_object() => read_body(value, false, frame),
        _ => None,
    }
}

/// The wall of a ChatGPT plan.
fn read_usage_limit(value: &Value, frame: &Frame) -> Option<Reading> {
    let error = &value["error"];
    if error["type"] != "usage_limit_reached" {
        return None;
    }
    let instant = error["resets_at"].as_f64().filter(|number| *number >= 1e9);
    let at = instant.and_then(|number| instant_of_number(number, frame.received_at_ms));
    let after = || {
        let wait = error["resets_in_seconds"].as_f64().and_then(|seconds| whole(seconds * 1000.0))?;
        Some(frame.received_at_ms.saturating_add(wait))
    };
    Some(Reading::refused(PlanWindow::rejected("", at.or_else(after)).limit(true)))
}
