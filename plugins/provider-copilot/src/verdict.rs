//! What became of a launch, from the program's own events. It exits with 0 when a signal ends it, so that its exit code
//! says little.

use assize_plugin_sdk::{Exited, Outcome, derive_one_line, derive_tail, strip_escapes};

use crate::config::{Config, Login};
use crate::signs::judge_signs;
use crate::stream::{Refusal, Stream};

/// Longest sentence of the program in a message, in characters.
const SAID_CHARS: usize = 200;

/// An outcome with its line for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What became of it.
    pub outcome: Outcome,
    /// One line.
    pub message: String,
    /// Refusals of the service with their status, for the rate-limit plugin.
    pub evidence: Vec<(Option<u16>, String)>,
    /// Whether the last message is an answer.
    pub answered: bool,
}

/// Judges a launch that ran.
pub fn judge_launch(config: &Config, stream: &Stream, exited: &Exited) -> Verdict {
    if let Some(error) = &stream.error {
        return judge_error(config, error, stream, exited);
    }
    match stream.exit_code {
        Some(0) if !stream.aborted && stream.answer.trim().is_empty() => {
            plain(Outcome::NoResults, "copilot ended well but its answer is empty")
        }
        Some(0) if !stream.aborted => Verdict { answered: true, ..plain(Outcome::Completed, "copilot answered") },
        _ => judge_silence(config, stream, exited),
    }
}

fn judge_error(config: &Config, error: &Refusal, stream: &Stream, exited: &Exited) -> Verdict {
    // The request's own failure tells the status and the service's words, which the session's error mostly leaves out.
    let failure = stream.failure.clone().unwrap_or_default();
    let whole = Refusal { status: error.status.or(failure.status), ..error.clone() };
    let outcome = judge_signs(&whole)
        .or_else(|| judge_signs(&failure))
        .unwrap_or_else(|| stopped(exited).unwrap_or(Outcome::Crashed));
    let mut verdict = refused(config, outcome, &whole);
    if !failure.said.is_empty() {
        verdict.evidence.push((failure.status, without_addresses(&failure.said)));
    }
    verdict
}

/// No success and no error of the session: it was ended, or it broke before it could say anything.
fn judge_silence(config: &Config, stream: &Stream, exited: &Exited) -> Verdict {
    if exited.interrupted {
        return plain(Outcome::Interrupted, "the run was interrupted before copilot answered");
    }
    if exited.timed_out {
        return judge_time(config, stream, exited.wall_ms / 1000);
    }
    if stream.aborted {
        return plain(Outcome::Interrupted, "copilot was told to stop before it answered");
    }
    let stderr = strip_escapes(&derive_tail(&exited.stderr, 16 * 1024));
    if let Some(verdict) = stderr.lines().find_map(|line| judge_start_line(config, line.trim())) {
        return verdict;
    }
    if let Some(failure) = &stream.failure
        && let Some(outcome) = judge_signs(failure)
    {
        return refused(config, outcome, failure);
    }
    let (outcome, how) = match (exited.code, exited.signal) {
        (Some(0), _) => (Outcome::NoResults, "exited with status 0 but".to_owned()),
        (Some(code), _) => (Outcome::Crashed, format!("exited with status {code} and")),
        (None, Some(signal)) => (Outcome::Crashed, format!("was ended by signal {signal} and")),
        (None, None) => (Outcome::Crashed, "ended without a status and".to_owned()),
    };
    plain(outcome, &format!("copilot {how} gave no result"))
}

/// The time is over. When it went by in retries, which the program cannot be kept from, what the service said is what
/// became of the launch.
fn judge_time(config: &Config, stream: &Stream, seconds: u64) -> Verdict {
    let retried = stream.failure.as_ref().and_then(|failure| Some((judge_signs(failure)?, failure)));
    match retried {
        Some((outcome, failure)) => refused(config, outcome, failure),
        None => plain(Outcome::TimedOut, &format!("copilot did not answer within {seconds} s")),
    }
}

fn stopped(exited: &Exited) -> Option<Outcome> {
    match exited {
        Exited { interrupted: true, .. } => Some(Outcome::Interrupted),
        Exited { timed_out: true, .. } => Some(Outcome::TimedOut),
        _ => None,
    }
}

/// Errors of the start, which stand as plain lines because no event has begun.
fn judge_start_line(config: &Config, line: &str) -> Option<Verdict> {
    let starts = |phrases: &[&str]| phrases.iter().any(|phrase| line.starts_with(phrase));
    let outcome =
        if starts(&["Error: No authentication information found", "Error: Authentication token validation failed"]) {
            Outcome::Unauthenticated
        } else if starts(&[
            "error: unexpected argument",
            "error: unknown option",
            "error: invalid value",
            "error: option ",
        ]) {
            Outcome::Misconfigured
        } else if starts(&[
            "Request exceeds the model's prompt budget",
            "Error: Request exceeds the model's prompt budget",
        ]) {
            Outcome::ContextExceeded
        } else {
            return None;
        };
    Some(plain(outcome, &format!("{}: {}", lead(config, outcome), derive_one_line(line, SAID_CHARS))))
}

fn refused(config: &Config, outcome: Outcome, refusal: &Refusal) -> Verdict {
    let number = refusal.status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
    let said = without_addresses(&refusal.said);
    let message = format!("{}{number}: {}", lead(config, outcome), derive_one_line(&said, SAID_CHARS));
    let evidence = if said.is_empty() && refusal.status.is_none() { Vec::new() } else { vec![(refusal.status, said)] };
    Verdict { outcome, message: message.trim_end_matches([':', ' ']).to_owned(), evidence, answered: false }
}

/// A sentence without addresses: the gateway's holds the launch's token.
fn without_addresses(said: &str) -> String {
    let is_address = |word: &str| word.contains("http://") || word.contains("https://");
    said.split(' ').map(|word| if is_address(word) { "…" } else { word }).collect::<Vec<_>>().join(" ")
}

fn lead(config: &Config, outcome: Outcome) -> String {
    let words = match outcome {
        Outcome::RateLimited => "a rate limit said no",
        Outcome::Overloaded => "the service is overloaded or broken",
        Outcome::QuotaExhausted => "the plan or balance is spent",
        Outcome::Unauthenticated if config.login == Login::User => {
            "copilot is not logged in; run `copilot login` or set COPILOT_GITHUB_TOKEN"
        }
        Outcome::Unauthenticated => {
            return format!("copilot has no good key; set {}, or log in and use login = \"user\"", config.secret());
        }
        Outcome::Refused => "the service refused the content of this packet",
        Outcome::ContextExceeded => "the packet is too large",
        Outcome::Misconfigured => "copilot cannot work as configured",
        Outcome::Interrupted => "copilot was interrupted",
        Outcome::TimedOut => "copilot did not answer in time",
        _ => "copilot failed",
    };
    words.to_owned()
}

fn plain(outcome: Outcome, message: &str) -> Verdict {
    Verdict { outcome, message: message.to_owned(), evidence: Vec::new(), answered: false }
}
