//! OpenAI Responses.

use serde_json::{Value, json};

use crate::asked::Asked;
use crate::said::{Content, Said, Stop};
use crate::wire::events::{Events, named_event, pieces};

/// The answer as one document.
pub fn render_whole(asked: &Asked, said: &Said) -> Value {
    let mut response = render_base(asked, said);
    let reason = match said.stop {
        Stop::Length => Some("max_output_tokens"),
        Stop::Filter => Some("content_filter"),
        Stop::End | Stop::Call | Stop::Refusal => None,
    };
    response["status"] = json!(if reason.is_some() { "incomplete" } else { "completed" });
    response["incomplete_details"] = reason.map_or(Value::Null, |reason| json!({"reason": reason}));
    response["output"] = json!([render_item(said)]);
    response["usage"] = json!({
        "input_tokens": said.input_tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": said.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": said.input_tokens.saturating_add(said.output_tokens),
    });
    response
}

/// The answer as events, numbered through.
pub fn render_events(asked: &Asked, said: &Said) -> Events {
    let (done, item) = (render_whole(asked, said), render_item(said));
    let begun = render_base(asked, said);
    let mut empty = item.clone();
    empty["status"] = json!("in_progress");
    let mut numbered = Numbered::default();
    let mut opening = vec![
        numbered.event("response.created", json!({"response": begun})),
        numbered.event("response.in_progress", json!({"response": begun})),
    ];
    let (kind, place) = match &said.content {
        Content::Call(..) => {
            empty["arguments"] = json!("");
            ("response.function_call_arguments", json!({"item_id": item["id"], "output_index": 0}))
        }
        Content::Text(_) => {
            empty["content"] = json!([]);
            let kind = if said.stop == Stop::Refusal { "response.refusal" } else { "response.output_text" };
            (kind, json!({"item_id": item["id"], "output_index": 0, "content_index": 0}))
        }
    };
    opening.push(numbered.event("response.output_item.added", json!({"output_index": 0, "item": empty})));
    let is_text = matches!(said.content, Content::Text(_));
    if is_text {
        let part = with(place.clone(), "part", render_part(said, ""));
        opening.push(numbered.event("response.content_part.added", part));
    }
    let texts = pieces(said.content.text()).into_iter();
    let pieces = texts.map(|text| numbered.event(&format!("{kind}.delta"), with(place.clone(), "delta", json!(text))));
    let pieces = pieces.collect();
    let whole = match (is_text, said.stop) {
        (false, _) => "arguments",
        (true, Stop::Refusal) => "refusal",
        (true, _) => "text",
    };
    let text = json!(said.content.text());
    let mut closing = vec![numbered.event(&format!("{kind}.done"), with(place.clone(), whole, text))];
    if is_text {
        let part = with(place, "part", item["content"][0].clone());
        closing.push(numbered.event("response.content_part.done", part));
    }
    closing.push(numbered.event("response.output_item.done", json!({"output_index": 0, "item": item})));
    let end = if done["status"] == "incomplete" { "response.incomplete" } else { "response.completed" };
    closing.push(numbered.event(end, json!({"response": done})));
    Events { opening, pieces, closing }
}

/// The event of a response that failed.
pub fn render_break(asked: &Asked, said: &Said, limit: bool) -> String {
    let error = if limit {
        json!({"code": "rate_limit_exceeded", "message": "Rate limit reached for requests. Please try again in 1s."})
    } else {
        json!({"code": "server_is_overloaded", "message": "The server is currently overloaded."})
    };
    let mut response = render_base(asked, said);
    response["status"] = json!("failed");
    response["error"] = error;
    // Larger than every number before it; clients do not count.
    let data = json!({"type": "response.failed", "sequence_number": 1_000_000, "response": response});
    named_event("response.failed", &data)
}

#[derive(Default)]
struct Numbered {
    next: u64,
}

impl Numbered {
    fn event(&mut self, kind: &str, rest: Value) -> String {
        let mut data = json!({"type": kind, "sequence_number": self.next});
        self.next += 1;
        if let (Some(data), Value::Object(rest)) = (data.as_object_mut(), rest) {
            data.extend(rest);
        }
        named_event(kind, &data)
    }
}

fn with(mut place: Value, key: &str, value: Value) -> Value {
    place[key] = value;
    place
}

fn render_base(asked: &Asked, said: &Said) -> Value {
    json!({
        "id": format!("resp_loopback{:08}", said.number),
        "object": "response",
        "created_at": said.created,
        "status": "in_progress",
        "error": null,
        "incomplete_details": null,
        "model": asked.model,
        "output": [],
        "parallel_tool_calls": true,
        "tool_choice": "auto",
        "tools": [],
        "metadata": {},
        "usage": null,
    })
}

fn render_item(said: &Said) -> Value {
    match &said.content {
        Content::Call(name, arguments) => json!({
            "type": "function_call",
            "id": format!("fc_loopback{:08}", said.number),
            "call_id": format!("call_loopback{:08}", said.number),
            "name": name,
            "arguments": arguments,
            "status": "completed",
        }),
        Content::Text(text) => json!({
            "type": "message",
            "id": format!("msg_loopback{:08}", said.number),
            "role": "assistant",
            "status": if matches!(said.stop, Stop::Length | Stop::Filter) { "incomplete" } else { "completed" },
            "content": [render_part(said, text)],
        }),
    }
}

fn render_part(said: &Said, text: &str) -> Value {
    match said.stop {
        Stop::Refusal => json!({"type": "refusal", "refusal": text}),
        _ => json!({"type": "output_text", "text": text, "annotations": []}),
    }
}
