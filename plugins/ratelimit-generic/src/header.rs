//! Headers that several services share.

use assize_reading::{Headers, Limit, Pairs, Reading, read_code, read_counts, read_wait};

use crate::ietf::read_rate_limit;

/// What headers say by themselves.
pub fn read_headers(headers: &Pairs, received_at_ms: u64) -> Reading {
    let lookup = Headers(headers);
    let mut reading = Reading::told(read_rate_limit(&lookup));
    for limit in &mut reading.limits {
        // Until here a reset is told as milliseconds from receipt.
        limit.resets_at_ms = limit.resets_at_ms.map(|wait| received_at_ms.saturating_add(wait));
    }
    let counted = read_counts(&lookup, received_at_ms).into_iter().map(|counted| counted.limit).collect();
    reading.absorb(Reading::told(counted));
    reading.absorb(Reading::told(read_trial(&lookup)));
    reading.retry_after_ms = read_wait(&lookup, received_at_ms);
    reading
}

/// Calls of Cohere's trial keys: by the minute, and by a month whose length is not told.
fn read_trial(headers: &Headers<'_>) -> Vec<Limit> {
    let minute = Limit {
        limit: headers.count("x-trial-endpoint-call-limit"),
        remaining: headers.count("x-trial-endpoint-call-remaining"),
        ..Limit::of("requests", Some(60), "account")
    };
    let month =
        Limit { limit: headers.count("x-endpoint-monthly-call-limit"), ..Limit::of("requests", None, "account") };
    [minute, month].into_iter().filter(Limit::tells).collect()
}

/// The type of an error of Amazon's services, whose limits no header tells.
pub fn read_error_type(headers: &Pairs) -> Option<Reading> {
    let told = Headers(headers).get("x-amzn-errortype")?.split(':').next()?.trim().to_ascii_lowercase();
    read_code(&told).into_option()
}
