//! From a piece of evidence to a reading: the body explains a refusal better than its status, so it is asked first.

use assize_reading::{
    Evidence, Frame, Headers, Limit, Pairs, Reading, json_lines, read_report, read_status, read_wait,
};
use serde_json::Value;

use crate::body::{read_body, read_stream_event};
use crate::codex::{read_event, read_log_line, read_plan_headers};
use crate::github::read_binding_limit;
use crate::openrouter::set_period;
use crate::windows::read_counted;

/// What the evidence says of limits; absent when it says nothing.
pub fn read_evidence(evidence: &Evidence) -> Option<Reading> {
    let frame = Frame::of(evidence);
    let mut reading = read_response_headers(&evidence.headers, evidence.status, &frame);
    let body = match (evidence.status, evidence.succeeded()) {
        (_, true) => read_served(&evidence.text, &frame),
        (Some(status), _) => read_refused(&evidence.text, status, &frame),
        (None, _) => read_loose(&evidence.text, &frame),
    };
    let values = json_lines(&evidence.text);
    set_period(&mut reading, &values);
    let refused = evidence.status.is_some_and(|status| status >= 400);
    let binding =
        if refused { read_binding_limit(&Headers(&evidence.headers), &values, evidence.received_at_ms) } else { None };
    let told = match (binding, body) {
        (Some(binding), body) => Some(Reading { retry_after_ms: body.and_then(|body| body.retry_after_ms), ..binding }),
        (None, body) => body,
    };
    match told {
        Some(mut body) => {
            // The wall of a plan names no window; where the headers name the one that is spent, it is that one.
            let spent = |limit: &Limit| limit.value("status") == Some("rejected");
            if reading.limits.iter().any(spent) {
                body.limits.retain(|limit| !spent(limit));
            }
            // What is too large for the window does not fit later either, whatever a header says.
            if !body.throttled && !body.limits.is_empty() {
                reading.retry_after_ms = None;
            }
            reading.absorb(body);
        }
        None => reading.absorb(evidence.status.map(read_status).unwrap_or_default()),
    }
    reading.into_option()
}

/// What headers say by themselves.
fn read_response_headers(headers: &Pairs, status: Option<u16>, frame: &Frame) -> Reading {
    let lookup = Headers(headers);
    let mut reading = Reading::told(read_counted(&lookup, frame));
    reading.limits.extend(read_plan_headers(&lookup, status == Some(429), frame.received_at_ms));
    if status.is_none_or(|status| status >= 400) {
        reading.retry_after_ms = read_wait(&lookup, frame.received_at_ms);
    }
    reading
}

/// A response that succeeded carries an answer, which may speak of anything; only an error in its stream counts.
fn read_served(text: &str, frame: &Frame) -> Option<Reading> {
    json_lines(text).iter().find_map(|value| read_stream_event(value, frame))
}

/// The body of a refusal, as JSON or as a sentence.
fn read_refused(text: &str, status: u16, frame: &Frame) -> Option<Reading> {
    let of_json = json_lines(text).iter().find_map(|value| read_body(value, true, frame));
    of_json.or_else(|| {
        let sentence = text.trim();
        let told = if sentence.starts_with(['{', '[']) || status < 402 {
            return None;
        } else {
            crate::sentence::read_message(sentence, frame)
        };
        told.or_else(|| read_report(sentence.lines().next().unwrap_or_default(), frame).into_option())
    })
}

/// Text of which nothing is known: bodies, structured events and lines of the program's log count.
fn read_loose(text: &str, frame: &Frame) -> Option<Reading> {
    let of = |value: &Value| {
        read_event(value, frame.received_at_ms)
            .or_else(|| read_stream_event(value, frame))
            .or_else(|| read_body(value, false, frame))
    };
    let of_json = json_lines(text).iter().find_map(of);
    of_json.or_else(|| {
        let mut reading = Reading::default();
        for (status, headers) in text.lines().filter_map(read_log_line) {
            let mut told = read_response_headers(&headers, Some(status), frame);
            told.absorb(read_status(status));
            reading.absorb(told);
        }
        reading.into_option()
    })
}
