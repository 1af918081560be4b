//! The sentences in which Amazon's model service throttles. No header of it tells a limit, so that they are all there is.

use crate::reading::{Limit, Reading};

/// What a message says, with or without what the client libraries put before it.
pub fn read_throttling(line: &str) -> Option<Reading> {
    const CALL: &str = "an error occurred (throttlingexception) when calling the ";
    let folded = line.trim().to_ascii_lowercase();
    let message = match folded.strip_prefix(CALL) {
        Some(rest) => rest.find(": too many ").map_or("", |at| &rest[at + 2..]),
        None => &folded,
    };
    let subject = message.strip_prefix("too many ")?.split_once(", please wait before trying again")?.0;
    match subject {
        "tokens per day" => {
            Some(Reading::refused(Limit { window_seconds: Some(86_400), ..Limit::spent("tokens", "model") }))
        }
        "tokens" | "requests" => Some(Reading::throttled()),
        _ => None,
    }
}
