//! GitHub Models: the limit that binds is told beside the advertised counts, which are not the ones that bind.

use assize_reading::{Cause, Headers, Limit, Reading, parse_count, parse_instant};
use serde_json::Value;

/// The limit that refused a request, as the message tells it; its reset is in a header.
pub fn read_binding_limit(headers: &Headers<'_>, values: &[Value], received_at_ms: u64) -> Option<Reading> {
    let message = values.iter().find_map(|value| value["error"]["message"].as_str()).unwrap_or_default();
    let (size, window, kind) = parse_message(message)?;
    let scope = if kind.contains("Model") { "model" } else { "account" };
    if kind.contains("Concurrent") {
        let limit = Limit { limit: Some(size), remaining: Some(0), ..Limit::of("concurrency", None, scope) };
        let mut reading = Reading::because(Cause::Concurrency);
        reading.limits.push(limit);
        return Some(reading);
    }
    let dimension = if kind.contains("Token") { "tokens" } else { "requests" };
    let resets_at_ms = headers.get("x-ratelimit-timeremaining").and_then(|text| parse_instant(text, received_at_ms));
    let limit = Limit { limit: Some(size), remaining: Some(0), resets_at_ms, ..Limit::of(dimension, window, scope) };
    Some(Reading::refused(limit))
}

/// `Rate limit of 15 per 60s exceeded for UserByMinute. …`
fn parse_message(message: &str) -> Option<(u64, Option<u64>, &str)> {
    let rest = message.strip_prefix("Rate limit of ")?;
    let (size, rest) = rest.split_once(" per ")?;
    let (window, rest) = rest.split_once("s exceeded for ")?;
    let kind = &rest[..rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len())];
    Some((parse_count(size)?, parse_count(window).filter(|seconds| *seconds > 0), kind))
}
