//! Rules of a limit, as a scenario names them.

/// A limit for each credential.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Requests in a window; 0 for no such limit.
    pub requests: u64,
    /// Tokens in a window; 0 for no such limit.
    pub tokens: u64,
    /// Requests at once; 0 for no such limit.
    pub concurrency: u32,
    /// Whether the most tokens that an answer may have are counted when it is asked for.
    pub reserve: bool,
    /// Milliseconds of a window.
    pub window_ms: u64,
    /// How the window fills again.
    pub refill: Refill,
}

/// How a window fills again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refill {
    /// All the time, up to a full window.
    Continuous,
    /// At once, when the clock passes a multiple of the window.
    Fixed,
}

impl Rule {
    const MINUTE: Self =
        Self { requests: 0, tokens: 0, concurrency: 0, reserve: false, window_ms: 60_000, refill: Refill::Continuous };

    /// Reads `bucket…` and `fixed…`; none for a word that is neither.
    pub fn parse(word: &str) -> Option<Self> {
        if word == "bucket" {
            return Some(Self { requests: 5, window_ms: 10_000, ..Self::MINUTE });
        }
        let (kind, numbers) = word.split_once('-')?;
        let (mut rest, mut rule) = (numbers, Self::MINUTE);
        match kind {
            "bucket" => {
                if let Some((before, seconds)) = rest.split_once("-per-") {
                    rule.window_ms = parse_seconds(seconds)?;
                    rest = before;
                }
                if let Some(before) = rest.strip_suffix("-reserve") {
                    rule.reserve = true;
                    rest = before;
                }
            }
            "fixed" => rule.refill = Refill::Fixed,
            _ => return None,
        }
        let numbers: Vec<&str> = rest.split('-').collect();
        let (requests, tokens) = (numbers.first()?.parse().ok()?, numbers.get(1)?.parse().ok()?);
        match (rule.refill, numbers.get(2..)?) {
            (_, []) => {}
            (Refill::Continuous, [concurrency]) => rule.concurrency = concurrency.parse().ok()?,
            (Refill::Fixed, [seconds]) => rule.window_ms = parse_seconds(seconds)?,
            _ => return None,
        }
        Some(Self { requests, tokens, ..rule })
    }
}

/// Milliseconds of a decimal number of seconds; none for what is not positive or longer than a day.
pub fn parse_seconds(text: &str) -> Option<u64> {
    let seconds: f64 = text.parse().ok()?;
    (seconds > 0.0 && seconds <= 86_400.0).then(|| (seconds * 1_000.0).ceil() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_rule_is_read() {
        let all = Rule::parse("bucket-60-40000-8-reserve-per-1.5").unwrap();
        assert_eq!(
            (all.requests, all.tokens, all.concurrency, all.reserve, all.window_ms),
            (60, 40_000, 8, true, 1_500)
        );
        let plain = Rule::parse("bucket-60-0").unwrap();
        assert_eq!((plain.requests, plain.tokens, plain.window_ms, plain.reserve), (60, 0, 60_000, false));
        let fixed = Rule::parse("fixed-10-0-0.25").unwrap();
        assert_eq!((fixed.requests, fixed.window_ms, fixed.refill), (10, 250, Refill::Fixed));
        assert_eq!(Rule::parse("fixed-10-5000").unwrap().window_ms, 60_000);
    }

    #[test]
    fn what_is_no_rule_is_none() {
        for word in
            ["bucket-", "bucket-5", "bucket-a-b", "bucket-1-2-3-4", "bucket-1-2-per-0", "fixed-1-2-NaN", "storm-1", "x"]
        {
            assert_eq!(Rule::parse(word), None, "{word}");
        }
    }
}
