//! A limit as the service enforces it, which the dispatcher cannot look into.

use super::scenario::BEGIN_MS;
use super::scenario_lane::{Refill, TrueLimit};
use crate::dispatch::{Dimension, WindowKey};
use crate::plugin::Limit;

/// What rounding may miss of a draw; a service would not refuse a request for a millionth of a token.
const ROUNDING: f64 = 1e-3;

/// A limit and what is left of it.
#[derive(Clone, Debug)]
pub(super) struct TrueWindow {
    pub(super) key: WindowKey,
    pub(super) limit: TrueLimit,
    level: f64,
    updated_ms: u64,
    /// Everything that was ever drawn, of each draw as much as the window holds: what is larger goes when it is full.
    pub(super) drawn: f64,
}

impl TrueWindow {
    pub(super) fn new(key: WindowKey, limit: TrueLimit) -> Self {
        Self { key, limit, level: limit.limit as f64, updated_ms: BEGIN_MS, drawn: 0.0 }
    }

    fn capacity(&self) -> f64 {
        self.limit.limit as f64
    }

    fn is_concurrency(&self) -> bool {
        self.limit.dimension == Dimension::Concurrency
    }

    fn level_at(&self, now_ms: u64) -> f64 {
        if self.is_concurrency() {
            return self.level;
        }
        let elapsed = now_ms.saturating_sub(self.updated_ms) as f64;
        match self.limit.refill {
            Refill::Bucket => (self.level + elapsed * self.rate()).min(self.capacity()),
            Refill::Fixed if self.period_of(now_ms) > self.period_of(self.updated_ms) => self.capacity(),
            Refill::Fixed => self.level,
        }
    }

    /// Units a millisecond.
    pub(super) fn rate(&self) -> f64 {
        self.capacity() / self.limit.period_ms.max(1) as f64
    }

    /// Which period an instant lies in; periods are counted from the beginning of the run.
    pub(super) fn period_of(&self, at_ms: u64) -> u64 {
        at_ms.saturating_sub(BEGIN_MS) / self.limit.period_ms.max(1)
    }

    fn next_period_ms(&self, now_ms: u64) -> u64 {
        BEGIN_MS + (self.period_of(now_ms) + 1) * self.limit.period_ms.max(1)
    }

    /// Whether a draw fits. What is larger than the limit goes when the window is full.
    pub(super) fn fits(&self, amount: f64, now_ms: u64) -> bool {
        self.level_at(now_ms) + ROUNDING >= amount.min(self.capacity())
    }

    pub(super) fn take(&mut self, amount: f64, now_ms: u64) {
        self.level = self.level_at(now_ms) - amount;
        self.updated_ms = now_ms;
        self.drawn += amount.min(self.capacity());
    }

    /// Gives back what a request held; only concurrency is held.
    pub(super) fn release(&mut self) {
        if self.is_concurrency() {
            self.level = (self.level + 1.0).min(self.capacity());
        }
    }

    /// Milliseconds until a draw fits.
    pub(super) fn fits_after_ms(&self, amount: f64, now_ms: u64) -> u64 {
        let missing = amount.min(self.capacity()) - self.level_at(now_ms);
        match self.limit.refill {
            _ if missing <= 0.0 => 0,
            _ if self.is_concurrency() => 1_000,
            Refill::Bucket => (missing / self.rate()).ceil() as u64,
            Refill::Fixed => self.next_period_ms(now_ms) - now_ms,
        }
    }

    /// What the service says of it. Concurrency is told by nobody.
    pub(super) fn told(&self, now_ms: u64) -> Option<Limit> {
        if self.is_concurrency() {
            return None;
        }
        let level = self.level_at(now_ms);
        let full_at = match self.limit.refill {
            Refill::Bucket => now_ms + ((self.capacity() - level) / self.rate()).ceil() as u64,
            Refill::Fixed => self.next_period_ms(now_ms),
        };
        Some(Limit {
            dimension: self.limit.dimension.as_str().to_owned(),
            window_seconds: Some(self.limit.period_ms / 1_000),
            limit: Some(self.limit.limit),
            remaining: Some(level.max(0.0) as u64),
            resets_at_ms: Some(full_at),
            scope: if self.limit.of_model { "model" } else { "account" }.to_owned(),
            extra: Vec::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(refill: Refill) -> TrueWindow {
        let limit = TrueLimit { dimension: Dimension::Requests, limit: 10, period_ms: 60_000, refill, of_model: false };
        let key = WindowKey { holder: "a".to_owned(), dimension: Dimension::Requests, period_ms: 60_000 };
        TrueWindow::new(key, limit)
    }

    #[test]
    fn a_bucket_fills_up_all_the_time() {
        let mut bucket = window(Refill::Bucket);
        bucket.take(10.0, BEGIN_MS);
        assert!(!bucket.fits(1.0, BEGIN_MS + 5_900) && bucket.fits(1.0, BEGIN_MS + 6_000));
        assert_eq!(bucket.fits_after_ms(2.0, BEGIN_MS), 12_000);
    }

    #[test]
    fn a_fixed_window_fills_up_when_its_period_ends() {
        let mut fixed = window(Refill::Fixed);
        fixed.take(10.0, BEGIN_MS + 30_000);
        assert!(!fixed.fits(1.0, BEGIN_MS + 59_999) && fixed.fits(10.0, BEGIN_MS + 60_000));
        assert_eq!(fixed.told(BEGIN_MS + 40_000).unwrap().resets_at_ms, Some(BEGIN_MS + 60_000));
    }
}
