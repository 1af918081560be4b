//! Limits in sentences. A sentence counts only where a program reports an error: at the start of a line, in a form that
//! is known. A line that merely contains the words of one does not.

use serde_json::Value;

use crate::event::{read_json, read_status};
use crate::header::PlanWindow;
use crate::instant::{instant_of_number, parse_clock, parse_decimal, parse_duration, parse_rfc3339};
use crate::reading::Reading;

/// What one line says; empty for one that is no report of a limit.
pub fn read_prose(line: &str, received_at_ms: u64) -> Reading {
    let line = line.trim().replace('\u{2019}', "'");
    let report = ["Error: ", "error: ", "ERROR: "].iter().find_map(|lead| line.strip_prefix(lead)).unwrap_or(&line);
    let folded = report.to_ascii_lowercase();
    // Lower-casing ASCII keeps every byte where it was, so that places found in `folded` are places in `report`.
    if let Some(claim) = plan_claim(&folded) {
        return read_plan(claim, report, &folded, received_at_ms);
    }
    let mut reading = read_status_report(report, &folded, received_at_ms);
    if reading.is_empty() && says_limited(&folded) {
        reading = Reading::throttled();
    }
    if reading.throttled && reading.retry_after_ms.is_none() {
        reading.retry_after_ms = find_wait(&folded, received_at_ms);
    }
    reading
}

/// The window that a sentence about a spent plan names; empty for a plan without a named window.
fn plan_claim(folded: &str) -> Option<&'static str> {
    let named = |words: &str| match words.trim() {
        "" | "usage" | "account" => Some(""),
        "5-hour" | "five-hour" | "session" => Some("five_hour"),
        "daily" => Some("1d"),
        "weekly" | "7-day" => Some("seven_day"),
        "opus" | "opus weekly" | "weekly opus" => Some("seven_day_opus"),
        "sonnet" | "sonnet weekly" | "weekly sonnet" => Some("seven_day_sonnet"),
        _ => None,
    };
    for lead in ["you've hit your ", "you've reached your ", "you have hit your ", "you have reached your "] {
        let Some(rest) = folded.strip_prefix(lead) else { continue };
        let end = rest.find("limit")?;
        return ends_word(&rest[end + 5..]).then(|| named(&rest[..end])).flatten();
    }
    let at = folded.find("limit reached")?;
    let subject = folded[..at]
        .strip_prefix("claude ai ")
        .or_else(|| folded[..at].strip_prefix("claude "))
        .unwrap_or(&folded[..at]);
    let whole = ends_sentence(&folded[at + "limit reached".len()..]);
    (whole && !subject.trim().is_empty()).then(|| named(subject)).flatten()
}

fn read_plan(claim: &str, report: &str, folded: &str, received_at_ms: u64) -> Reading {
    let epoch = report.split_once('|').and_then(|(_, rest)| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        instant_of_number(parse_decimal(&digits).filter(|number| *number >= 1e9)?, received_at_ms)
    });
    let resets_at_ms = epoch.or_else(|| {
        let at = folded.find("resets ")? + "resets ".len();
        parse_reset(report.get(at..)?, received_at_ms)
    });
    let window =
        PlanWindow { claim: claim.to_owned(), status: Some("rejected".to_owned()), utilization: None, resets_at_ms };
    Reading { limits: vec![window.limit(true)], ..Reading::throttled() }
}

/// What stands after `resets`: `in 2h 15m`, `at 3pm (UTC)`, `2:01pm (UTC)`, `Jun 8, 3pm (UTC)` or an RFC 3339 instant.
fn parse_reset(text: &str, received_at_ms: u64) -> Option<u64> {
    if let Some(wait) = text.strip_prefix("in ") {
        return Some(received_at_ms.saturating_add(parse_duration(wait)?));
    }
    let text = text.strip_prefix("at ").unwrap_or(text);
    let word = text.split_whitespace().next()?.trim_end_matches(['.', ',']);
    parse_rfc3339(word).or_else(|| parse_clock(text, received_at_ms))
}

/// A report that gives an HTTP status, with or without the body after it.
fn read_status_report(report: &str, folded: &str, received_at_ms: u64) -> Reading {
    const LEADS: [&str; 10] = [
        "api error: request rejected (",
        "api error: repeated ",
        "api error: ",
        "api error (",
        "anthropic.ratelimiterror: error code: ",
        "ratelimiterror: ",
        "error code: ",
        "http/1.1 ",
        "http/2 ",
        "http ",
    ];
    for lead in LEADS {
        let Some(rest) = folded.strip_prefix(lead) else { continue };
        let Some(status) = leading_status(rest) else { continue };
        let mut reading = read_status(status);
        reading.absorb(read_body(report, received_at_ms));
        return reading;
    }
    // A bare status counts only with its reason phrase or with a body in the API's form.
    match leading_status(folded) {
        Some(429) if ends_sentence(folded[3..].strip_prefix(" too many requests").unwrap_or("x")) => {
            Reading::throttled()
        }
        Some(429 | 529) => read_body(report, received_at_ms),
        _ => Reading::default(),
    }
}

/// The JSON at the end of a report.
fn read_body(report: &str, received_at_ms: u64) -> Reading {
    let body = report.find('{').and_then(|at| serde_json::from_str::<Value>(&report[at..]).ok());
    body.map(|body| read_json(&body, received_at_ms)).unwrap_or_default()
}

fn leading_status(text: &str) -> Option<u16> {
    let digits = text.get(..3).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))?;
    let ends = text.as_bytes().get(3).is_none_or(|b| matches!(b, b' ' | b')' | b':' | b',' | b'.' | b'\n'));
    if ends { digits.parse().ok() } else { None }
}

/// Whole sentences that say that a rate limit was hit.
fn says_limited(folded: &str) -> bool {
    const SENTENCES: [&str; 5] =
        ["too many requests", "rate limit exceeded", "rate limit reached", "rate limited", "rate_limit_error"];
    if folded.starts_with("rate limit: retry after ") || folded.starts_with("rate limit: try again in ") {
        return true;
    }
    SENTENCES.iter().any(|sentence| folded.strip_prefix(sentence).is_some_and(ends_sentence))
}

/// A wait that the report itself asks for.
fn find_wait(folded: &str, received_at_ms: u64) -> Option<u64> {
    for lead in ["retry after ", "try again in ", "resets in ", "reset in "] {
        let Some(at) = folded.find(lead) else { continue };
        if let Some(wait) = parse_duration(&folded[at + lead.len()..]) {
            return Some(wait);
        }
    }
    let at = folded.find("try again at ")? + "try again at ".len();
    let word = folded[at..].split_whitespace().next()?.trim_end_matches('.').to_ascii_uppercase();
    parse_rfc3339(&word).map(|instant| instant.saturating_sub(received_at_ms))
}

/// Whether a phrase is over here, so that more words do not turn it into something else.
fn ends_sentence(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.is_empty() || rest.starts_with(['.', ',', ':', ';', '!', '|', '(', '\u{b7}', '\u{2219}', '\u{2022}', '-'])
}

fn ends_word(rest: &str) -> bool {
    !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-')
}
