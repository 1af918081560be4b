//! What became of a launch, from the program's structured events. Exit codes only fill in where there is none: the program
//! ends with 0 when it gave up for want of a permission.

use assize_plugin_sdk::{Exited, Outcome, derive_one_line, derive_tail, strip_escapes};

use crate::config::{Config, Login};
use crate::refusal::Refusal;
use crate::stream::{Ending, Stream};

/// An outcome with its line for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What became of it.
    pub outcome: Outcome,
    /// One line.
    pub message: String,
    /// Whether the text of the last step is an answer.
    pub answered: bool,
}

/// Judges a launch that ran.
pub fn judge_launch(stream: &Stream, exited: &Exited, config: &Config) -> Verdict {
    match &stream.ending {
        Some(Ending::Failed(refusal)) => judge_refusal(refusal, config),
        Some(Ending::Finished(reason)) if reason != "tool-calls" => judge_reason(reason, stream),
        _ => judge_silence(stream, exited, config),
    }
}

fn judge_reason(reason: &str, stream: &Stream) -> Verdict {
    match reason {
        "content-filter" => plain(Outcome::Refused, "the service refused the content of this packet"),
        "stop" if stream.answer.is_empty() => {
            plain(Outcome::NoResults, "opencode ended its turn but its answer is empty")
        }
        "stop" => Verdict { answered: true, ..plain(Outcome::Completed, "opencode answered") },
        "length" => {
            let message = "the answer was cut at the model's output limit; the packet is too large";
            Verdict { answered: !stream.answer.is_empty(), ..plain(Outcome::ContextExceeded, message) }
        }
        // A stream that was cut ends a step too, so only a reason that says so makes an answer whole.
        _ => plain(Outcome::Crashed, "the model's answer ended without a reason, so it may be cut"),
    }
}

fn judge_refusal(refusal: &Refusal, config: &Config) -> Verdict {
    let outcome = refusal.outcome().unwrap_or(Outcome::Crashed);
    let status = refusal.status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
    let message = format!("{}{status}: {}", lead(outcome, config), derive_one_line(&refusal.said, 200));
    plain(outcome, message.trim_end_matches([':', ' ']))
}

/// No step is at its end: the program was ended, or it broke before it could say anything.
fn judge_silence(stream: &Stream, exited: &Exited, config: &Config) -> Verdict {
    if exited.interrupted {
        return plain(Outcome::Interrupted, "the run was interrupted before opencode answered");
    }
    if exited.timed_out {
        let message = format!("opencode did not answer within {} s", exited.wall_ms / 1000);
        return plain(Outcome::TimedOut, &message);
    }
    if let Some(verdict) = judge_start(stream, exited, config) {
        return verdict;
    }
    match (exited.code, exited.signal) {
        (Some(0), _) => plain(Outcome::NoResults, "opencode exited with status 0 but gave no answer"),
        (Some(code), _) => plain(Outcome::Crashed, &format!("opencode exited with status {code} and gave no answer")),
        (None, Some(signal)) => {
            plain(Outcome::Crashed, &format!("opencode was ended by signal {signal} and gave no answer"))
        }
        (None, None) => plain(Outcome::Crashed, "opencode ended without a status and gave no answer"),
    }
}

/// Errors outside of the events: they stand as plain lines on either output. Only what begins as such a message counts.
fn judge_start(stream: &Stream, exited: &Exited, config: &Config) -> Option<Verdict> {
    let stderr = strip_escapes(&derive_tail(&exited.stderr, 8 * 1024));
    let lines = stream.plain_lines.iter().map(String::as_str).chain(stderr.lines());
    lines.map(str::trim).find_map(|line| {
        let outcome = judge_line(line)?;
        Some(plain(outcome, &format!("{}: {}", lead(outcome, config), derive_one_line(line, 200))))
    })
}

fn judge_line(line: &str) -> Option<Outcome> {
    let folded = line.to_ascii_lowercase();
    let sentence = folded.strip_prefix("error: ").unwrap_or(&folded);
    // A call that the program does not take is answered by its usage alone.
    let of_call = [
        "opencode run [message..]",
        "configuration is invalid",
        "config file at",
        "model not found",
        "unknown argument",
        "unknown arguments",
        "invalid values:",
        "not enough arguments",
    ];
    if sentence.starts_with("! permission requested:") {
        Some(Outcome::NoResults)
    } else if of_call.iter().any(|words| sentence.starts_with(words)) {
        Some(Outcome::Misconfigured)
    } else {
        None
    }
}

fn lead(outcome: Outcome, config: &Config) -> String {
    match outcome {
        Outcome::RateLimited => "a rate limit said no".to_owned(),
        Outcome::Overloaded => "the service is overloaded or broken".to_owned(),
        Outcome::QuotaExhausted => "the plan or balance is spent".to_owned(),
        Outcome::Unauthenticated => mend_login(config),
        Outcome::ContextExceeded => "the packet is too large".to_owned(),
        Outcome::Misconfigured => "opencode cannot work as configured".to_owned(),
        Outcome::Refused => "the service refused the content of this packet".to_owned(),
        Outcome::Interrupted => "opencode was interrupted".to_owned(),
        Outcome::NoResults => "opencode wanted what a review does not permit".to_owned(),
        _ => "opencode failed".to_owned(),
    }
}

/// What to do when no credential is there or none is taken.
pub fn mend_login(config: &Config) -> String {
    let secret = config.secret();
    match config.login {
        Login::Key => {
            format!(
                "opencode has no valid key; set {secret}, or log in with `opencode auth login` and use login = \"user\""
            )
        }
        Login::User => {
            format!("opencode is not logged in; run `opencode auth login`, or use login = \"key\" and set {secret}")
        }
    }
}

fn plain(outcome: Outcome, message: &str) -> Verdict {
    Verdict { outcome, message: message.to_owned(), answered: false }
}
