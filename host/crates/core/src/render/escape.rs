//! Other people's text made harmless: Markdown, HTML, control characters and URIs.

/// Longest paragraph of other people's text in Markdown, in characters.
const PARAGRAPH: usize = 4000;
/// Lines of a fence at most.
const FENCE_LINES: usize = 60;

/// Whether a character cannot be seen, or reorders what is seen.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(u32::from(c), 0xAD | 0x61C | 0x180E | 0x200B..=0x200F | 0x2028..=0x202E | 0x2060..=0x206F | 0xFEFF | 0xFFF9..=0xFFFB | 0xFFFE | 0xFFFF | 0xE0000..=0xE0FFF)
}

/// Text in which hidden characters are written out, line feeds and tabs excepted where `lines` says so.
pub(super) fn visible(text: &str, lines: bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\t' if lines => shown.push(c),
            '\n' => shown.push_str("\\n"),
            c if is_hidden(c) => shown.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown
}

/// Text cut between characters, with a mark where something is missing.
pub(super) fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// One line of Markdown text without any markup of its own.
pub(super) fn inline(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    escape_line(&visible(&cut(&line.join(" "), PARAGRAPH), false))
}

/// Markdown paragraphs without any markup of their own.
pub(super) fn paragraphs(text: &str) -> String {
    let text = visible(&cut(&text.replace("\r\n", "\n"), PARAGRAPH), true);
    let mut out: Vec<String> = Vec::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() {
            if out.last().is_some_and(|last| !last.is_empty()) {
                out.push(String::new());
            }
        } else {
            out.push(escape_line(line));
        }
    }
    out.join("\n").trim_end().to_owned()
}

fn escape_line(line: &str) -> String {
    let mut out = String::with_capacity(line.len() + 16);
    let first_word_is_number = line.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['.', ')']);
    let mut leading = true;
    let mut digits = first_word_is_number;
    for c in line.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' | '$' | '!' => {
                out.push('\\');
                out.push(c);
            }
            '-' | '+' | '=' if leading => {
                out.push('\\');
                out.push(c);
            }
            '.' | ')' if digits => {
                out.push('\\');
                out.push(c);
            }
            c => out.push(c),
        }
        digits &= c.is_ascii_digit();
        leading &= c.is_whitespace();
    }
    // Bare addresses would become links.
    out.replace("://", ":&#47;&#47;").replace("www.", "www&#46;").replace("WWW.", "WWW&#46;")
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// A code span that shows the text as it is.
pub(super) fn code(text: &str) -> String {
    let text = visible(text, false);
    if text.trim().is_empty() {
        return format!("`{}`", text.replace(' ', "␠"));
    }
    let fence = "`".repeat(longest_run(&text) + 1);
    let pad = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// Text for a cell of a table: a bar would end the cell even in a code span.
pub(super) fn code_cell(text: &str) -> String {
    code(text).replace('|', "\\|")
}

/// A fenced block that the text cannot end.
pub(super) fn fence(text: &str) -> String {
    let text = visible(&cut(&text.replace("\r\n", "\n"), PARAGRAPH), true);
    let mut lines: Vec<&str> = text.lines().take(FENCE_LINES).collect();
    if text.lines().nth(FENCE_LINES).is_some() {
        lines.push("…");
    }
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}text\n{}\n{fence}", lines.join("\n"))
}

/// A relative URI: everything but letters, digits, `-`, `.`, `_`, `~` and `/` is percent-encoded. The bytes need not be
/// UTF-8.
pub(super) fn uri(path: &[u8]) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path {
        match *byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => out.push(char::from(*byte)),
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_bring_markup() {
        let out = inline("<img src=x onerror=a> [x](javascript:1) `c` **b** | ![i](u) http://e.x www.e.x\n# h");
        assert!(!out.contains('<') && !out.contains("://") && !out.contains("www."), "{out}");
        assert!(out.contains("\\[x\\](") && out.contains("\\`c\\`") && out.contains("\\|") && out.contains("\\# h"));
        assert_eq!(paragraphs("a\n---\n\n\n1. b\n- c\n    code"), "a\n\\---\n\n1\\. b\n\\- c\ncode");
    }

    #[test]
    fn hidden_characters_are_written_out() {
        assert_eq!(visible("a\u{202e}b\0\n", false), "a\\u{202e}b\\u{0}\\n");
        assert_eq!(visible("a\tb\r\n", true), "a\tb\\u{d}\n");
    }

    #[test]
    fn code_cannot_be_left() {
        assert_eq!(code("a`b``c"), "```a`b``c```");
        assert_eq!(code("`x"), "`` `x ``");
        assert_eq!(code_cell("a|b\nc"), "`a\\|b\\nc`");
        assert_eq!(fence("x\n````\ny"), "`````text\nx\n````\ny\n`````");
        assert_eq!(code(""), "``");
    }

    #[test]
    fn uris_are_encoded_whole() {
        assert_eq!(uri("a b/ü#%:c.py".as_bytes()), "a%20b/%C3%BC%23%25%3Ac.py");
        assert_eq!(uri(b"raw\xff\xe9.py"), "raw%FF%E9.py");
    }
}
