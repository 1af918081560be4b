//! Resets as people are told them: a time of day, a date, a weekday, with or without a zone.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::TimeZone;

use crate::duration::parse_duration;
use crate::instant::parse_rfc3339;
use crate::zone::{ToldZone, parse_zone};

/// How far in the past a clock time may lie before it means the next day or year, so that a reset that has just passed
/// is not taken for tomorrow's.
const GRACE_MS: i64 = 120_000;

/// What stands after `resets` or `try again`, as an instant in milliseconds: `in 2h 15m`, `at 3pm (UTC)`,
/// `Jun 8, 3pm (Europe/Berlin)`, `at Dec 3rd, 2026 9:10 AM`, `on Monday`, an RFC 3339 instant.
///
/// A time of day is the next such instant after `received_at_ms`; a day without a time is its beginning. Without a zone
/// the time is one of `local`; where that is not known, or the zone is not, there is no instant.
pub fn parse_reset(text: &str, received_at_ms: u64, local: Option<&TimeZone>) -> Option<u64> {
    let mut text = text.trim_start();
    for lead in ["in ", "after "] {
        if let Some(wait) = strip_word(text, lead) {
            return Some(received_at_ms.saturating_add(parse_duration(wait)?));
        }
    }
    while let Some(rest) = strip_word(text, "at ").or_else(|| strip_word(text, "on ")) {
        text = rest.trim_start();
    }
    let word = text.split_whitespace().next()?.trim_end_matches(['.', ',', ';', ')', ']']);
    parse_rfc3339(word).or_else(|| parse_day_and_time(text, received_at_ms, local))
}

fn parse_day_and_time(text: &str, received_at_ms: u64, local: Option<&TimeZone>) -> Option<u64> {
    let (day, rest) = split_day(text).map_or((None, text), |(day, rest)| (Some(day), rest));
    let rest = rest.trim_start_matches([',', ' ']);
    let rest = strip_word(rest, "at ").unwrap_or(rest).trim_start();
    let (time, rest) = match split_time(rest) {
        Some((time, rest)) => (time, rest),
        // A number that is no time leaves the day in doubt.
        None if day.is_some() && !rest.starts_with(|c: char| c.is_ascii_digit()) => (Time::midnight(), rest),
        None => return None,
    };
    let zone = match parse_zone(rest) {
        ToldZone::Known(zone) => zone,
        ToldZone::Absent => local?.clone(),
        ToldZone::Unknown => return None,
    };
    let received = Timestamp::from_millisecond(i64::try_from(received_at_ms).ok()?).ok()?;
    let today = zone.to_datetime(received).date();
    let earliest = received.as_millisecond().saturating_sub(GRACE_MS);
    let told_year = matches!(day, Some(Day::Full(_)));
    candidates(day, today)
        .into_iter()
        .filter_map(|date| zone.to_ambiguous_timestamp(DateTime::from_parts(date, time)).compatible().ok())
        .map(Timestamp::as_millisecond)
        .find(|at| told_year || *at >= earliest)
        .and_then(|at| u64::try_from(at).ok())
}

/// A day as it is told.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Day {
    Full(Date),
    OfYear(i8, i8),
    OfWeek(Weekday),
    Tomorrow,
}

/// Days that are meant, the earliest first.
fn candidates(day: Option<Day>, today: Date) -> Vec<Date> {
    let next = |days: i8| today.checked_add(jiff::Span::new().days(days)).ok();
    match day {
        None => (0..=1).filter_map(next).collect(),
        Some(Day::Full(date)) => vec![date],
        Some(Day::Tomorrow) => next(1).into_iter().collect(),
        Some(Day::OfWeek(weekday)) => (0..=7).filter_map(next).filter(|date| date.weekday() == weekday).collect(),
        // A leap day may be years away, and then it is not this reset.
        Some(Day::OfYear(month, day)) => {
            (0..=1).filter_map(|years| Date::new(today.year().checked_add(years)?, month, day).ok()).collect()
        }
    }
}

fn split_day(text: &str) -> Option<(Day, &str)> {
    split_iso(text).or_else(|| split_slashed(text)).or_else(|| {
        let letters = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
        let word = text[..letters].to_ascii_lowercase();
        let rest = text[letters..].trim_start_matches(['.', ',', ' ']);
        if word == "tomorrow" {
            return Some((Day::Tomorrow, rest));
        }
        match weekday(&word) {
            // The date after a weekday tells more than the weekday.
            Some(day) => Some(split_month(rest).unwrap_or((Day::OfWeek(day), rest))),
            None => split_month(text),
        }
    })
}

/// `2026-06-08`
fn split_iso(text: &str) -> Option<(Day, &str)> {
    let date: Date = text.get(..10).filter(|date| date.as_bytes()[4] == b'-')?.parse().ok()?;
    Some((Day::Full(date), &text[10..]))
}

/// `6/30/2026`. Where month and day could be exchanged, the date is not known.
fn split_slashed(text: &str) -> Option<(Day, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '/')).unwrap_or(text.len());
    let mut numbers = text[..end].split('/');
    let (first, second): (i8, i8) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    let year = numbers.next().filter(|year| year.len() == 4)?.parse().ok()?;
    let (month, day) = match (first > 12, second > 12) {
        (false, true) => (first, second),
        (true, false) => (second, first),
        _ if first == second => (first, second),
        _ => return None,
    };
    Some((Day::Full(Date::new(year, month, day).ok()?), &text[end..]))
}

/// `Jun 8`, `December 3rd, 2026`
fn split_month(text: &str) -> Option<(Day, &str)> {
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let letters = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    let word = text[..letters].to_ascii_lowercase();
    let index = MONTHS
        .iter()
        .position(|month| word == *month || word == month[..3] || word == "sept" && *month == "september")?;
    let month = i8::try_from(index + 1).ok()?;
    let rest = text[letters..].trim_start_matches(['.', ' ']);
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let day: i8 = rest[..digits].parse().ok()?;
    let rest = &rest[digits..];
    let rest = ["st", "nd", "rd", "th"].iter().find_map(|suffix| rest.strip_prefix(suffix)).unwrap_or(rest);
    let rest = rest.trim_start_matches([',', ' ']);
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    if digits == 4 {
        let date = Date::new(rest[..4].parse().ok()?, month, day).ok()?;
        return Some((Day::Full(date), &rest[4..]));
    }
    Some((Day::OfYear(month, day), rest))
}

fn weekday(word: &str) -> Option<Weekday> {
    const NAMES: [(&str, Weekday); 7] = [
        ("monday", Weekday::Monday),
        ("tuesday", Weekday::Tuesday),
        ("wednesday", Weekday::Wednesday),
        ("thursday", Weekday::Thursday),
        ("friday", Weekday::Friday),
        ("saturday", Weekday::Saturday),
        ("sunday", Weekday::Sunday),
    ];
    NAMES.iter().find(|(name, _)| word == *name || word == &name[..3]).map(|(_, day)| *day)
}

/// `3pm`, `3:30 PM`, `15:30`, `15:30:05`, `midnight`, `noon`. A number alone is no time of day.
fn split_time(text: &str) -> Option<(Time, &str)> {
    for (word, hour) in [("midnight", 0), ("noon", 12)] {
        if let Some(rest) = strip_word(text, word) {
            return Some((Time::new(hour, 0, 0, 0).ok()?, rest));
        }
    }
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let mut hour: i8 = text[..digits].parse().ok()?;
    let mut rest = &text[digits..];
    let mut parts = [0_i8; 2];
    let mut has_minutes = false;
    for part in &mut parts {
        let Some(after) = rest.strip_prefix(':') else { break };
        *part = after.get(..2)?.parse().ok()?;
        rest = &after[2..];
        has_minutes = true;
    }
    let after = rest.trim_start();
    let half = after.get(..2).map(str::to_ascii_lowercase);
    let ends = !after.get(2..).unwrap_or_default().starts_with(|c: char| c.is_alphanumeric());
    match half.as_deref() {
        Some(half @ ("am" | "pm")) if ends => {
            if !(1..=12).contains(&hour) {
                return None;
            }
            hour = hour % 12 + if half == "pm" { 12 } else { 0 };
            rest = &after[2..];
        }
        _ if !has_minutes => return None,
        _ => {}
    }
    Some((Time::new(hour, parts[0], parts[1], 0).ok()?, rest))
}

/// What follows a word, whatever its case.
fn strip_word<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let head = text.get(..word.len())?;
    head.eq_ignore_ascii_case(word).then(|| &text[word.len()..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zone::find_zone;

    const NOON: u64 = 1_780_488_000_000;

    fn told(text: &str) -> Option<String> {
        let berlin = find_zone("Europe/Berlin");
        parse_reset(text, NOON, berlin.as_ref())
            .and_then(|at| Timestamp::from_millisecond(i64::try_from(at).ok()?).ok())
            .map(|at| at.to_string())
    }

    #[test]
    fn a_time_of_day_is_the_next_such_instant() {
        for (text, expected) in [
            ("3pm", "2026-06-03T13:00:00Z"),
            ("at 1:59 PM", "2026-06-03T11:59:00Z"),
            ("at 1:57 PM", "2026-06-04T11:57:00Z"),
            ("15:30:05 UTC", "2026-06-03T15:30:05Z"),
            ("12am (UTC)", "2026-06-04T00:00:00Z"),
            ("noon", "2026-06-04T10:00:00Z"),
            ("tomorrow at 9am", "2026-06-04T07:00:00Z"),
            ("Monday at 9:00 AM", "2026-06-08T07:00:00Z"),
            ("Wed 10am", "2026-06-10T08:00:00Z"),
            ("Mon, Jun 8, 3pm (UTC)", "2026-06-08T15:00:00Z"),
            ("Sept 30", "2026-09-29T22:00:00Z"),
            ("Dec 3rd, 2026 9:10 AM.", "2026-12-03T08:10:00Z"),
            ("2026-06-08 15:00 UTC", "2026-06-08T15:00:00Z"),
        ] {
            assert_eq!(told(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_or_in_doubt_is_none() {
        for text in [
            "5",
            "5 connections",
            "25:00",
            "13pm",
            "99:99pm",
            "Feb 31, 3pm",
            "6/7/2026",
            "Jun 8, 99pm",
            "3pm (Atlantis/X)",
            "ü",
            "1:ü",
            "maybe",
            "",
            "3pmish",
            "in a while",
            "march",
            "Jun",
            "Foo 8, 3pm",
        ] {
            assert_eq!(told(text), None, "{text}");
        }
    }

    #[test]
    fn without_any_zone_there_is_no_instant() {
        for text in ["3pm", "Jun 8", "Monday at 9am"] {
            assert_eq!(parse_reset(text, NOON, None), None, "{text}");
        }
    }
}
