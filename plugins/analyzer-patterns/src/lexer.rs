//! Cuts a file into code, strings and comments in one pass. Not a parser: it errs towards code at the end of a line,
//! so that an odd quote never hides more than its line.

use crate::language::{C, Languages, PHP, RUBY, habit::*, habits_of};

/// What a stretch of a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Code, or text of an unknown language.
    Code,
    /// A string with its quotes.
    String,
    /// A comment with its marks.
    Comment,
}

/// A stretch of one class; `end` is exclusive. Segments cover the file without gaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
    /// What it is.
    pub class: Class,
}

/// The segments of a file, in order.
pub fn derive_segments(bytes: &[u8], language: Languages) -> Vec<Segment> {
    let habits = habits_of(language);
    let mut lexer = Lexer {
        bytes,
        habits,
        language,
        at: 0,
        open: 0,
        out: Vec::with_capacity(bytes.len() / 64 + 1),
        holes: Vec::new(),
        here: None,
    };
    if habits == 0 {
        lexer.at = bytes.len();
    } else {
        lexer.run();
    }
    lexer.close_code(bytes.len());
    lexer.out
}

struct Lexer<'a> {
    bytes: &'a [u8],
    habits: u32,
    language: Languages,
    at: usize,
    /// Where the code since the last string or comment began.
    open: usize,
    out: Vec<Segment>,
    /// Depth of braces in each `${` that is open.
    holes: Vec<u32>,
    /// The end word of a here document that starts at the next line.
    here: Option<(usize, usize)>,
}

impl Lexer<'_> {
    fn has(&self, habit: u32) -> bool {
        self.habits & habit != 0
    }

    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    fn starts(&self, at: usize, word: &[u8]) -> bool {
        self.bytes.get(at..).is_some_and(|rest| rest.starts_with(word))
    }

    fn close_code(&mut self, end: usize) {
        if end > self.open {
            self.out.push(Segment { start: self.open, end, class: Class::Code });
        }
        self.open = end;
    }

    fn take(&mut self, start: usize, end: usize, class: Class) {
        let end = end.min(self.bytes.len());
        self.close_code(start);
        if end > start {
            self.out.push(Segment { start, end, class });
        }
        self.open = end;
        self.at = end;
    }

    fn run(&mut self) {
        let interesting = self.interesting();
        if self.has(ISLANDS) {
            self.skip_to_island();
        }
        while self.at < self.bytes.len() {
            let byte = self.bytes[self.at];
            if !interesting[usize::from(byte)] {
                self.at += 1;
                continue;
            }
            if !self.step(byte) {
                self.at += 1;
            }
        }
    }

    fn interesting(&self) -> [bool; 256] {
        let mut set = [false; 256];
        for (habit, bytes) in [
            (SLASH_LINE | BLOCK | REGEX, &b"/"[..]),
            (HASH_LINE, b"#"),
            (DASH_LINE, b"-"),
            (SEMI_LINE, b";"),
            (DOUBLE, b"\""),
            (SINGLE | CHARACTER, b"'"),
            (RAW_BACK, b"`"),
            (TEMPLATE, b"`{}"),
            (MARKUP, b"<"),
            (HERE, b"<\n"),
            (ISLANDS, b"?"),
        ] {
            if self.has(habit) {
                for byte in bytes {
                    set[usize::from(*byte)] = true;
                }
            }
        }
        set
    }

    /// Handles one byte that may begin something. False means that it was plain code.
    fn step(&mut self, byte: u8) -> bool {
        let start = self.at;
        match byte {
            b'/' if self.has(SLASH_LINE) && self.byte(start + 1) == b'/' => self.take_line(start),
            b'/' if self.has(BLOCK) && self.byte(start + 1) == b'*' => self.take_block(start),
            b'/' if self.has(REGEX) => return self.skip_regex(start),
            b'#' if self.has(HASH_LINE) && self.begins_hash_comment(start) => self.take_line(start),
            b'-' if self.has(DASH_LINE) && self.byte(start + 1) == b'-' => self.take_line(start),
            b';' if self.has(SEMI_LINE) && (!self.has(VALUES) || self.is_after_blank(start)) => self.take_line(start),
            b'"' if self.has(DOUBLE) => return self.take_quoted(start, b'"'),
            b'\'' if self.has(SINGLE) => return self.take_quoted(start, b'\''),
            b'\'' if self.has(CHARACTER) => return self.take_character(start),
            b'`' if self.has(RAW_BACK) => {
                let end = self.find(start + 1, b"`").map_or(self.bytes.len(), |at| at + 1);
                self.take(start, end, Class::String);
            }
            b'`' if self.has(TEMPLATE) => self.take_template(start),
            b'{' if !self.holes.is_empty() => {
                if let Some(depth) = self.holes.last_mut() {
                    *depth += 1;
                }
                return false;
            }
            b'}' if !self.holes.is_empty() => return self.close_brace(start),
            b'<' if self.has(MARKUP) && self.starts(start, b"<!--") => {
                let end = self.find(start + 4, b"-->").map_or(self.bytes.len(), |at| at + 3);
                self.take(start, end, Class::Comment);
            }
            b'<' if self.has(HERE) && self.byte(start + 1) == b'<' => return self.open_here(start),
            b'\n' if self.here.is_some() => self.take_here(start + 1),
            b'?' if self.has(ISLANDS) && self.byte(start + 1) == b'>' => {
                self.at = start + 2;
                self.skip_to_island();
            }
            _ => return false,
        }
        true
    }

    fn line_end(&self, from: usize) -> usize {
        self.find(from, b"\n").unwrap_or(self.bytes.len())
    }

    fn find(&self, from: usize, needle: &[u8]) -> Option<usize> {
        crate::text::find(self.bytes, needle, from)
    }

    fn take_line(&mut self, start: usize) {
        let mut end = self.line_end(start);
        if self.has(ISLANDS)
            && let Some(close) = crate::text::find(&self.bytes[start..end], b"?>", 0)
        {
            end = start + close;
        }
        self.take(start, end, Class::Comment);
    }

    fn take_block(&mut self, start: usize) {
        let mut at = start + 2;
        let mut depth = 1;
        while at < self.bytes.len() {
            if self.bytes[at] == b'*' && self.byte(at + 1) == b'/' {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    break;
                }
            } else if self.has(NESTED) && self.bytes[at] == b'/' && self.byte(at + 1) == b'*' {
                depth += 1;
                at += 2;
            } else {
                at += 1;
            }
        }
        self.take(start, at, Class::Comment);
    }

    fn is_after_blank(&self, at: usize) -> bool {
        at == 0 || self.bytes[at - 1].is_ascii_whitespace()
    }

    fn begins_hash_comment(&self, at: usize) -> bool {
        if self.language == PHP && self.byte(at + 1) == b'[' {
            return false;
        }
        if self.language == RUBY && at > 0 && self.bytes[at - 1] == b'&' {
            return false;
        }
        !self.has(VALUES) || self.is_after_blank(at)
    }

    fn take_quoted(&mut self, quote_at: usize, quote: u8) -> bool {
        let previous = if quote_at == 0 { b'\n' } else { self.bytes[quote_at - 1] };
        if self.has(VALUES) && !(previous.is_ascii_whitespace() || b"=:,[{(|&;$@\"'".contains(&previous)) {
            return false;
        }
        let triple = [quote, quote, quote];
        if self.has(TRIPLE) && self.starts(quote_at, &triple) {
            let end = self.find_unescaped(quote_at + 3, &triple);
            self.take(quote_at, end, Class::String);
            return true;
        }
        if quote == b'"'
            && self.has(HASHED_RAW)
            && matches!(previous, b'#' | b'r')
            && let Some(hashes) = self.raw_hashes(quote_at)
        {
            let mut close = vec![b'"'];
            close.resize(hashes + 1, b'#');
            let end = self.find(quote_at + 1, &close).map_or(self.bytes.len(), |at| at + close.len());
            self.take(quote_at, end, Class::String);
            return true;
        }
        if self.language == C
            && quote == b'"'
            && previous == b'R'
            && let Some(end) = self.named_raw_end(quote_at)
        {
            self.take(quote_at, end, Class::String);
            return true;
        }
        let doubling = self.has(DOUBLING)
            || (self.has(VERBATIM)
                && (previous == b'@' || (previous == b'$' && quote_at > 1 && self.bytes[quote_at - 2] == b'@')));
        let multiline = self.has(MULTILINE) || doubling;
        // Single quotes of a shell know no escapes.
        let is_shell = self.has(HERE) && self.has(VALUES);
        let escapes = !(doubling || quote == b'\'' && is_shell);
        let mut at = quote_at + 1;
        while at < self.bytes.len() {
            let byte = self.bytes[at];
            if byte == quote {
                at += 1;
                if doubling && self.byte(at) == quote {
                    at += 1;
                    continue;
                }
                break;
            }
            if byte == b'\n' && !multiline {
                break;
            }
            at += if byte == b'\\' && escapes { 2 } else { 1 };
        }
        self.take(quote_at, at, Class::String);
        true
    }

    fn find_unescaped(&self, from: usize, close: &[u8]) -> usize {
        let mut at = from;
        while at < self.bytes.len() {
            if self.bytes[at] == b'\\' {
                at += 2;
            } else if self.starts(at, close) {
                return at + close.len();
            } else {
                at += 1;
            }
        }
        self.bytes.len()
    }

    /// Number of `#` between an `r` and this quote; absent when it is no raw string.
    fn raw_hashes(&self, quote_at: usize) -> Option<usize> {
        let mut at = quote_at;
        // The compiler allows 255; beyond that it is not a raw string and looking back stays bounded.
        while at > 0 && quote_at - at < 255 && self.bytes[at - 1] == b'#' {
            at -= 1;
        }
        (at > 0 && self.bytes[at - 1] == b'r').then_some(quote_at - at)
    }

    fn named_raw_end(&self, quote_at: usize) -> Option<usize> {
        // The standard allows delimiters of up to 16 characters.
        let open = (quote_at + 1..quote_at + 18).find(|at| self.byte(*at) == b'(')?;
        let mut close = vec![b')'];
        close.extend_from_slice(&self.bytes[quote_at + 1..open]);
        close.push(b'"');
        Some(self.find(open, &close).map_or(self.bytes.len(), |at| at + close.len()))
    }

    fn take_character(&mut self, start: usize) -> bool {
        let end = if self.byte(start + 1) == b'\\' {
            (start + 3..start + 12).find(|at| self.byte(*at) == b'\'')
        } else {
            (start + 2..start + 6).find(|at| self.byte(*at) == b'\'')
        };
        match end {
            Some(end)
                if !self.bytes[start..end].contains(&b'\n')
                    && (self.byte(start + 1) == b'\\' || end == start + 2 || self.byte(start + 1) >= 0x80) =>
            {
                self.take(start, end + 1, Class::String);
                true
            }
            _ => false,
        }
    }

    fn take_template(&mut self, start: usize) {
        let mut at = start + 1;
        while at < self.bytes.len() {
            match self.bytes[at] {
                b'\\' => at += 2,
                b'`' => {
                    at += 1;
                    break;
                }
                b'$' if self.byte(at + 1) == b'{' => {
                    at += 2;
                    self.holes.push(0);
                    break;
                }
                _ => at += 1,
            }
        }
        self.take(start, at, Class::String);
    }

    fn close_brace(&mut self, start: usize) -> bool {
        match self.holes.last_mut() {
            Some(0) => {
                self.holes.pop();
                self.take_template(start);
                true
            }
            Some(depth) => {
                *depth -= 1;
                false
            }
            None => false,
        }
    }

    /// A slash begins a regular expression where a value may begin, and ends on the same line.
    fn skip_regex(&mut self, start: usize) -> bool {
        let before =
            self.bytes[start.saturating_sub(64)..start].iter().rev().find(|b| **b != b' ').copied().unwrap_or(b'\n');
        if !b"(,=:[!&|?{};\n+>".contains(&before) {
            return false;
        }
        let mut at = start + 1;
        let mut in_set = false;
        // A literal longer than this is not worth looking for; the bound keeps lines of slashes linear.
        let limit = self.bytes.len().min(start + 512);
        while at < limit {
            match self.bytes[at] {
                b'\\' => at += 1,
                b'\n' => return false,
                b'[' => in_set = true,
                b']' => in_set = false,
                b'/' if !in_set => {
                    self.take(start, at + 1, Class::String);
                    return true;
                }
                _ => {}
            }
            at += 1;
        }
        false
    }

    fn open_here(&mut self, start: usize) -> bool {
        let mut at = start + 2;
        while at < start + 5 && matches!(self.byte(at), b'<' | b'-' | b'~') {
            at += 1;
        }
        while matches!(self.byte(at), b' ' | b'\'' | b'"' | b'\\') && at < start + 10 {
            at += 1;
        }
        let word = at;
        while at < word + 64 && (self.byte(at).is_ascii_alphanumeric() || self.byte(at) == b'_') {
            at += 1;
        }
        // `1 << X` and `list << Name` are no here documents; the words of those are written in capitals.
        if at == word || self.bytes[word..at].iter().any(u8::is_ascii_lowercase) || self.byte(word).is_ascii_digit() {
            return false;
        }
        if self.here.is_none() {
            self.here = Some((word, at));
        }
        self.at = at;
        if matches!(self.byte(at), b'\'' | b'"') {
            self.at += 1;
        }
        true
    }

    fn take_here(&mut self, body: usize) {
        let Some((word, word_end)) = self.here.take() else { return };
        let end_word = self.bytes[word..word_end].to_vec();
        let mut line = body;
        while line < self.bytes.len() {
            let end = self.line_end(line);
            let trimmed = self.bytes[line..end].trim_ascii();
            if trimmed.strip_prefix(end_word.as_slice()).is_some_and(|rest| rest.iter().all(|b| b";,)".contains(b))) {
                self.take(body, line, Class::String);
                self.at = end;
                return;
            }
            line = end + 1;
        }
        // Without an end it was an operator: nothing is hidden.
        self.at = body;
    }

    fn skip_to_island(&mut self) {
        let start = self.at;
        let end = match self.find(start, b"<?") {
            Some(at) => at + if self.starts(at, b"<?php") { 5 } else { 2 },
            None if start == 0 => 0,
            None => self.bytes.len(),
        };
        if end > start {
            self.take(start, end, Class::String);
        }
    }
}
