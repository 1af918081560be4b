//! Counts in headers of the family `x-ratelimit-limit-…`, `-remaining-…`, `-reset-…`, which many services share and few
//! fill alike.

use std::collections::BTreeMap;

use crate::headers::Headers;
use crate::instant::parse_instant;
use crate::number::{parse_count, parse_decimal, whole};
use crate::reading::Limit;

/// One limit as the headers count it, with what a service's reader needs to judge its window.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    /// The limit; its window is absent where no header tells it.
    pub limit: Limit,
    /// Milliseconds until the reset, where it was told as a duration or a number of seconds.
    pub resets_in_ms: Option<u64>,
}

/// Fields of one unit.
#[derive(Default)]
struct Fields<'a> {
    limit: Option<&'a str>,
    remaining: Option<&'a str>,
    reset: Option<&'a str>,
    period: Option<&'a str>,
}

/// All limits that are counted in a known unit. A bare `x-ratelimit-limit` counts requests of the account.
pub fn read_counts(headers: &Headers<'_>, received_at_ms: u64) -> Vec<Counted> {
    let mut units: BTreeMap<String, Fields<'_>> = BTreeMap::new();
    for (name, value) in headers.sorted() {
        let Some(rest) = name.strip_prefix("x-ratelimit-").or_else(|| name.strip_prefix("x-rate-limit-")) else {
            continue;
        };
        let (field, unit) = rest.split_once('-').unwrap_or((rest, ""));
        if !["limit", "remaining", "reset", "renewalperiod"].contains(&field) {
            continue;
        }
        let fields = units.entry(unit.to_owned()).or_default();
        *match field {
            "limit" => &mut fields.limit,
            "remaining" => &mut fields.remaining,
            "reset" => &mut fields.reset,
            _ => &mut fields.period,
        } = Some(value);
    }
    units.iter().filter_map(|(unit, fields)| count(unit, fields, received_at_ms)).collect()
}

fn count(unit: &str, fields: &Fields<'_>, received_at_ms: u64) -> Option<Counted> {
    let mut limit = parse_unit(unit)?;
    limit.limit = fields.limit.and_then(parse_count);
    // A size of -1 says that none is told, and then what stands beside it is filling.
    if fields.limit.is_some_and(|told| told.starts_with('-')) {
        return None;
    }
    limit.remaining = fields.remaining.and_then(parse_count);
    limit.resets_at_ms = fields.reset.and_then(|text| parse_instant(text, received_at_ms));
    limit.window_seconds = limit.window_seconds.or_else(|| fields.period.and_then(parse_count).filter(|s| *s > 0));
    let mut resets_in_ms = fields.reset.and_then(|text| seconds_or_duration(text, received_at_ms));
    // A window that is not full cannot be full now.
    if resets_in_ms == Some(0) && limit.remaining < limit.limit && limit.limit.is_some() {
        (limit.resets_at_ms, resets_in_ms) = (None, None);
    }
    limit.tells().then_some(Counted { limit, resets_in_ms })
}

fn seconds_or_duration(text: &str, received_at_ms: u64) -> Option<u64> {
    match parse_decimal(text) {
        Some(number) if number >= 1e9 => None,
        Some(seconds) => whole(seconds * 1000.0),
        // An instant ends in `Z` or in digits.
        None if text.ends_with(['s', 'm', 'h', 'd']) => {
            Some(parse_instant(text, received_at_ms)?.saturating_sub(received_at_ms))
        }
        None => None,
    }
}

/// The dimension, scope, tier and, where the name has it, the window of a unit such as `requests`, `project-tokens` or
/// `tokens-minute`.
fn parse_unit(unit: &str) -> Option<Limit> {
    if unit.is_empty() {
        return Some(Limit::of("requests", None, "account"));
    }
    let (unit, scope) = unit.strip_prefix("project-").map_or((unit, "model"), |unit| (unit, "workspace"));
    const PERIODS: [(&str, u64); 4] = [("-second", 1), ("-minute", 60), ("-hour", 3600), ("-day", 86_400)];
    let period = PERIODS.iter().find_map(|(suffix, seconds)| Some((unit.strip_suffix(suffix)?, *seconds)));
    let (unit, window) = period.map_or((unit, None), |(unit, seconds)| (unit, Some(seconds)));
    let dimension = match unit {
        "requests" | "req" => "requests",
        "tokens" | "tokens_usage_based" => "tokens",
        "input-tokens" | "tokens-prompt" => "input-tokens",
        "output-tokens" | "tokens-generated" => "output-tokens",
        _ => return None,
    };
    let mut limit = Limit::of(dimension, window, scope);
    if unit == "tokens_usage_based" {
        limit.extra.push(("tier".to_owned(), "usage-based".to_owned()));
    }
    Some(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(pairs: &[(&str, &str)]) -> Vec<Limit> {
        let headers: Vec<_> = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        read_counts(&Headers(&headers), 1000).into_iter().map(|counted| counted.limit).collect()
    }

    #[test]
    fn a_size_below_zero_makes_the_window_unknown() {
        assert_eq!(counts(&[("x-ratelimit-limit-tokens", "-1"), ("x-ratelimit-remaining-tokens", "0")]), []);
    }

    #[test]
    fn zero_left_is_a_value() {
        assert_eq!(counts(&[("X-RateLimit-Remaining-Tokens", "0")])[0].remaining, Some(0));
    }

    #[test]
    fn an_unknown_unit_is_no_limit() {
        assert_eq!(counts(&[("x-ratelimit-limit-images", "5"), ("x-ratelimit-limit-requests-fortnight", "5")]), []);
    }

    #[test]
    fn a_window_that_is_not_full_is_not_full_now() {
        let told = |left: &str| {
            let pairs = [
                ("x-ratelimit-limit-tokens", "5"),
                ("x-ratelimit-remaining-tokens", left),
                ("x-ratelimit-reset-tokens", "0"),
            ];
            counts(&pairs)[0].resets_at_ms
        };
        assert_eq!((told("4"), told("5")), (None, Some(1000)));
    }
}
