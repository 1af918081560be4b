//! Limits in JSON: error bodies of the API, events of Claude Code, and records of responses.

use assize_reading::{
    Cause, Frame, PlanWindow, Reading, instant_of_number, parse_instant, read_record, read_report, read_status, whole,
};
use serde_json::Value;

use crate::header::read_headers;
use crate::read::read_prose;

/// What one JSON value says; empty for one that is none of the known forms.
pub fn read_json(value: &Value, frame: &Frame) -> Reading {
    match text(value, "type") {
        "error" => read_api_error(&value["error"], frame),
        "rate_limit_event" => read_limit_info(&value["rate_limit_info"], frame.received_at_ms),
        "system" if text(value, "subtype") == "api_retry" => read_retry(value),
        "result" if value["is_error"] == true => read_result(value, frame),
        "assistant" if value["is_api_error_message"] == true => read_assistant(value, frame.received_at_ms),
        "" => read_untyped(value, frame),
        _ => Reading::default(),
    }
}

/// The member `error` of an API body.
pub fn read_api_error(error: &Value, frame: &Frame) -> Reading {
    match text(error, "type") {
        "rate_limit_error" => Reading::throttled(),
        "overloaded_error" => Reading::because(Cause::Overloaded),
        "billing_error" => Reading::because(Cause::Spent),
        // A spent balance has no type of its own.
        "invalid_request_error" => {
            let told = read_report(text(error, "message"), frame);
            if told.cause() == Some(Cause::Spent) { told } else { Reading::default() }
        }
        _ => Reading::default(),
    }
}

/// Windows of a plan in an event of the program.
fn read_limit_info(info: &Value, received_at_ms: u64) -> Reading {
    let status = text(info, "status");
    if status.is_empty() {
        return Reading::default();
    }
    let rejected = status == "rejected";
    let mut reading = Reading { throttled: rejected, ..Reading::default() };
    if let Some(windows) = info["unifiedWindows"].as_object() {
        for (claim, window) in windows {
            reading.limits.push(read_window(claim, window, received_at_ms).limit(rejected));
        }
    }
    let claim = text(info, "rateLimitType");
    if !claim.is_empty() {
        let named = read_window(claim, info, received_at_ms).limit(rejected);
        reading.absorb(Reading { limits: vec![named], ..Reading::default() });
    }
    reading
}

fn read_window(claim: &str, window: &Value, received_at_ms: u64) -> PlanWindow {
    let reset = &window["resetsAt"];
    PlanWindow {
        claim: claim.to_owned(),
        status: window["status"].as_str().map(str::to_owned),
        utilization: window["utilization"].as_f64().filter(|used| *used >= 0.0),
        resets_at_ms: match reset.as_f64() {
            Some(number) => instant_of_number(number, received_at_ms),
            None => reset.as_str().and_then(|text| parse_instant(text, received_at_ms)),
        },
    }
}

/// The program is about to try again; its delay holds what the service asked for.
fn read_retry(value: &Value) -> Reading {
    let mut reading = read_status(number(&value["error_status"]).unwrap_or_default());
    reading.absorb(match text(value, "error") {
        "rate_limit" => Reading::throttled(),
        "overloaded" => Reading::because(Cause::Overloaded),
        _ => Reading::default(),
    });
    if reading.throttled {
        reading.retry_after_ms = value["retry_delay_ms"].as_f64().and_then(whole);
    }
    reading
}

fn read_result(value: &Value, frame: &Frame) -> Reading {
    let mut reading = read_status(number(&value["api_error_status"]).unwrap_or_default());
    reading.absorb(read_api_error(&serde_json::json!({"type": value["api_error_type"]}), frame));
    reading.absorb(read_prose(text(value, "result").lines().next().unwrap_or_default(), frame));
    reading
}

fn read_assistant(value: &Value, received_at_ms: u64) -> Reading {
    let mut reading = read_limit_info(&value["api_error_params"]["rate_limit_info"], received_at_ms);
    let limited = text(value, "error") == "rate_limit" || text(value, "api_error") == "usage_limit_reached";
    if limited {
        reading.absorb(Reading::throttled());
    } else if text(value, "error") == "overloaded" {
        reading.absorb(Reading::because(Cause::Overloaded));
    }
    reading
}

/// A record of a response without a type: a body with `error`, or a status with headers or a wait beside it.
fn read_untyped(value: &Value, frame: &Frame) -> Reading {
    let mut reading = read_api_error(&value["error"], frame);
    reading.absorb(read_record(value, frame.received_at_ms, read_headers));
    reading
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn number(value: &Value) -> Option<u16> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u16::try_from(number).ok()
}
