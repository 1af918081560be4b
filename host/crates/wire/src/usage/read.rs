//! What one JSON text of each protocol says about usage, end and errors. Only the places where the protocols put it are
//! looked at: an answer that talks of usage or errors changes nothing.

use serde_json::Value;

use super::tally::Tally;

/// Bytes kept of the text of an error.
const ERROR_CAP: usize = 8 << 10;
/// Bytes kept of a model's name or a reason.
const WORD_CAP: usize = 200;

pub(super) fn read(value: &Value, tally: &mut Tally) {
    match word(value, "type") {
        Some("message") => anthropic_message(value, tally),
        Some("message_start") => anthropic_message(&value["message"], tally),
        Some("message_delta") => {
            anthropic_usage(&value["usage"], tally);
            stop(&value["delta"]["stop_reason"], tally);
        }
        Some("content_block_delta") => texts(&value["delta"], &["text", "thinking", "partial_json"], tally),
        Some("error") => error(value, tally),
        Some(kind) if kind.starts_with("response.") => responses_event(kind, value, tally),
        _ if word(value, "object") == Some("response") => responses_body(value, tally),
        _ if value.get("choices").is_some()
            || word(value, "object").is_some_and(|o| o.starts_with("chat.completion")) =>
        {
            chat(value, tally);
        }
        _ => gemini_or_error(value, tally),
    }
}

fn anthropic_message(message: &Value, tally: &mut Tally) {
    model(&message["model"], tally);
    anthropic_usage(&message["usage"], tally);
    stop(&message["stop_reason"], tally);
    for block in list(&message["content"]) {
        texts(block, &["text", "thinking"], tally);
    }
}

fn anthropic_usage(usage: &Value, tally: &mut Tally) {
    count(&usage["input_tokens"], &mut tally.counted, &mut tally.input);
    count(&usage["output_tokens"], &mut tally.counted, &mut tally.output);
    count(&usage["cache_read_input_tokens"], &mut tally.counted, &mut tally.cache_read);
    count(&usage["cache_creation_input_tokens"], &mut tally.counted, &mut tally.cache_written);
}

fn responses_event(kind: &str, value: &Value, tally: &mut Tally) {
    if kind.ends_with(".delta") {
        texts(value, &["delta"], tally);
    } else if matches!(kind, "response.completed" | "response.incomplete" | "response.failed" | "response.done") {
        // What was said has passed as deltas already.
        let said = tally.text_bytes;
        responses_body(&value["response"], tally);
        tally.text_bytes = if said > 0 { said } else { tally.text_bytes };
    }
}

fn responses_body(response: &Value, tally: &mut Tally) {
    model(&response["model"], tally);
    let usage = &response["usage"];
    let mut whole = tally.input.saturating_add(tally.cache_read);
    count(&usage["input_tokens"], &mut tally.counted, &mut whole);
    inclusive(whole, &usage["input_tokens_details"]["cached_tokens"], tally);
    count(&usage["output_tokens"], &mut tally.counted, &mut tally.output);
    for item in list(&response["output"]) {
        texts(item, &["arguments"], tally);
        for part in list(&item["content"]) {
            texts(part, &["text"], tally);
        }
    }
    stop(&response["status"], tally);
    stop(&response["incomplete_details"]["reason"], tally);
    if response["error"].is_object() {
        error(response, tally);
    }
}

fn chat(value: &Value, tally: &mut Tally) {
    model(&value["model"], tally);
    let usage = &value["usage"];
    let mut whole = tally.input.saturating_add(tally.cache_read);
    count(&usage["prompt_tokens"], &mut tally.counted, &mut whole);
    inclusive(whole, &usage["prompt_tokens_details"]["cached_tokens"], tally);
    count(&usage["completion_tokens"], &mut tally.counted, &mut tally.output);
    for choice in list(&value["choices"]) {
        stop(&choice["finish_reason"], tally);
        for message in [&choice["delta"], &choice["message"]] {
            texts(message, &["content", "reasoning", "reasoning_content"], tally);
            for call in list(&message["tool_calls"]) {
                texts(&call["function"], &["arguments"], tally);
            }
        }
    }
    if !value["error"].is_null() {
        error(value, tally);
    }
}

/// Gemini's answers have no type; Google's code assistant wraps them.
fn gemini_or_error(value: &Value, tally: &mut Tally) {
    if !value["error"].is_null() {
        return error(value, tally);
    }
    let answer = if value["response"].is_object() { &value["response"] } else { value };
    let usage = &answer["usageMetadata"];
    model(&answer["modelVersion"], tally);
    let whole = |names: &[&str]| -> Option<u64> {
        let found: Vec<u64> = names.iter().filter_map(|name| usage[*name].as_u64()).collect();
        (!found.is_empty()).then(|| found.into_iter().fold(0, u64::saturating_add))
    };
    if let Some(input) = whole(&["promptTokenCount", "toolUsePromptTokenCount"]) {
        tally.counted = true;
        inclusive(input, &usage["cachedContentTokenCount"], tally);
    }
    if let Some(output) = whole(&["candidatesTokenCount", "thoughtsTokenCount"]) {
        tally.counted = true;
        tally.output = output;
    }
    stop(&answer["promptFeedback"]["blockReason"], tally);
    for candidate in list(&answer["candidates"]) {
        stop(&candidate["finishReason"], tally);
        for part in list(&candidate["content"]["parts"]) {
            texts(part, &["text"], tally);
        }
    }
}

/// For services whose input includes what the cache gave.
fn inclusive(whole: u64, cached: &Value, tally: &mut Tally) {
    let cached = cached.as_u64().unwrap_or(tally.cache_read).min(whole);
    (tally.input, tally.cache_read) = (whole - cached, cached);
}

/// An error in a stream that had begun well, or as the whole body.
fn error(value: &Value, tally: &mut Tally) {
    let inner = &value["error"];
    let kind = ["type", "code", "status"].iter().find_map(|name| word(inner, name).or_else(|| word(value, name)));
    // The outer `type` is the word `error` itself where the error is not nested.
    let kind = if inner.is_null() { word(value, "code").or(kind) } else { kind };
    tally.stop = Some(capped(kind.unwrap_or("error"), WORD_CAP));
    let shown = if inner.is_null() { value } else { inner };
    tally.error = Some(capped(&shown.to_string(), ERROR_CAP));
}

fn count(value: &Value, counted: &mut bool, into: &mut u64) {
    if let Some(number) = value.as_u64() {
        (*counted, *into) = (true, number);
    }
}

fn model(value: &Value, tally: &mut Tally) {
    if let Some(name) = value.as_str().filter(|name| !name.is_empty()) {
        tally.model = Some(capped(name, WORD_CAP));
    }
}

fn stop(value: &Value, tally: &mut Tally) {
    if tally.error.is_none()
        && let Some(reason) = value.as_str()
    {
        tally.stop = Some(capped(reason, WORD_CAP));
    }
}

fn texts(value: &Value, names: &[&str], tally: &mut Tally) {
    for name in names {
        if let Some(text) = value[*name].as_str() {
            tally.text_bytes = tally.text_bytes.saturating_add(text.len() as u64);
        }
    }
}

fn word<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Cut at a character.
pub(crate) fn capped(text: &str, cap: usize) -> String {
    let end = (0..=cap.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text[..end].to_owned()
}
