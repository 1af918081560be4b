//! What programs print around the message of a service.

/// A message without what stood around it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wrapped {
    /// The message.
    pub text: String,
    /// Whether the wrapper itself says that a request was refused because of a limit.
    pub refused: bool,
    /// Whether the message goes on in the next lines.
    pub continued: bool,
}

/// Wrappers inside wrappers that are taken off.
const DEPTH: usize = 6;

/// Takes the known wrappers off the beginning of a line.
pub fn unwrap_line(line: &str) -> Wrapped {
    let mut wrapped = Wrapped::default();
    let mut rest = line.trim();
    for _ in 0..DEPTH {
        let Some((inner, refused)) = unwrap_once(rest, &mut wrapped.continued) else { break };
        wrapped.refused |= refused;
        rest = inner;
    }
    wrapped.text = match rest.strip_prefix("API Error: ") {
        // With a status it is a report as it stands.
        Some(message) if !message.starts_with(|c: char| c.is_ascii_digit() || c == 'R') => message.to_owned(),
        _ => rest.to_owned(),
    };
    if let Some(last) = rest.split_once(" Last error: ").filter(|_| is_copilot(rest)) {
        wrapped.text = format!("API Error: {}", last.1);
    }
    wrapped
}

fn is_copilot(text: &str) -> bool {
    text.starts_with("Failed to get response from the AI model; retried ")
}

/// One wrapper off: the inside, and whether the wrapper is a refusal.
fn unwrap_once<'t>(text: &'t str, continued: &mut bool) -> Option<(&'t str, bool)> {
    for lead in ["Error: ", "ERROR: ", "error: ", "stream error: "] {
        if let Some(rest) = text.strip_prefix(lead) {
            return Some((rest, false));
        }
    }
    if let Some(rest) = text.strip_prefix("[API Error: ") {
        return Some((text[1..].trim_end_matches(']'), false)).filter(|_| !rest.is_empty());
    }
    if let Some(rest) = text.strip_prefix("litellm.") {
        let (class, rest) = rest.split_once(": ").filter(|(class, _)| is_word(class) && class.ends_with("Error"))?;
        *continued = true;
        return Some((rest, class == "RateLimitError"));
    }
    if let Some((class, rest)) = text.split_once("Exception - ").filter(|(class, _)| *continued && is_word(class)) {
        return (!class.is_empty()).then_some((rest, false));
    }
    unwrap_attempt(text).or_else(|| unwrap_class(text))
}

/// `AxiosError: …`, `RateLimitError: …`, `botocore.errorfactory.ThrottlingException: …`. A class of an error is no
/// report by itself, except for those that mean nothing else; that of a failed test is one of the program under test.
fn unwrap_class(text: &str) -> Option<(&str, bool)> {
    let (path, rest) = text.split_once(": ")?;
    if path.len() > 64 || !path.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_')) {
        return None;
    }
    let class = path.rsplit('.').next().unwrap_or_default();
    let known = (class.ends_with("Error") || class.ends_with("Exception")) && class.starts_with(char::is_uppercase);
    if !known || class == "AssertionError" {
        return None;
    }
    // What such a class tells by a status is read as a whole.
    let refused = matches!(
        class,
        "RateLimitError"
            | "ThrottlingException"
            | "TerminalQuotaError"
            | "RetryableQuotaError"
            | "TooManyRequestsError"
    );
    Some((rest, refused)).filter(|_| !rest.starts_with("Error code: "))
}

/// `Attempt 3 failed: …`, `Attempt 1 failed with status 429…`, `Retrying in 60s (attempt 1/10): …`,
/// `Reconnecting... 2/5 (…)`
fn unwrap_attempt(text: &str) -> Option<(&str, bool)> {
    if let Some(rest) = text.strip_prefix("Attempt ") {
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if let Some(status) = rest.strip_prefix(" failed with status ") {
            return status.starts_with("429").then_some(("", true));
        }
        return Some((rest.strip_prefix(" failed: ")?, false));
    }
    if let Some(rest) = text.strip_prefix("Retrying in ") {
        let (_, rest) = rest.split_once(" (attempt ")?;
        return Some((rest.split_once("): ")?.1, false));
    }
    let rest = text.strip_prefix("Reconnecting... ")?;
    Some((rest.split_once(" (")?.1.trim_end_matches(')'), false))
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_is_what_is_left() {
        for (line, text, refused) in [
            ("Error: x", "x", false),
            ("[API Error: 429 slow]", "API Error: 429 slow", false),
            ("[API Error: slow]", "slow", false),
            ("Retrying in 60s (attempt 1/10): [API Error: 429 slow]", "API Error: 429 slow", false),
            ("Attempt 1 failed with status 429. Retrying", "", true),
            ("Attempt 1 failed with status 500. Retrying", "Attempt 1 failed with status 500. Retrying", false),
            ("litellm.RateLimitError: RateLimitError: OpenAIException - slow", "slow", true),
            ("AxiosError: slow", "slow", false),
            ("AssertionError: slow", "AssertionError: slow", false),
            ("the RateLimitError: slow", "the RateLimitError: slow", false),
            ("Reconnecting... 2/5 (slow)", "slow", false),
            ("", "", false),
        ] {
            let wrapped = unwrap_line(line);
            assert_eq!((wrapped.text.as_str(), wrapped.refused), (text, refused), "{line}");
        }
    }

    #[test]
    fn wrappers_inside_wrappers_come_to_an_end() {
        assert!(unwrap_line(&"Error: ".repeat(1000)).text.starts_with("Error: "));
    }
}
