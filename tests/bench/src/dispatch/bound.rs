//! What no dispatcher can be faster than.

use crate::dispatch::args::{Limits, WINDOW_MS};

/// One request that was answered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Tokens in.
    pub input: u64,
    /// Tokens out.
    pub output: u64,
    /// Milliseconds to its answer.
    pub latency_ms: u64,
}

/// The bound, and what makes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// Milliseconds.
    pub ms: f64,
    /// What binds.
    pub by: &'static str,
}

/// The largest of what each window needs, a full one being there at the start, and what so many launches at once need.
pub fn bound_of(work: &[Work], limits: Limits, width: usize) -> Bound {
    let window = |drawn: f64, limit: u64| (drawn / limit as f64 - 1.0).max(0.0) * WINDOW_MS;
    let sum = |part: fn(&Work) -> u64| work.iter().map(part).sum::<u64>() as f64;
    let all = [
        Bound { ms: window(work.len() as f64, limits.requests), by: "requests" },
        Bound { ms: window(sum(|one| one.input + one.output), limits.tokens), by: "tokens" },
        Bound { ms: sum(|one| one.latency_ms) / width as f64, by: "width" },
    ];
    all.into_iter().max_by(|a, b| a.ms.total_cmp(&b.ms)).unwrap_or(Bound { ms: 0.0, by: "nothing" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_what_takes_longest_with_a_full_window_at_the_start() {
        let work = vec![Work { input: 90, output: 10, latency_ms: 1_000 }; 100];
        let of = |requests, tokens, width| bound_of(&work, Limits { requests, tokens }, width);
        assert_eq!(of(50, 10_000, 100), Bound { ms: 60_000.0, by: "requests" });
        assert_eq!(of(200, 4_000, 100), Bound { ms: 90_000.0, by: "tokens" });
        assert_eq!(of(200, 20_000, 2), Bound { ms: 50_000.0, by: "width" });
    }
}
