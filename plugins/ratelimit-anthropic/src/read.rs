//! From a piece of evidence to a reading: headers first, then the status, then the text.

use serde_json::Value;

use crate::event::{read_json, read_status};
use crate::header::read_headers;
use crate::prose::read_prose;
use crate::reading::{Evidence, Reading};

/// Bytes of text that are looked at; reports stand at the end.
const TEXT_BYTES: usize = 64 * 1024;

/// What the evidence says of limits; absent when it says nothing.
pub fn read_evidence(evidence: &Evidence) -> Option<Reading> {
    let at = evidence.received_at_ms;
    let mut reading = read_headers(&evidence.headers, at);
    if let Some(status) = evidence.status {
        reading.absorb(read_status(status));
    }
    // A response that succeeded carries an answer, which may speak of anything; only an error event in its stream counts.
    let succeeded = evidence.status.is_some_and(|status| status < 400);
    reading.absorb(read_text(&evidence.text, succeeded, at));
    (!reading.is_empty()).then_some(reading)
}

fn read_text(text: &str, events_only: bool, received_at_ms: u64) -> Reading {
    let text = tail(text);
    let of_json = |value: &Value| match (events_only, value["type"] == "error") {
        (true, false) => Reading::default(),
        _ => read_json(value, received_at_ms),
    };
    if let Ok(value) = serde_json::from_str::<Value>(text.trim()) {
        return of_json(&value);
    }
    let mut reading = Reading::default();
    for line in text.lines() {
        let line = strip_escapes(line);
        let line = line.trim();
        let line = line.strip_prefix("data:").unwrap_or(line).trim_start();
        if line.starts_with('{') {
            if let Ok(value) = serde_json::from_str::<Value>(line) {
                reading.absorb(of_json(&value));
            }
        } else if !events_only {
            reading.absorb(read_prose(line, received_at_ms));
        }
    }
    reading
}

/// The end of a long text, from a whole line on.
fn tail(text: &str) -> &str {
    if text.len() <= TEXT_BYTES {
        return text;
    }
    let mut from = text.len() - TEXT_BYTES;
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text[from..].find('\n').map_or(&text[from..], |at| &text[from + at + 1..])
}

/// The line without colours.
fn strip_escapes(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("\u{1b}[") {
        plain.push_str(&rest[..at]);
        let sequence = &rest[at + 2..];
        let end = sequence.find(|c: char| ('@'..='~').contains(&c)).map_or(sequence.len(), |end| end + 1);
        rest = &sequence[end..];
    }
    plain.push_str(rest);
    plain
}

#[cfg(test)]
mod tests;
