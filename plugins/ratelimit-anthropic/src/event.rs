//! Limits in JSON: error bodies of the API, events of Claude Code, and records of responses.

use serde_json::Value;

use crate::header::{PlanWindow, read_headers};
use crate::instant::{instant_of_number, parse_instant, whole};
use crate::prose::read_prose;
use crate::reading::Reading;

/// What one JSON value says; empty for one that is none of the known forms.
pub fn read_json(value: &Value, received_at_ms: u64) -> Reading {
    match text(value, "type") {
        "error" => read_api_error(&value["error"]),
        "rate_limit_event" => read_limit_info(&value["rate_limit_info"], received_at_ms),
        "system" if text(value, "subtype") == "api_retry" => read_retry(value),
        "result" if value["is_error"] == true => read_result(value, received_at_ms),
        "assistant" if value["is_api_error_message"] == true => read_assistant(value, received_at_ms),
        "" => read_record(value, received_at_ms),
        _ => Reading::default(),
    }
}

/// The member `error` of an API body.
pub fn read_api_error(error: &Value) -> Reading {
    match text(error, "type") {
        "rate_limit_error" => Reading::throttled(),
        "overloaded_error" => Reading::overloaded(),
        _ => Reading::default(),
    }
}

/// What a status says by itself.
pub fn read_status(status: u16) -> Reading {
    match status {
        429 => Reading::throttled(),
        529 => Reading::overloaded(),
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
        "overloaded" => Reading::overloaded(),
        _ => Reading::default(),
    });
    if reading.throttled {
        reading.retry_after_ms = value["retry_delay_ms"].as_f64().and_then(whole);
    }
    reading
}

fn read_result(value: &Value, received_at_ms: u64) -> Reading {
    let mut reading = read_status(number(&value["api_error_status"]).unwrap_or_default());
    reading.absorb(read_api_error(&serde_json::json!({"type": value["api_error_type"]})));
    reading.absorb(read_prose(text(value, "result").lines().next().unwrap_or_default(), received_at_ms));
    reading
}

fn read_assistant(value: &Value, received_at_ms: u64) -> Reading {
    let mut reading = read_limit_info(&value["api_error_params"]["rate_limit_info"], received_at_ms);
    let limited = text(value, "error") == "rate_limit" || text(value, "api_error") == "usage_limit_reached";
    if limited {
        reading.absorb(Reading::throttled());
    } else if text(value, "error") == "overloaded" {
        reading.absorb(Reading::overloaded());
    }
    reading
}

/// A record of a response without a type: a body with `error`, or a status with headers or a wait beside it.
fn read_record(value: &Value, received_at_ms: u64) -> Reading {
    let mut reading = read_api_error(&value["error"]);
    let status = ["status", "statusCode", "status_code", "code"].iter().find_map(|key| number(&value[*key]));
    let headers = ["headers", "response_headers", "responseHeaders"].iter().find_map(|key| value[*key].as_object());
    if let Some(headers) = headers {
        let pairs: Vec<(String, String)> = headers.iter().map(|(name, value)| (name.clone(), plain(value))).collect();
        reading.absorb(read_headers(&pairs, received_at_ms));
    }
    if let Some(status) = status {
        reading.absorb(read_status(status));
    }
    if reading.throttled && reading.retry_after_ms.is_none() {
        // The unit is in the name of the field.
        let wait = |key: &str, scale: f64| {
            value[key].as_f64().or_else(|| value[key].as_str()?.parse().ok()).map(|n| n * scale)
        };
        reading.retry_after_ms = wait("retry_after_ms", 1.0).or_else(|| wait("retry_after", 1000.0)).and_then(whole);
    }
    reading
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn number(value: &Value) -> Option<u16> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u16::try_from(number).ok()
}
