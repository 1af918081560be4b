//! The shape of texts: their end, their lines, the JSON in them.

use serde_json::Value;

/// Bytes of text that are looked at; reports stand at the end.
const TEXT_BYTES: usize = 64 * 1024;

/// The end of a long text, from a whole line on.
pub fn derive_tail(text: &str) -> &str {
    if text.len() <= TEXT_BYTES {
        return text;
    }
    let mut from = text.len() - TEXT_BYTES;
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text[from..].find('\n').map_or(&text[from..], |at| &text[from + at + 1..])
}

/// The line without colours.
pub fn strip_escapes(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("\u{1b}[") {
        plain.push_str(&rest[..at]);
        let sequence = &rest[at + 2..];
        let end = sequence
            .find(|c: char| ('@'..='~').contains(&c))
            .map_or(sequence.len(), |end| end + sequence[end..].chars().next().map_or(1, char::len_utf8));
        rest = &sequence[end..];
    }
    plain.push_str(rest);
    plain
}

/// JSON values of a text: the whole of it, or else each line that is one, with or without the `data:` of an event stream.
pub fn json_lines(text: &str) -> Vec<Value> {
    let text = derive_tail(text).trim();
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        return vec![value];
    }
    text.lines()
        .map(|line| line.trim().strip_prefix("data:").unwrap_or(line).trim())
        .filter(|line| line.starts_with('{'))
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_at_a_line() {
        let text = format!("first\n{}last", "\u{e4}\n".repeat(TEXT_BYTES));
        let tail = derive_tail(&text);
        assert!(tail.len() <= TEXT_BYTES && tail.starts_with('\u{e4}') && tail.ends_with("last"));
    }

    #[test]
    fn colours_go_and_letters_stay() {
        for (line, plain) in
            [("\u{1b}[91m\u{1b}[1mError: \u{1b}[0mx", "Error: x"), ("\u{1b}[", ""), ("\u{1b}[3\u{fc}", "")]
        {
            assert_eq!(strip_escapes(line), plain, "{line:?}");
        }
    }

    #[test]
    fn values_deeper_than_any_body_are_none() {
        assert_eq!(json_lines(&"[".repeat(TEXT_BYTES)), Vec::<Value>::new());
    }
}
