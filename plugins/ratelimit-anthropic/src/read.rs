//! From a piece of evidence to a reading: headers first, then the status, then the text.

use assize_reading::{Evidence, Frame, Reading, derive_tail, read_report, read_status, read_wall, strip_escapes};
use serde_json::Value;

use crate::event::read_json;
use crate::header::read_headers;
use crate::log::read_log;

/// What the evidence says of limits; absent when it says nothing.
pub fn read_evidence(evidence: &Evidence) -> Option<Reading> {
    let frame = Frame::of(evidence);
    let mut reading = read_headers(&evidence.headers, evidence.received_at_ms);
    if let Some(status) = evidence.status {
        reading.absorb(read_status(status));
    }
    // A response that succeeded carries an answer, which may speak of anything; only an error event in its stream counts.
    let succeeded = evidence.succeeded();
    if succeeded {
        reading.retry_after_ms = None;
    }
    reading.absorb(read_text(&evidence.text, succeeded, &frame));
    reading.into_option()
}

/// What one sentence of the program says.
pub fn read_prose(line: &str, frame: &Frame) -> Reading {
    read_wall(line, frame).unwrap_or_else(|| read_report(line, frame))
}

fn read_text(text: &str, events_only: bool, frame: &Frame) -> Reading {
    let text = derive_tail(text);
    let of_json = |value: &Value| match (events_only, value["type"] == "error") {
        (true, false) => Reading::default(),
        _ => read_json(value, frame),
    };
    if let Ok(value) = serde_json::from_str::<Value>(text.trim()) {
        return of_json(&value);
    }
    let mut reading = if events_only { Reading::default() } else { read_log(text, frame.received_at_ms) };
    for line in text.lines() {
        let line = strip_escapes(line);
        let line = line.trim();
        let line = line.strip_prefix("data:").unwrap_or(line).trim_start();
        if line.starts_with('{') {
            if let Ok(value) = serde_json::from_str::<Value>(line) {
                reading.absorb(of_json(&value));
            }
        } else if !events_only {
            reading.absorb(read_prose(line, frame));
        }
    }
    reading
}

#[cfg(test)]
mod tests;
