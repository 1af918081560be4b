//! Headers of a response, found by their names in any case, and the wait that they ask for.

use crate::instant::parse_retry_after;
use crate::number::{parse_count, parse_decimal, whole};

/// Headers as names and values.
pub type Pairs = [(String, String)];

/// Headers, found by their name in any case; of several with one name the first counts.
#[derive(Clone, Copy, Debug)]
pub struct Headers<'a>(pub &'a Pairs);

impl<'a> Headers<'a> {
    /// The value of a header.
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(key, _)| key.trim().eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// A header that is a count.
    pub fn count(&self, name: &str) -> Option<u64> {
        parse_count(self.get(name)?)
    }

    /// Names in lower case and values, in the order of the names, so that no reading depends on the order received.
    pub fn sorted(&self) -> Vec<(String, &'a str)> {
        let mut all: Vec<_> =
            self.0.iter().map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim())).collect();
        all.sort_by(|a, b| a.0.cmp(&b.0));
        all.dedup_by(|later, earlier| later.0 == earlier.0);
        all
    }
}

/// The wait that `retry-after-ms` or `retry-after` asks for, in milliseconds. A zero in the finer of the two beside a
/// value in the other is a rounding and not an answer.
pub fn read_wait(headers: &Headers<'_>, received_at_ms: u64) -> Option<u64> {
    let exact = headers.get("retry-after-ms").and_then(parse_decimal).and_then(whole);
    let coarse = || headers.get("retry-after").and_then(|text| parse_retry_after(text, received_at_ms));
    match exact {
        Some(0) | None => coarse().or(exact),
        exact => exact,
    }
}
