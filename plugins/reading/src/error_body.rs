//! Bodies of errors in the forms that services of every kind share.

use serde_json::Value;

use crate::reading::{Cause, Reading};

/// What the body of an error says: its codes and its message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ErrorBody {
    /// Values of `code`, `type`, `status` and their like, in lower case.
    pub codes: Vec<String>,
    /// The message.
    pub message: String,
    /// Whether it stood under `error`, so that the value is a report of one whatever its codes.
    pub explicit: bool,
}

impl ErrorBody {
    /// The error of a body such as `{"error":{"code":…,"message":…}}`, `{"error":"…"}` or `{"code":…,"message":…}`.
    pub fn of(value: &Value) -> Option<Self> {
        let inner = value.get("error").filter(|error| !error.is_null());
        let mut body = Self { explicit: inner.is_some(), ..Self::default() };
        let source = inner.filter(|error| error.is_object()).unwrap_or(value);
        for key in ["code", "type", "status", "reason"] {
            match &source[key] {
                Value::String(word) => body.codes.push(word.to_ascii_lowercase()),
                Value::Number(number) => body.codes.push(number.to_string()),
                _ => {}
            }
        }
        let message = inner.and_then(Value::as_str).or_else(|| source["message"].as_str());
        message.unwrap_or_default().clone_into(&mut body.message);
        (body.explicit || !body.codes.is_empty() || !body.message.is_empty()).then_some(body)
    }

    /// Whether one of its codes is this word.
    pub fn has(&self, code: &str) -> bool {
        self.codes.iter().any(|known| known == code)
    }

    /// What its codes say; empty for codes that are not of a limit. Of several the heaviest counts.
    pub fn read_codes(&self) -> Reading {
        let mut reading = Reading::default();
        let mut cause = None;
        for code in &self.codes {
            let told = read_code(code);
            if told.throttled {
                // A capacity code beside a general `too many requests` is the more exact of the two.
                cause = cause.max(told.cause());
                reading.absorb(told);
            }
        }
        match cause {
            Some(cause) => Reading::because(cause),
            None => reading,
        }
    }
}

/// What one code in lower case says.
pub fn read_code(code: &str) -> Reading {
    match code {
        "rate_limit_exceeded"
        | "rate_limit_error"
        | "rate_limited"
        | "ratelimitreached"
        | "too_many_requests"
        | "too_many_requests_error"
        | "request_quota_exceeded"
        | "token_quota_exceeded"
        | "throttlingexception"
        | "usage_limit_reached"
        | "resource_exhausted"
        | "429" => Reading::throttled(),
        "overloaded_error"
        | "overloaded"
        | "server_is_overloaded"
        | "slow_down"
        | "queue_exceeded"
        | "engine_overloaded"
        | "service_tier_capacity_exceeded"
        | "3505"
        | "modelnotreadyexception"
        | "serviceunavailableexception"
        | "529" => Reading::because(Cause::Overloaded),
        "1302" | "userconcurrentrequests" => Reading::because(Cause::Concurrency),
        "insufficient_quota"
        | "billing_error"
        | "billing_hard_limit_reached"
        | "billing_not_active"
        | "insufficient_credits"
        | "usage_not_included"
        | "402" => Reading::because(Cause::Spent),
        _ => Reading::default(),
    }
}
