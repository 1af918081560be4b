//! Bedrock Converse.

use serde_json::{Value, json};

use crate::said::{Content, Said, Stop, arguments_value};

/// The answer as one document.
pub fn render_whole(said: &Said) -> Value {
    let content = match &said.content {
        Content::Call(name, arguments) => {
            let id = format!("tooluse_loopback{:08}", said.number);
            json!([{"toolUse": {"toolUseId": id, "name": name, "input": arguments_value(arguments)}}])
        }
        Content::Text(text) if text.is_empty() => json!([]),
        Content::Text(text) => json!([{"text": text}]),
    };
    json!({
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": match said.stop {
            Stop::End => "end_turn",
            Stop::Call => "tool_use",
            Stop::Length => "max_tokens",
            Stop::Refusal | Stop::Filter => "content_filtered",
        },
        "usage": {
            "inputTokens": said.input_tokens,
            "outputTokens": said.output_tokens,
            "totalTokens": said.input_tokens.saturating_add(said.output_tokens),
        },
        "metrics": {"latencyMs": 1},
    })
}
