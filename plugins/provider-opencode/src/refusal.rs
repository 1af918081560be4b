//! One error of the program: its name, the response that it tells of, and what follows from both.

use assize_plugin_sdk::Outcome;
use serde_json::Value;

/// Headers of one response that are kept, and characters of a value.
const HEADERS: usize = 64;
const VALUE_CHARS: usize = 400;

/// What an error says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// The program's name of the error, such as `APIError`.
    pub name: String,
    /// HTTP status.
    pub status: Option<u16>,
    /// Headers of the response.
    pub headers: Vec<(String, String)>,
    /// Codes and types of the service, lower case.
    pub codes: Vec<String>,
    /// What a person should read.
    pub said: String,
    /// What a reader of limits should read: the service's body where there is one, else the sentence.
    pub evidence: String,
    /// The sentence and the service's own in lower case.
    folded: String,
}

/// Whether a refusal is of one kind.
type Rule = fn(&Refusal) -> bool;

/// Reads the member `error` of an event.
pub fn read_refusal(error: &Value) -> Refusal {
    let data = &error["data"];
    let said = data["message"].as_str().or_else(|| error["message"].as_str()).unwrap_or_default();
    let body = data["responseBody"].as_str().unwrap_or_default();
    // An error in the middle of a stream has no response; its sentence is the service's body then.
    let quoted = if body.is_empty() { said } else { body };
    let mut refusal = Refusal {
        name: error["name"].as_str().unwrap_or_default().to_owned(),
        status: data["statusCode"].as_u64().and_then(|n| u16::try_from(n).ok()).filter(|n| (100..600).contains(n)),
        headers: read_headers(&data["responseHeaders"]),
        said: said.to_owned(),
        evidence: quoted.to_owned(),
        folded: said.to_lowercase(),
        ..Refusal::default()
    };
    if let Some(body) = serde_json::from_str::<Value>(quoted).ok().filter(Value::is_object) {
        refusal.take_body(&body);
    }
    refusal
}

/// Cookies are credentials and say nothing of limits.
fn read_headers(headers: &Value) -> Vec<(String, String)> {
    let told = headers.as_object().into_iter().flatten();
    told.filter(|(name, _)| !name.eq_ignore_ascii_case("set-cookie"))
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.chars().take(VALUE_CHARS).collect())))
        .take(HEADERS)
        .collect()
}

impl Refusal {
    fn take_body(&mut self, body: &Value) {
        let error = if body["error"].is_object() { &body["error"] } else { body };
        self.codes =
            [&error["code"], &error["type"]].iter().filter_map(|word| word.as_str()).map(str::to_lowercase).collect();
        if let Some(sentence) = error["message"].as_str().filter(|sentence| !sentence.trim().is_empty()) {
            self.said = sentence.to_owned();
            self.folded = format!("{}\n{}", self.folded, sentence.to_lowercase());
        }
    }

    /// The outcome, the most particular sign first: a spent balance comes as 429 and 400 too. None when nothing in it is
    /// known.
    pub fn outcome(&self) -> Option<Outcome> {
        let rules: [(Outcome, Rule); 8] = [
            (Outcome::Interrupted, |refusal| refusal.name == "MessageAbortedError"),
            (Outcome::QuotaExhausted, Self::is_spent),
            (Outcome::ContextExceeded, Self::is_too_large),
            (Outcome::RateLimited, Self::is_limited),
            (Outcome::Unauthenticated, Self::is_unauthenticated),
            (Outcome::Refused, Self::is_refused),
            (Outcome::Misconfigured, Self::is_misconfigured),
            (Outcome::Overloaded, Self::is_overloaded),
        ];
        rules.into_iter().find(|(_, holds)| holds(self)).map(|(outcome, _)| outcome)
    }

    fn is_spent(&self) -> bool {
        self.status == Some(402)
            || self.code(&["insufficient_quota", "billing_error", "usage_limit_reached", "billing_hard_limit_reached"])
            || self.says(&[
                "credit balance is too low",
                "you exceeded your current quota",
                "quota exceeded. check your plan",
            ])
    }

    /// A request that is larger than its window is a matter of size and not of time, whatever its code is.
    fn is_too_large(&self) -> bool {
        ["ContextOverflowError", "MessageOutputLengthError"].contains(&self.name.as_str())
            || self.status == Some(413)
            || self.code(&["context_length_exceeded", "request_too_large", "string_above_max_length"])
            || self.says(&["prompt is too long", "maximum context length is", "exceeds the context window"])
    }

    fn is_limited(&self) -> bool {
        self.status == Some(429) || self.code(&["rate_limit_exceeded", "rate_limit_error", "too_many_requests"])
    }

    fn is_unauthenticated(&self) -> bool {
        self.name == "ProviderAuthError"
            || matches!(self.status, Some(401 | 403))
            || self.code(&["invalid_api_key", "authentication_error", "permission_error"])
    }

    fn is_refused(&self) -> bool {
        self.name == "ContentFilterError"
            || self.code(&["content_policy_violation", "content_filter", "invalid_prompt"])
            || self.says(&["flagged as potentially violating", "content management policy"])
    }

    fn is_misconfigured(&self) -> bool {
        self.name == "ProviderModelNotFoundError"
            || self.status == Some(404)
            || self.code(&["model_not_found", "not_found_error"])
            || self.folded.starts_with("model not found:")
    }

    fn is_overloaded(&self) -> bool {
        self.status.is_some_and(|status| status >= 500)
            || self.code(&["overloaded_error", "api_error", "server_error", "server_is_overloaded"])
    }

    fn code(&self, words: &[&str]) -> bool {
        self.codes.iter().any(|code| words.contains(&code.as_str()))
    }

    fn says(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.folded.contains(phrase))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_response_is_told_with_its_headers_and_without_cookies() {
        let refusal = read_refusal(
            &json!({"name": "APIError", "data": {"message": "Too Many Requests", "statusCode": 429,
            "responseHeaders": {"Retry-After": "30", "set-cookie": "a=b", "odd": 7},
            "responseBody": "{\"error\":{\"message\":\"slow\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}"}}),
        );
        assert_eq!((refusal.status, refusal.outcome()), (Some(429), Some(Outcome::RateLimited)));
        assert_eq!(refusal.headers, [("Retry-After".to_owned(), "30".to_owned())]);
        assert_eq!(refusal.said, "slow");
        assert!(refusal.evidence.starts_with("{\"error\""));
    }

    #[test]
    fn an_error_in_a_stream_is_read_from_its_sentence() {
        for (message, outcome) in [
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                Some(Outcome::Overloaded),
            ),
            (r#"{"type":"rate_limit_error","message":"slow"}"#, Some(Outcome::RateLimited)),
            ("the file rate_limit.rs:429 was not found", None),
            ("", None),
        ] {
            assert_eq!(read_refusal(&json!({"name": "UnknownError", "data": {"message": message}})).outcome(), outcome);
        }
    }

    #[test]
    fn damage_is_survived() {
        for error in [json!(null), json!([]), json!({"data": 5}), json!({"name": 1, "data": {"statusCode": 1e99}})] {
            assert_eq!(read_refusal(&error), Refusal::default());
        }
        let many: serde_json::Map<String, Value> = (0..500).map(|n| (n.to_string(), json!("x".repeat(5000)))).collect();
        let refusal = read_refusal(&json!({"data": {"responseHeaders": many, "responseBody": "{".repeat(100_000)}}));
        assert_eq!((refusal.headers.len(), refusal.headers[0].1.len()), (HEADERS, VALUE_CHARS));
    }
}
