//! Bodies of refusals.

use serde_json::{Value, json};

use crate::limits::render_seconds;
use crate::protocol::Protocol;
use crate::refusal::{Occasion, request_id};

/// The words of a refusal; which of them are told depends on the service.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Words {
    /// Status.
    pub status: u16,
    /// The service's word for it.
    pub kind: &'static str,
    /// The sentence.
    pub message: String,
    /// OpenAI's code.
    pub code: Option<&'static str>,
    /// OpenAI's name of the parameter that is wrong.
    pub parameter: Option<&'static str>,
    /// More members of OpenAI's error.
    pub more: Option<Value>,
    /// Gemini's name of the quota.
    pub quota: Option<&'static str>,
    /// Milliseconds until Gemini would let it in.
    pub retry_ms: Option<u64>,
}

impl Words {
    /// Those that every service has.
    pub fn new(status: u16, kind: &'static str, message: String) -> Self {
        Self { status, kind, message, ..Self::default() }
    }
}

/// The document.
pub fn render_body(words: &Words, occasion: Occasion) -> Value {
    match occasion.asked.protocol {
        Protocol::Messages => json!({
            "type": "error",
            "error": {"type": words.kind, "message": words.message},
            "request_id": request_id(occasion.number),
        }),
        Protocol::Chat | Protocol::Responses => render_openai(words),
        Protocol::Gemini => render_gemini(words, &occasion.asked.model),
        Protocol::Converse => json!({"message": words.message}),
    }
}

fn render_openai(words: &Words) -> Value {
    let mut error = json!({"message": words.message, "type": words.kind, "param": words.parameter, "code": words.code});
    if let (Some(error), Some(Value::Object(more))) = (error.as_object_mut(), &words.more) {
        error.extend(more.clone());
    }
    json!({"error": error})
}

fn render_gemini(words: &Words, model: &str) -> Value {
    let mut error = json!({"code": words.status, "message": words.message, "status": words.kind});
    let mut details = Vec::new();
    // Without a time to come back the service gives no details at all, except for the quotas of a day.
    if let Some(quota) = words.quota.filter(|quota| words.retry_ms.is_some() || quota.contains("PerDay")) {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{
                "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
                "quotaId": quota,
                "quotaDimensions": {"location": "global", "model": model},
                "quotaValue": "50",
            }],
        }));
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.Help",
            "links": [{"description": "Learn more about Gemini API quotas", "url": "https://ai.google.dev/gemini-api/docs/rate-limits"}],
        }));
    }
    if let Some(ms) = words.retry_ms {
        details.push(json!({"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": render_seconds(ms)}));
    }
    if !details.is_empty() {
        error["details"] = Value::Array(details);
    }
    json!({"error": error})
}
