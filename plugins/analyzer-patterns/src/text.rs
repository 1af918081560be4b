//! A file with its lines and segments, and the bounded looks that recognisers take at it.

use std::cell::Cell;

use crate::facts::Span;
use crate::language::{Languages, language_of};
use crate::lexer::{Class, Segment, derive_segments};

/// Bytes that a look around a place may cover.
const WINDOW: usize = 400;

/// Bytes of arguments that are read behind one parenthesis.
const ARGUMENTS: usize = 1500;

/// A file that is being inspected.
pub struct Text<'a> {
    /// Bytes of the file, or of its decoded text.
    pub bytes: &'a [u8],
    /// Repository-relative path.
    pub path: &'a str,
    /// Language.
    pub language: Languages,
    /// Code, strings and comments in order.
    pub segments: Vec<Segment>,
    lines: Vec<usize>,
    /// Looks that are left. All looks together are bounded by the size of the file, so that hostile text stays linear.
    budget: Cell<usize>,
}

impl<'a> Text<'a> {
    /// Cuts the file up.
    pub fn new(bytes: &'a [u8], word: &str, path: &'a str) -> Self {
        let language = language_of(word, path);
        let mut lines = Vec::with_capacity(bytes.len() / 24 + 1);
        lines.push(0);
        let mut at = 0;
        while let Some(end) = find_byte(bytes, b'\n', at) {
            at = end + 1;
            if at < bytes.len() {
                lines.push(at);
            }
        }
        let budget = Cell::new(bytes.len().saturating_mul(16).saturating_add(1 << 20));
        Self { bytes, path, language, segments: derive_segments(bytes, language), lines, budget }
    }

    /// Whether the language is one of these.
    pub fn is(&self, languages: Languages) -> bool {
        self.language & languages != 0
    }

    /// The byte at a place; 0 beyond the end.
    pub fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    /// Takes `cost` from the budget. False when it is spent.
    pub fn spend(&self, cost: usize) -> bool {
        let left = self.budget.get();
        self.budget.set(left.saturating_sub(cost));
        left >= cost
    }

    /// Whether looks were refused.
    pub fn is_spent(&self) -> bool {
        self.budget.get() == 0
    }

    /// Index from 0 of the line of a byte.
    pub fn line_of(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at).saturating_sub(1)
    }

    /// Number of lines.
    pub fn line_count(&self) -> usize {
        self.lines.len()
    }

    /// First byte and end (without line feed and carriage return) of a line.
    pub fn line(&self, index: usize) -> (usize, usize) {
        let start = self.lines.get(index).copied().unwrap_or(self.bytes.len());
        let mut end = self.lines.get(index + 1).map_or(self.bytes.len(), |next| next - 1);
        while end > start && matches!(self.bytes[end - 1], b'\r' | b'\n') {
            end -= 1;
        }
        (start, end.max(start))
    }

    /// Where a stretch lies.
    pub fn span(&self, start: usize, end: usize) -> Span {
        let first = self.line_of(start);
        let last = self.line_of(end.max(start + 1) - 1);
        let column = |line: usize, at: usize| narrow(at - self.lines.get(line).copied().unwrap_or(0).min(at) + 1);
        Span {
            start_line: narrow(first + 1),
            start_column: column(first, start),
            end_line: narrow(last + 1),
            end_column: column(last, end),
            start_byte: start as u64,
            end_byte: end as u64,
        }
    }

    /// Index of the segment of a byte.
    pub fn segment_index(&self, at: usize) -> usize {
        self.segments.partition_point(|segment| segment.end <= at)
    }

    /// What a byte belongs to.
    pub fn class_at(&self, at: usize) -> Class {
        self.segments.get(self.segment_index(at)).map_or(Class::Code, |segment| segment.class)
    }

    /// The rest of the line behind a place, bounded.
    pub fn rest_of_line(&self, from: usize) -> &'a [u8] {
        let from = from.min(self.bytes.len());
        let window = &self.bytes[from..self.bytes.len().min(from + WINDOW)];
        let end = find_byte(window, b'\n', 0).unwrap_or(window.len());
        if self.spend(end) { &window[..end] } else { &[] }
    }

    /// The line in front of a place, bounded.
    pub fn line_before(&self, to: usize) -> &'a [u8] {
        let to = to.min(self.bytes.len());
        let window = &self.bytes[to.saturating_sub(WINDOW)..to];
        let start = window.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        if self.spend(window.len() - start) { &window[start..] } else { &[] }
    }

    /// The first byte from a place that is not blank on its line.
    pub fn skip_blanks(&self, mut at: usize) -> usize {
        let limit = at + WINDOW;
        while at < limit && matches!(self.byte(at), b' ' | b'\t') {
            at += 1;
        }
        at
    }

    /// The first byte from a place that is not white, line ends included.
    pub fn skip_white(&self, mut at: usize) -> usize {
        let limit = at + WINDOW;
        while at < limit && self.byte(at).is_ascii_whitespace() {
            at += 1;
        }
        at
    }

    /// End of the identifier that starts at a place.
    pub fn word_end(&self, mut at: usize) -> usize {
        let limit = at + WINDOW;
        while at < limit && is_word(self.byte(at)) {
            at += 1;
        }
        at
    }

    /// Start of the identifier that ends at a place.
    pub fn word_start(&self, mut at: usize) -> usize {
        let limit = at.saturating_sub(WINDOW);
        while at > limit && is_word(self.bytes[at - 1]) {
            at -= 1;
        }
        at
    }

    /// The stretch between a parenthesis or bracket and its partner, strings respected; absent when it is not closed near by.
    pub fn arguments(&self, open: usize) -> Option<(usize, usize)> {
        let limit = self.bytes.len().min(open + ARGUMENTS);
        let mut index = self.segment_index(open);
        let mut depth = 0usize;
        let mut at = open;
        while at < limit {
            let segment = self.segments.get(index)?;
            if segment.class != Class::Code {
                at = segment.end;
                index += 1;
                continue;
            }
            let end = segment.end.min(limit);
            while at < end {
                match self.bytes[at] {
                    b'(' | b'[' | b'{' => depth += 1,
                    b')' | b']' | b'}' => {
                        depth = depth.saturating_sub(1);
                        if depth == 0 {
                            return self.spend(at - open).then_some((open + 1, at));
                        }
                    }
                    _ => {}
                }
                at += 1;
            }
            index += 1;
        }
        self.spend(limit - open);
        None
    }

    /// What stands in front of a word: its receiver's start and name, such as `os` in `os.system`.
    pub fn receiver(&self, word: usize) -> Option<(usize, &'a [u8])> {
        let mut at = word;
        if at >= 2 && (&self.bytes[at - 2..at] == b"::" || &self.bytes[at - 2..at] == b"->") {
            at -= 2;
        } else if at >= 1 && self.bytes[at - 1] == b'.' {
            at -= 1;
            if at >= 1 && self.bytes[at - 1] == b'?' {
                at -= 1;
            }
        } else {
            return None;
        }
        let mut end = at;
        if end >= 1 && self.bytes[end - 1] == b')' {
            // A call: `getRuntime().exec` names the called function. Its arguments are few.
            let open = (end.saturating_sub(64)..end).rev().find(|i| self.bytes[*i] == b'(');
            end = open.unwrap_or(end);
        }
        let start = self.word_start(end);
        Some((start, &self.bytes[start..end]))
    }
}

/// Whether a byte may stand in an identifier.
pub fn is_word(byte: u8) -> bool {
    WORD[byte as usize] != 0
}

/// 1 for letters and `_`, 2 for digits, 0 for the rest. Bytes beyond ASCII count as letters.
pub static WORD: [u8; 256] = {
    let mut table = [0u8; 256];
    let mut at = 0;
    while at < 256 {
        let byte = at as u8;
        if byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80 {
            table[at] = 1;
        } else if byte.is_ascii_digit() {
            table[at] = 2;
        }
        at += 1;
    }
    table
};

/// First place of a byte from `from`.
pub fn find_byte(haystack: &[u8], byte: u8, from: usize) -> Option<usize> {
    haystack.get(from..)?.iter().position(|b| *b == byte).map(|at| at + from)
}

/// First place of a needle from `from`.
pub fn find(haystack: &[u8], needle: &[u8], from: usize) -> Option<usize> {
    let first = *needle.first()?;
    let mut at = from;
    while let Some(hit) = find_byte(haystack, first, at) {
        if haystack[hit..].starts_with(needle) {
            return Some(hit);
        }
        at = hit + 1;
    }
    None
}

/// Whether a needle occurs.
pub fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    find(haystack, needle, 0).is_some()
}

/// Whether a needle in lower case occurs, whatever the case of the text.
pub fn contains_fold(haystack: &[u8], needle: &[u8]) -> bool {
    !needle.is_empty() && haystack.windows(needle.len()).any(|w| w.eq_ignore_ascii_case(needle))
}

fn narrow(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}
