//! Reports: lines in which a program or a library says that a request was refused because of a limit. A line counts from
//! its beginning, in a form that is known; one that merely contains the words does not.

use serde_json::Value;

use crate::error_body::ErrorBody;
use crate::frame::Frame;
use crate::reading::{Cause, Reading};
use crate::sentence::{ends_sentence, find_wait, fold};
use crate::throttling::read_throttling;

/// What a status says by itself.
pub fn read_status(status: u16) -> Reading {
    match status {
        402 => Reading::because(Cause::Spent),
        429 => Reading::throttled(),
        529 => Reading::because(Cause::Overloaded),
        _ => Reading::default(),
    }
}

/// What one line or message says; empty for one that is no report of a limit.
pub fn read_report(line: &str, frame: &Frame) -> Reading {
    let (plain, folded) = fold(line);
    let report = ["error: ", "[error] "].iter().find_map(|lead| folded.strip_prefix(lead)).unwrap_or(&folded);
    let plain = &plain[plain.len() - report.len()..];
    let mut reading = read_throttling(report).unwrap_or_else(|| read_sentence(report, frame));
    reading.absorb(read_status_report(plain, report, frame));
    if reading.throttled && reading.retry_after_ms.is_none() && reading.cause() != Some(Cause::Spent) {
        reading.retry_after_ms = find_wait(plain, frame);
    }
    reading
}

/// Whole sentences, in lower case.
fn read_sentence(folded: &str, frame: &Frame) -> Reading {
    let starts =
        |sentences: &[&str]| sentences.iter().any(|sentence| folded.strip_prefix(sentence).is_some_and(ends_sentence));
    if says_spent(folded, frame) {
        return Reading::because(Cause::Spent);
    }
    let overloaded = [
        "selected model is at capacity",
        "we're currently experiencing high demand",
        "we're experiencing high traffic right now",
        "the model is overloaded",
        "the server is overloaded",
        "our servers are currently overloaded",
        "service tier capacity exceeded for this model",
        "no capacity available for model",
    ];
    if starts(&overloaded) {
        return Reading::because(Cause::Overloaded);
    }
    let limited = [
        "too many requests",
        "rate limit exceeded",
        "rate limit reached",
        "rate limited",
        "rate_limit_error",
        "rate_limit_exceeded",
        "you've hit your rate limit",
        "sorry, you have been rate-limited",
        "the api provider has rate limited you",
        "resource has been exhausted",
        "resource exhausted",
        "resource_exhausted: quota exceeded for metric",
        "too many tokens",
    ];
    if starts(&limited) || says_quota(folded) || limited_in_detail(folded, frame) {
        Reading::throttled()
    } else {
        Reading::default()
    }
}

/// Forms that a sentence's end does not tell.
fn limited_in_detail(folded: &str, frame: &Frame) -> bool {
    let of_model = folded.strip_prefix("rate limit reached for ").is_some_and(|rest| rest.contains("): limit "));
    let metric =
        folded.strip_prefix("resource_exhausted: ").unwrap_or(folded).starts_with("quota exceeded for metric: ")
            || folded.starts_with("quota exceeded for quota metric '");
    let waits = ["rate limit: retry after ", "rate limit: try again in "].iter().any(|lead| folded.starts_with(lead));
    let trailing = ["resets in ", "try again in ", "try again at "].iter().any(|lead| folded.starts_with(lead))
        && folded.ends_with("rate limit")
        && find_wait(folded, frame).is_some();
    of_model || metric || waits || trailing
}

/// Sentences that say that credit or budget is gone.
fn says_spent(folded: &str, frame: &Frame) -> bool {
    let whole = [
        "insufficient_quota",
        "insufficient credits",
        "insufficient balance",
        "credit balance is too low",
        "quota exceeded. check your plan and billing details",
        "free usage exceeded",
        "billing hard limit has been reached",
        "your prepayment credits are depleted",
    ];
    let open = ["your credit balance is too low", "credit balance is too low to access the "];
    if whole.iter().any(|lead| folded.strip_prefix(lead).is_some_and(ends_sentence))
        || open.iter().any(|lead| folded.starts_with(lead))
    {
        return true;
    }
    let team = folded.starts_with("your team ")
        && (folded.contains("used all available credits") || folded.contains("monthly spending limit"));
    team || (says_quota(folded) && !fills_again(folded, frame))
}

fn says_quota(folded: &str) -> bool {
    folded.strip_prefix("you exceeded your current quota").is_some_and(ends_sentence)
}

/// Google says of windows that fill again what others say of money that is gone, with a link to its page about limits or
/// with a wait.
fn fills_again(folded: &str, frame: &Frame) -> bool {
    matches!(frame.provider.as_str(), "gemini" | "google" | "vertex")
        || folded.contains("ai.google.dev")
        || folded.contains("quota exceeded for metric")
        || find_wait(folded, frame).is_some()
}

/// A report that gives an HTTP status, with or without the body or the message after it.
fn read_status_report(plain: &str, folded: &str, frame: &Frame) -> Reading {
    /// Leads after which a status is a refusal whatever follows.
    const SURE: [&str; 10] = [
        "api error: request rejected (",
        "api error: repeated ",
        "api error: ",
        "api error (",
        "exceeded retry limit, last status: ",
        "unexpected status ",
        "ratelimiterror: error code: ",
        "anthropic.ratelimiterror: error code: ",
        "openai.ratelimiterror: error code: ",
        "google.api_core.exceptions.resourceexhausted: ",
    ];
    /// Leads after which a status needs an end, a reason phrase or a body.
    const OPEN: [&str; 7] =
        ["http/1.1 ", "http/2 ", "http ", "error code: ", "request failed with status code ", "got status: ", ""];
    let told = |lead: &&str| {
        let rest = folded.strip_prefix(*lead)?;
        Some((leading_status(rest)?, &plain[plain.len() - rest.len() + 3..]))
    };
    let (status, rest, sure) = match SURE.iter().find_map(told) {
        Some((status, rest)) => (status, rest, true),
        None => match OPEN.iter().find_map(told) {
            Some((status, rest)) => (status, rest, false),
            None => return Reading::default(),
        },
    };
    // A bare number at the start of a line is a status only with its reason phrase or with a body in the API's form.
    let bare = folded.starts_with(|c: char| c.is_ascii_digit());
    let mut reading = if bare && status < 400 { Reading::default() } else { read_body(rest) };
    let message = rest.trim_start_matches([' ', ':', ')', '-', '\u{b7}']).trim_end_matches(']');
    // Python prints a body with single quotes.
    if says_spent(&message.to_ascii_lowercase(), frame) || message.contains("'code': 'insufficient_quota'") {
        reading.absorb(Reading::because(Cause::Spent));
    }
    if sure || ends_report(rest, bare) {
        reading.absorb(read_status(status));
    }
    reading
}

/// Whether what follows a status still belongs to a report: its reason phrase, or the end of the sentence.
fn ends_report(rest: &str, needs_phrase: bool) -> bool {
    let rest = rest.trim_start();
    let folded = rest.to_ascii_lowercase();
    let phrase = ["too many requests", "payment required", "overloaded", "status code (no body)"]
        .iter()
        .find_map(|p| folded.strip_prefix(p));
    phrase.map_or_else(|| !needs_phrase && ends_sentence(rest), ends_sentence)
}

/// The JSON at the end of a report.
fn read_body(report: &str) -> Reading {
    let body = report.find('{').and_then(|at| serde_json::from_str::<Value>(&report[at..]).ok());
    body.and_then(|body| ErrorBody::of(&body)).map(|body| body.read_codes()).unwrap_or_default()
}

fn leading_status(text: &str) -> Option<u16> {
    let digits = text.get(..3).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))?;
    let ends = text.as_bytes().get(3).is_none_or(|b| matches!(b, b' ' | b')' | b':' | b',' | b'.' | b'\n' | b']'));
    if ends { digits.parse().ok() } else { None }
}
