//! How much of what was read is right, and how much of what is right was read.

use std::collections::BTreeMap;

use assize_reading::{Evidence, Limit, Reading};

use crate::cases::Case;

/// Counts of one field over all cases.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Score {
    /// Values that should be read.
    pub right: usize,
    /// Values that were read.
    pub read: usize,
    /// Values that were read and are right.
    pub both: usize,
}

impl Score {
    /// Share of what was read that is right.
    pub fn precision(&self) -> f64 {
        share(self.both, self.read)
    }

    /// Share of what is right that was read.
    pub fn recall(&self) -> f64 {
        share(self.both, self.right)
    }
}

fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part as f64 / whole as f64 }
}

/// Scores of `throttled`, of the wait, of the cause and of each field of the windows.
pub fn score(cases: &[Case], read: impl Fn(&Evidence) -> Option<Reading>) -> BTreeMap<&'static str, Score> {
    let mut scores: BTreeMap<&'static str, Score> = BTreeMap::new();
    for case in cases {
        let right = facts(case.reading.clone().unwrap_or_default());
        let mut came = facts(read(&case.evidence).unwrap_or_default());
        for (field, _) in &came {
            scores.entry(field).or_default().read += 1;
        }
        for fact in right {
            let score = scores.entry(fact.0).or_default();
            score.right += 1;
            if let Some(at) = came.iter().position(|other| *other == fact) {
                came.swap_remove(at);
                score.both += 1;
            }
        }
    }
    scores
}

/// Everything that a reading says, one fact at a time. A field of a window counts with what the window is.
fn facts(reading: Reading) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if reading.throttled {
        facts.push(("throttled", String::new()));
    }
    facts.extend(reading.retry_after_ms.map(|wait| ("retry_after_ms", wait.to_string())));
    facts.extend(reading.cause().map(|cause| ("cause", cause.word().to_owned())));
    for limit in reading.limits {
        let Limit { dimension, window_seconds, limit: size, remaining, resets_at_ms, scope, extra } = limit;
        let of = format!("{dimension} {window_seconds:?} {scope}");
        facts.push(("window", of.clone()));
        let numbers = [("limit", size), ("remaining", remaining), ("resets_at_ms", resets_at_ms)];
        facts.extend(numbers.into_iter().filter_map(|(field, value)| Some((field, format!("{of} {}", value?)))));
        facts.extend(window_seconds.map(|seconds| ("window_seconds", format!("{dimension} {seconds}"))));
        facts.extend(extra.into_iter().map(|(name, value)| ("extra", format!("{of} {name} {value}"))));
    }
    facts
}
