//! What a refusal means for the launch. The most particular sign counts first, because services say many things with one
//! status: a spent balance comes as 429, a request that can never fit as 413 or 429, a filter as 400.

use assize_plugin_sdk::Outcome;

use crate::service_error::ServiceError;

/// What became of a request that was answered by an error. The status is that of the response, if it was one of failure.
pub(crate) fn judge_error(status: Option<u16>, error: &ServiceError) -> Outcome {
    let status = status.filter(|status| *status >= 300).or(error.status);
    // Words in the error of a broken server are about its breaking.
    let broken = status.is_some_and(|status| status >= 500);
    if !broken {
        if says_spent(status, error) {
            return Outcome::QuotaExhausted;
        }
        if says_too_long(status, error) {
            return Outcome::ContextExceeded;
        }
        if says_unwanted(error) {
            return Outcome::Refused;
        }
    }
    if says_busy(status, error) {
        return Outcome::Overloaded;
    }
    judge_words(status, error).unwrap_or_else(|| judge_status(status))
}

fn judge_words(status: Option<u16>, error: &ServiceError) -> Option<Outcome> {
    if error.is(&["rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests", "ratelimitreached"]) {
        return Some(Outcome::RateLimited);
    }
    let keys = ["invalid_api_key", "authentication_error", "invalid_authentication", "permission_denied"];
    if error.is(&keys) || error.says(&["incorrect api key", "api key not valid", "invalid api key"]) {
        return Some(Outcome::Unauthenticated);
    }
    let unusable = status.is_none() && error.is(&["model_not_found", "invalid_request_error"]);
    unusable.then_some(Outcome::Misconfigured)
}

fn judge_status(status: Option<u16>) -> Outcome {
    match status {
        Some(401 | 403 | 407) => Outcome::Unauthenticated,
        Some(429) => Outcome::RateLimited,
        Some(300..=499) => Outcome::Misconfigured,
        _ => Outcome::Crashed,
    }
}

/// Money is gone, or what a day or a plan allows.
fn says_spent(status: Option<u16>, error: &ServiceError) -> bool {
    let words = [
        "insufficient_quota",
        "billing_hard_limit_reached",
        "billing_not_active",
        "usage_limit_reached",
        "insufficient_balance",
        "request_quota_exceeded_per_day",
    ];
    if status == Some(402) || error.is(&words) {
        return true;
    }
    let may_speak = matches!(status, None | Some(400 | 403 | 429));
    let phrases = [
        "insufficient balance",
        "insufficient credit",
        "credit balance is too low",
        "used all available credits",
        "monthly spending limit",
        "free-models-per-day",
        "per day (tpd)",
        "per day (rpd)",
        "tokens per day",
        "requests per day",
        "usage limit reached",
        "hit your usage limit",
    ];
    may_speak && (error.says(&phrases) || error.evidence.contains("PerDay"))
}

fn says_too_long(status: Option<u16>, error: &ServiceError) -> bool {
    let words = [
        "context_length_exceeded",
        "string_above_max_length",
        "exceed_context_size_error",
        "request_too_large",
        "tokens_limit_reached",
    ];
    let phrases = [
        "maximum context length",
        "context length exceeded",
        "exceeds the context",
        "exceeds the available context",
        "exceeds context",
        "context window",
        "prompt is too long",
        "input is too long",
        "input length",
        "prompt too long",
        "too many tokens in",
        "request too large",
        "request body too large",
    ];
    status == Some(413) || error.is(&words) || error.says(&phrases)
}

fn says_unwanted(error: &ServiceError) -> bool {
    let words = [
        "content_filter",
        "content_policy_violation",
        "responsibleaipolicyviolation",
        "invalid_prompt",
        "cyber_policy_violation",
        "moderation_blocked",
        "data_inspection_failed",
    ];
    let phrases = [
        "content management policy",
        "usage policy",
        "usage policies",
        "flagged as",
        "was flagged",
        "requires moderation",
    ];
    error.is(&words) || error.says(&phrases)
}

/// Room is short for everybody, not this account's limit.
fn says_busy(status: Option<u16>, error: &ServiceError) -> bool {
    let words = [
        "server_is_overloaded",
        "overloaded_error",
        "slow_down",
        "queue_exceeded",
        "server_error",
        "insufficient_system_resource",
        "service_unavailable",
        "internal_server_error",
        "3505",
    ];
    let phrases = ["currently overloaded", "model is overloaded", "service tier capacity exceeded", "over capacity"];
    matches!(status, Some(408 | 498 | 500..=599)) || error.is(&words) || error.says(&phrases)
}

/// What stands before the service's own sentence.
pub(crate) fn lead(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::RateLimited => "a rate limit said no",
        Outcome::Overloaded => "the service is overloaded or broken",
        Outcome::QuotaExhausted => "the balance, plan or day's quota is spent",
        Outcome::ContextExceeded => "the packet is too large for the model",
        Outcome::Refused => "the service refused the content of this packet",
        Outcome::Misconfigured => "the service cannot be used as configured",
        _ => "the service failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service_error::read_error_body;

    fn judge(status: u16, body: &str) -> Outcome {
        judge_error(Some(status), &read_error_body(body.as_bytes()))
    }

    #[test]
    fn a_status_alone_says_enough() {
        for (status, outcome) in [
            (401, Outcome::Unauthenticated),
            (403, Outcome::Unauthenticated),
            (402, Outcome::QuotaExhausted),
            (413, Outcome::ContextExceeded),
            (429, Outcome::RateLimited),
            (500, Outcome::Overloaded),
            (502, Outcome::Overloaded),
            (503, Outcome::Overloaded),
            (504, Outcome::Overloaded),
            (529, Outcome::Overloaded),
            (408, Outcome::Overloaded),
            (404, Outcome::Misconfigured),
            (400, Outcome::Misconfigured),
            (422, Outcome::Misconfigured),
            (302, Outcome::Misconfigured),
        ] {
            assert_eq!(judge(status, ""), outcome, "{status}");
            assert_eq!(
                judge(status, r#"{"error":{"message":"x","type":"invalid_request_error"}}"#),
                outcome,
                "{status}"
            );
        }
    }

    #[test]
    fn services_say_the_same_in_many_ways() {
        for (status, body, outcome) in [
            (
                429,
                r#"{"error":{"message":"Rate limit reached for gpt-4.1 on tokens per min (TPM)","type":"tokens","code":"rate_limit_exceeded"}}"#,
                Outcome::RateLimited,
            ),
            (
                429,
                r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
                Outcome::QuotaExhausted,
            ),
            (
                429,
                r#"{"error":{"message":"Request too large for m on tokens per min (TPM): Limit 10000, Requested 20000.","type":"tokens","code":"rate_limit_exceeded"}}"#,
                Outcome::ContextExceeded,
            ),
            (
                413,
                r#"{"error":{"message":"Request too large for model","type":"tokens","code":"rate_limit_exceeded"}}"#,
                Outcome::ContextExceeded,
            ),
            (
                429,
                r#"{"error":{"message":"Rate limit reached for m on tokens per day (TPD): Limit 1","code":"rate_limit_exceeded"}}"#,
                Outcome::QuotaExhausted,
            ),
            (
                429,
                r#"{"error":{"message":"Rate limit exceeded: free-models-per-day. Add 10 credits","code":429}}"#,
                Outcome::QuotaExhausted,
            ),
            (
                429,
                r#"{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"m is temporarily rate-limited upstream"}}}"#,
                Outcome::RateLimited,
            ),
            (429, r#""Too many tokens for team t and model m.""#, Outcome::RateLimited),
            (
                429,
                r#"{"code":"exhausted","error":"Your team t has either used all available credits or reached its monthly spending limit."}"#,
                Outcome::QuotaExhausted,
            ),
            (
                429,
                r#"{"object":"error","message":"Rate limit exceeded","type":"rate_limited","param":null,"code":"1300"}"#,
                Outcome::RateLimited,
            ),
            (
                429,
                r#"{"object":"error","message":"Service tier capacity exceeded for this model.","type":"invalid_request_error","code":"3505"}"#,
                Outcome::Overloaded,
            ),
            (429, r#"{"message":"x","type":"too_many_requests_error","code":"queue_exceeded"}"#, Outcome::Overloaded),
            (
                429,
                r#"[{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED"}}]"#,
                Outcome::RateLimited,
            ),
            (
                429,
                r#"{"error":{"code":"429","message":"have exceeded token rate limit of your current AIServices S0 pricing tier. Please retry after 37 seconds."}}"#,
                Outcome::RateLimited,
            ),
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
                Outcome::ContextExceeded,
            ),
            (
                400,
                r#"{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}"#,
                Outcome::ContextExceeded,
            ),
            (
                400,
                r#"{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","code":"content_filter"}}"#,
                Outcome::Refused,
            ),
            (
                400,
                r#"{"error":{"message":"flagged as potentially violating our usage policy","code":"invalid_prompt"}}"#,
                Outcome::Refused,
            ),
            (
                400,
                r#"{"code":"Client specified an invalid argument","error":"Incorrect API key provided: xa***."}"#,
                Outcome::Unauthenticated,
            ),
            (
                401,
                r#"{"error":{"message":"Incorrect API key provided","code":"invalid_api_key"}}"#,
                Outcome::Unauthenticated,
            ),
            (
                404,
                r#"{"error":{"message":"The model `m` does not exist","code":"model_not_found"}}"#,
                Outcome::Misconfigured,
            ),
            (503, r#"{"error":{"message":"Rate limit exceeded","code":"slow_down"}}"#, Outcome::Overloaded),
            (500, r#"{"error":{"message":"the context window broke"}}"#, Outcome::Overloaded),
        ] {
            assert_eq!(judge(status, body), outcome, "{status} {body}");
        }
    }

    #[test]
    fn an_error_inside_an_answer_that_began_well_is_judged_by_itself() {
        let inside = |body: &str| judge_error(Some(200), &read_error_body(body.as_bytes()));
        assert_eq!(inside(r#"{"error":{"code":"rate_limit_exceeded","message":"x"}}"#), Outcome::RateLimited);
        assert_eq!(inside(r#"{"error":{"code":"server_error","message":"x"}}"#), Outcome::Overloaded);
        assert_eq!(inside(r#"{"error":{"code":502,"message":"x"}}"#), Outcome::Overloaded);
        assert_eq!(inside(r#"{"error":{"code":"server_is_overloaded","message":"x"}}"#), Outcome::Overloaded);
        assert_eq!(inside(r#"{"error":{"message":"x"}}"#), Outcome::Crashed);
    }
}
