//! Structured events of agent programs. What a model or a tool said is never looked at.

use assize_reading::{ErrorBody, Frame, Headers, Pairs, Reading, read_counts, read_record, read_status, read_wait};
use serde_json::Value;

use crate::line::read_text;

/// What one event says; empty for one that is not an error of a limit.
pub fn read_event(value: &Value, frame: &Frame) -> Reading {
    let told = |message: &Value| read_text(message.as_str().unwrap_or_default(), frame);
    let data = if value["data"].is_object() { &value["data"] } else { value };
    match value["type"].as_str() {
        Some("error") if value["error"]["data"].is_object() => read_failure(&value["error"]["data"], frame),
        Some("error") => told(&value["message"]),
        Some("turn.failed") => told(&value["error"]["message"]),
        Some("event_msg") => told(&value["payload"]["error"]["message"]),
        Some("result") if value["is_error"] == true || value["status"] == "error" => {
            let mut reading = told(&value["error"]["message"]);
            reading.absorb(told(&value["result"]));
            reading
        }
        Some("system") if value["subtype"] == "retry" => {
            let mut reading = told(&data["message"]);
            reading.absorb(told(&data["error"]));
            reading
        }
        Some("model.call_failure" | "session.error") => read_call(data, frame),
        Some("assistant.turn_retry") if data["reason"] == "rate_limit" => Reading::throttled(),
        Some("model.call_final_result") if data["result"] == "http_429" => Reading::throttled(),
        // The whole error of a program that ends without an event.
        None if value["session_id"].is_string() && value["error"].is_object() => {
            read_final_error(&value["error"], frame)
        }
        _ => Reading::default(),
    }
}

/// A failed request with the response that it met.
fn read_failure(data: &Value, frame: &Frame) -> Reading {
    let mut reading = Reading::default();
    let body = data["responseBody"].as_str().and_then(|body| serde_json::from_str::<Value>(body).ok());
    if let Some(body) = body.and_then(|body| ErrorBody::of(&body)) {
        reading.absorb(body.read_codes());
    }
    reading.absorb(read_record(data, frame.received_at_ms, read_shared_headers));
    if data["statusCode"].is_null() {
        reading.absorb(read_text(data["message"].as_str().unwrap_or_default(), frame));
    }
    reading
}

/// A failed call that is told by status, kind and message.
fn read_call(data: &Value, frame: &Frame) -> Reading {
    let mut reading = read_status(status_of(&data["statusCode"]));
    if data["errorType"] == "rate_limit" {
        reading.absorb(Reading::throttled());
    }
    for key in ["errorMessage", "message"] {
        reading.absorb(read_text(data[key].as_str().unwrap_or_default(), frame));
    }
    reading
}

fn read_final_error(error: &Value, frame: &Frame) -> Reading {
    let mut reading = read_text(error["message"].as_str().unwrap_or_default(), frame);
    reading.absorb(read_status(status_of(&error["code"])));
    reading
}

fn status_of(value: &Value) -> u16 {
    value.as_u64().and_then(|status| u16::try_from(status).ok()).unwrap_or_default()
}

/// Headers that programs repeat in their errors, as far as services share them.
pub fn read_shared_headers(headers: &Pairs, received_at_ms: u64) -> Reading {
    let lookup = Headers(headers);
    let limits = read_counts(&lookup, received_at_ms).into_iter().map(|counted| counted.limit).collect();
    Reading { retry_after_ms: read_wait(&lookup, received_at_ms), ..Reading::told(limits) }
}
