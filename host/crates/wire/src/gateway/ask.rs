//! What a request's own body says about its size.

use serde::Deserialize;
use serde_json::Value;

use crate::gateway::meter::RequestAsk;
use crate::usage::{BYTES_PER_TOKEN, capped};

/// Bytes kept of a model's name.
const NAME_CAP: usize = 200;

/// The few members that are looked at; a member of another type than usual is as good as none.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Body {
    model: Value,
    max_tokens: Value,
    max_completion_tokens: Value,
    max_output_tokens: Value,
    #[serde(rename = "generationConfig")]
    generation: Value,
}

impl RequestAsk {
    /// What a request with this body asks for; `path` is without a query.
    pub fn of(method: &str, path: &str, body: &[u8]) -> Self {
        ask(method, path, body)
    }
}

pub(super) fn ask(method: &str, path: &str, body: &[u8]) -> RequestAsk {
    // A body in another form, or compressed, has only a size.
    let said: Body = serde_json::from_slice(body).unwrap_or_default();
    let most =
        [&said.max_completion_tokens, &said.max_output_tokens, &said.max_tokens, &said.generation["maxOutputTokens"]];
    let bytes = body.len() as u64;
    RequestAsk {
        method: method.to_owned(),
        path: path.to_owned(),
        request_bytes: bytes,
        estimated_input_tokens: bytes.div_ceil(BYTES_PER_TOKEN),
        max_output_tokens: most.iter().find_map(|value| value.as_u64()),
        model: said.model.as_str().or_else(|| model_in(path)).map(|name| capped(name, NAME_CAP)),
    }
}

/// Gemini names the model in the path: `/v1beta/models/NAME:generateContent`.
fn model_in(path: &str) -> Option<&str> {
    let (_, rest) = path.rsplit_once("/models/")?;
    rest.split([':', '/']).next().filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocol_says_its_most() {
        for (path, body, model, most) in [
            ("/v1/messages", r#"{"model":"a","max_tokens":5,"messages":[]}"#, Some("a"), Some(5)),
            ("/v1/chat/completions", r#"{"model":"b","max_completion_tokens":6}"#, Some("b"), Some(6)),
            ("/v1/responses", r#"{"model":"c","max_output_tokens":7}"#, Some("c"), Some(7)),
            ("/v1beta/models/d:generateContent", r#"{"generationConfig":{"maxOutputTokens":8}}"#, Some("d"), Some(8)),
            ("/v1/messages", r#"{"model":3,"max_tokens":"many"}"#, None, None),
            ("/v1/messages", "not json", None, None),
            ("/v1/messages", "", None, None),
        ] {
            let ask = ask("POST", path, body.as_bytes());
            assert_eq!((ask.model.as_deref(), ask.max_output_tokens), (model, most), "{body}");
            assert_eq!(ask.estimated_input_tokens, (body.len() as u64).div_ceil(4));
        }
    }
}
