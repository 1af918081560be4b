//! What a program's error channels say of a service that refused it.
//!
//! Only forms in which programs report a refusal count, and only at the end of the output: a worker prints sources,
//! paths and findings too, and those may speak of limits without one having been hit. When in doubt it is no refusal.

use assize_plugin_sdk::{Outcome, derive_tail, strip_escapes};
use serde_json::Value;

/// Bytes of each channel that are looked at.
const TAIL_BYTES: usize = 16 * 1024;
/// Lines of each channel that are looked at.
const TAIL_LINES: usize = 25;

/// A refusal, and the lines that say so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What it means for the launch.
    pub outcome: Outcome,
    /// The last line that reports it.
    pub report: String,
    /// The lines, oldest first, hints on waiting included.
    pub text: String,
    /// HTTP status, where it was said.
    pub status: Option<u16>,
}

/// Where a line comes from. Standard output carries answers too, so it must mark its errors.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Channel {
    Stderr,
    Stdout,
}

/// The last refusal that the error channels report; standard error is asked first.
pub fn classify_channels(stdout: &[u8], stderr: &[u8]) -> Option<Refusal> {
    classify_tail(stderr, Channel::Stderr).or_else(|| classify_tail(stdout, Channel::Stdout))
}

fn classify_tail(bytes: &[u8], channel: Channel) -> Option<Refusal> {
    let tail = strip_escapes(&derive_tail(bytes, TAIL_BYTES));
    let lines: Vec<&str> = tail.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let lines = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    let verdicts: Vec<Option<(Outcome, Option<u16>)>> = lines.iter().map(|line| classify_line(line, channel)).collect();
    let last = verdicts.iter().rposition(Option::is_some)?;
    let (outcome, status) = verdicts[last]?;
    let said: Vec<&str> = lines
        .iter()
        .zip(&verdicts)
        .filter(|(line, verdict)| verdict.is_some() || is_hint(line))
        .map(|(line, _)| *line)
        .collect();
    Some(Refusal { outcome, status, report: lines[last].to_owned(), text: said.join("\n") })
}

fn classify_line(line: &str, channel: Channel) -> Option<(Outcome, Option<u16>)> {
    if line.starts_with('{') {
        return classify_json(&serde_json::from_str(line).ok()?);
    }
    let folded = line.to_ascii_lowercase();
    let marked = ["error:", "api error:", "[api error:", "fatal:", "litellm."].iter().any(|m| folded.starts_with(m));
    if names_a_place(&folded) || quotes(&folded) || (channel == Channel::Stdout && !marked) {
        return None;
    }
    let status = said_status(&folded);
    let outcome = status.and_then(outcome_of_status).or_else(|| outcome_of_phrase(&folded))?;
    Some((outcome, status))
}

/// The status after words with which programs report one, such as `HTTP 429`, `status: 429` or `error 429`.
fn said_status(line: &str) -> Option<u16> {
    const LEADS: [&str; 12] = [
        "http/1.1 ",
        "http/2 ",
        "http ",
        "status code: ",
        "status code ",
        "status: ",
        "status=",
        "status ",
        "api error: ",
        "error code: ",
        "error ",
        "rejected (",
    ];
    for lead in LEADS {
        let Some(at) = line.find(lead) else { continue };
        let after = &line[at + lead.len()..];
        let digits = after.get(..3).filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
        let ends = after.as_bytes().get(3).is_none_or(|b| !b.is_ascii_alphanumeric() && *b != b'.');
        if let (Some(digits), true) = (digits, ends) {
            return digits.parse().ok();
        }
    }
    let bare = line.strip_prefix("error: ").unwrap_or(line);
    bare.strip_prefix("429 too many requests").map(|_| 429)
}

fn outcome_of_status(status: u16) -> Option<Outcome> {
    match status {
        401 | 403 => Some(Outcome::Unauthenticated),
        402 => Some(Outcome::QuotaExhausted),
        413 => Some(Outcome::ContextExceeded),
        429 => Some(Outcome::RateLimited),
        500 | 502 | 503 | 504 | 529 => Some(Outcome::Overloaded),
        _ => None,
    }
}

fn outcome_of_phrase(line: &str) -> Option<Outcome> {
    const PHRASES: [(&str, Outcome); 14] = [
        ("insufficient_quota", Outcome::QuotaExhausted),
        ("credit balance is too low", Outcome::QuotaExhausted),
        ("hit your usage limit", Outcome::QuotaExhausted),
        ("rate limit exceeded", Outcome::RateLimited),
        ("rate limit reached", Outcome::RateLimited),
        ("rate limit hit", Outcome::RateLimited),
        ("rate limit: retry", Outcome::RateLimited),
        ("rate_limit_error", Outcome::RateLimited),
        ("rate_limit_exceeded", Outcome::RateLimited),
        ("ratelimiterror:", Outcome::RateLimited),
        ("too many requests", Outcome::RateLimited),
        ("has rate limited you", Outcome::RateLimited),
        ("rate limited by", Outcome::RateLimited),
        ("overloaded_error", Outcome::Overloaded),
    ];
    PHRASES.iter().find(|(phrase, _)| line.contains(phrase)).map(|(_, outcome)| *outcome)
}

/// A JSON line in one of the error forms of services and programs.
fn classify_json(line: &Value) -> Option<(Outcome, Option<u16>)> {
    let error = line.get("error").unwrap_or(&Value::Null);
    let kind = ["type", "code"].iter().filter_map(|key| error.get(key)?.as_str()).find_map(|kind| match kind {
        "rate_limit_error" | "rate_limit_exceeded" | "rate_limited" => Some(Outcome::RateLimited),
        "overloaded_error" => Some(Outcome::Overloaded),
        "insufficient_quota" | "billing_error" => Some(Outcome::QuotaExhausted),
        "authentication_error" | "permission_error" => Some(Outcome::Unauthenticated),
        _ => None,
    });
    let status = ["status", "statusCode", "status_code", "code", "api_error_status"]
        .iter()
        .find_map(|key| read_status(line.get(key)).or_else(|| read_status(error.get(key))));
    // A status alone is an error only where the line calls itself one.
    let says_error = !error.is_null() || ["type", "level"].iter().any(|key| line[*key] == "error");
    let of_status = status.filter(|_| says_error).and_then(outcome_of_status);
    Some((kind.or(of_status)?, status))
}

fn read_status(value: Option<&Value>) -> Option<u16> {
    let value = value?;
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|status| (400..600).contains(status))
}

/// Whether the line points into a file, as compilers, linters and listings do: `path.ext:12`.
fn names_a_place(line: &str) -> bool {
    line.split_whitespace().any(|word| {
        let mut parts = word.trim_matches(['(', ')', '[', ']', ',', '\'', '"']).split(':');
        let path = parts.next().unwrap_or_default();
        let number = parts.next().is_some_and(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
        number && (path.contains('/') || path.contains('.')) && !word.contains("://")
    })
}

/// Whether the line is a quotation, a listing or a change rather than a report.
fn quotes(line: &str) -> bool {
    let listing = line.split_once('|').is_some_and(|(number, _)| number.trim().bytes().all(|b| b.is_ascii_digit()));
    listing || line.starts_with(['>', '+', '-', '"', '\'', '`', '#', '*', '/'])
}

/// Whether the line says how long to wait.
fn is_hint(line: &str) -> bool {
    let folded = line.to_ascii_lowercase();
    !names_a_place(&folded)
        && !quotes(&folded)
        && ["retry-after:", "retry after ", "try again in ", "resets in ", "resets at "]
            .iter()
            .any(|h| folded.starts_with(h))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stderr(text: &str) -> Option<Outcome> {
        classify_channels(b"", text.as_bytes()).map(|refusal| refusal.outcome)
    }

    fn stdout(text: &str) -> Option<Outcome> {
        classify_channels(text.as_bytes(), b"").map(|refusal| refusal.outcome)
    }

    #[test]
    fn reports_of_refusals_are_recognised() {
        for (line, outcome) in [
            ("HTTP 429", Outcome::RateLimited),
            ("Error: 429 Too Many Requests", Outcome::RateLimited),
            ("request failed with status code 429", Outcome::RateLimited),
            ("API Error: Request rejected (429) · slow down", Outcome::RateLimited),
            ("openai.RateLimitError: Error code: 429 - {'error': {}}", Outcome::RateLimited),
            ("rate limit: retry after 30 seconds", Outcome::RateLimited),
            ("ERROR: exceeded retry limit, last status: 429 Too Many Requests", Outcome::RateLimited),
            (r#"{"type":"error","error":{"type":"rate_limit_error","message":"x"}}"#, Outcome::RateLimited),
            (r#"{"error":{"message":"x","code":429,"status":"RESOURCE_EXHAUSTED"}}"#, Outcome::RateLimited),
            (r#"{"error":{"type":"insufficient_quota","code":"insufficient_quota"}}"#, Outcome::QuotaExhausted),
            ("API Error: 529 busy", Outcome::Overloaded),
            ("HTTP/1.1 401 Unauthorized", Outcome::Unauthenticated),
            ("Your credit balance is too low to use the service", Outcome::QuotaExhausted),
            ("\u{1b}[91mError: HTTP 429\u{1b}[0m", Outcome::RateLimited),
        ] {
            assert_eq!(stderr(line), Some(outcome), "{line}");
        }
    }

    #[test]
    fn ordinary_text_about_limits_is_no_refusal() {
        for line in [
            "TypeError at src/index.ts:429:3",
            "error: could not parse src/rate-limit.ts",
            "src/client.py:12: raise RateLimitError('rate limit exceeded')",
            "x-ratelimit-remaining-requests: 10",
            "the class is overloaded here",
            "error at line 1429",
            "Finding: the handler does not limit requests (429 is never sent)",
            "+    if response.status == 429:",
            "  12 | return HTTP 429 Too Many Requests",
            "> HTTP 429",
            r#"{"type":"finding","title":"HTTP 429 Too Many Requests is not handled"}"#,
            r#"{"status":429}"#,
            "error 4290: broken",
            "panicked at index 429",
        ] {
            assert_eq!(stderr(line), None, "{line}");
        }
    }

    #[test]
    fn standard_output_must_mark_its_errors() {
        assert_eq!(stdout("HTTP 429 is what the server should answer"), None);
        assert_eq!(stdout("Rate limit exceeded is never handled"), None);
        assert_eq!(stdout("API Error: 429 slow down"), Some(Outcome::RateLimited));
        assert_eq!(stdout(r#"{"type":"error","status":503}"#), Some(Outcome::Overloaded));
    }

    #[test]
    fn only_the_end_of_a_channel_counts() {
        let recovered = format!("HTTP 429\n{}", "working\n".repeat(TAIL_LINES));
        assert_eq!(stderr(&recovered), None);
    }

    #[test]
    fn the_evidence_is_the_report_and_its_hint_alone() {
        let text = "let secret = 1;\nHTTP 429\nretry after 30 seconds\nbye";
        let refusal = classify_channels(b"", text.as_bytes()).expect("refused");
        assert_eq!(refusal.report, "HTTP 429");
        assert_eq!(refusal.text, "HTTP 429\nretry after 30 seconds");
        assert_eq!(refusal.status, Some(429));
    }
}
