//! OpenRouter: limits that stand inside the error body, and refusals of the services behind it.

use assize_reading::{Cause, Headers, Limit, Reading, read_counts};
use serde_json::Value;

/// A refusal of its own, with the headers that it repeats in the body, or one of the service behind it.
pub fn read_upstream(value: &Value, received_at_ms: u64) -> Option<Reading> {
    let error = &value["error"];
    let metadata = error["metadata"].as_object()?;
    let refused = error["code"] == 429 || error["code"] == "429";
    if !refused {
        return None;
    }
    if metadata.get("limit_source").and_then(Value::as_str).is_some_and(|source| source.starts_with("upstream_")) {
        return Some(Reading::because(Cause::Overloaded));
    }
    let headers = metadata.get("headers").and_then(Value::as_object)?;
    let pairs: Vec<(String, String)> = headers
        .iter()
        .map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
        .collect();
    let mut limits: Vec<Limit> =
        read_counts(&Headers(&pairs), received_at_ms).into_iter().map(|counted| counted.limit).collect();
    let period = told_period(error);
    for limit in limits.iter_mut().filter(|limit| limit.scope == "account") {
        limit.window_seconds = limit.window_seconds.or(period);
    }
    Some(Reading { limits, ..Reading::throttled() })
}

/// Gives the bare count of the headers the window that the body names.
pub fn set_period(reading: &mut Reading, values: &[Value]) {
    let Some(period) = values.iter().find_map(|value| told_period(&value["error"])) else { return };
    let bare = |limit: &&mut Limit| {
        limit.scope == "account" && limit.dimension == "requests" && limit.window_seconds.is_none()
    };
    for limit in reading.limits.iter_mut().filter(bare) {
        limit.window_seconds = Some(period);
    }
}

/// `Rate limit exceeded: free-models-per-day.`
fn told_period(error: &Value) -> Option<u64> {
    let rest = error["message"].as_str()?.strip_prefix("Rate limit exceeded: free-models-per-")?;
    match &rest[..rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len())] {
        "day" => Some(86_400),
        "min" | "minute" => Some(60),
        _ => None,
    }
}
