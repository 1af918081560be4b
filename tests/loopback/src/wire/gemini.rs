//! Gemini's generateContent.

use serde_json::{Value, json};

use crate::asked::Asked;
use crate::said::{Content, Said, Stop, arguments_value};
use crate::wire::events::{Events, pieces, plain_event};

/// The answer as one document.
pub fn render_whole(asked: &Asked, said: &Said) -> Value {
    with_usage(render_candidates(asked, said, Some(render_part(said, said.content.text())), true), said)
}

/// The answer as a stream: of events, or as one JSON array.
pub fn render_events(asked: &Asked, said: &Said) -> Events {
    let texts = match &said.content {
        // Calls come in one piece, and a refusal has none.
        Content::Call(_, arguments) => vec![arguments.clone()],
        Content::Text(_) if said.stop == Stop::Refusal => Vec::new(),
        Content::Text(text) => pieces(text),
    };
    let documents = texts.iter().map(|text| render_candidates(asked, said, Some(render_part(said, text)), false));
    let last = with_usage(render_candidates(asked, said, None, true), said);
    if asked.events {
        let pieces = documents.map(|document| plain_event(&document)).collect();
        return Events { opening: Vec::new(), pieces, closing: vec![plain_event(&last)] };
    }
    Events {
        opening: vec!["[".to_owned()],
        pieces: documents.map(|document| format!("{document}\n,\r\n")).collect(),
        closing: vec![format!("{last}\n]")],
    }
}

/// The error that breaks a stream off.
pub fn render_break(asked: &Asked, limit: bool) -> String {
    let error = if limit {
        json!({"error": {"code": 429, "message": "Resource has been exhausted (e.g. check quota).", "status": "RESOURCE_EXHAUSTED"}})
    } else {
        json!({"error": {"code": 503, "message": "The model is overloaded. Please try again later.", "status": "UNAVAILABLE"}})
    };
    if asked.events { plain_event(&error) } else { format!("{error}\n]") }
}

fn render_candidates(asked: &Asked, said: &Said, part: Option<Value>, last: bool) -> Value {
    let mut document = json!({
        "modelVersion": asked.model,
        "responseId": format!("loopback{:08}", said.number),
    });
    if said.stop == Stop::Refusal {
        document["promptFeedback"] = json!({"blockReason": "PROHIBITED_CONTENT"});
        return document;
    }
    let mut candidate =
        json!({"index": 0, "content": {"role": "model", "parts": part.into_iter().collect::<Vec<_>>()}});
    if last {
        candidate["finishReason"] = json!(match said.stop {
            Stop::Length => "MAX_TOKENS",
            Stop::Filter => "SAFETY",
            Stop::End | Stop::Call | Stop::Refusal => "STOP",
        });
    }
    document["candidates"] = json!([candidate]);
    document
}

fn render_part(said: &Said, text: &str) -> Value {
    match &said.content {
        Content::Call(name, arguments) => json!({"functionCall": {"name": name, "args": arguments_value(arguments)}}),
        Content::Text(_) => json!({"text": text}),
    }
}

fn with_usage(mut document: Value, said: &Said) -> Value {
    document["usageMetadata"] = json!({
        "promptTokenCount": said.input_tokens,
        "candidatesTokenCount": said.output_tokens,
        "totalTokenCount": said.input_tokens.saturating_add(said.output_tokens),
    });
    document
}
