//! Lines of a message, each with the few after it that belong to it.

use assize_reading::{ErrorBody, Frame, Reading, find_wait, parse_decimal, read_record, read_report, read_wall, whole};
use serde_json::Value;

use crate::event::read_shared_headers;
use crate::wrapper::{Wrapped, unwrap_line};

/// Lines after a report in which its wait is looked for: a program prints a stack between the two.
const FOLLOWING: usize = 24;

/// What the lines of a message say.
pub fn read_message<S: AsRef<str>>(lines: &[S], frame: &Frame) -> Reading {
    let mut reading = Reading::default();
    for at in 0..lines.len() {
        let mut told = read_line(&lines[at..], frame);
        if told.throttled && told.limits.is_empty() && told.retry_after_ms.is_none() {
            told.retry_after_ms = wait_after(&lines[at + 1..], frame);
        }
        reading.absorb(told);
    }
    reading
}

/// What the text of an event's message says.
pub fn read_text(text: &str, frame: &Frame) -> Reading {
    let lines: Vec<&str> = text.lines().collect();
    read_message(&lines, frame)
}

fn read_line<S: AsRef<str>>(lines: &[S], frame: &Frame) -> Reading {
    let Some(line) = lines.first() else { return Reading::default() };
    if let Some(record) = line.as_ref().strip_prefix("Model provider request failed ") {
        let record = serde_json::from_str::<Value>(record);
        return record.map(|r| read_record(&r, frame.received_at_ms, read_shared_headers)).unwrap_or_default();
    }
    let Wrapped { text, refused, continued } = unwrap_line(line.as_ref());
    let text = if continued { join_paragraph(&text, &lines[1..]) } else { text };
    let mut reading = read_wall(&text, frame).unwrap_or_else(|| read_report(&text, frame));
    if text.starts_with('{') {
        let body = serde_json::from_str::<Value>(&text).ok().and_then(|body| ErrorBody::of(&body));
        reading.absorb(body.map(|body| body.read_codes()).unwrap_or_default());
    }
    if refused {
        reading.absorb(Reading::throttled());
        let walled = !reading.limits.is_empty();
        reading.retry_after_ms = reading.retry_after_ms.or_else(|| if walled { None } else { find_wait(&text, frame) });
    }
    reading
}

/// A message that was wrapped at the width of a screen, in one line again.
fn join_paragraph<S: AsRef<str>>(first: &str, rest: &[S]) -> String {
    let mut text = first.to_owned();
    let goes_on = |line: &&str| {
        let line = line.trim();
        !line.is_empty() && !line.starts_with("Retrying in ") && !line.starts_with("The API provider ")
    };
    for line in rest.iter().map(AsRef::as_ref).take_while(goes_on).take(FOLLOWING) {
        text.push(' ');
        text.push_str(line.trim());
    }
    text
}

/// A wait on a line of its own: `Suggested retry after 2s.`, or a member of an error that was printed whole.
fn wait_after<S: AsRef<str>>(lines: &[S], frame: &Frame) -> Option<u64> {
    let lines = || lines.iter().map(|line| line.as_ref().trim()).take(FOLLOWING);
    let suggested = lines().take(2).find(|line| line.starts_with("Suggested retry after "));
    suggested.and_then(|line| find_wait(line, frame)).or_else(|| {
        let member = lines().find_map(|line| line.strip_prefix("retryDelayMs: "))?;
        parse_decimal(member.trim_end_matches(',')).and_then(whole)
    })
}
