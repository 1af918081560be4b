//! When a lane that was told to wait may be tried again.

use serde::{Deserialize, Serialize};

use super::window::LONGEST_HINT_MS;
use crate::plugin::{Limit, Reading};

/// First cooldown without any hint, doubled each time.
const FIRST_COOLDOWN_MS: u64 = 60_000;
/// The same where the service was overloaded and no limit was met: that is mostly over within seconds.
const FIRST_OVERLOAD_MS: u64 = 5_000;
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
    /// Whether a plan or balance is spent until then. A run that finds it so says so and ends, instead of waiting for days.
    #[serde(default)]
    pub spent: bool,
}

/// A window that is at least this long, in seconds, is a plan's: it is not over when `retry-after` is.
const PLAN_SECONDS: u64 = 60 * 60;

/// The latest instant that any explicit hint names: `retry-after`, or the reset of a window that is spent. Beside a
/// `retry-after`, the reset of a short window counts for nothing: that of a bucket says when it is full, not when there is
/// something in it, and the window itself holds what must be held longer.
pub(super) fn hinted_end(readings: &[Reading], now_ms: u64) -> Option<u64> {
    let retry = readings.iter().filter_map(|r| r.retry_after_ms).map(|ms| now_ms.saturating_add(ms));
    let resets = readings
        .iter()
        .flat_map(|r| {
            // Where the service says neither how long to wait nor what is left, its only limit is the one that was met.
            let met = r.limits.len() == 1 && r.throttled && r.retry_after_ms.is_none();
            let told = r.retry_after_ms.is_some();
            let is_plan = |limit: &&Limit| limit.window_seconds.is_some_and(|seconds| seconds >= PLAN_SECONDS);
            r.limits.iter().filter(move |limit| (limit.remaining == Some(0) && (!told || is_plan(limit))) || met)
        })
        .filter_map(|limit| limit.resets_at_ms);
    retry.chain(resets).filter(|at| *at > now_ms).max().map(|at| at.min(now_ms.saturating_add(LONGEST_HINT_MS)))
}

/// Part of a named pause by which hosts come back one after the other, and the least and the most of it: less than about
/// the length of a request would not tell them apart.
const STAGGER_SHARE: f64 = 0.2;
const LEAST_STAGGER_MS: f64 = 1_000.0;
const LONGEST_STAGGER_MS: f64 = 10_000.0;
/// Its multiples are spread evenly over whatever is left of them beside whole numbers.
const GOLDEN: f64 = 0.618_033_988_749_894_9;

/// How much later than the service said this host comes back, so that hosts that were told the same instant do not return
/// in step. `stagger` is the host's own, from 0 to 1; 0 is a host that is alone. Its place in the room is another one each
/// time, so that two hosts that came back together once do not do so again.
pub(super) fn staggered_ms(pause_ms: u64, stagger: f64, cooldowns: u64) -> u64 {
    if pause_ms == 0 || stagger <= 0.0 {
        return 0;
    }
    let room = (pause_ms as f64 * STAGGER_SHARE).clamp(LEAST_STAGGER_MS, LONGEST_STAGGER_MS);
    let place = ((stagger * 255.0 + 1.0) * GOLDEN * (cooldowns % 1_000 + 1) as f64).fract();
    (room * place) as u64
}

/// The end of a cooldown without a hint, after so many rate outcomes in a row.
pub(super) fn guessed_end(rate_outcomes: u32, overloaded: bool, jitter: f64, now_ms: u64) -> u64 {
    let doublings = rate_outcomes.saturating_sub(1).min(8);
    let first = if overloaded { FIRST_OVERLOAD_MS } else { FIRST_COOLDOWN_MS };
    let pause = (first << doublings).min(LONGEST_COOLDOWN_MS);
    // Ten per cent either way, so that lanes and hosts do not come back in step.
    let factor = 0.9 + 0.2 * if jitter.is_nan() { 0.5 } else { jitter.clamp(0.0, 1.0) };
    now_ms.saturating_add((pause as f64 * factor) as u64)
}
