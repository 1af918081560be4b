//! What a sentence of an error and its HTTP status mean. Only sentences of the programs' error channels come here, never
//! an answer or a prompt.

use assize_plugin_sdk::{Exited, Outcome};

use crate::cli::Cli;

/// The content was not welcome.
const REFUSALS: [&str; 6] = [
    "blocked due to",
    "prohibited_content",
    "data_inspection_failed",
    "inappropriate content",
    "content_filter",
    "content management policy",
];
/// The plan, the balance or the day's quota is spent.
const SPENT: [&str; 10] = [
    "daily quota",
    "perday",
    "per day",
    "insufficient_quota",
    "insufficient balance",
    "insufficient_g1_credits_balance",
    "credits are depleted",
    "arrearage",
    "allocationquota",
    "free tier of the model has been exhausted",
];
/// The key or login is not good.
const KEYS: [&str; 6] = [
    "api key not valid",
    "api_key_invalid",
    "invalid api key",
    "invalid api-key",
    "incorrect api key",
    "api key expired",
];
/// The input does not fit.
const TOO_LONG: [&str; 8] = [
    "exceeds the maximum number of tokens",
    "context is too large",
    "exceeds the context window",
    "maximum context length",
    "context_length_exceeded",
    "prompt is too long",
    "range of input length should be",
    "input length exceeds",
];
/// The model or the address is not there.
const UNKNOWN: [&str; 6] = [
    "is not found for api version",
    "requested entity was not found",
    "model not found",
    "model_not_found",
    "was not found or is invalid",
    "the model does not exist",
];
/// A limit that passes, where no status is told.
const LIMITED: [&str; 5] =
    ["resource_exhausted", "exceeded your current quota", "too many requests", "rate limit", "exhausted your capacity"];
/// The service has no room, where no status is told.
const NO_ROOM: [&str; 4] =
    ["overloaded", "no capacity available", "model_capacity_exhausted", "experiencing high demand"];

/// The outcome that the signs speak for, the most particular first: a spent plan and a refusal come as 429 and 400 too.
pub fn judge_signs(cli: Cli, status: Option<u16>, said: &str) -> Option<Outcome> {
    let folded = said.to_ascii_lowercase().replace('\u{2019}', "'");
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| folded.contains(phrase));
    let limited = status == Some(429) || (status.is_none() && says(&LIMITED));
    // Google says the same of a minute's quota, OpenAI and its like only of a spent balance.
    let billing = cli == Cli::Qwen && says(&["check your plan and billing"]);
    Some(match status {
        _ if says(&REFUSALS) => Outcome::Refused,
        Some(402) => Outcome::QuotaExhausted,
        None | Some(400 | 403 | 429) if says(&SPENT) || billing || says_far_reset(&folded) => Outcome::QuotaExhausted,
        _ if limited => Outcome::RateLimited,
        Some(401 | 403) => Outcome::Unauthenticated,
        None | Some(400) if says(&KEYS) => Outcome::Unauthenticated,
        Some(413) => Outcome::ContextExceeded,
        None | Some(400) if says(&TOO_LONG) => Outcome::ContextExceeded,
        Some(404) => Outcome::Misconfigured,
        None | Some(400) if says(&UNKNOWN) => Outcome::Misconfigured,
        Some(500..) => Outcome::Overloaded,
        None if says(&NO_ROOM) => Outcome::Overloaded,
        _ => return None,
    })
}

/// Whether a quota is said to be full again in hours or days only, as in `Your quota will reset after 5h12m`.
fn says_far_reset(folded: &str) -> bool {
    let Some((_, rest)) = folded.split_once("quota will reset after ") else { return false };
    let time: String = rest.chars().take_while(char::is_ascii_alphanumeric).collect();
    time.contains(['h', 'd'])
}

/// The HTTP status in a sentence such as `[API Error: 429 slow down]`.
pub fn status_in(said: &str) -> Option<u16> {
    let (_, rest) = said.split_once("API Error: ").or_else(|| said.split_once("failed with status "))?;
    let digits: String = rest.chars().take_while(char::is_ascii_digit).take(4).collect();
    digits.parse().ok().filter(|status| (100..600).contains(status))
}

/// The HTTP status that Gemini CLI writes below the error on standard error, as in `status: 429`.
pub fn status_below(stderr: &[String]) -> Option<u16> {
    let number = |line: &String| line.strip_prefix("status: ").or_else(|| line.strip_prefix("code: "))?.parse().ok();
    let told = stderr.iter().rev().find_map(|line| number(&line.trim_end_matches(',').to_owned()));
    told.filter(|status| (400..600).contains(status))
}

/// The HTTP status behind an exit code of Gemini CLI, which exits with the status modulo 256. It explains an error that
/// an event or a line tells of, and is no verdict by itself: other programs mean signals with these numbers.
pub fn status_behind(exited: &Exited) -> Option<u16> {
    let code = u16::try_from(exited.code?).ok()?;
    let statuses = [400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 499, 500, 502, 503, 504, 529];
    statuses.into_iter().find(|status| status % 256 == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spent_day_is_told_from_a_busy_minute() {
        let judge = |cli, said: &str| judge_signs(cli, Some(429), said);
        let plain = "You exceeded your current quota, please check your plan and billing details.";
        assert_eq!(judge(Cli::Gemini, plain), Some(Outcome::RateLimited));
        assert_eq!(judge(Cli::Qwen, plain), Some(Outcome::QuotaExhausted));
        let day = "You have exhausted your daily quota on this model.";
        assert_eq!(judge_signs(Cli::Gemini, None, day), Some(Outcome::QuotaExhausted));
        let capacity = "You have exhausted your capacity on this model. Your quota will reset after ";
        assert_eq!(judge(Cli::Gemini, &format!("{capacity}16s.")), Some(Outcome::RateLimited));
        assert_eq!(judge(Cli::Gemini, &format!("{capacity}5h12m3s.")), Some(Outcome::QuotaExhausted));
    }

    #[test]
    fn words_of_a_limit_do_not_turn_another_status_into_one() {
        assert_eq!(judge_signs(Cli::Gemini, Some(500), "rate limit service broke"), Some(Outcome::Overloaded));
        assert_eq!(judge_signs(Cli::Gemini, Some(404), "daily quota"), Some(Outcome::Misconfigured));
        assert_eq!(judge_signs(Cli::Gemini, None, "fetch failed"), None);
    }

    #[test]
    fn a_code_stands_for_its_status_and_a_signal_for_none() {
        let code = |code| status_behind(&Exited { code, ..Exited::default() });
        for (exit, status) in
            [(144, 400), (145, 401), (157, 413), (173, 429), (244, 500), (247, 503), (17, 529), (148, 404)]
        {
            assert_eq!(code(Some(exit)), Some(status));
        }
        assert_eq!([code(Some(0)), code(Some(1)), code(Some(-3)), code(Some(70_000)), code(None)], [None; 5]);
    }

    #[test]
    fn the_status_is_read_where_the_program_puts_it() {
        assert_eq!(status_in("[API Error: 429 slow down]"), Some(429));
        assert_eq!(status_in("Attempt 1 failed with status 500. Retrying"), Some(500));
        assert_eq!(status_in("[API Error: Context is too large]"), None);
        assert_eq!(status_in("[API Error: 42900 x]"), None);
        assert_eq!(status_in("429"), None);
        let lines = ["cause: {", "code: 429,", "retryDelayMs: 2000,", "status: 429", "}"].map(str::to_owned);
        assert_eq!(status_below(&lines), Some(429));
        assert_eq!(status_below(&["status: 7".to_owned(), "in status: 429".to_owned()]), None);
    }
}
