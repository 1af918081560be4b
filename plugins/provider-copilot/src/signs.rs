//! What the program's word, the sentence and the HTTP status of an error mean. Only error events come here, never an
//! answer or a prompt.

use assize_plugin_sdk::Outcome;

use crate::stream::Refusal;

/// The content was not welcome.
const REFUSALS: [&str; 3] = ["content_filter", "content management policy", "responsible ai"];
/// The plan or the balance is spent.
const SPENT: [&str; 7] = [
    "insufficient_quota",
    "check your plan and billing",
    "credit balance is too low",
    "you have no quota",
    "monthly quota",
    "premium request",
    "ai credits",
];
/// The input does not fit.
const TOO_LONG: [&str; 7] = [
    "prompt as too long",
    "prompt is too long",
    "exceeds the model's prompt budget",
    "exceeds the context window",
    "maximum context length",
    "context_length_exceeded",
    "reduce context before retrying",
];

/// The outcome that an error speaks for, the most particular sign first: a spent balance comes as 429 and 400 too.
pub fn judge_signs(refusal: &Refusal) -> Option<Outcome> {
    let folded = refusal.said.to_ascii_lowercase().replace('\u{2019}', "'");
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| folded.contains(phrase));
    let kind = refusal.kind.as_str();
    Some(match refusal.status {
        _ if says(&REFUSALS) => Outcome::Refused,
        Some(402) => Outcome::QuotaExhausted,
        None | Some(400 | 403 | 429) if says(&SPENT) || kind == "quota" => Outcome::QuotaExhausted,
        Some(429) => Outcome::RateLimited,
        None if kind == "rate_limit" => Outcome::RateLimited,
        Some(401 | 403) => Outcome::Unauthenticated,
        None if matches!(kind, "authentication" | "transient_auth_error") => Outcome::Unauthenticated,
        Some(413) => Outcome::ContextExceeded,
        None | Some(400) if says(&TOO_LONG) => Outcome::ContextExceeded,
        Some(404) => Outcome::Misconfigured,
        Some(500..) => Outcome::Overloaded,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judge(status: Option<u16>, kind: &str, said: &str) -> Option<Outcome> {
        judge_signs(&Refusal { status, kind: kind.to_owned(), said: said.to_owned() })
    }

    #[test]
    fn a_spent_balance_is_told_from_a_busy_minute() {
        let spent = "429 You exceeded your current quota, please check your plan and billing details.";
        assert_eq!(judge(Some(429), "rate_limit", spent), Some(Outcome::QuotaExhausted));
        assert_eq!(judge(Some(429), "rate_limit", "429 slow down"), Some(Outcome::RateLimited));
        assert_eq!(judge(Some(402), "query", "402 you have no quota"), Some(Outcome::QuotaExhausted));
        assert_eq!(judge(Some(400), "query", "Your credit balance is too low"), Some(Outcome::QuotaExhausted));
    }

    #[test]
    fn words_do_not_outweigh_another_status() {
        assert_eq!(judge(Some(500), "rate_limit", "premium request service broke"), Some(Outcome::Overloaded));
        assert_eq!(judge(Some(404), "query", "prompt is too long"), Some(Outcome::Misconfigured));
        assert_eq!(judge(None, "query", "connection reset by peer"), None);
    }
}
