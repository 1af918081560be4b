//! The one place that reads the clock.
#![allow(clippy::disallowed_methods, reason = "this is the place that the lint names")]

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since the Unix epoch.
pub fn now_ms() -> u64 {
    u64::try_from(since_epoch().as_millis()).unwrap_or(u64::MAX)
}

/// Nanoseconds since the Unix epoch.
pub fn now_ns() -> i64 {
    i64::try_from(since_epoch().as_nanos()).unwrap_or(i64::MAX)
}

fn since_epoch() -> std::time::Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// An instant for people and reports: RFC 3339 in UTC, to the second.
pub fn rfc3339(ms: u64) -> String {
    let ms = i64::try_from(ms).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(ms)
        .map_or_else(|_| ms.to_string(), |at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// The sortable beginning of a launch id: `20260131T235959123Z`.
pub fn stamp(ms: u64) -> String {
    let signed = i64::try_from(ms).unwrap_or(i64::MAX);
    jiff::Timestamp::from_millisecond(signed)
        .map_or_else(|_| ms.to_string(), |at| format!("{}{:03}Z", at.strftime("%Y%m%dT%H%M%S"), ms % 1000))
}
