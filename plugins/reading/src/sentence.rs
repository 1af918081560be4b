//! Help for reading sentences.

use crate::clock::parse_reset;
use crate::duration::parse_duration;
use crate::frame::Frame;

/// The line with straight apostrophes, and the same in lower case. A place in one is the same place in the other.
pub fn fold(line: &str) -> (String, String) {
    let plain = line.trim().replace('\u{2019}', "'");
    let folded = plain.to_ascii_lowercase();
    (plain, folded)
}

/// Whether a phrase is over here, so that more words do not turn it into something else. A parenthesis ends it when the
/// sentence is over behind it, as in `(attempt 2)`.
pub fn ends_sentence(rest: &str) -> bool {
    let rest = rest.trim_start();
    if let Some(inside) = rest.strip_prefix('(') {
        return inside.split_once(')').is_none_or(|(_, after)| !after.trim_start().starts_with(char::is_alphanumeric));
    }
    let marks = ['.', ',', ':', ';', '!', '|', ')', ']', '\u{b7}', '\u{2219}', '\u{2022}', '-', '\u{2014}'];
    rest.is_empty() || (rest.starts_with(marks) && !rest.starts_with("->"))
}

/// A wait in milliseconds that a report itself asks for: `try again in 3.89s`, `retry after 37 seconds`,
/// `please wait 55 seconds`, `try again at 2026-06-03T13:00:00Z`.
pub fn find_wait(text: &str, frame: &Frame) -> Option<u64> {
    let folded = text.to_ascii_lowercase();
    let leads =
        ["try again in ", "retry after ", "retry in ", "resets in ", "reset in ", "reset after ", "please wait "];
    for lead in leads {
        let found = folded.match_indices(lead).find_map(|(at, _)| parse_duration(&folded[at + lead.len()..]));
        if found.is_some() {
            return found;
        }
    }
    let at = folded.find("try again at ")? + "try again at ".len();
    let instant = parse_reset(&text[at..], frame.received_at_ms, frame.zone.as_ref())?;
    Some(instant.saturating_sub(frame.received_at_ms))
}
