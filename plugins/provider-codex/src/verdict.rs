//! What became of a launch, from the program's structured events. Exit codes only fill in where there is none.

use assize_plugin_sdk::{Exited, Outcome, derive_one_line, derive_tail, strip_escapes};

use crate::config::{Config, Login};
use crate::refusal::{Refusal, read_refusal};
use crate::stream::{Ending, Stream};

/// An outcome with its line for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What became of it.
    pub outcome: Outcome,
    /// One line.
    pub message: String,
    /// HTTP status of the refusal.
    pub status: Option<u16>,
    /// What the refusal said, for the rate-limit plugin; empty where there is none.
    pub error_text: String,
    /// Whether the model's last message is an answer.
    pub answered: bool,
}

/// Judges a launch that ran.
pub fn judge_launch(stream: &Stream, exited: &Exited, config: &Config) -> Verdict {
    match &stream.ending {
        Some(Ending::Completed) if stream.answer.is_empty() => {
            plain(Outcome::NoResults, "codex ended its turn but its answer is empty")
        }
        Some(Ending::Completed) => Verdict { answered: true, ..plain(Outcome::Completed, "codex answered") },
        Some(Ending::Failed(sentence)) if sentence.trim().is_empty() => {
            let earlier = stream.error.as_deref().unwrap_or_default();
            judge_refusal(&read_refusal(earlier), config)
        }
        Some(Ending::Failed(sentence)) => judge_refusal(&read_refusal(sentence), config),
        None => judge_silence(stream, exited, config),
    }
}

fn judge_refusal(refusal: &Refusal, config: &Config) -> Verdict {
    let outcome = refusal.outcome().unwrap_or(Outcome::Crashed);
    let status = refusal.status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
    let message = format!("{}{status}: {}", lead(outcome, config), derive_one_line(&refusal.said, 200));
    Verdict {
        outcome,
        message: message.trim_end_matches([':', ' ']).to_owned(),
        status: refusal.status,
        error_text: refusal.evidence.clone(),
        answered: false,
    }
}

/// No turn ended: the program was ended, or it broke before it could say anything.
fn judge_silence(stream: &Stream, exited: &Exited, config: &Config) -> Verdict {
    if exited.interrupted {
        return plain(Outcome::Interrupted, "the run was interrupted before codex answered");
    }
    if exited.timed_out {
        return judge_timeout(stream, exited);
    }
    if let Some(error) = &stream.error {
        return judge_refusal(&read_refusal(error), config);
    }
    if let Some(verdict) = judge_start(stream, &exited.stderr, config) {
        return verdict;
    }
    match (exited.code, exited.signal) {
        (Some(0), _) => plain(Outcome::NoResults, "codex exited with status 0 but ended no turn"),
        (Some(code), _) => plain(Outcome::Crashed, &format!("codex exited with status {code} and ended no turn")),
        (None, Some(signal)) => {
            plain(Outcome::Crashed, &format!("codex was ended by signal {signal} and ended no turn"))
        }
        (None, None) => plain(Outcome::Crashed, "codex ended without a status and ended no turn"),
    }
}

/// The reason of the last retry is what the time was lost to, so it goes along as evidence.
fn judge_timeout(stream: &Stream, exited: &Exited) -> Verdict {
    let verdict = plain(Outcome::TimedOut, &format!("codex did not answer within {} s", exited.wall_ms / 1000));
    let reason = stream.retry.as_deref().and_then(|retry| retry.split_once('('));
    match reason.map(|(_, reason)| read_refusal(reason.strip_suffix(')').unwrap_or(reason))) {
        Some(refusal) if refusal.outcome().is_some() => {
            Verdict { status: refusal.status, error_text: refusal.evidence, ..verdict }
        }
        _ => verdict,
    }
}

/// Errors of the start: they stand as plain lines on either output, because no event stream has begun.
fn judge_start(stream: &Stream, stderr: &[u8], config: &Config) -> Option<Verdict> {
    let stderr = strip_escapes(&derive_tail(stderr, 8 * 1024));
    let lines = stream.plain_lines.iter().map(String::as_str).chain(stderr.lines());
    lines.map(str::trim).find_map(|line| {
        let outcome = judge_line(line)?;
        Some(plain(outcome, &format!("{}: {}", lead(outcome, config), derive_one_line(line, 200))))
    })
}

/// Only what begins as a message of the program's start counts: a line of its trace or of a tool may say anything.
fn judge_line(line: &str) -> Option<Outcome> {
    let folded = line.to_ascii_lowercase();
    if folded.starts_with("not inside a trusted directory") || folded.starts_with("error loading config") {
        return Some(Outcome::Misconfigured);
    }
    if folded.starts_with("missing environment variable:") || folded.starts_with("not logged in") {
        return Some(Outcome::Unauthenticated);
    }
    let sentence = folded.strip_prefix("error: ")?;
    let of_call =
        ["unexpected argument", "invalid value", "unrecognized subcommand", "the argument", "a value is required"];
    if of_call.iter().any(|words| sentence.starts_with(words)) {
        return Some(Outcome::Misconfigured);
    }
    read_refusal(sentence).outcome()
}

fn lead(outcome: Outcome, config: &Config) -> String {
    match outcome {
        Outcome::RateLimited => "a rate limit said no".to_owned(),
        Outcome::Overloaded => "the service is overloaded or broken".to_owned(),
        Outcome::QuotaExhausted => "the plan or balance is spent".to_owned(),
        Outcome::Unauthenticated => mend_login(config),
        Outcome::ContextExceeded => "the packet is too large".to_owned(),
        Outcome::Misconfigured => "codex cannot work as configured".to_owned(),
        Outcome::Refused => "the service refused the content of this packet".to_owned(),
        _ => "codex failed".to_owned(),
    }
}

/// What to do when no credential is there or none is taken.
pub fn mend_login(config: &Config) -> String {
    let secret = &config.secret;
    match config.login {
        Login::Key => {
            format!("codex is not logged in; set {secret}, or log in with `codex login` and use login = \"user\"")
        }
        Login::User => format!("codex is not logged in; run `codex login`, or use login = \"key\" and set {secret}"),
    }
}

fn plain(outcome: Outcome, message: &str) -> Verdict {
    Verdict { outcome, message: message.to_owned(), status: None, error_text: String::new(), answered: false }
}
