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

/// Name of the zone that programs of this machine tell times of day in: what `TZ` says, else what the machine is set to.
pub fn zone_name(tz: Option<&str>) -> String {
    let zone_of = |path: &std::path::Path| {
        let path = path.to_str()?;
        path.split_once("zoneinfo/").map(|(_, name)| name.to_owned())
    };
    let set = tz.map(|tz| tz.trim_start_matches(':')).filter(|tz| !tz.is_empty());
    let named = set.map(|tz| zone_of(std::path::Path::new(tz)).unwrap_or_else(|| tz.to_owned()));
    let machine = || zone_of(&std::fs::read_link("/etc/localtime").ok()?);
    named.or_else(machine).unwrap_or_else(|| "UTC".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_told_by_its_name() {
        assert_eq!(zone_name(Some("Europe/Berlin")), "Europe/Berlin");
        assert_eq!(zone_name(Some(":/usr/share/zoneinfo/Asia/Tokyo")), "Asia/Tokyo");
        assert!(!zone_name(None).is_empty());
    }
}
