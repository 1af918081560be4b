//! Definitions with their extent: where a long file can be cut, and what it offers to others. Manifests name their package.

use crate::collector::Collector;
use crate::facts::Definition;
use crate::language::*;
use crate::text::{Text, contains, find, is_word};
use crate::words::Word;

/// Definitions that are open while the file is walked.
pub struct Outline {
    /// Braces that are open.
    depth: u32,
    parentheses: u32,
    /// A head that waits for its body: index in the list, parentheses around it.
    head: Option<(usize, u32)>,
    /// Bodies that are open: index in the list, depth of their brace.
    bodies: Vec<(usize, u32)>,
    /// Start and end of each definition.
    extents: Vec<(usize, usize)>,
    by_indent: bool,
}

impl Outline {
    /// Nothing is open.
    pub fn new(text: &Text<'_>) -> Self {
        Self {
            depth: 0,
            parentheses: 0,
            head: None,
            bodies: Vec::new(),
            extents: Vec::new(),
            by_indent: text.is(PYTHON | RUBY),
        }
    }

    /// `{` in code.
    pub fn open_brace(&mut self) {
        self.depth = self.depth.saturating_add(1);
        if let Some((index, parentheses)) = self.head
            && parentheses == self.parentheses
        {
            self.bodies.push((index, self.depth));
            self.head = None;
        }
    }

    /// `}` in code.
    pub fn close_brace(&mut self, at: usize) {
        if let Some((index, depth)) = self.bodies.last().copied()
            && depth >= self.depth
        {
            self.bodies.pop();
            if let Some(extent) = self.extents.get_mut(index) {
                extent.1 = at + 1;
            }
        }
        self.depth = self.depth.saturating_sub(1);
    }

    /// `(` in code.
    pub fn open_parenthesis(&mut self) {
        self.parentheses = self.parentheses.saturating_add(1);
    }

    /// `)` in code.
    pub fn close_parenthesis(&mut self) {
        self.parentheses = self.parentheses.saturating_sub(1);
    }

    /// `;` in code: a head without a body.
    pub fn semicolon(&mut self) {
        if self.head.is_some_and(|(_, parentheses)| parentheses == self.parentheses) {
            self.head = None;
        }
    }

    /// A keyword that defines something.
    pub fn define(&mut self, text: &Text<'_>, out: &mut Collector<'_>, word: Word, kind: &str) {
        if !out.wants_definitions()
            || (word.start > 0 && matches!(text.bytes[word.start - 1], b'.' | b'@' | b'$' | b':'))
        {
            return;
        }
        let mut at = text.skip_blanks(word.end);
        if at == word.end {
            return;
        }
        if text.is(GO) && text.byte(at) == b'(' {
            let Some((_, close)) = text.arguments(at) else { return };
            at = text.skip_blanks(close + 1);
        }
        if text.byte(at) == b'*' {
            at = text.skip_blanks(at + 1);
        }
        let end = text.word_end(at);
        if end == at || text.byte(at).is_ascii_digit() {
            return;
        }
        let next = text.byte(text.skip_blanks(end));
        let before = text.line_before(word.start).trim_ascii();
        if kind == "constant" {
            // Only functions are worth naming: `const name = (…) =>`.
            let value = text.rest_of_line(end);
            if !before.is_empty() && before != b"export"
                || !(contains(value, b"=>") || contains(value, b"= async") || contains(value, b"= function"))
            {
                return;
            }
        }
        if kind == "type"
            && matches!(text.bytes.get(word.start..word.end), Some(b"type"))
            && !matches!(next, b'=' | b'<' | b's' | b'i' | b'f' | b'[' | b'm' | b'{' | b'*')
            && !next.is_ascii_alphabetic()
        {
            return;
        }
        if text.is(C) && (next == b';' || next == b'*' || is_word(next) || next == b')') {
            return;
        }
        let name = String::from_utf8_lossy(&text.bytes[at..end]).into_owned();
        let is_top_level =
            !text.line_before(word.start).starts_with(b" ") && !text.line_before(word.start).starts_with(b"\t");
        let exported = is_exported(text, before, &name, is_top_level);
        let kind = if kind == "constant" { "function" } else { kind };
        let index = out.definitions.len();
        out.definitions.push(Definition {
            name,
            kind: kind.to_owned(),
            exported,
            span: text.span(word.start, end),
            extra: Vec::new(),
        });
        self.extents.push((word.start, end));
        if !self.by_indent {
            self.head = Some((index, self.parentheses));
        }
    }

    /// Writes the extents into the definitions.
    pub fn finish(mut self, text: &Text<'_>, out: &mut Collector<'_>) {
        if self.by_indent {
            self.extend_by_indent(text);
        }
        for (definition, (start, end)) in out.definitions.iter_mut().zip(&self.extents) {
            definition.span = text.span(*start, *end);
        }
    }

    fn extend_by_indent(&mut self, text: &Text<'_>) {
        let mut open: Vec<(usize, usize)> = Vec::new();
        let mut next = 0;
        let mut last_end = 0;
        for line in 0..text.line_count() {
            let (start, end) = text.line(line);
            let first = text.skip_blanks(start);
            if first >= end
                || (text.byte(first) == b'#' && text.is(PYTHON))
                || text.class_at(first) == crate::lexer::Class::String
                    && text.class_at(start) == crate::lexer::Class::String
            {
                continue;
            }
            let indent = first - start;
            let closes = text.is(RUBY) && text.bytes[first..end].starts_with(b"end");
            while open.last().is_some_and(|(_, i)| *i >= indent && !(closes && *i == indent)) {
                if let Some((index, _)) = open.pop() {
                    self.extents[index].1 = self.extents[index].1.max(last_end);
                }
            }
            last_end = end;
            while next < self.extents.len() && self.extents[next].0 < end {
                open.push((next, indent));
                next += 1;
            }
        }
        for (index, _) in open {
            self.extents[index].1 = self.extents[index].1.max(last_end);
        }
    }
}

fn is_exported(text: &Text<'_>, before: &[u8], name: &str, is_top_level: bool) -> bool {
    match text.language {
        RUST => before.starts_with(b"pub"),
        GO => name.starts_with(|c: char| c.is_uppercase()),
        PYTHON => !name.starts_with('_') && is_top_level,
        SCRIPT => before.starts_with(b"export"),
        JAVA | CSHARP | PHP => contains(before, b"public"),
        KOTLIN => !contains(before, b"private"),
        C => !contains(before, b"static"),
        _ => true,
    }
}

/// The package name of `Cargo.toml`, `package.json` and `go.mod`, as a definition of the kind `package`.
pub fn read_manifest(text: &Text<'_>, out: &mut Collector<'_>) {
    let file = text.path.rsplit('/').next().unwrap_or(text.path);
    let found = match file {
        "Cargo.toml" => find(text.bytes, b"[package]", 0).and_then(|at| quoted_behind(text, b"name", at)),
        "package.json" => quoted_behind(text, b"\"name\"", 0),
        "go.mod" => find(text.bytes, b"module ", 0).map(|at| {
            let start = text.skip_blanks(at + 7);
            let end = start
                + text.bytes[start..]
                    .iter()
                    .take(300)
                    .position(u8::is_ascii_whitespace)
                    .unwrap_or(text.bytes.len() - start);
            (start, end)
        }),
        _ => None,
    };
    if let Some((start, end)) = found
        && start < end
        && end <= text.bytes.len()
    {
        let name = String::from_utf8_lossy(&text.bytes[start..end]).into_owned();
        out.definitions.push(Definition {
            name,
            kind: "package".to_owned(),
            exported: true,
            span: text.span(start, end),
            extra: Vec::new(),
        });
    }
}

fn quoted_behind(text: &Text<'_>, key: &[u8], from: usize) -> Option<(usize, usize)> {
    let at = find(text.bytes, key, from)? + key.len();
    let open = find(text.bytes, b"\"", at)?;
    let between = &text.bytes[at..open];
    if !between.iter().all(|b| b.is_ascii_whitespace() || matches!(b, b'=' | b':')) {
        return None;
    }
    let close = find(text.bytes, b"\"", open + 1)?;
    (close - open < 300).then_some((open + 1, close))
}
