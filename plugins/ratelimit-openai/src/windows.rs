//! The windows of counts in headers. The names do not tell them, so they follow from the service, or from what is used
//! and how long it takes to fill again.

use assize_reading::{Counted, Frame, Headers, Limit, read_counts};

const MINUTE: u64 = 60;
const DAY: u64 = 86_400;

/// Limits in headers, with their windows where these are known.
pub fn read_counted(headers: &Headers<'_>, frame: &Frame) -> Vec<Limit> {
    let groq = frame.provider == "groq" || headers.get("x-groq-region").is_some();
    let provider = if groq { "groq" } else { frame.provider.as_str() };
    read_counts(headers, frame.received_at_ms)
        .into_iter()
        .map(|counted| {
            let window = counted.limit.window_seconds.or_else(|| told_by_refill(provider, &counted));
            let usual = usual_window(provider, &counted.limit)
                .filter(|seconds| counted.resets_in_ms.is_none_or(|wait| wait <= seconds.saturating_mul(1000)));
            let limited = counted.limit;
            Limit { window_seconds: window.or(usual), ..limited }
        })
        .collect()
}

/// The window that a service counts in when nothing says otherwise.
fn usual_window(provider: &str, limit: &Limit) -> Option<u64> {
    match (provider, limit.dimension.as_str()) {
        _ if limit.scope == "account" => None,
        ("groq", "requests") => Some(DAY),
        ("openai" | "codex" | "azure" | "azure-openai", "requests" | "tokens") => Some(MINUTE),
        ("groq" | "xai", "tokens") => Some(MINUTE),
        _ => None,
    }
}

/// Buckets of these services fill evenly: what is used takes its share of the window to fill again.
fn told_by_refill(provider: &str, counted: &Counted) -> Option<u64> {
    if !matches!(provider, "openai" | "codex" | "groq") {
        return None;
    }
    let (size, left) = (counted.limit.limit?, counted.limit.remaining?);
    let used = size.checked_sub(left).filter(|used| *used > 0)?;
    let wait = counted.resets_in_ms.filter(|wait| *wait > 0)?;
    let window_ms = u128::from(wait) * u128::from(size) / u128::from(used);
    // A fifth for the rounding of short waits: the candidates are far apart.
    [MINUTE, DAY].into_iter().find(|seconds| {
        let exact = u128::from(*seconds) * 1000;
        window_ms * 5 >= exact * 4 && window_ms * 5 <= exact * 6
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(provider: &str, size: &str, left: &str, reset: &str) -> Option<u64> {
        let headers: Vec<(String, String)> = [("limit", size), ("remaining", left), ("reset", reset)]
            .into_iter()
            .map(|(field, value)| (format!("x-ratelimit-{field}-requests"), value.to_owned()))
            .collect();
        let frame = Frame { received_at_ms: 0, zone: None, provider: provider.to_owned() };
        read_counted(&Headers(&headers), &frame).first().and_then(|limit| limit.window_seconds)
    }

    #[test]
    fn the_refill_of_an_even_bucket_tells_its_window() {
        assert_eq!(window("openai", "200", "199", "7m12s"), Some(DAY));
        assert_eq!(window("openai", "10000", "9999", "6ms"), Some(MINUTE));
        assert_eq!(window("groq", "14400", "14370", "2m59.56s"), Some(DAY));
    }

    #[test]
    fn a_reset_that_fits_no_window_leaves_it_unknown() {
        assert_eq!(window("openai", "60", "0", "6m0s"), None);
        assert_eq!(window("mistral", "60", "59", "1s"), None);
    }

    #[test]
    fn numbers_without_measure_do_not_overflow() {
        let huge = "99999999999999999999999";
        assert_eq!(window("openai", huge, "0", "59999h"), None);
        assert_eq!(window("openai", huge, huge, huge), Some(MINUTE));
        assert_eq!(window("openai", "0", "5", "1s"), Some(MINUTE));
    }
}
