//! Whether a quoted text stands in a file, and where.

use std::borrow::Cow;
use std::cell::OnceCell;

/// Where a quote was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Quoted {
    /// As written, at the place that the finding names or where it names none.
    Here,
    /// As written, but at another place; the line of the first occurrence.
    Elsewhere(u64),
    /// Only when runs of white space are taken for one: the file's own text, and whether it is at the named place.
    Folded(String, bool),
    /// Not at all.
    Nowhere,
}

/// A file's text with what searching it needs.
pub(super) struct IndexedText<'a> {
    text: Cow<'a, str>,
    /// Offset of the first byte of each line.
    lines: Vec<usize>,
    folded: OnceCell<Folded>,
}

/// Text with every run of white space as one space, and for each word where it starts here and in the original.
struct Folded {
    text: String,
    words: Vec<(usize, usize)>,
}

impl<'a> IndexedText<'a> {
    /// Indexes a text.
    pub fn new(text: Cow<'a, str>) -> Self {
        let ends = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(ends).collect();
        Self { text, lines, folded: OnceCell::new() }
    }

    /// Looks for a quote; `span` is the first and last line of the place where it should be.
    pub fn find(&self, quote: &str, span: Option<(u64, u64)>) -> Quoted {
        let quote = quote.trim();
        if quote.is_empty() {
            return Quoted::Nowhere;
        }
        let place = span.map(|(first, last)| self.bytes_of(first, last));
        if let Some((start, end)) = place {
            let from = self.floor(start.saturating_sub(quote.len()));
            let to = self.floor(end.saturating_add(quote.len()));
            let mut near = self.text[from..to].match_indices(quote).map(|(at, _)| from + at);
            if near.any(|at| at < end && at + quote.len() > start) {
                return Quoted::Here;
            }
        }
        match self.text.find(quote) {
            Some(at) if place.is_some() => Quoted::Elsewhere(self.line_of(at)),
            Some(_) => Quoted::Here,
            None => self.find_folded(quote, place),
        }
    }

    fn find_folded(&self, quote: &str, place: Option<(usize, usize)>) -> Quoted {
        let folded = self.folded.get_or_init(|| fold(&self.text));
        let wanted = fold(quote).text;
        let mut first = None;
        for (at, _) in folded.text.match_indices(&wanted) {
            let (start, end) = (folded.original(at), folded.original(at + wanted.len() - 1) + 1);
            let end = self.ceil(end);
            let here = place.is_none_or(|(from, to)| start < to && end > from);
            if here {
                return Quoted::Folded(self.text[start..end].to_owned(), true);
            }
            first = first.or(Some((start, end)));
        }
        match first {
            Some((start, end)) => Quoted::Folded(self.text[start..end].to_owned(), false),
            None => Quoted::Nowhere,
        }
    }

    fn bytes_of(&self, first: u64, last: u64) -> (usize, usize) {
        let at = |line: u64| usize::try_from(line).unwrap_or(usize::MAX);
        let end = self.text.len();
        let start = self.lines.get(at(first.saturating_sub(1))).copied().unwrap_or(end);
        (start, self.lines.get(at(last)).copied().unwrap_or(end))
    }

    fn line_of(&self, offset: usize) -> u64 {
        self.lines.partition_point(|start| *start <= offset) as u64
    }

    fn floor(&self, offset: usize) -> usize {
        self.text.floor_char_boundary(offset)
    }

    fn ceil(&self, offset: usize) -> usize {
        self.text.ceil_char_boundary(offset)
    }
}

impl Folded {
    fn original(&self, at: usize) -> usize {
        let word = self.words.partition_point(|(here, _)| *here <= at).saturating_sub(1);
        self.words.get(word).map_or(0, |(here, there)| there + (at - here))
    }
}

fn fold(text: &str) -> Folded {
    let mut folded = Folded { text: String::with_capacity(text.len()), words: Vec::new() };
    for word in text.split_whitespace() {
        if !folded.text.is_empty() {
            folded.text.push(' ');
        }
        // The parts of a split lie in the text that was split, so their distance from its start is their offset.
        let offset = word.as_ptr().addr() - text.as_ptr().addr();
        folded.words.push((folded.text.len(), offset));
        folded.text.push_str(word);
    }
    folded
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "fn a() {\r\n    let  é = 1;\r\n    run(é);\r\n}\r\nrun(2);\r\n";

    fn find(quote: &str, span: Option<(u64, u64)>) -> Quoted {
        IndexedText::new(TEXT.into()).find(quote, span)
    }

    #[test]
    fn a_verbatim_quote_is_found_where_it_is() {
        assert_eq!(find("run(é);", Some((3, 3))), Quoted::Here);
        assert_eq!(find("  run(é);\n", None), Quoted::Here);
        assert_eq!(find("run(2);", Some((1, 2))), Quoted::Elsewhere(5));
        assert_eq!(find("run(é);", Some((90, 99))), Quoted::Elsewhere(3));
        assert_eq!(find("run(3);", None), Quoted::Nowhere);
        assert_eq!(find(" \n", None), Quoted::Nowhere);
    }

    #[test]
    fn white_space_is_repaired_to_the_file_s_own() {
        let text = "let  é = 1;\r\n    run(é);".to_owned();
        assert_eq!(find("let é = 1;\nrun(é);", Some((2, 3))), Quoted::Folded(text.clone(), true));
        assert_eq!(find("let é = 1;\nrun(é);", Some((5, 5))), Quoted::Folded(text, false));
        assert_eq!(find("let é", None), Quoted::Folded("let  é".to_owned(), true));
    }
}
