//! When a lane that was told to wait may be tried again.

use serde::{Deserialize, Serialize};

use super::window::LONGEST_HINT_MS;
use crate::plugin::Reading;

/// First cooldown without any hint, doubled each time.
const FIRST_COOLDOWN_MS: u64 = 60_000;
/// Longest cooldown without any hint.
const LONGEST_COOLDOWN_MS: u64 = 15 * 60_000;

/// Why a lane gets nothing until an instant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cooldown {
    /// Milliseconds since the Unix epoch.
    pub until_ms: u64,
    /// One line.
    pub reason: String,
    /// Whether the service named the instant. Where it did not, one launch goes ahead of the others afterwards.
    pub hinted: bool,
}

/// The latest instant that any explicit hint names: `retry-after`, or the reset of a window that is spent.
pub(super) fn hinted_end(readings: &[Reading], now_ms: u64) -> Option<u64> {
    let retry = readings.iter().filter_map(|r| r.retry_after_ms).map(|ms| now_ms.saturating_add(ms));
    let resets = readings
        .iter()
        .flat_map(|r| {
            let only_limit = r.limits.len() == 1;
            r.limits.iter().filter(move |limit| limit.remaining == Some(0) || (only_limit && r.throttled))
        })
        .filter_map(|limit| limit.resets_at_ms);
    retry.chain(resets).filter(|at| *at > now_ms).max().map(|at| at.min(now_ms.saturating_add(LONGEST_HINT_MS)))
}

/// The end of a cooldown without a hint, after so many rate outcomes in a row.
pub(super) fn guessed_end(rate_outcomes: u32, jitter: f64, now_ms: u64) -> u64 {
    let doublings = rate_outcomes.saturating_sub(1).min(8);
    let pause = (FIRST_COOLDOWN_MS << doublings).min(LONGEST_COOLDOWN_MS);
    // Ten per cent either way, so that lanes and hosts do not come back in step.
    let factor = 0.9 + 0.2 * if jitter.is_nan() { 0.5 } else { jitter.clamp(0.0, 1.0) };
    now_ms.saturating_add((pause as f64 * factor) as u64)
}
