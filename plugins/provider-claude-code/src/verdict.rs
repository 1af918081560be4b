//! What became of a launch, from the program's structured events. Exit codes only fill in where there is none: the
//! program ends with 0 on an interrupt and with 1 on everything else.

use assize_plugin_sdk::{Exited, Outcome, derive_one_line, derive_tail, strip_escapes};

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
    /// Sentence of the refusal, for the rate-limit plugin; empty where there is none.
    pub error_text: String,
    /// Whether the ending's text is an answer.
    pub answered: bool,
}

/// Everything about a refusal that the events say.
struct Signs<'a> {
    status: Option<u16>,
    /// Words of the service and the program, lower case.
    kinds: [String; 2],
    /// The sentence of the error as it is.
    said: &'a str,
    /// The same, lower case.
    folded: String,
}

impl Signs<'_> {
    fn kind(&self, words: &[&str]) -> bool {
        self.kinds.iter().any(|kind| words.contains(&kind.as_str()))
    }

    fn says(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.folded.contains(phrase))
    }
}

/// Judges a launch that ran.
pub fn judge_launch(stream: &Stream, exited: &Exited) -> Verdict {
    match &stream.ending {
        Some(ending) => judge_ending(ending, stream),
        None => judge_silence(stream, exited),
    }
}

fn judge_ending(ending: &Ending, stream: &Stream) -> Verdict {
    let has_text = !ending.text.trim().is_empty();
    let failed = ending.is_error || ending.subtype != "success" || ending.status.is_some_and(|status| status >= 400);
    if ending.stop_reason == "refusal" {
        return plain(Outcome::Refused, "the model refused the content of this packet");
    }
    if !failed && !has_text {
        return plain(Outcome::NoResults, "claude ended well but its answer is empty");
    }
    if !failed && matches!(ending.stop_reason.as_str(), "max_tokens" | "model_context_window_exceeded") {
        let message = "the answer was cut at the model's output limit; the packet is too large";
        return Verdict { answered: true, ..plain(Outcome::ContextExceeded, message) };
    }
    if !failed {
        return Verdict { answered: true, ..plain(Outcome::Completed, "claude answered") };
    }
    judge_limits_of_launch(ending).unwrap_or_else(|| judge_refusal(ending, stream))
}

/// Limits that the configuration set or the packet met, not the service's.
fn judge_limits_of_launch(ending: &Ending) -> Option<Verdict> {
    let reasons = [ending.terminal_reason.as_str(), ending.subtype.as_str()];
    let is = |words: [&str; 2]| reasons.iter().any(|reason| words.contains(reason));
    if is(["prompt_too_long", "error_prompt_too_long"]) {
        return Some(plain(Outcome::ContextExceeded, "the prompt does not fit the model's context"));
    }
    if is(["max_turns", "error_max_turns"]) {
        return Some(plain(
            Outcome::NoResults,
            "claude reached its turns before it answered; raise max_turns or leave it out",
        ));
    }
    if is(["budget_exhausted", "error_max_budget_usd"]) {
        return Some(plain(
            Outcome::NoResults,
            "claude reached the launch's budget before it answered; raise max_budget_usd or leave it out",
        ));
    }
    None
}

fn judge_refusal(ending: &Ending, stream: &Stream) -> Verdict {
    let said = if ending.text.trim().is_empty() {
        ending.errors.first().map(String::as_str).unwrap_or_default()
    } else {
        &ending.text
    };
    let earlier = stream.api_error.as_ref();
    let signs = Signs {
        status: ending.status.or_else(|| earlier.and_then(|error| error.status)),
        kinds: [ending.kind.to_ascii_lowercase(), earlier.map(|e| e.kind.to_ascii_lowercase()).unwrap_or_default()],
        said,
        folded: said.to_ascii_lowercase().replace('\u{2019}', "'"),
    };
    let outcome = judge_signs(&signs, stream.usage_limit_reached).unwrap_or_else(|| {
        if ending.terminal_reason.starts_with("aborted") { Outcome::Interrupted } else { Outcome::Crashed }
    });
    // Without a sign that the service spoke, the text may be the model's and goes no further.
    let spoken =
        outcome != Outcome::Crashed || signs.status.is_some() || signs.kinds.iter().any(|kind| !kind.is_empty());
    let said = if spoken { signs.said } else { ending.errors.first().map(String::as_str).unwrap_or_default() };
    let status = signs.status.map(|status| format!(" (HTTP {status})")).unwrap_or_default();
    let message = format!("{}{status}: {}", lead(outcome), derive_one_line(said, 200));
    Verdict {
        outcome,
        message: message.trim_end_matches([':', ' ']).to_owned(),
        status: signs.status,
        error_text: said.to_owned(),
        answered: false,
    }
}

/// The outcome of a refusal, the most particular sign first: a spent plan and a spent balance come as 429 and 400 too.
fn judge_signs(signs: &Signs<'_>, usage_limit_reached: bool) -> Option<Outcome> {
    let limited = signs.status == Some(429) || signs.kind(&["rate_limit", "rate_limit_error"]);
    if signs.says(&["credit balance is too low"]) || signs.status == Some(402) || signs.kind(&["billing_error"]) {
        return Some(Outcome::QuotaExhausted);
    }
    let plan_spent =
        signs.folded.starts_with("you've hit your ") || signs.folded.starts_with("claude ai usage limit reached");
    if plan_spent || (usage_limit_reached && (limited || signs.status.is_none())) {
        return Some(Outcome::QuotaExhausted);
    }
    if limited {
        return Some(Outcome::RateLimited);
    }
    let not_in = ["not logged in", "invalid api key", "please run /login", "oauth token has expired"];
    if matches!(signs.status, Some(401 | 403))
        || signs.kind(&["authentication_failed", "authentication_error", "permission_error"])
        || not_in.iter().any(|phrase| signs.folded.starts_with(phrase))
    {
        return Some(Outcome::Unauthenticated);
    }
    if signs.status == Some(413) || signs.kind(&["request_too_large"]) || signs.says(&["prompt is too long"]) {
        return Some(Outcome::ContextExceeded);
    }
    if signs.status == Some(404) || signs.kind(&["not_found_error"]) {
        return Some(Outcome::Misconfigured);
    }
    if signs.status.is_some_and(|status| status >= 500)
        || signs.kind(&["overloaded", "overloaded_error", "server_error", "api_error"])
        || signs.folded.starts_with("api error: repeated 529")
    {
        return Some(Outcome::Overloaded);
    }
    None
}

/// No event `result`: it was ended, or it broke before it could say anything.
fn judge_silence(stream: &Stream, exited: &Exited) -> Verdict {
    if exited.interrupted {
        return plain(Outcome::Interrupted, "the run was interrupted before claude answered");
    }
    if exited.timed_out {
        let message = format!("claude did not answer within {} s", exited.wall_ms / 1000);
        return plain(Outcome::TimedOut, &message);
    }
    if let Some(verdict) = judge_start(stream, &exited.stderr) {
        return verdict;
    }
    if let Some(error) = &stream.api_error {
        let empty = Ending { status: error.status, ..Ending::default() };
        let verdict = judge_refusal(&empty, stream);
        if verdict.outcome != Outcome::Crashed {
            return verdict;
        }
    }
    match (exited.code, exited.signal) {
        (Some(0), _) => plain(Outcome::NoResults, "claude exited with status 0 but gave no result"),
        (Some(code), _) => plain(Outcome::Crashed, &format!("claude exited with status {code} and gave no result")),
        (None, Some(signal)) => {
            plain(Outcome::Crashed, &format!("claude was ended by signal {signal} and gave no result"))
        }
        (None, None) => plain(Outcome::Crashed, "claude ended without a status and gave no result"),
    }
}

/// Errors of the start: they stand as plain lines on either output, because no event stream has begun.
fn judge_start(stream: &Stream, stderr: &[u8]) -> Option<Verdict> {
    let stderr = strip_escapes(&derive_tail(stderr, 8 * 1024));
    let lines = stream.plain_lines.iter().map(String::as_str).chain(stderr.lines());
    for line in lines.map(str::trim) {
        let folded = line.to_ascii_lowercase();
        let outcome = if folded.starts_with("not logged in") || folded.starts_with("invalid api key") {
            Outcome::Unauthenticated
        } else if folded.starts_with("error: piped stdin input exceeds") {
            Outcome::ContextExceeded
        } else if folded.starts_with("error: unknown option")
            || folded.starts_with("error: option ")
            || folded.starts_with("error: when using --print")
        {
            Outcome::Misconfigured
        } else {
            continue;
        };
        return Some(plain(outcome, &format!("{}: {}", lead(outcome), derive_one_line(line, 200))));
    }
    None
}

fn lead(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::RateLimited => "a rate limit said no",
        Outcome::Overloaded => "the service is overloaded or broken",
        Outcome::QuotaExhausted => "the plan or balance is spent",
        Outcome::Unauthenticated => {
            "claude is not logged in; set ANTHROPIC_API_KEY or CLAUDE_CODE_OAUTH_TOKEN, or log in and use login = \"user\""
        }
        Outcome::ContextExceeded => "the packet is too large",
        Outcome::Misconfigured => "claude cannot work as configured",
        Outcome::Interrupted => "claude was interrupted",
        _ => "claude failed",
    }
}

fn plain(outcome: Outcome, message: &str) -> Verdict {
    Verdict { outcome, message: message.to_owned(), status: None, error_text: String::new(), answered: false }
}
