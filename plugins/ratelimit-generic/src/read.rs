//! From a piece of evidence to a reading.

use assize_reading::{Evidence, Frame, Reading, json_lines, read_report, read_status};

use crate::body::{read_body, read_sentence};
use crate::header::{read_error_type, read_headers};

/// What the evidence says of limits; absent when it says nothing.
pub fn read_evidence(evidence: &Evidence) -> Option<Reading> {
    let frame = Frame::of(evidence);
    let mut reading = read_headers(&evidence.headers, evidence.received_at_ms);
    if evidence.succeeded() {
        // Such a response carries an answer, which may speak of anything; and its wait is not one for a limit.
        reading.retry_after_ms = None;
        return reading.into_option();
    }
    let refused = evidence.status.is_some();
    let typed = read_error_type(&evidence.headers);
    // Its message says more of a limit than the type, and nothing more of want of capacity.
    let told = match typed {
        Some(typed) if typed.cause().is_some() => Some(typed),
        typed => read_text(&evidence.text, refused, &frame).or(typed),
    };
    match told {
        Some(told) => reading.absorb(told),
        None => reading.absorb(evidence.status.map(read_status).unwrap_or_default()),
    }
    reading.into_option()
}

/// Bodies in the text, or its lines. A body that does not speak of a limit leaves the word to the status.
fn read_text(text: &str, refused: bool, frame: &Frame) -> Option<Reading> {
    let values = json_lines(text);
    if !values.is_empty() {
        return values.iter().find_map(|value| read_body(value, refused, frame));
    }
    let mut reading = Reading::default();
    for line in assize_reading::derive_tail(text).lines() {
        reading.absorb(read_sentence(line).unwrap_or_else(|| read_report(line, frame)));
    }
    reading.into_option()
}
