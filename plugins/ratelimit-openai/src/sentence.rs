//! Sentences in error bodies that tell a limit with its numbers.

use assize_reading::{Frame, Limit, Reading, find_wait, parse_count};

/// What the message of an error says, where it is one of the known sentences.
pub fn read_message(message: &str, frame: &Frame) -> Option<Reading> {
    read_named_limit(message, frame).or_else(|| read_team_limit(message))
}

/// `Rate limit reached for … on tokens per min (TPM): Limit 30000, Used 28039, Requested 3906.` A request that is too
/// large for the window is no refusal that waiting mends: it tells the limit and nothing else.
fn read_named_limit(message: &str, frame: &Frame) -> Option<Reading> {
    let folded = message.to_ascii_lowercase();
    let reached = folded.starts_with("rate limit reached for ");
    let too_large = folded.starts_with("request too large for ");
    if !(reached || too_large) {
        return None;
    }
    let wait = find_wait(message, frame);
    let told = folded.find(": limit ").and_then(|at| {
        let subject = &folded[..at];
        let subject = &subject[subject.rfind(" on ")? + " on ".len()..];
        let (dimension, window) = parse_subject(subject)?;
        let numbers = &folded[at + 2..];
        let size = number_after(numbers, "limit ")?;
        let remaining = number_after(numbers, "used ").map(|used| size.saturating_sub(used));
        Some(Limit { limit: Some(size), remaining, ..Limit::of(dimension, Some(window), "model") })
    });
    if too_large {
        return told.map(|limit| Reading::told(vec![limit]));
    }
    Some(Reading { limits: told.into_iter().collect(), retry_after_ms: wait, ..Reading::throttled() })
}

/// `tokens per min (tpm)`
fn parse_subject(subject: &str) -> Option<(&'static str, u64)> {
    let (unit, period) = subject.split_once(" per ")?;
    let dimension = match unit.trim() {
        "requests" => "requests",
        "tokens" => "tokens",
        "input tokens" => "input-tokens",
        "output tokens" => "output-tokens",
        _ => return None,
    };
    let period = period.split([' ', '(']).next().unwrap_or_default();
    Some((dimension, parse_period(period)?))
}

fn parse_period(word: &str) -> Option<u64> {
    match word {
        "second" | "sec" => Some(1),
        "minute" | "min" => Some(60),
        "hour" => Some(3600),
        "day" => Some(86_400),
        _ => None,
    }
}

fn number_after(text: &str, word: &str) -> Option<u64> {
    let rest = &text[text.find(word)? + word.len()..];
    parse_count(&rest[..rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())])
}

/// `Too many tokens for team … Your team's rate limit is — Tokens per Minute (actual/limit): 65605/16000.`
fn read_team_limit(message: &str) -> Option<Reading> {
    const MARK: &str = " (actual/limit): ";
    let folded = message.to_ascii_lowercase();
    if !folded.starts_with("too many ") {
        return None;
    }
    let mut limits = Vec::new();
    for (at, _) in folded.match_indices(MARK) {
        let before = folded[..at].rsplit(['.', ',', '\u{2014}', ':']).next().unwrap_or_default();
        let Some((dimension, window)) = parse_subject(before.trim()) else { continue };
        let numbers = &folded[at + MARK.len()..];
        let end = numbers.find(|c: char| !(c.is_ascii_digit() || c == '/')).unwrap_or(numbers.len());
        let Some((actual, size)) = numbers[..end].split_once('/') else { continue };
        let (Some(actual), Some(size)) = (parse_count(actual), parse_count(size)) else { continue };
        let remaining = Some(size.saturating_sub(actual));
        limits.push(Limit { limit: Some(size), remaining, ..Limit::of(dimension, Some(window), "model") });
    }
    (!limits.is_empty()).then(|| Reading { limits, ..Reading::throttled() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(message: &str) -> Option<Reading> {
        read_message(message, &Frame { received_at_ms: 0, zone: None, provider: "openai".to_owned() })
    }

    #[test]
    fn a_unit_or_period_that_is_not_known_tells_no_limit() {
        for subject in ["images per min (IPM)", "tokens per fortnight", "tokens", "per min", ""] {
            let told = told(&format!("Rate limit reached for x on {subject}: Limit 5, Used 5."));
            assert_eq!(told, Some(Reading::throttled()), "{subject}");
        }
    }

    #[test]
    fn more_than_the_limit_used_leaves_nothing() {
        let reading = told("Rate limit reached for x on requests per day (RPD): Limit 5, Used 9.");
        assert_eq!(reading.and_then(|reading| reading.limits[0].remaining), Some(0));
    }

    #[test]
    fn other_sentences_are_not_read() {
        for message in ["The rate limit reached for x", "Too many tokens", "Too many (actual/limit): 1/ü", ""] {
            assert_eq!(told(message), None, "{message}");
        }
    }
}
