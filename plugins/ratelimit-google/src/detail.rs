//! Details of an error: `QuotaFailure`, `RetryInfo` and `ErrorInfo`.

use assize_reading::{Limit, find_zone, parse_count, parse_duration, parse_reset, parse_rfc3339};
use serde_json::Value;

/// Violations that are looked at.
const VIOLATIONS: usize = 32;

/// Metrics whose daily windows end at midnight in California, as Google documents for the Gemini API.
const DAILY_BY_CALIFORNIA: &str = "generativelanguage.googleapis.com/";

/// What the details say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Details {
    /// Limits of which nothing is left.
    pub limits: Vec<Limit>,
    /// Delay before a retry.
    pub retry_after_ms: Option<u64>,
    /// Whether it was want of capacity.
    pub overloaded: bool,
}

/// Reads the list of details.
pub fn read_details(details: &Value, received_at_ms: u64) -> Details {
    let mut told = Details::default();
    for detail in details.as_array().into_iter().flatten() {
        match detail["@type"].as_str().and_then(|kind| kind.rsplit('/').next()) {
            Some("google.rpc.QuotaFailure") => {
                let violations = detail["violations"].as_array().into_iter().flatten().take(VIOLATIONS);
                told.limits.extend(violations.filter_map(|violation| read_violation(violation, received_at_ms)));
            }
            Some("google.rpc.RetryInfo") => {
                told.retry_after_ms = detail["retryDelay"].as_str().and_then(parse_duration);
            }
            Some("google.rpc.ErrorInfo") => match detail["reason"].as_str() {
                Some("MODEL_CAPACITY_EXHAUSTED") => told.overloaded = true,
                Some("QUOTA_EXHAUSTED") => told.limits.push(read_exhausted(&detail["metadata"], received_at_ms)),
                _ => {}
            },
            _ => {}
        }
    }
    told
}

/// One violated quota. Its identifier names the window and whether each model has its own.
fn read_violation(violation: &Value, received_at_ms: u64) -> Option<Limit> {
    let metric = violation["quotaMetric"].as_str()?;
    let id = violation["quotaId"].as_str().unwrap_or_default();
    let windows = [("PerSecond", 1), ("PerMinute", 60), ("PerHour", 3600), ("PerDay", 86_400)];
    let window = windows.iter().find(|(name, _)| id.contains(name)).map(|(_, seconds)| *seconds);
    let of_model = id.contains("PerModel") || violation["quotaDimensions"]["model"].is_string();
    let size = match &violation["quotaValue"] {
        Value::String(text) => parse_count(text),
        other => other.as_u64(),
    };
    let daily = window == Some(86_400) && metric.starts_with(DAILY_BY_CALIFORNIA);
    let resets_at_ms = if daily { next_midnight(received_at_ms) } else { None };
    let scope = if of_model { "model" } else { "account" };
    Some(Limit { limit: size, remaining: Some(0), resets_at_ms, ..Limit::of(dimension_of(metric)?, window, scope) })
}

/// The dimension that a metric counts; absent for one that is not known.
pub fn dimension_of(metric: &str) -> Option<&'static str> {
    let metric = metric.to_ascii_lowercase();
    if metric.contains("input_token") {
        Some("input-tokens")
    } else if metric.contains("output_token") {
        Some("output-tokens")
    } else if metric.contains("token") {
        Some("tokens")
    } else if metric.contains("request") {
        Some("requests")
    } else {
        None
    }
}

/// The quota of a Google login, with its reset as an instant or a duration.
fn read_exhausted(metadata: &Value, received_at_ms: u64) -> Limit {
    let at = metadata["quotaResetTimeStamp"].as_str().and_then(parse_rfc3339);
    let after = || metadata["quotaResetDelay"].as_str().and_then(parse_duration);
    let resets_at_ms = at.or_else(|| after().map(|wait| received_at_ms.saturating_add(wait)));
    Limit { resets_at_ms, ..Limit::spent("requests", "model") }
}

fn next_midnight(received_at_ms: u64) -> Option<u64> {
    let california = find_zone("America/Los_Angeles")?;
    parse_reset("midnight", received_at_ms, Some(&california))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn violation(metric: &str, id: &str) -> Details {
        let violation = json!({"quotaMetric": metric, "quotaId": id, "quotaValue": "5"});
        let detail = json!({"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]});
        read_details(&json!([detail]), 1_780_488_000_000)
    }

    #[test]
    fn a_window_of_the_gemini_api_by_day_ends_at_midnight_in_california() {
        let told = violation("generativelanguage.googleapis.com/requests", "RequestsPerDayPerProjectPerModel");
        assert_eq!(told.limits[0].resets_at_ms, Some(1_780_556_400_000));
        let told = violation("aiplatform.googleapis.com/requests", "RequestsPerDayPerProjectPerModel");
        assert_eq!(told.limits[0].resets_at_ms, None);
    }

    #[test]
    fn what_is_counted_in_a_unit_that_is_not_known_is_no_limit() {
        assert_eq!(violation("generativelanguage.googleapis.com/pixels", "PerDay"), Details::default());
    }

    #[test]
    fn details_of_the_wrong_shape_say_nothing() {
        for details in
            [json!(null), json!({}), json!([1, "x", {"@type": 7}]), json!([{"@type": "google.rpc.RetryInfo"}])]
        {
            assert_eq!(read_details(&details, u64::MAX), Details::default(), "{details}");
        }
    }
}
