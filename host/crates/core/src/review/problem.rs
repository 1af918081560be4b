//! What is wrong with an answer, in a form that can be shown, stored and sent back to the reviewer.

use serde::{Deserialize, Serialize};

/// Longest message, in characters.
const MESSAGE_CHARS: usize = 300;
/// Most characters of an answer that one message repeats.
const SHOWN_CHARS: usize = 80;

/// One thing that is wrong. It never carries source text, and at most a few words of the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Machine word, kebab-case.
    pub code: String,
    /// JSON pointer into the result, such as `/findings/0/severity`; empty for the whole.
    pub place: String,
    /// One line for people and for the reviewer that is asked again.
    pub message: String,
}

impl Problem {
    /// A problem at a place. Line breaks in the message become spaces, and it is cut at 300 characters.
    pub fn new(code: &str, place: impl Into<String>, message: impl AsRef<str>) -> Self {
        let message = message.as_ref().chars().take(MESSAGE_CHARS);
        Self {
            code: code.to_owned(),
            place: place.into(),
            message: message.map(|c| if c.is_control() { ' ' } else { c }).collect(),
        }
    }
}

/// A few characters of an answer's member for a message: quoted, escaped and cut.
pub(super) fn shown(text: &str) -> String {
    let mut cut: String = text.chars().take(SHOWN_CHARS / 2).flat_map(char::escape_debug).collect();
    if cut.chars().count() > SHOWN_CHARS {
        cut = cut.chars().take(SHOWN_CHARS).collect();
    }
    let more = if text.chars().nth(SHOWN_CHARS / 2).is_some() { "…" } else { "" };
    format!("\"{cut}{more}\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_bounded_line() {
        let problem = Problem::new("x", "/a", format!("a\nb{}", "c".repeat(1000)));
        assert!(problem.message.starts_with("a b"));
        assert_eq!(problem.message.chars().count(), MESSAGE_CHARS);
    }

    #[test]
    fn little_of_the_answer_is_repeated() {
        assert_eq!(shown("ab\n"), "\"ab\\n\"");
        assert!(shown(&"\u{202e}".repeat(5000)).chars().count() < 100);
    }
}
