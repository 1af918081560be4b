//! The predecessor's schedule over the same requests: waves that end with their last launch, sized by the rules of its
//! `scheduleWave`, and what it learned from them. Where it would stop and wait for a person, it is started again at once and
//! for free.

use crate::dispatch::args::{Limits, WINDOW_MS};
use crate::dispatch::bound::Work;

/// Launches of a first wave of a hosted agent of which nothing is known.
const FIRST_WAVE: usize = 8;
/// Part of a limit that it uses.
const MARGIN: f64 = 0.8;
/// Widest wave that it learns.
const WIDEST: usize = 32;
/// Buckets beyond its width that a failed wave speaks against.
const FAILURE_SPREAD: usize = 4;
/// First cooldown, doubled each time up to the longest; and the longest sleep before a launch goes ahead all the same.
const COOLDOWN_MS: f64 = 60_000.0;
const LONGEST_COOLDOWN_MS: f64 = 900_000.0;
const LONGEST_SLEEP_MS: f64 = 120_000.0;

/// How it went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Waves {
    /// Milliseconds.
    pub makespan_ms: f64,
    /// Waves.
    pub waves: usize,
    /// Requests that the service refused.
    pub refused: usize,
    /// Of them, those in the first window.
    pub refused_at_first: usize,
}

/// Plays the schedule. `told` are limits that a person configured; nothing tells it otherwise.
pub fn play_waves(work: &[Work], service: Limits, told: Option<Limits>, requested: usize) -> Waves {
    let mut left: Vec<Work> = work.to_vec();
    left.reverse();
    let (mut meter, mut learned, mut played) = (Meter::full(service), Learned::default(), Waves::default());
    let mut now_ms = 0.0;
    while !left.is_empty() {
        let mut size = wave_size(&left, told, requested, &learned);
        if learned.cooldown_until_ms > now_ms {
            size = 1;
            now_ms += (learned.cooldown_until_ms - now_ms).min(LONGEST_SLEEP_MS);
        }
        let wave = left.split_off(left.len().saturating_sub(size));
        let (mut end_ms, mut again) = (now_ms, Vec::new());
        let mut ends = Vec::new();
        for one in wave.iter().rev() {
            if meter.admit(one.input, now_ms) {
                ends.push((now_ms + one.latency_ms as f64, one.output));
            } else {
                again.push(*one);
            }
        }
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (at_ms, output) in ends {
            meter.settle(output, at_ms);
            end_ms = end_ms.max(at_ms);
        }
        played.waves += 1;
        played.refused += again.len();
        played.refused_at_first += if now_ms < WINDOW_MS { again.len() } else { 0 };
        learned.record(wave.len(), again.is_empty(), end_ms);
        left.extend(again.into_iter().rev());
        now_ms = end_ms;
    }
    Waves { makespan_ms: now_ms, ..played }
}

fn wave_size(left: &[Work], told: Option<Limits>, requested: usize, learned: &Learned) -> usize {
    let mut size = requested.min(left.len());
    if let Some(limits) = told {
        size = size.min(((limits.requests as f64 * MARGIN) as usize).max(1));
        // It fears the largest prompts of those that it looks at, and knows of no answers.
        let mut prompts: Vec<u64> = left.iter().rev().take(requested).map(|one| one.input).collect();
        prompts.sort_unstable_by(|a, b| b.cmp(a));
        let fits = |size: usize| prompts.iter().take(size).sum::<u64>() as f64 <= limits.tokens as f64 * MARGIN;
        while size > 1 && !fits(size) {
            size -= 1;
        }
    }
    size.min(learned.width().unwrap_or(FIRST_WAVE)).max(1)
}

/// What it remembers of widths. A run is far shorter than the half-life of this memory.
#[derive(Clone, Debug, Default)]
struct Learned {
    /// Weights of successes and failures by width, from 1.
    buckets: Vec<(f64, f64)>,
    refusals_in_a_row: u32,
    cooldown_until_ms: f64,
}

impl Learned {
    /// The width that it thinks safe, and one more when that has held twice.
    fn width(&self) -> Option<usize> {
        if self.buckets.is_empty() {
            return None;
        }
        let is_safe = |bucket: &&(f64, f64)| bucket.0 >= 0.5 && bucket.0 > bucket.1;
        let safe = self.buckets.iter().take(WIDEST).take_while(is_safe).count().max(1);
        let (successes, failures) = self.buckets[safe - 1];
        Some(if successes >= 2.0 && failures == 0.0 { safe + 1 } else { safe })
    }

    fn record(&mut self, width: usize, good: bool, now_ms: f64) {
        self.buckets.resize(self.buckets.len().max(width + FAILURE_SPREAD), (0.0, 0.0));
        if good {
            self.buckets[..width].iter_mut().for_each(|bucket| bucket.0 += 1.0);
            self.refusals_in_a_row = 0;
            return;
        }
        self.refusals_in_a_row += 1;
        let before = f64::from(self.refusals_in_a_row - 1);
        self.buckets[width - 1..width + FAILURE_SPREAD].iter_mut().for_each(|bucket| bucket.1 += 1.0 + 0.5 * before);
        self.cooldown_until_ms = now_ms + (COOLDOWN_MS * before.exp2()).min(LONGEST_COOLDOWN_MS);
    }
}

/// The service's buckets.
struct Meter {
    limits: Limits,
    requests: f64,
    tokens: f64,
    at_ms: f64,
}

impl Meter {
    fn full(limits: Limits) -> Self {
        Self { limits, requests: limits.requests as f64, tokens: limits.tokens as f64, at_ms: 0.0 }
    }

    fn flow(&mut self, now_ms: f64) {
        let share = (now_ms - self.at_ms).max(0.0) / WINDOW_MS;
        let full = |limit: u64| limit as f64;
        self.requests = (self.requests + share * full(self.limits.requests)).min(full(self.limits.requests));
        self.tokens = (self.tokens + share * full(self.limits.tokens)).min(full(self.limits.tokens));
        self.at_ms = self.at_ms.max(now_ms);
    }

    fn admit(&mut self, tokens: u64, now_ms: f64) -> bool {
        self.flow(now_ms);
        let fits = self.requests >= 1.0 && self.tokens >= tokens as f64;
        if fits {
            self.requests -= 1.0;
            self.tokens -= tokens as f64;
        }
        fits
    }

    fn settle(&mut self, output: u64, now_ms: f64) {
        self.flow(now_ms);
        self.tokens -= output as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENDLESS: Limits = Limits { requests: 1_000_000, tokens: 1_000_000_000 };

    fn work(latencies: &[u64]) -> Vec<Work> {
        latencies.iter().map(|latency_ms| Work { input: 100, output: 10, latency_ms: *latency_ms }).collect()
    }

    #[test]
    fn a_wave_lasts_as_long_as_its_slowest_launch() {
        let played = play_waves(&work(&[10, 10, 10, 500, 10, 10]), ENDLESS, None, 3);
        assert_eq!((played.makespan_ms, played.waves, played.refused), (510.0, 2, 0));
    }

    #[test]
    fn a_width_that_held_twice_grows_by_one() {
        // Eight, eight again, then nine.
        assert_eq!(play_waves(&work(&[10; 25]), ENDLESS, None, 32).waves, 3);
        assert_eq!(play_waves(&work(&[10; 26]), ENDLESS, None, 32).waves, 4);
    }

    #[test]
    fn a_refusal_is_slept_out_and_one_goes_ahead() {
        let played = play_waves(&work(&[10; 4]), Limits { requests: 3, ..ENDLESS }, None, 4);
        assert_eq!((played.refused, played.refused_at_first, played.waves), (1, 1, 2));
        assert_eq!(played.makespan_ms, 60_020.0);
    }

    #[test]
    fn limits_that_it_was_told_bound_the_wave_and_not_the_rate() {
        let limits = Limits { requests: 5, tokens: 1_000_000 };
        let played = play_waves(&work(&[10; 8]), limits, Some(limits), 8);
        assert!(played.refused > 0, "{played:?}");
    }
}
