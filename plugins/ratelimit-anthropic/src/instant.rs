//! Instants and waits in the forms that services write. A unit comes from the field, never from the size of a number,
//! except where a field is known to hold an instant.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;

/// How far in the past a clock time may lie before it means the next day or year, so that a reset that has just passed
/// is not taken for tomorrow's.
const GRACE_MS: i64 = 120_000;

/// An instant as RFC 3339 text, Unix seconds or Unix milliseconds; a small bare number is seconds from receipt.
pub fn parse_instant(text: &str, received_at_ms: u64) -> Option<u64> {
    let text = text.trim();
    if let Some(number) = parse_decimal(text) {
        return instant_of_number(number, received_at_ms);
    }
    parse_rfc3339(text)
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

/// An RFC 3339 timestamp in milliseconds.
pub fn parse_rfc3339(text: &str) -> Option<u64> {
    let timestamp: Timestamp = text.parse().ok()?;
    u64::try_from(timestamp.as_millisecond()).ok()
}

/// The value of `retry-after`: seconds, whole or not, or an HTTP date. A date in the past is no wait.
pub fn parse_retry_after(text: &str, received_at_ms: u64) -> Option<u64> {
    let text = text.trim();
    if let Some(seconds) = parse_decimal(text) {
        return whole(seconds * 1000.0);
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?;
    let at = u64::try_from(date.timestamp().as_millisecond()).ok()?;
    Some(at.saturating_sub(received_at_ms))
}

/// A number without sign, exponent or words.
pub fn parse_decimal(text: &str) -> Option<f64> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'.') && text != ".";
    if !plain { None } else { text.parse().ok() }
}

/// A whole number of milliseconds; absent for what no wait or instant can be.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn whole(number: f64) -> Option<u64> {
    // Until the year 9999: more than that is no instant.
    (number.is_finite() && (0.0..2.6e14).contains(&number)).then(|| number.round() as u64)
}

/// A duration of parts such as `2h15m30s`, `2h 15m`, `45 minutes`, `3.89s` or `174ms`; what follows it is not read.
pub fn parse_duration(text: &str) -> Option<u64> {
    let mut rest = text.trim_start();
    let mut total = 0.0;
    let mut parts = 0;
    while let Some((number, unit, tail)) = split_part(rest) {
        total += number * unit;
        parts += 1;
        rest = tail.trim_start();
    }
    if parts == 0 { None } else { whole(total) }
}

fn split_part(text: &str) -> Option<(f64, f64, &str)> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number = parse_decimal(&text[..digits])?;
    let after = text[digits..].trim_start();
    let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
    let unit = match after[..letters].to_ascii_lowercase().as_str() {
        "ms" => 1.0,
        "s" | "sec" | "secs" | "second" | "seconds" => 1000.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000.0,
        "d" | "day" | "days" => 86_400_000.0,
        _ => return None,
    };
    Some((number, unit, &after[letters..]))
}

/// A time of day with its zone, and a date where one is named: `2:01pm (UTC)`, `Jun 8, 3pm (UTC)`. Without a zone that
/// is an offset the instant is not known.
pub fn parse_clock(text: &str, received_at_ms: u64) -> Option<u64> {
    let (day, rest) = match split_date(text) {
        Some((day, rest)) => (Some(day), rest),
        None => (None, text),
    };
    let (time, rest) = split_time(rest)?;
    let offset = parse_zone(rest)?;
    let received = Timestamp::from_millisecond(i64::try_from(received_at_ms).ok()?).ok()?;
    let today = offset.to_datetime(received).date();
    let mut candidates = Vec::new();
    match day {
        Some((month, day)) => {
            for year in [today.year(), today.year().checked_add(1)?] {
                candidates.extend(Date::new(year, month, day).ok());
            }
        }
        None => candidates.extend([Some(today), today.tomorrow().ok()].into_iter().flatten()),
    }
    let earliest = received.as_millisecond().saturating_sub(GRACE_MS);
    candidates
        .into_iter()
        .filter_map(|date| offset.to_timestamp(DateTime::from_parts(date, time)).ok())
        .map(Timestamp::as_millisecond)
        .find(|at| *at >= earliest)
        .and_then(|at| u64::try_from(at).ok())
}

fn split_date(text: &str) -> Option<((i8, i8), &str)> {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let text = text.trim_start();
    let (word, rest) = text.split_once(' ')?;
    let folded = word.to_ascii_lowercase();
    let index = MONTHS.iter().position(|month| folded.starts_with(month))?;
    let rest = rest.trim_start();
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let day: i8 = rest[..digits].parse().ok()?;
    let rest = rest[digits..].trim_start_matches([',', ' ']);
    let rest = rest.strip_prefix("at ").unwrap_or(rest);
    Some(((i8::try_from(index + 1).ok()?, day), rest))
}

fn split_time(text: &str) -> Option<(Time, &str)> {
    let text = text.trim_start();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let mut hour: i8 = text[..digits].parse().ok()?;
    let mut rest = &text[digits..];
    let mut minute: i8 = 0;
    let mut has_minutes = false;
    if let Some(after) = rest.strip_prefix(':') {
        minute = after.get(..2)?.parse().ok()?;
        rest = &after[2..];
        has_minutes = true;
    }
    let after = rest.trim_start();
    match after.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some(half @ ("am" | "pm")) if (1..=12).contains(&hour) => {
            hour = hour % 12 + if half == "pm" { 12 } else { 0 };
            rest = &after[2..];
        }
        // `resets 5` alone is no time of day.
        _ if !has_minutes => return None,
        _ => {}
    }
    Some((Time::new(hour, minute, 0, 0).ok()?, rest))
}

/// `(UTC)`, `(GMT+2)`, `(+02:00)`. Names of places need a database, which a component does not have.
fn parse_zone(text: &str) -> Option<Offset> {
    let zone = text.trim_start().trim_start_matches('(');
    let zone = zone.split([')', '\n', '·']).next().unwrap_or_default().trim().to_ascii_uppercase();
    let rest = ["ETC/UTC", "UTC", "GMT", "Z"].iter().find_map(|name| zone.strip_prefix(name)).unwrap_or(&zone);
    if rest.is_empty() {
        return (!zone.is_empty()).then_some(Offset::UTC);
    }
    let sign = match rest.chars().next()? {
        '+' => 1,
        '-' | '\u{2212}' => -1,
        _ => return None,
    };
    let digits: String = rest.chars().skip(1).filter(|c| *c != ':').collect();
    if digits.is_empty() || digits.len() > 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (hours, minutes) = if digits.len() <= 2 { (digits.as_str(), "0") } else { digits.split_at(digits.len() - 2) };
    let seconds = hours.parse::<i32>().ok()? * 3600 + minutes.parse::<i32>().ok()? * 60;
    Offset::from_seconds(sign * seconds).ok()
}
