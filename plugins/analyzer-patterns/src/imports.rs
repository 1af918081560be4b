//! What a file asks for, read from the words that ask in its language.

use crate::collector::Collector;
use crate::facts::Import;
use crate::language::*;
use crate::lexer::Class;
use crate::text::{Text, find, is_word};
use crate::words::Word;

/// Leaves read from one statement.
const MOST_LEAVES: usize = 200;

/// Reads the import that a word begins, if it does.
pub fn read(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    if !out.wants_imports() {
        return;
    }
    let name = &text.bytes[word.start..word.end];
    match text.language {
        PYTHON => read_python(text, out, word, name),
        SCRIPT => read_script(text, out, word, name),
        GO => read_go(text, out, word),
        RUST => read_rust(text, out, word, name),
        JAVA | KOTLIN => read_dotted(text, out, word, "import"),
        CSHARP => read_dotted(text, out, word, "using"),
        C => read_include(text, out, word),
        PHP => read_php(text, out, word, name),
        RUBY => {
            let kind = if name == b"require_relative" { "require_relative" } else { "require" };
            let at = text.skip_blanks(word.end);
            let at = if text.byte(at) == b'(' { at + 1 } else { at };
            push_string(text, out, word, at, kind);
        }
        _ => {}
    }
}

fn push(text: &Text<'_>, out: &mut Collector<'_>, specifier: &[u8], kind: &str, start: usize, end: usize) {
    let specifier = specifier.trim_ascii();
    if !specifier.is_empty() && specifier.len() <= 500 && out.wants_imports() {
        out.imports.push(Import {
            specifier: String::from_utf8_lossy(specifier).into_owned(),
            kind: kind.to_owned(),
            span: text.span(start, end),
            extra: Vec::new(),
        });
    }
}

/// The string that starts at a place: its inside, and its end.
fn string_at<'a>(text: &Text<'a>, at: usize) -> Option<(&'a [u8], usize)> {
    let segment = text.segments.get(text.segment_index(at))?;
    (segment.class == Class::String && segment.start == at && segment.end >= at + 2)
        .then(|| (&text.bytes[at + 1..segment.end - 1], segment.end))
}

fn push_string(text: &Text<'_>, out: &mut Collector<'_>, word: Word, at: usize, kind: &str) {
    if let Some((inside, end)) = string_at(text, at) {
        push(text, out, inside, kind, word.start, end);
    }
}

fn begins_line(text: &Text<'_>, word: Word) -> bool {
    text.line_before(word.start).trim_ascii().is_empty()
}

fn read_python(text: &Text<'_>, out: &mut Collector<'_>, word: Word, name: &[u8]) {
    if !begins_line(text, word) {
        return;
    }
    let rest = text.rest_of_line(word.end);
    let rest = &rest[..rest.iter().position(|b| matches!(b, b'#' | b';')).unwrap_or(rest.len())];
    let end = word.end + rest.trim_ascii_end().len();
    if name == b"import" {
        for part in rest.split(|b| *b == b',').take(MOST_LEAVES) {
            let module = part.trim_ascii().split(|b| *b == b' ').next().unwrap_or(b"");
            push(text, out, module, "import", word.start, end);
        }
        return;
    }
    let Some(at) = find(rest, b" import", 0) else { return };
    let before = out.imports.len();
    push(text, out, &rest[..at], "from", word.start, end);
    let mut from = text.skip_blanks(word.end + at + 7);
    let mut to = end;
    if text.byte(from) == b'('
        && let Some((open, close)) = text.arguments(from)
    {
        (from, to) = (open, close);
    }
    let names: Vec<String> = text.bytes[from.min(to)..to]
        .split(|b| *b == b',')
        .take(MOST_LEAVES)
        .map(|part| part.trim_ascii())
        .map(|part| &part[..part.iter().position(|b| !is_word(*b) && *b != b'*').unwrap_or(part.len())])
        .filter(|part| !part.is_empty())
        .map(|part| String::from_utf8_lossy(part).into_owned())
        .collect();
    if let Some(import) = out.imports.get_mut(before) {
        import.extra.push(("names".to_owned(), names.join(",")));
    }
}

fn read_script(text: &Text<'_>, out: &mut Collector<'_>, word: Word, name: &[u8]) {
    let mut at = text.skip_white(word.end);
    match name {
        b"require" if text.byte(at) == b'(' => push_string(text, out, word, text.skip_white(at + 1), "require"),
        b"import" => {
            if text.byte(at) == b'(' {
                at = text.skip_white(at + 1);
            }
            push_string(text, out, word, at, "import");
        }
        // `import … from "x"` and `export … from "x"`; the word `from` alone in code is followed by no string.
        b"from" if at > word.end || matches!(text.byte(at), b'"' | b'\'') => push_string(text, out, word, at, "import"),
        _ => {}
    }
}

fn read_go(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    if !begins_line(text, word) {
        return;
    }
    let at = text.skip_blanks(word.end);
    if text.byte(at) != b'(' {
        let at = if text.byte(at) == b'"' {
            at
        } else {
            text.skip_blanks(text.word_end(at).max(at + usize::from(text.byte(at) == b'.')))
        };
        push_string(text, out, word, at, "import");
        return;
    }
    for segment in text.segments.iter().skip(text.segment_index(at)).take(MOST_LEAVES * 2) {
        match segment.class {
            Class::String => push_string(
                text,
                out,
                Word { start: segment.start, end: segment.start, class: Class::String },
                segment.start,
                "import",
            ),
            Class::Code => {
                let from = segment.start.max(at);
                if text.spend(segment.end - from) && text.bytes[from..segment.end].contains(&b')') {
                    return;
                }
            }
            Class::Comment => {}
        }
    }
}

fn read_rust(text: &Text<'_>, out: &mut Collector<'_>, word: Word, name: &[u8]) {
    let before = text.line_before(word.start).trim_ascii();
    if !(before.is_empty()
        || before.starts_with(b"pub")
        || before.ends_with(b"]")
        || before.ends_with(b"{")
        || before.ends_with(b";"))
    {
        return;
    }
    let window = &text.bytes[word.end..text.bytes.len().min(word.end + 2000)];
    let Some(end) = window.iter().position(|b| *b == b';') else { return };
    if !text.spend(end) {
        return;
    }
    let body = &window[..end];
    let stop = word.end + end + 1;
    if name == b"mod" {
        if body.trim_ascii().iter().all(|b| is_word(*b)) {
            let path = path_attribute(text, word);
            let before = out.imports.len();
            push(text, out, body, "module", word.start, stop);
            if let (Some(path), Some(import)) = (path, out.imports.get_mut(before)) {
                import.extra.push(("path".to_owned(), path));
            }
        }
        return;
    }
    for leaf in spread_tree(body) {
        push(text, out, &leaf, "use", word.start, stop);
    }
}

/// `#[path = "x.rs"]` on the line before.
fn path_attribute(text: &Text<'_>, word: Word) -> Option<String> {
    let line = text.line_of(word.start).checked_sub(1)?;
    let (start, end) = text.line(line);
    let bytes = text.bytes[start..end.min(start + 300)].trim_ascii();
    let rest = bytes.strip_prefix(b"#[path")?;
    let open = rest.iter().position(|b| *b == b'"')?;
    let close = rest[open + 1..].iter().position(|b| *b == b'"')? + open + 1;
    Some(String::from_utf8_lossy(&rest[open + 1..close]).into_owned())
}

/// The leaves of `a::{b, c::{d, e}}`.
fn spread_tree(body: &[u8]) -> Vec<Vec<u8>> {
    let mut leaves = Vec::new();
    let mut prefixes: Vec<usize> = Vec::new();
    let mut path: Vec<u8> = Vec::new();
    let mut is_alias = false;
    for byte in body {
        match byte {
            b'{' => prefixes.push(path.len()),
            b',' | b'}' => {
                let base = prefixes.last().copied().unwrap_or(0);
                if path.len() > base {
                    leaves.push(path.clone());
                }
                if *byte == b'}' {
                    prefixes.pop();
                }
                path.truncate(prefixes.last().copied().unwrap_or(0));
                is_alias = false;
            }
            b if b.is_ascii_whitespace() => is_alias |= path.last().is_some_and(|b| is_word(*b)),
            b if !is_alias && path.len() < 300 => path.push(*b),
            _ => {}
        }
        if leaves.len() >= MOST_LEAVES {
            return leaves;
        }
    }
    if !path.is_empty() && prefixes.is_empty() {
        leaves.push(path);
    }
    leaves
}

fn read_dotted(text: &Text<'_>, out: &mut Collector<'_>, word: Word, kind: &str) {
    if !begins_line(text, word) {
        return;
    }
    let rest = text.rest_of_line(word.end);
    let rest = &rest[..rest.iter().position(|b| matches!(b, b';' | b'(' | b'=')).unwrap_or(rest.len())];
    let rest = rest.trim_ascii();
    let path = rest.strip_prefix(b"static ").unwrap_or(rest);
    let path = path.split(|b| *b == b' ').next().unwrap_or(b"");
    if path.iter().all(|b| is_word(*b) || matches!(b, b'.' | b'*')) {
        push(text, out, path, kind, word.start, word.end + 1 + rest.len());
    }
}

fn read_include(text: &Text<'_>, out: &mut Collector<'_>, word: Word) {
    if !text.line_before(word.start).trim_ascii().starts_with(b"#") {
        return;
    }
    let at = text.skip_blanks(word.end);
    let rest = text.rest_of_line(at);
    let (close, kind) = match rest.first() {
        Some(b'"') => (b'"', "include"),
        Some(b'<') => (b'>', "include-system"),
        _ => return,
    };
    if let Some(end) = rest.iter().skip(1).position(|b| *b == close) {
        push(text, out, &rest[1..=end], kind, word.start, at + end + 2);
    }
}

fn read_php(text: &Text<'_>, out: &mut Collector<'_>, word: Word, name: &[u8]) {
    let rest = text.rest_of_line(word.end);
    let rest = &rest[..rest.iter().position(|b| *b == b';').unwrap_or(rest.len())];
    let end = word.end + rest.len();
    if name == b"use" {
        if begins_line(text, word) && !rest.trim_ascii().starts_with(b"(") {
            for leaf in spread_tree(&rest.iter().map(|b| if *b == b'\\' { b'/' } else { *b }).collect::<Vec<u8>>()) {
                push(text, out, &leaf, "use", word.start, end);
            }
        }
        return;
    }
    // `require __DIR__ . '/x.php'`: the one string of the statement.
    let Some(open) = rest.iter().position(|b| matches!(b, b'"' | b'\'')) else { return };
    if let Some((inside, close)) = string_at(text, word.end + open) {
        push(text, out, inside, "require", word.start, close);
    }
}
