//! Walls: the sentences in which programs say that a plan's window is spent.

use crate::clock::parse_reset;
use crate::frame::Frame;
use crate::instant::instant_of_number;
use crate::number::parse_decimal;
use crate::plan::PlanWindow;
use crate::reading::{Limit, Reading};
use crate::sentence::{ends_sentence, fold};

/// What is spent.
#[derive(Clone, Debug, PartialEq)]
struct Spent {
    claim: &'static str,
    dimension: &'static str,
    model: bool,
}

/// What a line says that is such a sentence from its beginning; absent for every other line.
pub fn read_wall(line: &str, frame: &Frame) -> Option<Reading> {
    let (plain, folded) = fold(line);
    let spent = spent_plan(&folded)?;
    let mut limit: Limit = PlanWindow::rejected(spent.claim, find_reset(&plain, &folded, frame)).limit(true);
    spent.dimension.clone_into(&mut limit.dimension);
    if spent.model {
        "model".clone_into(&mut limit.scope);
    }
    Some(Reading::refused(limit))
}

fn spent_plan(folded: &str) -> Option<Spent> {
    own_limit(folded).or_else(|| reached_limit(folded)).or_else(|| other_wall(folded))
}

/// `you've hit your weekly limit`, `you've hit your usage limit for a model`
fn own_limit(folded: &str) -> Option<Spent> {
    let rest = ["you've hit your ", "you've reached your ", "you have hit your ", "you have reached your "]
        .iter()
        .find_map(|lead| folded.strip_prefix(lead))?;
    let end = rest.find("limit")?;
    let after = &rest[end + "limit".len()..];
    let named = named(rest[..end].trim())?;
    match after.strip_prefix(" for ") {
        // `for` a model: what follows is its name and the end of the sentence.
        Some(subject) => {
            let name = subject.split_whitespace().next()?.trim_end_matches(['.', ',']);
            let ends = !name.is_empty() && subject.get(name.len()..).is_some_and(ends_sentence);
            ends.then_some(Spent { model: true, ..named })
        }
        None => ends_sentence(after).then_some(named),
    }
}

/// `5-hour limit reached`, `claude ai usage limit reached`
fn reached_limit(folded: &str) -> Option<Spent> {
    let at = folded.find("limit reached")?;
    let subject = folded[..at].trim();
    let subject = subject.strip_prefix("claude ai ").or_else(|| subject.strip_prefix("claude ")).unwrap_or(subject);
    let whole = ends_sentence(&folded[at + "limit reached".len()..]);
    if whole && !subject.is_empty() { named(subject) } else { None }
}

/// The window that the words before `limit` name.
fn named(words: &str) -> Option<Spent> {
    let (claim, dimension) = match words {
        "" | "usage" | "account" | "plan" => ("", "tokens"),
        "5-hour" | "five-hour" | "5h" | "session" => ("five_hour", "tokens"),
        "daily" | "daily usage" => ("daily", "tokens"),
        "weekly" | "weekly usage" | "7-day" => ("seven_day", "tokens"),
        "monthly" | "monthly usage" => ("monthly", "tokens"),
        "opus" | "opus weekly" | "weekly opus" => ("seven_day_opus", "tokens"),
        "sonnet" | "sonnet weekly" | "weekly sonnet" => ("seven_day_sonnet", "tokens"),
        "free requests" | "request" | "requests" => ("", "requests"),
        "daily request" | "daily requests" => ("daily", "requests"),
        _ => return None,
    };
    Some(Spent { claim, dimension, model: false })
}

/// Sentences that stand alone.
fn other_wall(folded: &str) -> Option<Spent> {
    const WALLS: [(&str, &str, &str, bool); 8] = [
        ("you have exhausted your daily quota on this model", "daily", "requests", true),
        ("you have exhausted your capacity on this model", "", "requests", true),
        ("qwen oauth quota exceeded: your free daily quota", "daily", "requests", false),
        ("qwen oauth quota exceeded", "", "requests", false),
        ("you have exceeded your premium request allowance", "premium", "requests", false),
        ("you have no premium requests remaining", "premium", "requests", false),
        ("you've used all your premium requests", "premium", "requests", false),
        ("subscription quota exceeded", "", "tokens", false),
    ];
    let (_, claim, dimension, model) = WALLS.iter().find(|(lead, ..)| {
        let rest = folded.strip_prefix(lead);
        rest.is_some_and(|rest| ends_sentence(rest) || rest.starts_with(" has been "))
    })?;
    Some(Spent { claim, dimension, model: *model })
}

/// When the window is full again, as the rest of the sentence tells it.
fn find_reset(plain: &str, folded: &str, frame: &Frame) -> Option<u64> {
    let epoch = plain.split_once('|').and_then(|(_, rest)| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        instant_of_number(parse_decimal(&digits).filter(|number| *number >= 1e9)?, frame.received_at_ms)
    });
    epoch.or_else(|| {
        ["resets ", "reset ", "try again ", "retry ", "ends "].iter().find_map(|lead| {
            folded
                .match_indices(lead)
                .find_map(|(at, _)| parse_reset(&plain[at + lead.len()..], frame.received_at_ms, frame.zone.as_ref()))
        })
    })
}
