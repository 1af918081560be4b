//! What a service's refusal means, and how it is told.

use crate::launch::Outcome;
use crate::text::derive_one_line;

use super::api::{Refusal, Settings};

/// Longest sentence of a service that is repeated, in characters.
const SENTENCE_CHARS: usize = 300;

/// What a status means when nothing more particular is known.
pub fn judge_status(status: u16) -> Outcome {
    match status {
        401 | 403 => Outcome::Unauthenticated,
        402 => Outcome::QuotaExhausted,
        413 => Outcome::ContextExceeded,
        429 => Outcome::RateLimited,
        408 | 409 | 425 | 500.. => Outcome::Overloaded,
        _ => Outcome::Misconfigured,
    }
}

/// The line for people.
pub(super) fn render_refusal(refusal: &Refusal, settings: &Settings) -> String {
    let said = derive_one_line(&refusal.text, SENTENCE_CHARS);
    let line = format!("{} (HTTP {}): {said}", lead(refusal.outcome, settings), refusal.status);
    line.trim_end_matches([':', ' ']).to_owned()
}

fn lead(outcome: Outcome, settings: &Settings) -> String {
    let Settings { provider, model, credential, .. } = settings;
    match outcome {
        Outcome::RateLimited => format!("a rate limit of {provider} said no"),
        Outcome::Overloaded => format!("{provider} is overloaded or broken"),
        Outcome::QuotaExhausted => format!("the plan or balance of {provider} is spent"),
        Outcome::Unauthenticated => format!("{provider} does not accept the credential; {credential}"),
        Outcome::ContextExceeded => format!("the packet does not fit {model}"),
        Outcome::Refused => format!("{provider} refused the content of this packet"),
        Outcome::Misconfigured => format!("{provider} cannot do this as configured, with the model {model}"),
        _ => format!("{provider} failed"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_a_meaning() {
        for (status, outcome) in [
            (301, Outcome::Misconfigured),
            (400, Outcome::Misconfigured),
            (401, Outcome::Unauthenticated),
            (402, Outcome::QuotaExhausted),
            (403, Outcome::Unauthenticated),
            (404, Outcome::Misconfigured),
            (408, Outcome::Overloaded),
            (413, Outcome::ContextExceeded),
            (429, Outcome::RateLimited),
            (500, Outcome::Overloaded),
            (529, Outcome::Overloaded),
        ] {
            assert_eq!(judge_status(status), outcome, "{status}");
        }
    }

    #[test]
    fn a_refusal_without_words_ends_without_a_colon() {
        let refusal =
            Refusal { status: 429, outcome: Outcome::RateLimited, text: String::new(), evidence: String::new() };
        let settings = Settings { provider: "p", ..Settings::default() };
        assert_eq!(render_refusal(&refusal, &settings), "a rate limit of p said no (HTTP 429)");
    }
}
