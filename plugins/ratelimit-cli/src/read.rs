//! From a piece of evidence to a reading.

use assize_reading::{Evidence, Frame, Reading, derive_tail, strip_escapes};
use serde_json::Value;

use crate::event::read_event;
use crate::line::read_message;

/// Lines of one JSON value that is spread over lines.
const VALUE_LINES: usize = 64;

/// What the evidence says of limits; absent when it says nothing, and for every response.
pub fn read_evidence(evidence: &Evidence) -> Option<Reading> {
    if evidence.status.is_some() || !evidence.headers.is_empty() {
        return None;
    }
    let frame = Frame::of(evidence);
    let text = derive_tail(&evidence.text);
    if let Ok(value) = serde_json::from_str::<Value>(text.trim()) {
        return read_event(&value, &frame).into_option();
    }
    let mut reading = Reading::default();
    let mut prose: Vec<String> = Vec::new();
    let mut lines = text.lines().map(strip_escapes).peekable();
    while let Some(line) = lines.next() {
        if line.starts_with('{') {
            let value = if line == "{" { collect_value(&mut lines) } else { line };
            if let Ok(value) = serde_json::from_str::<Value>(value.trim()) {
                reading.absorb(read_event(&value, &frame));
            }
        } else {
            prose.push(line);
        }
    }
    reading.absorb(read_message(&prose, &frame));
    reading.into_option()
}

/// The text of a value whose braces stand alone at the start of lines.
fn collect_value(lines: &mut impl Iterator<Item = String>) -> String {
    let mut text = String::from("{");
    for line in lines.take(VALUE_LINES) {
        text.push('\n');
        text.push_str(&line);
        if line == "}" {
            break;
        }
    }
    text
}
