//! OpenAI Chat Completions.

use serde_json::{Value, json};

use crate::asked::Asked;
use crate::said::{Content, Said, Stop};
use crate::wire::events::{Events, pieces, plain_event};

/// The answer as one document.
pub fn render_whole(asked: &Asked, said: &Said) -> Value {
    let mut message = json!({"role": "assistant", "content": null, "refusal": null});
    match (&said.content, said.stop) {
        (Content::Call(..), _) => message["tool_calls"] = json!([render_call(said)]),
        (Content::Text(text), Stop::Refusal) => message["refusal"] = json!(text),
        (Content::Text(text), _) => message["content"] = json!(text),
    }
    let mut document = render_base(asked, said, "chat.completion");
    document["choices"] =
        json!([{"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason(said.stop)}]);
    document["usage"] = render_usage(said);
    document
}

/// The answer as events; what was used is told where the request asks for it.
pub fn render_events(asked: &Asked, said: &Said) -> Events {
    let chunk = |delta: Value, finish: Option<&str>| {
        let mut chunk = render_base(asked, said, "chat.completion.chunk");
        chunk["choices"] = json!([{"index": 0, "delta": delta, "finish_reason": finish}]);
        plain_event(&chunk)
    };
    let mut events =
        Events { opening: vec![chunk(json!({"role": "assistant", "content": ""}), None)], ..Events::default() };
    if let Content::Call(..) = &said.content {
        let mut call = render_call(said);
        call["index"] = json!(0);
        call["function"]["arguments"] = json!("");
        events.opening.push(chunk(json!({"tool_calls": [call]}), None));
    }
    let piece = |text: String| match (&said.content, said.stop) {
        (Content::Call(..), _) => json!({"tool_calls": [{"index": 0, "function": {"arguments": text}}]}),
        (Content::Text(_), Stop::Refusal) => json!({"refusal": text}),
        (Content::Text(_), _) => json!({"content": text}),
    };
    events.pieces = pieces(said.content.text()).into_iter().map(|text| chunk(piece(text), None)).collect();
    events.closing.push(chunk(json!({}), Some(finish_reason(said.stop))));
    if asked.stream_usage {
        let mut last = render_base(asked, said, "chat.completion.chunk");
        last["choices"] = json!([]);
        last["usage"] = render_usage(said);
        events.closing.push(plain_event(&last));
    }
    events.closing.push("data: [DONE]\n\n".to_owned());
    events
}

/// The error that breaks a stream off.
pub fn render_break(limit: bool) -> String {
    let error = if limit {
        json!({"message": "Rate limit reached for requests.", "type": "requests", "param": null, "code": "rate_limit_exceeded"})
    } else {
        json!({"message": "The server is currently overloaded with other requests.", "type": "server_error", "param": null, "code": null})
    };
    plain_event(&json!({"error": error}))
}

fn render_base(asked: &Asked, said: &Said, object: &str) -> Value {
    json!({
        "id": format!("chatcmpl-loopback{:08}", said.number),
        "object": object,
        "created": said.created,
        "model": asked.model,
    })
}

fn render_call(said: &Said) -> Value {
    let Content::Call(name, arguments) = &said.content else { return Value::Null };
    json!({
        "id": format!("call_loopback{:08}", said.number),
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    })
}

fn render_usage(said: &Said) -> Value {
    json!({
        "prompt_tokens": said.input_tokens,
        "completion_tokens": said.output_tokens,
        "total_tokens": said.input_tokens.saturating_add(said.output_tokens),
        "prompt_tokens_details": {"cached_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0},
    })
}

fn finish_reason(stop: Stop) -> &'static str {
    match stop {
        Stop::End | Stop::Refusal => "stop",
        Stop::Call => "tool_calls",
        Stop::Length => "length",
        Stop::Filter => "content_filter",
    }
}
