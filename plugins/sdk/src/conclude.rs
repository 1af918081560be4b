//! Ends that mean the same in every provider that starts a program.

use crate::describe::PluginError;
use crate::event::{Event, Failure};
use crate::launch::{Conclusion, Outcome};
use crate::text::derive_one_line;

/// Longest message that is passed on from a failure, in characters.
const MESSAGE_CHARS: usize = 500;

/// The conclusion of a launch whose program could not be run.
///
/// What a person must mend (a missing grant, a missing program) is `misconfigured`, so that it costs no attempt and
/// leaves no mark on the lane's limits.
pub fn conclude_failure(failure: &Failure) -> Conclusion {
    let outcome = match failure.kind.as_str() {
        "denied" | "unsupported" | "not-found" | "spawn" | "invalid" => Outcome::Misconfigured,
        "timeout" => Outcome::TimedOut,
        "interrupted" => Outcome::Interrupted,
        _ => Outcome::Crashed,
    };
    let said = derive_one_line(&failure.message, MESSAGE_CHARS);
    let message = if said.is_empty() { format!("the effect failed: {}", failure.kind) } else { said };
    Conclusion::new(outcome, message)
}

/// The conclusion of a launch whose secret is not set: the plugin's mend, and behind it where the host looked.
pub fn conclude_missing_secret(failure: &Failure, mend: &str) -> Conclusion {
    let said = derive_one_line(&failure.message, MESSAGE_CHARS);
    let message = if said.is_empty() { mend.to_owned() } else { format!("{mend} ({said})") };
    Conclusion::new(Outcome::Unauthenticated, message)
}

/// The error for an event that does not answer the effect before.
pub fn unexpected_event(event: Option<&Event>, expected: &str) -> PluginError {
    let came = event.map_or("no event", Event::word);
    PluginError::MalformedInput(format!("{came} came where {expected} was expected"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(kind: &str, message: &str) -> Failure {
        Failure { kind: kind.to_owned(), message: message.to_owned(), extra: Vec::new() }
    }

    #[test]
    fn what_a_person_must_mend_is_misconfigured_and_keeps_the_host_s_words() {
        for kind in ["denied", "not-found", "spawn"] {
            let conclusion = conclude_failure(&failure(kind, "allow it with --grant"));
            assert_eq!(conclusion.outcome, Outcome::Misconfigured);
            assert_eq!(conclusion.message, "allow it with --grant");
        }
    }

    #[test]
    fn an_unknown_kind_is_a_crash_with_a_message() {
        let conclusion = conclude_failure(&failure("sunspots", ""));
        assert_eq!(conclusion.outcome, Outcome::Crashed);
        assert!(conclusion.message.contains("sunspots"));
    }
}
