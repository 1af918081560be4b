//! Limits in response headers.

use assize_reading::{Headers, Limit, PlanWindow, Reading, parse_decimal, parse_instant, read_wait};

/// The windows of the API are told per minute.
const API_WINDOW_SECONDS: u64 = 60;

/// Families of the API's limits: name before `-limit`, `-remaining` and `-reset`, dimension, tier.
const FAMILIES: [(&str, &str, Option<&str>); 6] = [
    ("anthropic-ratelimit-requests", "requests", None),
    ("anthropic-ratelimit-tokens", "tokens", None),
    ("anthropic-ratelimit-input-tokens", "input-tokens", None),
    ("anthropic-ratelimit-output-tokens", "output-tokens", None),
    ("anthropic-priority-input-tokens", "input-tokens", Some("priority")),
    ("anthropic-priority-output-tokens", "output-tokens", Some("priority")),
];

const UNIFIED: &str = "anthropic-ratelimit-unified-";

/// What headers say. They never throttle by themselves, except where the service says `rejected`.
pub fn read_headers(headers: &[(String, String)], received_at_ms: u64) -> Reading {
    let lookup = Headers(headers);
    let mut reading = Reading { retry_after_ms: read_wait(&lookup, received_at_ms), ..Reading::default() };
    for (name, dimension, tier) in FAMILIES {
        let limit = Limit {
            dimension: dimension.to_owned(),
            window_seconds: Some(API_WINDOW_SECONDS),
            limit: lookup.count(&format!("{name}-limit")),
            remaining: lookup.count(&format!("{name}-remaining")),
            resets_at_ms: lookup.get(&format!("{name}-reset")).and_then(|text| parse_instant(text, received_at_ms)),
            scope: "model".to_owned(),
            extra: tier.map(|tier| ("tier".to_owned(), tier.to_owned())).into_iter().collect(),
        };
        if limit.limit.is_some() || limit.remaining.is_some() || limit.resets_at_ms.is_some() {
            reading.limits.push(limit);
        }
    }
    read_unified(&lookup, received_at_ms, &mut reading);
    reading
}

/// Windows of a subscription: fractions instead of counts, one family of headers a window.
fn read_unified(headers: &Headers<'_>, received_at_ms: u64, reading: &mut Reading) {
    let overall = headers.get(&format!("{UNIFIED}status")).map(str::to_ascii_lowercase);
    let rejected = overall.as_deref() == Some("rejected");
    reading.throttled |= rejected;
    for window in window_names(headers) {
        let field = |field: &str| headers.get(&format!("{UNIFIED}{window}-{field}"));
        let told = PlanWindow {
            claim: claim_of(&window),
            status: field("status").map(str::to_ascii_lowercase),
            utilization: field("utilization").and_then(parse_decimal),
            resets_at_ms: field("reset").and_then(|text| parse_instant(text, received_at_ms)),
        };
        // Beyond its window an account may still be served, from extra usage that it pays for.
        reading.limits.push(told.limit(overall.is_none() || rejected));
    }
    let claim = headers.get(&format!("{UNIFIED}representative-claim")).unwrap_or_default();
    let reset = headers.get(&format!("{UNIFIED}reset")).and_then(|text| parse_instant(text, received_at_ms));
    if (overall.is_some() || reset.is_some()) && !claim.is_empty() {
        let told = PlanWindow { claim: claim.to_owned(), status: overall, utilization: None, resets_at_ms: reset };
        reading.absorb(Reading { limits: vec![told.limit(true)], ..Reading::default() });
    } else if let (true, Some(reset)) = (rejected && reading.limits.is_empty(), reset) {
        let told = PlanWindow { resets_at_ms: Some(reset), status: overall, ..PlanWindow::default() };
        reading.limits.push(told.limit(true));
    }
}

/// Names of windows in the headers, such as `5h` and `7d-sonnet`, in their order.
fn window_names(headers: &Headers<'_>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (key, _) in headers.sorted() {
        let Some(rest) = key.strip_prefix(UNIFIED) else { continue };
        let name = ["-status", "-utilization", "-reset"].iter().find_map(|suffix| rest.strip_suffix(suffix));
        let Some(name) = name.filter(|name| name.starts_with(|c: char| c.is_ascii_digit())) else { continue };
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// The program's name of a window for the headers' name of it.
fn claim_of(window: &str) -> String {
    let (length, model) = match window.find(['-', '_']) {
        Some(at) => (&window[..at], format!("_{}", &window[at + 1..])),
        None => (window, String::new()),
    };
    match length {
        "5h" => format!("five_hour{model}"),
        "7d" => format!("seven_day{model}"),
        _ => window.to_owned(),
    }
}
