//! Messages of the protocol: what a request asks for, and an answer as one document or as a stream of events.

use serde_json::{Value, json};

use crate::prompt::{Prompt, read_prompt};

/// Characters of one piece of a streamed answer.
const PIECE_CHARS: usize = 2_000;

/// What matters of a generation request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    /// Model that is asked.
    pub model: String,
    /// Whether the answer is to be streamed.
    pub stream: bool,
    /// The audit prompt among the texts; none where there is none.
    pub prompt: Option<Prompt>,
    /// Bytes of the request.
    pub bytes: usize,
}

/// Reads a request. A body that is no JSON asks for nothing in particular.
pub fn read_request(body: &[u8]) -> Asked {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let texts = value["messages"].as_array().into_iter().flatten().flat_map(texts_of);
    Asked {
        model: value["model"].as_str().unwrap_or("loopback").to_owned(),
        stream: value["stream"].as_bool().unwrap_or(false),
        // A client may put texts of its own before and after; the last audit prompt is the one in hand.
        prompt: texts.rev().find_map(read_prompt),
        bytes: body.len(),
    }
}

fn texts_of(message: &Value) -> Vec<&str> {
    match &message["content"] {
        Value::String(text) => vec![text],
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        _ => Vec::new(),
    }
}

/// The answer as one document.
pub fn render_message(id: &str, asked: &Asked, text: &str) -> Value {
    let mut message = render_start(id, asked);
    message["content"] = json!([{"type": "text", "text": text}]);
    message["stop_reason"] = json!("end_turn");
    message["usage"]["output_tokens"] = json!(tokens(text.len()));
    message
}

/// The answer as events, each as it goes over the wire, in the order of the protocol.
pub fn render_events(id: &str, asked: &Asked, text: &str) -> Vec<String> {
    let mut events = vec![
        event("message_start", json!({"message": render_start(id, asked)})),
        event("content_block_start", json!({"index": 0, "content_block": {"type": "text", "text": ""}})),
        event("ping", json!({})),
    ];
    let characters: Vec<char> = text.chars().collect();
    events.extend(characters.chunks(PIECE_CHARS).map(|piece| {
        let text: String = piece.iter().collect();
        event("content_block_delta", json!({"index": 0, "delta": {"type": "text_delta", "text": text}}))
    }));
    let end = json!({
        "delta": {"stop_reason": "end_turn", "stop_sequence": null},
        "usage": {"output_tokens": tokens(text.len())},
    });
    events.extend([
        event("content_block_stop", json!({"index": 0})),
        event("message_delta", end),
        event("message_stop", json!({})),
    ]);
    events
}

/// An error's document.
pub fn render_error(kind: &str, message: &str, request_id: &str) -> Value {
    json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": request_id})
}

/// Tokens of so many bytes, roughly.
pub fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4).max(1)
}

fn render_start(id: &str, asked: &Asked) -> Value {
    json!({
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": {
            "input_tokens": tokens(asked.bytes),
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 1,
        },
    })
}

fn event(kind: &str, rest: Value) -> String {
    let mut data = json!({"type": kind});
    if let (Some(data), Value::Object(rest)) = (data.as_object_mut(), rest) {
        data.extend(rest);
    }
    format!("event: {kind}\ndata: {data}\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::tests::SAMPLE;

    fn data(event: &str) -> Value {
        serde_json::from_str(event.split_once("\ndata: ").unwrap().1.trim()).unwrap()
    }

    #[test]
    fn events_come_in_the_order_of_the_protocol_and_join_to_the_text() {
        let text = "ä".repeat(PIECE_CHARS + 1);
        let events = render_events("msg_1", &Asked::default(), &text);
        let kinds: Vec<String> = events.iter().map(|e| data(e)["type"].as_str().unwrap().to_owned()).collect();
        assert_eq!(
            kinds,
            [
                "message_start",
                "content_block_start",
                "ping",
                "content_block_delta",
                "content_block_delta",
                "content_block_stop",
                "message_delta",
                "message_stop"
            ]
        );
        assert!(events.iter().zip(&kinds).all(|(e, kind)| e.starts_with(&format!("event: {kind}\ndata: {{"))));
        assert!(events.iter().all(|e| e.ends_with("\n\n") && e.lines().count() == 3));
        let joined: String =
            events.iter().filter_map(|e| Some(data(e)["delta"]["text"].as_str()?.to_owned())).collect();
        assert_eq!(joined, text);
        assert_eq!(data(&events[6])["delta"]["stop_reason"], "end_turn");
    }

    #[test]
    fn a_line_break_of_the_text_does_not_break_an_event() {
        let events = render_events("msg_1", &Asked::default(), "a\n\nb");
        assert_eq!(data(&events[3])["delta"]["text"], "a\n\nb");
    }

    #[test]
    fn the_audit_prompt_is_found_among_other_texts() {
        let body = json!({"model": "m", "stream": true, "messages": [
            {"role": "user", "content": [{"type": "text", "text": "reminder"}, {"type": "text", "text": SAMPLE}]},
            {"role": "user", "content": "more"},
        ]});
        let asked = read_request(body.to_string().as_bytes());
        assert_eq!((asked.model.as_str(), asked.stream), ("m", true));
        assert_eq!(asked.prompt.unwrap().tasks.len(), 2);
        assert_eq!(read_request(b"nonsense").prompt, None);
    }
}
