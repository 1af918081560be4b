//! Whether two findings are the same defect.

use super::identity::KnownFinding;
use super::words::{likeness, normal_category, normal_symbol, title_words, without_space};
use crate::result::Finding;

/// Percent of shared words from which two titles are alike.
const ALIKE: usize = 50;
/// A span of more lines than this says little about the place of a finding inside it.
const WIDE: u64 = 40;

/// First and last line of a finding's first place.
pub(super) fn primary_span(finding: &Finding) -> Option<(u64, u64)> {
    let place = finding.affected_files.first()?;
    let start = place.line_start?;
    Some((start, place.line_end.unwrap_or(start).max(start)))
}

/// Whether two spans share a line. No span meets every span.
pub(super) fn spans_meet(left: Option<(u64, u64)>, right: Option<(u64, u64)>) -> bool {
    match (left, right) {
        (Some(left), Some(right)) => left.0 <= right.1 && right.0 <= left.1,
        _ => true,
    }
}

/// What a finding is compared by, worked out once.
#[derive(Debug)]
pub(super) struct Traits {
    /// Path of the first place.
    pub path: String,
    /// Lines of the first place.
    pub span: Option<(u64, u64)>,
    /// Normal form of the symbol.
    pub symbol: Option<String>,
    /// Quote without white space, when it stands in the file.
    pub quote: Option<String>,
    /// Normal form of the category.
    pub category: String,
    /// Words of the title.
    pub words: Vec<String>,
    span_holds: bool,
    cwe: Option<String>,
    source: (crate::id::TaskId, crate::id::Digest),
}

impl Traits {
    /// The traits of a finding.
    pub fn of(known: &KnownFinding) -> Self {
        let finding = &known.finding;
        let tagged = |word: &str| finding.tags.iter().any(|tag| tag == word);
        let place = finding.affected_files.first();
        let quote = finding.quote.as_deref().filter(|_| !tagged("unverified-quote"));
        Self {
            path: place.map(|p| p.path.clone()).unwrap_or_default(),
            span: primary_span(finding),
            symbol: place.and_then(|p| p.symbol.as_deref()).map(normal_symbol).filter(|s| !s.is_empty()),
            quote: quote.map(without_space).filter(|q| !q.is_empty()),
            category: normal_category(&finding.category),
            words: title_words(&finding.title),
            span_holds: !tagged("quote-elsewhere"),
            cwe: finding.cwe.as_deref().map(normal_category),
            source: (known.task.clone(), known.result),
        }
    }

    /// Whether both are the same defect of one file: the same place by lines, symbol or quote, and the same category,
    /// weakness or a similar title.
    pub fn same_as(&self, other: &Self) -> bool {
        let kind = self.category == other.category || (self.cwe.is_some() && self.cwe == other.cwe);
        let like = likeness(&self.words, &other.words);
        if self.told_apart(other) {
            return false;
        }
        if self.path != other.path || !(kind || like >= ALIKE) {
            return false;
        }
        match (self.span, other.span) {
            (Some(left), Some(right)) if spans_meet(Some(left), Some(right)) => !is_vague(left, right) || like >= ALIKE,
            (Some(_), Some(_)) => self.same_apart(other),
            (None, None) => like >= ALIKE || self.same_symbol(other) || self.same_quote(other),
            _ => self.same_symbol(other) || self.same_quote(other),
        }
    }

    /// Whether one reviewer listed both: one who lists two findings means two, unless they say the same.
    pub fn told_apart(&self, other: &Self) -> bool {
        self.source == other.source && !self.same_pattern(other)
    }

    /// Whether both stand at the same place, whatever they say: their lines meet, or symbol or quote are the same.
    pub fn stands_with(&self, other: &Self) -> bool {
        match (self.span, other.span) {
            (Some(left), Some(right)) if spans_meet(Some(left), Some(right)) => !is_vague(left, right),
            (Some(_), Some(_)) => self.same_apart(other),
            _ => self.same_symbol(other) || self.same_quote(other),
        }
    }

    /// Whether two systemic findings say the same of different files.
    pub fn same_pattern(&self, other: &Self) -> bool {
        self.category == other.category && likeness(&self.words, &other.words) >= ALIKE
    }

    /// Lines that do not meet mean two places, unless a citation is known to be wrong or the symbol speaks against it.
    fn same_apart(&self, other: &Self) -> bool {
        if self.source == other.source {
            return false;
        }
        if self.same_quote(other) && !(self.span_holds && other.span_holds) {
            return true;
        }
        let quotes_differ = self.quote.is_some() && other.quote.is_some();
        self.same_symbol(other) && !quotes_differ
    }

    fn same_symbol(&self, other: &Self) -> bool {
        self.symbol.is_some() && self.symbol == other.symbol
    }

    fn same_quote(&self, other: &Self) -> bool {
        self.quote.is_some() && self.quote == other.quote
    }
}

/// Whether one span is so much wider than the other that meeting means little.
fn is_vague(left: (u64, u64), right: (u64, u64)) -> bool {
    let (left, right) = (left.1 - left.0 + 1, right.1 - right.0 + 1);
    let (wide, narrow) = (left.max(right), left.min(right));
    wide > WIDE && wide / narrow >= 8
}
