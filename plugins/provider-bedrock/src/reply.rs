//! The model's message, which comes as one document.

use assize_plugin_sdk::dialogue::{Call, Ending, Reply};
use assize_plugin_sdk::{Responded, Tokens};
use serde_json::Value;

use crate::refusal::read_refusal;

/// What a response says.
pub fn read_output(responded: &Responded) -> Reply {
    if !(200..300).contains(&responded.status) {
        return Reply { ending: Ending::Refused(read_refusal(responded)), ..Reply::default() };
    }
    match serde_json::from_slice(&responded.body) {
        Ok(document) => read_document(&document),
        Err(_) => {
            let ending = Ending::Broken("the response is no whole document".to_owned());
            Reply { ending, ..Reply::default() }
        }
    }
}

fn read_document(document: &Value) -> Reply {
    let content = &document["output"]["message"]["content"];
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    let count = |name: &str| document["usage"][name].as_u64().unwrap_or(0);
    let cache_writes = count("cacheWriteInputTokens");
    Reply {
        ending: read_ending(document["stopReason"].as_str()),
        text: blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        calls: blocks.iter().filter_map(read_call).collect(),
        said: blocks.iter().filter(|block| !is_empty_text(block)).cloned().collect(),
        tokens: Tokens {
            input: count("inputTokens").saturating_add(cache_writes),
            cached_input: count("cacheReadInputTokens"),
            output: count("outputTokens"),
        },
        cache_writes,
        model: None,
    }
}

fn read_call(block: &Value) -> Option<Call> {
    let call = block.get("toolUse")?;
    let text = |name: &str| call[name].as_str().unwrap_or_default().to_owned();
    Some(Call { id: text("toolUseId"), name: text("name"), input: call["input"].to_string() })
}

/// The service refuses to be reminded of these.
fn is_empty_text(block: &Value) -> bool {
    block["text"].as_str().is_some_and(|text| text.trim().is_empty())
}

fn read_ending(reason: Option<&str>) -> Ending {
    match reason {
        None => Ending::Broken("the response does not say how it ended".to_owned()),
        Some("max_tokens" | "model_context_window_exceeded") => Ending::Cut,
        Some("guardrail_intervened") => Ending::Declined("a guardrail intervened".to_owned()),
        Some("content_filtered") => Ending::Declined("the answer was filtered".to_owned()),
        Some("refusal") => Ending::Declined("the model declined".to_owned()),
        Some("malformed_model_output" | "malformed_tool_use") => {
            Ending::Broken("the model gave an answer that the service could not read".to_owned())
        }
        Some(_) => Ending::Complete,
    }
}
