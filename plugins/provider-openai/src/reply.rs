//! One answer of a model, in the words that both APIs have in common.

use assize_plugin_sdk::Tokens;
use serde_json::Value;

use crate::service_error::ServiceError;

/// Calls of one answer that are listened to.
pub(crate) const CALLS: usize = 64;
/// Bytes of one call's arguments that are listened to.
const ARGUMENT_BYTES: usize = 64 * 1024;

/// What came back for one request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reply {
    /// The answer's text.
    pub text: String,
    /// Whether the model itself said that it will not.
    pub refused: bool,
    /// What the model wants to have done.
    pub calls: Vec<Call>,
    /// How the answer ended; absent when its end was not told.
    pub finish: Option<Finish>,
    /// Whether the service said that this is all.
    pub complete: bool,
    /// Whether some part could not be read.
    pub broken: bool,
    /// What the service said went wrong, also within an answer that began well.
    pub error: Option<ServiceError>,
    /// What it cost.
    pub counted: Option<Counted>,
    /// Model that answered.
    pub model: Option<String>,
    /// The answer in the API's own form, for the request that goes on from it.
    pub echo: Vec<Value>,
}

/// One thing that the model wants to have done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Call {
    /// Name of the call, by which its answer is found.
    pub id: String,
    /// Tool.
    pub name: String,
    /// JSON text as the model wrote it.
    pub arguments: String,
    /// What the service wants back unread, such as the signature of a thought.
    pub opaque: Option<Value>,
}

impl Call {
    /// Adds to the arguments, as far as they are listened to. What is beyond makes no JSON, and the model is told so.
    pub(crate) fn push_arguments(&mut self, text: &str) {
        if self.arguments.len().saturating_add(text.len()) <= ARGUMENT_BYTES {
            self.arguments.push_str(text);
        }
    }
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finish {
    /// By itself.
    Stop,
    /// At the limit of its length.
    Length,
    /// At a filter of the service.
    Filtered,
}

/// Tokens of one request, and its price where the service names it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counted {
    /// Tokens.
    pub tokens: Tokens,
    /// Price in millionths of a US dollar.
    pub micro_usd: Option<u64>,
}

/// The member `usage` of either API. Services that count differently leave members out.
pub(crate) fn read_usage(usage: &Value) -> Option<Counted> {
    let number = |value: &Value| value.as_u64();
    let input = number(&usage["prompt_tokens"]).or_else(|| number(&usage["input_tokens"]));
    let output = number(&usage["completion_tokens"]).or_else(|| number(&usage["output_tokens"]));
    if input.is_none() && output.is_none() {
        return None;
    }
    let cached = number(&usage["prompt_tokens_details"]["cached_tokens"])
        .or_else(|| number(&usage["input_tokens_details"]["cached_tokens"]))
        .or_else(|| number(&usage["prompt_cache_hit_tokens"]))
        .unwrap_or_default();
    let input = input.unwrap_or_default();
    let cached = cached.min(input);
    let tokens = Tokens { input: input - cached, cached_input: cached, output: output.unwrap_or_default() };
    Some(Counted { tokens, micro_usd: usage["cost"].as_f64().and_then(micro_usd) })
}

/// Dollars as millionths; absent for what is no amount.
fn micro_usd(dollars: f64) -> Option<u64> {
    (dollars.is_finite() && (0.0..1e9).contains(&dollars)).then(|| (dollars * 1e6).round() as u64)
}

/// The answer without the thoughts that some models write in front of it.
pub(crate) fn strip_thoughts(text: &str) -> &str {
    match text.trim_start().strip_prefix("<think>").and_then(|rest| rest.split_once("</think>")) {
        Some((_, answer)) => answer,
        None => text,
    }
}

/// Text of a JSON value, empty for anything else.
pub(crate) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn usage_of_both_apis_and_of_others_is_counted() {
        for usage in [
            json!({"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}),
            json!({"input_tokens": 10, "output_tokens": 3, "input_tokens_details": {"cached_tokens": 4}}),
            json!({"prompt_tokens": 10, "completion_tokens": 3, "prompt_cache_hit_tokens": 4}),
        ] {
            let counted = read_usage(&usage).unwrap();
            assert_eq!(counted.tokens, Tokens { input: 6, cached_input: 4, output: 3 }, "{usage}");
        }
        let odd = json!({"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 9}, "cost": 0.0125});
        let counted = read_usage(&odd).unwrap();
        assert_eq!((counted.tokens.input, counted.tokens.cached_input, counted.micro_usd), (0, 1, Some(12_500)));
        for none in [json!(null), json!({}), json!({"prompt_tokens": -1}), json!([1])] {
            assert_eq!(read_usage(&none), None);
        }
    }

    #[test]
    fn thoughts_in_front_are_taken_off_and_nothing_else() {
        assert_eq!(strip_thoughts("\n<think>[{\"task_id\":1}]</think>\n[]"), "\n[]");
        assert_eq!(strip_thoughts("<think>never ends"), "<think>never ends");
        assert_eq!(strip_thoughts("[\"<think></think>\"]"), "[\"<think></think>\"]");
    }

    #[test]
    fn arguments_without_measure_are_not_gathered() {
        let mut call = Call::default();
        for _ in 0..100 {
            call.push_arguments(&"x".repeat(10_000));
        }
        assert!(call.arguments.len() <= ARGUMENT_BYTES);
    }
}
