//! Durations as programs and services write them.

use crate::number::{parse_decimal, whole};

/// Milliseconds of a duration of parts such as `2h15m30s`, `2 days, 3 hours and 5 minutes`, `6m0s`, `3.89s` or `174ms`.
/// What follows it is not read; a number without a unit is no duration.
pub fn parse_duration(text: &str) -> Option<u64> {
    let mut rest = text.trim_start();
    let mut total = 0.0;
    let mut parts = 0;
    while let Some((number, unit, tail)) = split_part(rest) {
        total += number * unit;
        parts += 1;
        rest = skip_joint(tail);
    }
    if parts == 0 { None } else { whole(total) }
}

/// What may stand between two parts.
fn skip_joint(text: &str) -> &str {
    let text = text.trim_start();
    let text = text.strip_prefix(',').unwrap_or(text).trim_start();
    text.strip_prefix("and ").unwrap_or(text).trim_start()
}

fn split_part(text: &str) -> Option<(f64, f64, &str)> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let number = parse_decimal(&text[..digits])?;
    let after = text[digits..].trim_start();
    let letters = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
    let unit = match after[..letters].to_ascii_lowercase().as_str() {
        "ms" | "msec" | "millisecond" | "milliseconds" => 1.0,
        "s" | "sec" | "secs" | "second" | "seconds" => 1000.0,
        "m" | "min" | "mins" | "minute" | "minutes" => 60_000.0,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600_000.0,
        "d" | "day" | "days" => 86_400_000.0,
        "w" | "week" | "weeks" => 604_800_000.0,
        _ => return None,
    };
    Some((number, unit, &after[letters..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_and_what_is_no_duration_is_none() {
        for (text, expected) in [
            ("6m0s", Some(360_000)),
            ("20ms", Some(20)),
            ("1h2m3s", Some(3_723_000)),
            ("2h 15m", Some(8_100_000)),
            ("2 hours and 13 minutes or so", Some(7_980_000)),
            ("45 minutes. rate limit", Some(2_700_000)),
            ("2m59.56s", Some(179_560)),
            ("5", None),
            ("5 connections", None),
            ("5 mü", None),
            ("-5s", None),
            ("999999999999999999999h", None),
            ("", None),
        ] {
            assert_eq!(parse_duration(text), expected, "{text}");
        }
    }
}
