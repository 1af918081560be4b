//! What became of a launch, from the program's own last word. An exit code only explains an error that an event or a line
//! tells of: these programs end with 0 on a signal and on a broken stream.

use assize_plugin_sdk::{Exited, Outcome, derive_one_line};

use crate::cli::Cli;
use crate::config::Config;
use crate::signs::{judge_signs, status_behind, status_below, status_in};
use crate::told::{Ending, Retry, Told};

/// Longest sentence of a program in a message, in characters.
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

/// Who was asked, and how.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The program.
    pub cli: Cli,
    /// Its section.
    pub config: &'a Config,
}

/// Judges a launch that ran.
pub fn judge_launch(asked: Asked<'_>, told: &Told, exited: &Exited) -> Verdict {
    match &told.ending {
        Some(ending) if ending.succeeded => judge_success(asked, told),
        Some(ending) => judge_error(asked, ending, told, exited),
        None => judge_silence(asked, told, exited),
    }
}

fn judge_success(asked: Asked<'_>, told: &Told) -> Verdict {
    let name = asked.cli.name();
    if told.torn {
        let message = format!("{name} wrote more than is kept, and a part of its answer is lost");
        return plain(Outcome::NoResults, &message);
    }
    if told.answer.trim().is_empty() {
        return plain(Outcome::NoResults, &format!("{name} ended well but its answer is empty"));
    }
    Verdict { answered: true, ..plain(Outcome::Completed, &format!("{name} answered")) }
}

fn judge_error(asked: Asked<'_>, ending: &Ending, told: &Told, exited: &Exited) -> Verdict {
    if let Some(verdict) = judge_limit_of_launch(asked, told, [ending.kind.as_str(), ending.said.as_str()]) {
        return verdict;
    }
    if let Some(verdict) = judge_start_line(asked, &ending.said) {
        return verdict;
    }
    let behind =
        || if asked.cli == Cli::Gemini { status_below(&told.stderr).or_else(|| status_behind(exited)) } else { None };
    let status = status_in(&ending.said).or_else(behind);
    let outcome = judge_signs(asked.cli, status, &ending.said).unwrap_or(match exited {
        Exited { interrupted: true, .. } => Outcome::Interrupted,
        Exited { timed_out: true, .. } => Outcome::TimedOut,
        _ => Outcome::Crashed,
    });
    let mut verdict = refused(asked, outcome, status, &ending.said);
    if let Some(retry) = told.retry.as_ref().filter(|retry| !retry.event.is_empty()) {
        verdict.evidence.insert(0, (status, retry.event.clone()));
    }
    verdict
}

/// No last word: it was ended, or it ended itself at a limit, or it broke before it could say anything.
fn judge_silence(asked: Asked<'_>, told: &Told, exited: &Exited) -> Verdict {
    let name = asked.cli.name();
    if exited.interrupted {
        return plain(Outcome::Interrupted, &format!("the run was interrupted before {name} answered"));
    }
    let lines: Vec<&str> = told.stderr.iter().map(String::as_str).collect();
    if let Some(verdict) = judge_limit_of_launch(asked, told, lines.iter().copied()) {
        return verdict;
    }
    if exited.timed_out {
        return judge_time(asked, told, exited.wall_ms / 1000);
    }
    if let Some(verdict) = lines.iter().find_map(|line| judge_start_line(asked, line)) {
        return verdict;
    }
    let error = lines.iter().rev().find(|line| line.starts_with("[API Error: "));
    let sentence = error.copied().or(told.retry.as_ref().map(|retry| retry.said.as_str()));
    if let Some((status, said)) = sentence.map(|said| (status_in(said), said))
        && let Some(outcome) = judge_signs(asked.cli, status, said)
    {
        return refused(asked, outcome, status, said);
    }
    match (exited.code, exited.signal) {
        (Some(0), _) => plain(Outcome::NoResults, &format!("{name} exited with status 0 but gave no result")),
        (Some(code), _) => plain(Outcome::Crashed, &format!("{name} exited with status {code} and gave no result")),
        (None, Some(signal)) => {
            plain(Outcome::Crashed, &format!("{name} was ended by signal {signal} and gave no result"))
        }
        (None, None) => plain(Outcome::Crashed, &format!("{name} ended without a status and gave no result")),
    }
}

/// Limits that the launch set, not the service's.
fn judge_limit_of_launch<'a>(
    asked: Asked<'_>,
    told: &Told,
    words: impl IntoIterator<Item = &'a str>,
) -> Option<Verdict> {
    let name = asked.cli.name();
    words.into_iter().find_map(|word| {
        if word == "FatalTurnLimitedError" || word.starts_with("Reached max session turns") {
            let message = format!("{name} reached its turns before it answered; raise max_turns or leave it out");
            return Some(plain(Outcome::NoResults, &message));
        }
        if word.starts_with("Run aborted: tool-call budget") {
            let message = format!("{name} reached its tool calls before it answered; raise --max-tool-calls");
            return Some(plain(Outcome::NoResults, &message));
        }
        let seconds = word.strip_prefix("Run aborted: wall-clock budget of ")?.split('s').next()?;
        Some(judge_time(asked, told, seconds.parse().unwrap_or(0)))
    })
}

/// The time is over. When it went by in waiting for a service that had said no, that is what became of the launch: a
/// program that cannot be kept from retrying would else never tell of a limit.
fn judge_time(asked: Asked<'_>, told: &Told, seconds: u64) -> Verdict {
    let late = format!("{} did not answer within {seconds} s", asked.cli.name());
    let Some(Retry { event, said }) = &told.retry else { return plain(Outcome::TimedOut, &late) };
    let status = status_in(said);
    let mut verdict = match judge_signs(asked.cli, status, said) {
        Some(outcome) => refused(asked, outcome, status, said),
        None => plain(Outcome::TimedOut, &late),
    };
    if !event.is_empty() {
        verdict.evidence.insert(0, (status, event.clone()));
    }
    verdict
}

/// Errors of the start, which stand as plain lines because no event has begun.
fn judge_start_line(asked: Asked<'_>, line: &str) -> Option<Verdict> {
    let starts = |phrases: &[&str]| phrases.iter().any(|phrase| line.starts_with(phrase));
    let outcome = if starts(&[
        "Please set an Auth method",
        "No auth type is selected",
        "Missing API key",
        "When using Gemini API, you must specify",
        "Invalid auth method",
        "Qwen OAuth free tier was discontinued",
    ]) || (line.contains("environment variable not found") && line.contains("_API_KEY"))
    {
        Outcome::Unauthenticated
    } else if starts(&[
        "Unknown argument",
        "Not enough arguments following",
        "Invalid values:",
        "Gemini CLI is not running in a trusted directory",
        "Invalid configuration",
        "--max-wall-time: ",
    ]) {
        Outcome::Misconfigured
    } else {
        return None;
    };
    Some(plain(outcome, &format!("{}: {}", lead(asked, outcome), derive_one_line(line, SAID_CHARS))))
}

fn refused(asked: Asked<'_>, outcome: Outcome, status: Option<u16>, said: &str) -> Verdict {
    let number = status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
    let message =
        format!("{}{number}: {}", lead(asked, outcome), derive_one_line(&without_addresses(said), SAID_CHARS));
    let evidence =
        if said.is_empty() && status.is_none() { Vec::new() } else { vec![(status, without_addresses(said))] };
    Verdict { outcome, message: message.trim_end_matches([':', ' ']).to_owned(), evidence, answered: false }
}

/// A sentence without addresses: the gateway's holds the launch's token.
fn without_addresses(said: &str) -> String {
    let is_address = |word: &str| word.contains("http://") || word.contains("https://");
    said.split(' ').map(|word| if is_address(word) { "…" } else { word }).collect::<Vec<_>>().join(" ")
}

fn lead(asked: Asked<'_>, outcome: Outcome) -> String {
    let name = asked.cli.name();
    match outcome {
        Outcome::RateLimited => "a rate limit said no".to_owned(),
        Outcome::Overloaded => "the service is overloaded or broken".to_owned(),
        Outcome::QuotaExhausted => "the plan, the balance or the day's quota is spent".to_owned(),
        Outcome::Unauthenticated => format!(
            "{name} has no good key; set {}{}",
            asked.config.secrets(asked.cli).join(" or "),
            asked.cli.other_login()
        ),
        Outcome::Refused => "the service refused the content of this packet".to_owned(),
        Outcome::ContextExceeded => "the packet is too large".to_owned(),
        Outcome::Misconfigured => format!("{name} cannot work as configured"),
        Outcome::Interrupted => format!("{name} was interrupted"),
        Outcome::TimedOut => format!("{name} did not answer in time"),
        _ => format!("{name} failed"),
    }
}

fn plain(outcome: Outcome, message: &str) -> Verdict {
    Verdict { outcome, message: message.to_owned(), evidence: Vec::new(), answered: false }
}
