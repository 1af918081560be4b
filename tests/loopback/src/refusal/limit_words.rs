//! The words for limits of a window.

use crate::limits::{Cause, Told, render_go_duration};
use crate::protocol::Protocol;
use crate::refusal::Words;
use crate::scenario::Hint;

/// Too many requests, with what a scenario says about when to come back.
pub fn limited(protocol: Protocol, hint: Hint) -> Words {
    let retry_ms = match hint {
        Hint::In(seconds) => Some(seconds.saturating_mul(1_000)),
        Hint::Date(_) | Hint::Nothing => None,
    };
    let told = Told { retry_in_ms: retry_ms, ..Told::NOTHING };
    limit_words(Cause::Requests, told, protocol)
}

/// A limit that was reached, with what is told of it.
pub fn limit_words(cause: Cause, told: Told, protocol: Protocol) -> Words {
    let words = match protocol {
        Protocol::Messages => Words::new(429, "rate_limit_error", anthropic_limit(cause).to_owned()),
        Protocol::Chat | Protocol::Responses => Words {
            code: Some("rate_limit_exceeded"),
            ..Words::new(
                429,
                if matches!(cause, Cause::Requests | Cause::Concurrency) { "requests" } else { "tokens" },
                openai_limit(cause, told),
            )
        },
        Protocol::Gemini => Words {
            quota: Some("GenerateRequestsPerMinutePerProjectPerModel"),
            ..Words::new(
                429,
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota. Please wait before trying again.".to_owned(),
            )
        },
        Protocol::Converse => {
            let what = if matches!(cause, Cause::Requests | Cause::Concurrency) { "requests" } else { "tokens" };
            let message = format!("Too many {what}, please wait before trying again.");
            Words::new(429, "ThrottlingException", message)
        }
    };
    Words { retry_ms: told.retry_in_ms, ..words }
}

fn anthropic_limit(cause: Cause) -> &'static str {
    match cause {
        Cause::Requests => "This request would exceed the rate limit of requests per minute of your organization.",
        Cause::Tokens { .. } => {
            "This request would exceed the rate limit of input tokens per minute of your organization."
        }
        Cause::Concurrency => "Number of concurrent connections has exceeded your rate limit. Please try again later.",
        Cause::TooLarge { .. } => {
            "This request needs more tokens than a minute's rate limit of your organization holds."
        }
    }
}

fn openai_limit(cause: Cause, told: Told) -> String {
    let model = "in organization org-loopback on";
    let again = told.retry_in_ms.map(|ms| format!(" Please try again in {}.", render_go_duration(ms)));
    let again = again.unwrap_or_default();
    match (cause, told.tokens) {
        (Cause::Tokens { asked }, Some(gauge)) => {
            let (limit, used) = (gauge.limit, gauge.limit.saturating_sub(gauge.remaining));
            format!(
                "Rate limit reached {model} tokens per min (TPM): Limit {limit}, Used {used}, Requested {asked}.{again}"
            )
        }
        (Cause::TooLarge { asked }, Some(gauge)) => {
            format!("Request too large {model} tokens per min (TPM): Limit {}, Requested {asked}.", gauge.limit)
        }
        (Cause::Concurrency, _) => format!("Too many requests at once.{again}"),
        _ => {
            let limit = told.requests.map_or(50, |gauge| gauge.limit);
            format!(
                "Rate limit reached {model} requests per min (RPM): Limit {limit}, Used {limit}, Requested 1.{again}"
            )
        }
    }
}
