//! Anthropic Messages.

use serde_json::{Value, json};

use crate::asked::Asked;
use crate::said::{Content, Said, Stop, arguments_value};
use crate::wire::events::{Events, named_event, pieces};

/// The answer as one document.
pub fn render_whole(asked: &Asked, said: &Said) -> Value {
    let mut message = render_start(asked, said);
    message["content"] = match (&said.content, said.stop) {
        (Content::Call(name, arguments), _) => {
            json!([{"type": "tool_use", "id": call_id(said), "name": name, "input": arguments_value(arguments)}])
        }
        (Content::Text(text), _) if text.is_empty() => json!([]),
        (Content::Text(text), _) => json!([{"type": "text", "text": text}]),
    };
    message["stop_reason"] = json!(stop_reason(said.stop));
    message["usage"]["output_tokens"] = json!(said.output_tokens);
    message
}

/// The answer as events in the order of the protocol.
pub fn render_events(asked: &Asked, said: &Said) -> Events {
    let (block, delta) = match &said.content {
        Content::Text(_) => (json!({"type": "text", "text": ""}), ("text_delta", "text")),
        Content::Call(name, _) => (
            json!({"type": "tool_use", "id": call_id(said), "name": name, "input": {}}),
            ("input_json_delta", "partial_json"),
        ),
    };
    let piece = |text: String| {
        let mut change = json!({"type": delta.0});
        change[delta.1] = json!(text);
        event("content_block_delta", json!({"index": 0, "delta": change}))
    };
    let end = json!({
        "delta": {"stop_reason": stop_reason(said.stop), "stop_sequence": null},
        "usage": {"output_tokens": said.output_tokens},
    });
    Events {
        opening: vec![
            event("message_start", json!({"message": render_start(asked, said)})),
            event("content_block_start", json!({"index": 0, "content_block": block})),
            event("ping", json!({})),
        ],
        pieces: pieces(said.content.text()).into_iter().map(piece).collect(),
        closing: vec![
            event("content_block_stop", json!({"index": 0})),
            event("message_delta", end),
            event("message_stop", json!({})),
        ],
    }
}

/// The error that breaks a stream off.
pub fn render_break(limit: bool) -> String {
    let (kind, message) = if limit {
        ("rate_limit_error", "This request would exceed your organization's rate limit.")
    } else {
        ("overloaded_error", "Overloaded")
    };
    event("error", json!({"error": {"type": kind, "message": message}}))
}

fn render_start(asked: &Asked, said: &Said) -> Value {
    json!({
        "id": format!("msg_loopback{:08}", said.number),
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": [],
        "stop_reason": null,
        "stop_sequence": null,
        "usage": {
            "input_tokens": said.input_tokens,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": 1,
        },
    })
}

fn stop_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::End => "end_turn",
        Stop::Call => "tool_use",
        Stop::Length => "max_tokens",
        Stop::Refusal | Stop::Filter => "refusal",
    }
}

fn call_id(said: &Said) -> String {
    format!("toolu_loopback{:08}", said.number)
}

fn event(kind: &str, rest: Value) -> String {
    let mut data = json!({"type": kind});
    if let (Some(data), Value::Object(rest)) = (data.as_object_mut(), rest) {
        data.extend(rest);
    }
    named_event(kind, &data)
}
