//! One sentence of the program about an error: the status it names, the service's own body where it quotes one, and what
//! follows from both.

use assize_plugin_sdk::Outcome;
use serde_json::Value;

/// Words of a body that are kept.
const WORDS: usize = 6;

/// What a sentence says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status.
    pub status: Option<u16>,
    /// Codes and types of the service, lower case.
    pub codes: Vec<String>,
    /// What a person should read: the service's sentence where its body has one, else the program's.
    pub said: String,
    /// What a reader of limits should read: the service's body where one is quoted, else the program's sentence.
    pub evidence: String,
    /// The program's sentence in lower case, with plain apostrophes.
    folded: String,
}

/// Whether a refusal is of one kind.
type Rule = fn(&Refusal) -> bool;

/// Reads a sentence.
pub fn read_refusal(message: &str) -> Refusal {
    let message = message.trim();
    let body = read_body(message);
    let mut refusal = Refusal {
        status: read_status(message),
        said: message.to_owned(),
        evidence: body.as_ref().map_or_else(|| message.to_owned(), Value::to_string),
        folded: message.to_lowercase().replace('\u{2019}', "'"),
        ..Refusal::default()
    };
    if let Some(body) = &body {
        let error = if body["error"].is_object() { &body["error"] } else { body };
        let words = [&error["code"], &error["type"], &body["type"]];
        refusal.codes = words.iter().filter_map(|word| word.as_str()).take(WORDS).map(str::to_lowercase).collect();
        let sentence = error["message"].as_str().or_else(|| body["detail"].as_str());
        if let Some(sentence) = sentence.filter(|sentence| !sentence.trim().is_empty()) {
            refusal.said = sentence.to_owned();
        }
    }
    refusal
}

impl Refusal {
    /// The outcome, the most particular sign first: a spent plan and a spent balance come as 429 too. None when nothing in it
    /// is known.
    pub fn outcome(&self) -> Option<Outcome> {
        let rules: [(Outcome, Rule); 7] = [
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
            || self.code(&[
                "insufficient_quota",
                "usage_limit_reached",
                "usage_not_included",
                "billing_hard_limit_reached",
            ])
            || self.begins(&[
                "you've hit your usage limit",
                "quota exceeded. check your plan",
                "to use codex with your chatgpt plan",
                "your workspace is out of credits",
            ])
            || self.any(&["you exceeded your current quota", "your credit balance is too low"])
    }

    /// A request that is larger than its window is a matter of size and not of time, whatever its code is.
    fn is_too_large(&self) -> bool {
        self.status == Some(413)
            || self.code(&["context_length_exceeded", "string_above_max_length", "request_too_large"])
            || self.begins(&["codex ran out of room in the model's context window"])
            || self.any(&[
                "input exceeds the maximum length of",
                "exceeds the context window",
                "maximum context length is",
                "prompt is too long",
            ])
    }

    fn is_limited(&self) -> bool {
        self.status == Some(429)
            || self.code(&["rate_limit_exceeded", "rate_limit_error", "too_many_requests"])
            || self.begins(&["rate limit exceeded", "rate limit reached for"])
    }

    fn is_unauthenticated(&self) -> bool {
        matches!(self.status, Some(401 | 403))
            || self.code(&["invalid_api_key", "authentication_error", "token_expired"])
            || self.begins(&[
                "missing environment variable:",
                "not logged in",
                "your access token could not be refreshed",
                "your authentication session could not be refreshed",
            ])
    }

    fn is_refused(&self) -> bool {
        self.code(&["content_policy_violation", "content_filter", "invalid_prompt", "cyber_policy_violation"])
            || self.any(&[
                "violating our usage policy",
                "flagged as potentially violating",
                "content management policy",
            ])
    }

    fn is_misconfigured(&self) -> bool {
        self.status == Some(404)
            || self.code(&["model_not_found", "not_found_error"])
            || self.any(&["model is not supported when using codex"])
    }

    fn is_overloaded(&self) -> bool {
        self.status.is_some_and(|status| status >= 500)
            || self.code(&["server_is_overloaded", "slow_down", "overloaded_error", "server_error"])
            || self.begins(&["selected model is at capacity", "we're currently experiencing high demand"])
    }

    fn code(&self, words: &[&str]) -> bool {
        self.codes.iter().any(|code| words.contains(&code.as_str()))
    }

    fn begins(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.folded.starts_with(phrase))
    }

    fn any(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.folded.contains(phrase))
    }
}

/// The status stands behind the program's own words, never elsewhere: the service's sentence may hold any number.
fn read_status(message: &str) -> Option<u16> {
    let rest = ["exceeded retry limit, last status: ", "unexpected status "]
        .iter()
        .find_map(|words| message.strip_prefix(words))?;
    rest.get(..3)?.parse().ok().filter(|status| (100..600).contains(status))
}

/// The JSON object that the sentence is or quotes.
fn read_body(message: &str) -> Option<Value> {
    let at = message.find('{')?;
    let body = serde_json::Deserializer::from_str(&message[at..]).into_iter::<Value>().next()?.ok()?;
    body.is_object().then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sentence_that_the_program_was_seen_to_say_has_its_outcome() {
        for (message, status, outcome) in [
            (
                "exceeded retry limit, last status: 429 Too Many Requests, request id: req_1",
                Some(429),
                Outcome::RateLimited,
            ),
            ("exceeded retry limit, last status: 429 Too Many Requests", Some(429), Outcome::RateLimited),
            ("rate limit exceeded: Rate limit reached for m", None, Outcome::RateLimited),
            ("You\u{2019}ve hit your usage limit. Try again at 5:00 PM.", None, Outcome::QuotaExhausted),
            ("You've hit your usage limit.", None, Outcome::QuotaExhausted),
            ("Quota exceeded. Check your plan and billing details.", None, Outcome::QuotaExhausted),
            ("Selected model is at capacity. Please try a different model.", None, Outcome::Overloaded),
            (
                "We\u{2019}re currently experiencing high demand, which may cause temporary errors.",
                None,
                Outcome::Overloaded,
            ),
            (
                "unexpected status 503 Service Unavailable: busy, url: http://h/v1/responses",
                Some(503),
                Outcome::Overloaded,
            ),
            ("unexpected status 529 <unknown status code>: Overloaded", Some(529), Outcome::Overloaded),
            ("unexpected status 401 Unauthorized: no, url: http://h", Some(401), Outcome::Unauthenticated),
            ("Missing environment variable: `OPENAI_API_KEY`.", None, Outcome::Unauthenticated),
            ("unexpected status 404 Not Found: The model `m` does not exist", Some(404), Outcome::Misconfigured),
            ("unexpected status 413 Payload Too Large: rate_limit_exceeded", Some(413), Outcome::ContextExceeded),
            (
                "Codex ran out of room in the model\u{2019}s context window. Start a new thread.",
                None,
                Outcome::ContextExceeded,
            ),
            ("unexpected status 402 Payment Required: pay", Some(402), Outcome::QuotaExhausted),
            (
                r#"{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
                None,
                Outcome::ContextExceeded,
            ),
            (
                r#"unexpected status 429 Too Many Requests: {"error":{"message":"m","type":"insufficient_quota","code":"insufficient_quota"}}, url: x"#,
                Some(429),
                Outcome::QuotaExhausted,
            ),
            (r#"{"error":{"message":"m","type":"usage_limit_reached","resets_at":1}}"#, None, Outcome::QuotaExhausted),
            (r#"{"error":{"message":"Invalid prompt","code":"invalid_prompt"}}"#, None, Outcome::Refused),
            (
                r#"{"detail":"The 'm' model is not supported when using Codex with a ChatGPT account."}"#,
                None,
                Outcome::Misconfigured,
            ),
        ] {
            let refusal = read_refusal(message);
            assert_eq!((refusal.status, refusal.outcome()), (status, Some(outcome)), "{message}");
        }
    }

    #[test]
    fn numbers_and_words_of_the_service_are_no_status() {
        for message in [
            "stream disconnected before completion: idle timeout waiting for SSE",
            "stream disconnected before completion: error 429 in the middle",
            "unexpected status abc: 429",
            "unexpected status ä",
            "the file rate_limit.rs:429 says last status: 429",
            "",
        ] {
            let refusal = read_refusal(message);
            assert_eq!((refusal.status, refusal.outcome()), (None, None), "{message}");
        }
    }

    #[test]
    fn a_quoted_body_is_the_evidence_and_its_sentence_is_for_people() {
        let body = r#"{"error":{"message":"Try again in 3s","code":"rate_limit_exceeded"}}"#;
        let refusal = read_refusal(&format!("unexpected status 429 Too Many Requests: {body}, url: http://h"));
        assert_eq!((refusal.evidence.as_str(), refusal.said.as_str()), (body, "Try again in 3s"));
        let deep = format!("unexpected status 429 Too: {}", "{\"a\":".repeat(100_000));
        assert_eq!(read_refusal(&deep).status, Some(429));
    }
}
