//! Small pieces of text handling: one line for messages, the tail of an output, bytes as readable JSON.

/// The first line of a text that is not blank, control characters removed, cut to `cap` characters.
pub fn derive_one_line(text: &str, cap: usize) -> String {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    let mut chars = line.chars().filter(|c| !c.is_control());
    let mut cut: String = chars.by_ref().take(cap).collect();
    if chars.next().is_some() {
        cut.push('…');
    }
    cut
}

/// The last `cap` bytes of an output as text; a character or line that the cut goes through is left out.
pub fn derive_tail(bytes: &[u8], cap: usize) -> String {
    if bytes.len() <= cap {
        return String::from_utf8_lossy(bytes).into_owned();
    }
    let tail = &bytes[bytes.len() - cap..];
    let from = tail.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    String::from_utf8_lossy(&tail[from..]).into_owned()
}

/// The text without terminal escape sequences (`ESC [ … letter`), which programs use for colours.
pub fn strip_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\u{1b}') {
        plain.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(sequence) = rest.strip_prefix('[') {
            let end = sequence.find(|c: char| ('@'..='~').contains(&c)).map_or(sequence.len(), |end| end + 1);
            rest = &sequence[end..];
        }
    }
    plain.push_str(rest);
    plain
}

/// Bytes in JSON: text where they are UTF-8, else a list of numbers; both forms are read.
pub mod bytes {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    /// Writes bytes.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(bytes) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => bytes.serialize(serializer),
        }
    }

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Text(String),
        Numbers(Vec<u8>),
    }

    /// Reads bytes.
    ///
    /// # Errors
    /// When the value is neither text nor a list of bytes.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        Ok(match Form::deserialize(deserializer)? {
            Form::Text(text) => text.into_bytes(),
            Form::Numbers(numbers) => numbers,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_takes_the_first_line_that_says_something_and_cuts_it() {
        assert_eq!(derive_one_line("\n  \n a\tb \nc", 10), "ab");
        assert_eq!(derive_one_line("äöüß", 2), "äö…");
        assert_eq!(derive_one_line("\n\n", 2), "");
    }

    #[test]
    fn escapes_are_stripped_and_the_rest_stays() {
        assert_eq!(strip_escapes("\u{1b}[1;91mError:\u{1b}[0m ä"), "Error: ä");
        assert_eq!(strip_escapes("a\u{1b}"), "a");
        assert_eq!(strip_escapes("a\u{1b}[31"), "a");
    }

    #[test]
    fn a_tail_starts_at_a_whole_line() {
        assert_eq!(derive_tail(b"one\ntwo\nthree", 8), "three");
        assert_eq!(derive_tail(b"one", 8), "one");
        assert_eq!(derive_tail("ä".repeat(9).as_bytes(), 3).chars().last(), Some('ä'));
    }
}
