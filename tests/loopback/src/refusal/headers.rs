//! What headers tell of when to come back.

use jiff::Timestamp;

use crate::limits::{Told, later, render_headers, render_http_date};
use crate::protocol::Protocol;
use crate::refusal::{Occasion, Reason};
use crate::scenario::{Hint, Refusal};

/// Seconds of a day.
const DAY_SECONDS: u64 = 86_400;
/// Seconds until a plan's quota is there again.
pub const PLAN_SECONDS: u64 = 7_200;

/// The headers of a refusal, beside those that every response has.
pub fn limit_headers(reason: Reason, occasion: Occasion) -> Vec<(String, String)> {
    let protocol = occasion.asked.protocol;
    let speaks = matches!(protocol, Protocol::Messages | Protocol::Chat | Protocol::Responses);
    match reason {
        Reason::Limit(_, told) => render_headers(protocol, &told, occasion.now),
        Reason::Named(Refusal::Limited(Hint::In(seconds))) => {
            render_headers(protocol, &Told::spent(seconds.saturating_mul(1_000)), occasion.now)
        }
        Reason::Named(Refusal::Limited(Hint::Date(seconds))) if speaks => {
            vec![("retry-after".to_owned(), render_http_date(occasion.now, seconds.saturating_mul(1_000)))]
        }
        Reason::Named(Refusal::Plan | Refusal::Daily) if protocol == Protocol::Messages => plan_headers(occasion.now),
        Reason::Named(Refusal::Plan) if speaks => codex_headers(occasion.now),
        Reason::Named(Refusal::Daily) if speaks => vec![("retry-after".to_owned(), DAY_SECONDS.to_string())],
        _ => Vec::new(),
    }
}

/// What a subscription's client is told when five hours' use is spent.
fn plan_headers(now: Timestamp) -> Vec<(String, String)> {
    let unix = |seconds: u64| later(now, seconds * 1_000).as_second().to_string();
    let unified = [
        ("status", "rejected".to_owned()),
        ("reset", unix(PLAN_SECONDS)),
        ("representative-claim", "five_hour".to_owned()),
        ("5h-status", "rejected".to_owned()),
        ("5h-utilization", "1.0".to_owned()),
        ("5h-reset", unix(PLAN_SECONDS)),
        ("7d-status", "allowed".to_owned()),
        ("7d-utilization", "0.31".to_owned()),
        ("7d-reset", unix(5 * DAY_SECONDS)),
        ("overage-status", "rejected".to_owned()),
        ("overage-disabled-reason", "org_level_disabled".to_owned()),
    ];
    let mut headers: Vec<(String, String)> =
        unified.into_iter().map(|(name, value)| (format!("anthropic-ratelimit-unified-{name}"), value)).collect();
    headers.push(("retry-after".to_owned(), PLAN_SECONDS.to_string()));
    headers
}

fn codex_headers(now: Timestamp) -> Vec<(String, String)> {
    let unix = |seconds: u64| later(now, seconds * 1_000).as_second().to_string();
    let window = |name: &str, used: &str, minutes: u64, seconds: u64| {
        let tell = |what: &str, value: String| (format!("x-codex-{name}-{what}"), value);
        [
            tell("used-percent", used.to_owned()),
            tell("window-minutes", minutes.to_string()),
            tell("reset-at", unix(seconds)),
            tell("reset-after-seconds", seconds.to_string()),
        ]
    };
    let mut headers = Vec::from(window("primary", "100", 300, PLAN_SECONDS));
    headers.extend(window("secondary", "31", 10_080, 5 * DAY_SECONDS));
    headers
}
