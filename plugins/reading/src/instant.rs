//! Instants as services write them, in milliseconds since the Unix epoch. A unit comes from the field, never from the
//! size of a number, except where a field is known to hold an instant.

use jiff::Timestamp;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::Offset;

use crate::duration::parse_duration;
use crate::number::{parse_decimal, whole};

/// The value of a field that tells a reset: a number as [`instant_of_number`] reads it, RFC 3339, an HTTP date, or a
/// duration from receipt.
pub fn parse_instant(text: &str, received_at_ms: u64) -> Option<u64> {
    let text = text.trim();
    if let Some(number) = parse_decimal(text) {
        return instant_of_number(number, received_at_ms);
    }
    let duration = || {
        let whole_text = text.ends_with(|c: char| c.is_ascii_alphabetic()) && !text.contains(' ');
        parse_duration(text).filter(|_| whole_text).map(|wait| received_at_ms.saturating_add(wait))
    };
    parse_rfc3339(text).or_else(|| parse_http_date(text)).or_else(duration)
}

/// An instant that is a number: milliseconds above 10^12, seconds above 10^9, else seconds from receipt.
pub fn instant_of_number(number: f64, received_at_ms: u64) -> Option<u64> {
    if number >= 1e12 {
        return whole(number);
    }
    if number >= 1e9 {
        return whole(number * 1000.0);
    }
    Some(received_at_ms.saturating_add(whole(number * 1000.0)?))
}

/// An RFC 3339 timestamp.
pub fn parse_rfc3339(text: &str) -> Option<u64> {
    let timestamp: Timestamp = text.parse().ok()?;
    u64::try_from(timestamp.as_millisecond()).ok()
}

/// An HTTP date in any of the three forms of RFC 9110.
pub fn parse_http_date(text: &str) -> Option<u64> {
    let millis = match jiff::fmt::rfc2822::parse(text) {
        Ok(date) => date.timestamp().as_millisecond(),
        Err(_) => ["%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"].iter().find_map(|form| {
            let date = BrokenDownTime::parse(form, text).ok()?.to_datetime().ok()?;
            Some(Offset::UTC.to_timestamp(date).ok()?.as_millisecond())
        })?,
    };
    u64::try_from(millis).ok()
}

/// The value of `retry-after` as a wait in milliseconds: seconds, whole or not, or an HTTP date. A date in the past is
/// no wait.
pub fn parse_retry_after(text: &str, received_at_ms: u64) -> Option<u64> {
    let text = text.trim();
    if let Some(seconds) = parse_decimal(text) {
        return whole(seconds * 1000.0);
    }
    Some(parse_http_date(text)?.saturating_sub(received_at_ms))
}
