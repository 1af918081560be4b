//! The words for quotas that no short wait brings back.

use jiff::Timestamp;
use serde_json::json;

use crate::asked::Asked;
use crate::limits::later;
use crate::protocol::Protocol;
use crate::refusal::{PLAN_SECONDS, Words, invalid};

/// The day's quota is spent.
pub fn daily(asked: &Asked) -> Words {
    match asked.protocol {
        Protocol::Messages => Words::new(
            429,
            "rate_limit_error",
            "This request would exceed your account's rate limit. Please try again later.".to_owned(),
        ),
        Protocol::Chat | Protocol::Responses => Words {
            code: Some("rate_limit_exceeded"),
            ..Words::new(
                429,
                "requests",
                format!(
                    "Rate limit reached for {} on requests per day (RPD): Limit 200, Used 200, Requested 1. Please try again in 7m12s.",
                    asked.model
                ),
            )
        },
        Protocol::Gemini => Words {
            quota: Some("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
            retry_ms: Some(26_000),
            ..Words::new(
                429,
                "RESOURCE_EXHAUSTED",
                "You exceeded your current quota, please check your plan and billing details.".to_owned(),
            )
        },
        Protocol::Converse => Words::new(
            429,
            "ThrottlingException",
            "Too many tokens per day, please wait before trying again.".to_owned(),
        ),
    }
}

/// The plan's quota is spent; services without plans mean the day's.
pub fn plan(asked: &Asked, now: Timestamp) -> Words {
    match asked.protocol {
        Protocol::Chat | Protocol::Responses => Words {
            more: Some(json!({
                "plan_type": "plus",
                "resets_at": later(now, PLAN_SECONDS * 1_000).as_second(),
                "resets_in_seconds": PLAN_SECONDS,
            })),
            ..Words::new(429, "usage_limit_reached", "The usage limit has been reached".to_owned())
        },
        _ => daily(asked),
    }
}

/// The money is spent.
pub fn insufficient_quota(protocol: Protocol) -> Words {
    let message = "You exceeded your current quota, please check your plan and billing details.".to_owned();
    match protocol {
        Protocol::Messages => invalid(
            protocol,
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.".to_owned(),
        ),
        Protocol::Chat | Protocol::Responses => {
            Words { code: Some("insufficient_quota"), ..Words::new(429, "insufficient_quota", message) }
        }
        Protocol::Gemini => Words {
            quota: Some("GenerateRequestsPerDayPerProjectPerModel"),
            ..Words::new(429, "RESOURCE_EXHAUSTED", message)
        },
        Protocol::Converse => Words::new(400, "ServiceQuotaExceededException", message),
    }
}
