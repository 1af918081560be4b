//! Records of responses as libraries and programs write them: a status with headers or a wait beside it.

use serde_json::Value;

use crate::headers::Pairs;
use crate::number::whole;
use crate::reading::Reading;
use crate::report::read_status;

/// How a reader reads headers.
pub type ReadHeaders = fn(&Pairs, u64) -> Reading;

/// What a JSON object says that has a status, headers or a wait under one of their usual names.
pub fn read_record(value: &Value, received_at_ms: u64, read_headers: ReadHeaders) -> Reading {
    let mut reading = Reading::default();
    let headers = ["headers", "response_headers", "responseHeaders"].iter().find_map(|key| value[*key].as_object());
    if let Some(headers) = headers {
        let pairs: Vec<_> = headers.iter().map(|(name, value)| (name.clone(), plain(value))).collect();
        reading.absorb(read_headers(&pairs, received_at_ms));
    }
    let status =
        ["status", "statusCode", "status_code", "http_status", "code"].iter().find_map(|key| number(&value[*key]));
    if let Some(status) = status {
        reading.absorb(read_status(status));
        if status < 400 {
            reading.retry_after_ms = None;
        }
    }
    if reading.throttled && reading.retry_after_ms.is_none() {
        reading.retry_after_ms = read_field_wait(value);
    }
    reading
}

/// A wait in a field of a record; its unit is in the name of the field.
fn read_field_wait(value: &Value) -> Option<u64> {
    let wait = |key: &str, scale: f64| {
        let number = value[key].as_f64().or_else(|| value[key].as_str()?.parse().ok());
        number.map(|number| number * scale)
    };
    wait("retry_after_ms", 1.0)
        .or_else(|| wait("retryDelayMs", 1.0))
        .or_else(|| wait("retry_after", 1000.0))
        .and_then(whole)
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn number(value: &Value) -> Option<u16> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u16::try_from(number).ok()
}
