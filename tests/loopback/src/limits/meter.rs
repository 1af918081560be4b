//! What is left of one credential's limits.

use crate::limits::{Gauge, Refill, Rule, Told};

/// Milliseconds after which a client is told to come back when too many requests run: some of them will have ended by then.
const CONCURRENCY_RETRY_MS: u64 = 1_000;
/// Far below one token; sums of flows are not exact.
const TOLERANCE: f64 = 1e-6;

/// The state of a rule. It starts full.
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    rule: Rule,
    requests: Level,
    tokens: Level,
    running: u32,
}

/// Why a request is not let in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Too many requests in the window.
    Requests,
    /// Too many tokens in the window.
    Tokens {
        /// Tokens that the request needs.
        asked: u64,
    },
    /// Too many requests at once.
    Concurrency,
    /// The request needs more than a whole window holds.
    TooLarge {
        /// Tokens that the request needs.
        asked: u64,
    },
}

impl Meter {
    /// A meter of which nothing has been used.
    pub fn full(rule: Rule, now_ms: u64) -> Self {
        let level = |limit: u64| Level { left: limit as f64, at_ms: now_ms };
        Self { rule, requests: level(rule.requests), tokens: level(rule.tokens), running: 0 }
    }

    /// Lets a request in that needs so many tokens, or says why not; either way with what is to be told. `now_ms` never goes back; for
    /// fixed windows it counts from the epoch.
    pub fn admit(&mut self, tokens: u64, now_ms: u64) -> (Option<Cause>, Told) {
        self.flow(now_ms);
        let rule = self.rule;
        let request_wait = self.requests.wait_ms(rule.requests, 1, rule, now_ms);
        let token_wait = self.tokens.wait_ms(rule.tokens, tokens, rule, now_ms);
        let (cause, retry) = if rule.concurrency > 0 && self.running >= rule.concurrency {
            (Some(Cause::Concurrency), Some(CONCURRENCY_RETRY_MS))
        } else if rule.tokens > 0 && tokens > rule.tokens {
            (Some(Cause::TooLarge { asked: tokens }), None)
        } else if request_wait.max(token_wait) > 0 {
            let cause = if request_wait >= token_wait { Cause::Requests } else { Cause::Tokens { asked: tokens } };
            (Some(cause), Some(request_wait.max(token_wait)))
        } else {
            self.requests.left -= 1.0;
            self.tokens.left -= tokens as f64;
            self.running += 1;
            (None, None)
        };
        (cause, Told { retry_in_ms: retry, ..self.told(now_ms) })
    }

    /// A request that was let in has ended: gives back what was reserved and takes what was used instead.
    pub fn settle(&mut self, reserved: u64, used: u64, now_ms: u64) {
        self.flow(now_ms);
        self.running = self.running.saturating_sub(1);
        self.tokens.left = (self.tokens.left + reserved as f64 - used as f64).min(self.rule.tokens as f64);
    }

    fn flow(&mut self, now_ms: u64) {
        self.requests.flow(self.rule.requests, self.rule, now_ms);
        self.tokens.flow(self.rule.tokens, self.rule, now_ms);
    }

    fn told(&self, now_ms: u64) -> Told {
        let gauge = |level: Level, limit: u64| {
            (limit > 0).then(|| Gauge {
                limit,
                remaining: (level.left + TOLERANCE).floor().max(0.0) as u64,
                full_in_ms: level.wait_ms(limit, limit, self.rule, now_ms),
            })
        };
        Told {
            requests: gauge(self.requests, self.rule.requests),
            tokens: gauge(self.tokens, self.rule.tokens),
            split: false,
            retry_in_ms: None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Level {
    left: f64,
    at_ms: u64,
}

impl Level {
    fn flow(&mut self, limit: u64, rule: Rule, now_ms: u64) {
        let capacity = limit as f64;
        match rule.refill {
            Refill::Continuous => {
                let passed = now_ms.saturating_sub(self.at_ms) as f64;
                self.left = (self.left + passed * capacity / rule.window_ms as f64).min(capacity);
            }
            Refill::Fixed if now_ms / rule.window_ms > self.at_ms / rule.window_ms => self.left = capacity,
            Refill::Fixed => {}
        }
        self.at_ms = self.at_ms.max(now_ms);
    }

    /// Milliseconds until so much is there; 0 where nothing limits it.
    fn wait_ms(&self, limit: u64, needed: u64, rule: Rule, now_ms: u64) -> u64 {
        let missing = needed as f64 - self.left - TOLERANCE;
        match rule.refill {
            _ if limit == 0 || missing <= 0.0 => 0,
            Refill::Continuous => (missing * rule.window_ms as f64 / limit as f64).ceil() as u64,
            Refill::Fixed => rule.window_ms - now_ms % rule.window_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meter(word: &str) -> Meter {
        Meter::full(Rule::parse(word).unwrap(), 0)
    }

    #[test]
    fn a_bucket_lets_in_what_it_holds_and_then_what_flows_in() {
        let mut meter = meter("bucket-2-0-per-10");
        let mut admit = |now| meter.admit(1, now);
        let remaining = |told: Told| told.requests.unwrap().remaining;
        assert_eq!((remaining(admit(0).1), remaining(admit(0).1)), (1, 0));
        let (cause, told) = admit(1_000);
        assert_eq!(cause, Some(Cause::Requests));
        assert_eq!((told.retry_in_ms, told.requests.unwrap().full_in_ms), (Some(4_000), 9_000));
        assert_eq!(told.tokens, None);
        assert_eq!(admit(4_999).1.retry_in_ms, Some(1));
        assert_eq!(admit(5_000).0, None);
        assert_eq!(remaining(admit(1_000_000).1), 1);
    }

    #[test]
    fn answers_are_counted_when_they_have_been_given() {
        let mut meter = meter("bucket-0-1000-per-1");
        assert_eq!(meter.admit(600, 0).0, None);
        assert_eq!(meter.admit(600, 0), (Some(Cause::Tokens { asked: 600 }), meter.admit(600, 0).1));
        meter.settle(0, 700, 0);
        // 300 below nothing: 900 have to flow in before 600 can be had.
        assert_eq!(meter.admit(600, 0).1.retry_in_ms, Some(900));
        assert_eq!(meter.admit(600, 900).0, None);
    }

    #[test]
    fn what_was_reserved_is_given_back() {
        let mut meter = meter("bucket-0-1000-reserve-per-1");
        assert_eq!(meter.admit(1_000, 0).0, None);
        assert_eq!(meter.admit(1, 0).1.retry_in_ms, Some(1));
        meter.settle(800, 50, 0);
        assert_eq!(meter.admit(1, 0).1.tokens.unwrap().remaining, 749);
    }

    #[test]
    fn a_request_larger_than_the_window_is_never_let_in() {
        let (cause, told) = meter("bucket-0-1000").admit(1_001, 0);
        assert_eq!((cause, told.retry_in_ms), (Some(Cause::TooLarge { asked: 1_001 }), None));
    }

    #[test]
    fn fixed_windows_fill_when_the_clock_passes_them() {
        let mut meter = meter("fixed-1-0-10");
        assert_eq!(meter.admit(1, 9_990).0, None);
        let (cause, told) = meter.admit(1, 9_993);
        assert_eq!((cause, told.retry_in_ms), (Some(Cause::Requests), Some(7)));
        assert_eq!(meter.admit(1, 10_000).0, None);
        assert_eq!(meter.admit(1, 10_000).1.retry_in_ms, Some(10_000));
    }

    #[test]
    fn places_are_free_again_when_requests_end() {
        let mut meter = meter("bucket-0-0-1");
        assert_eq!(meter.admit(1, 0).0, None);
        assert_eq!(meter.admit(1, 0).0, Some(Cause::Concurrency));
        meter.settle(0, 5, 0);
        assert_eq!(meter.admit(1, 0).0, None);
    }

    #[test]
    fn the_wait_that_is_told_is_enough() {
        let mut meter = meter("bucket-7-1300-per-3.3");
        let mut now = 0;
        for step in 0..500u64 {
            let tokens = 1 + step * 37 % 900;
            if let (Some(_), told) = meter.admit(tokens, now) {
                now += told.retry_in_ms.unwrap();
                assert_eq!(meter.admit(tokens, now).0, None, "step {step}");
            }
            meter.settle(0, step % 40, now);
        }
    }
}
