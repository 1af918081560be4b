//! Checks one finding: required texts, words, places, evidence and the quote that it rests on.

use serde_json::{Map, Value};

use super::check::{Desk, TaskPaths, check_lens};
use super::members::Marks;
use super::problem::shown;
use super::quote::Quoted;
use crate::result::{AffectedFile, Confidence, Finding, Severity};
use crate::task::{Task, TaskFile};

/// Files of one finding.
const FILES: usize = 1000;

/// A place of a finding with the file that it lies in.
type Place<'t> = (&'t TaskFile, AffectedFile);

/// The finding, when nothing in it had to be marked as an error.
pub(super) fn check_finding(
    item: &Map<String, Value>,
    task: &Task,
    paths: &TaskPaths<'_>,
    place: &str,
    desk: &mut Desk<'_>,
    marks: &mut Marks,
) -> Option<Finding> {
    let before = marks.errors.len();
    let title = marks.text(item, "title", place);
    let category = marks.text(item, "category", place);
    let summary = marks.text(item, "summary", place);
    let severity = check_enum(item, "severity", place, Severity::parse, marks);
    let confidence = check_enum(item, "confidence", place, Confidence::parse, marks);
    check_lens(item, task.lens, place, marks);
    let places = check_places(item, paths, place, desk, marks);
    let evidence = marks.texts(item, "evidence", place);
    if evidence.is_empty() {
        marks.error("missing-text", format!("{place}/evidence"), "`evidence` needs at least one text");
    }
    for (at, text) in evidence.iter().enumerate() {
        check_evidence(text, &places, &format!("{place}/evidence/{at}"), desk, marks);
    }
    let mut finding = Finding {
        id: marks.optional_text(item, "id", place),
        title: title?,
        category: category?,
        severity: severity?,
        confidence: confidence?,
        lens: task.lens,
        summary: summary?,
        affected_files: places.iter().map(|(_, affected)| affected.clone()).collect(),
        evidence,
        quote: marks.optional_text(item, "quote", place),
        impact: marks.optional_text(item, "impact", place),
        likelihood: marks.optional_text(item, "likelihood", place),
        reproduction: marks.texts(item, "reproduction", place),
        systemic: marks.flag(item, "systemic", place),
        related_findings: marks.texts(item, "related_findings", place),
        cwe: marks.optional_text(item, "cwe", place),
        fix: marks.optional_text(item, "fix", place),
        tags: Vec::new(),
    };
    if marks.errors.len() > before {
        return None;
    }
    check_quote(&mut finding, &format!("{place}/quote"), desk, marks);
    Some(finding)
}

/// A required word of a closed list.
pub(super) fn check_enum<T>(
    item: &Map<String, Value>,
    key: &str,
    place: &str,
    parse: fn(&str) -> Option<T>,
    marks: &mut Marks,
) -> Option<T> {
    let word = marks.text(item, key, place)?;
    let value = parse(&word);
    if value.is_none() {
        let known = match key {
            "verdict" => "; write confirm, raise, lower or refute",
            "severity" => "; write critical, high, medium, low or info",
            "confidence" => "; write high, medium or low",
            _ => "",
        };
        marks.error("unknown-word", format!("{place}/{key}"), format!("{} is not a {key}{known}", shown(&word)));
    }
    value
}

fn check_places<'t>(
    item: &Map<String, Value>,
    paths: &TaskPaths<'t>,
    place: &str,
    desk: &Desk<'_>,
    marks: &mut Marks,
) -> Vec<Place<'t>> {
    let list = marks.list(item, "affected_files", place, FILES);
    if list.is_empty() && item.get("affected_files").is_some_and(|v| v.as_array().is_some_and(Vec::is_empty)) {
        marks.error("missing-list", format!("{place}/affected_files"), "a finding needs at least one file");
    }
    let mut places = Vec::new();
    for (at, entry) in list.iter().enumerate() {
        let place = format!("{place}/affected_files/{at}");
        let Some(entry) = entry.as_object() else {
            marks.error("not-an-object", place, "an affected file must be an object");
            continue;
        };
        let path = marks.text(entry, "path", &place);
        let Some(file) = path.and_then(|path| paths.find(&path, &format!("{place}/path"), marks)) else { continue };
        let span = check_span(entry, file, &place, desk, marks);
        let symbol = marks.optional_text(entry, "symbol", &place);
        let (line_start, line_end) = span;
        places.push((file, AffectedFile { path: file.path.clone(), line_start, line_end, symbol }));
    }
    places
}

fn check_span(
    entry: &Map<String, Value>,
    file: &TaskFile,
    place: &str,
    desk: &Desk<'_>,
    marks: &mut Marks,
) -> (Option<u64>, Option<u64>) {
    let total = desk.lines(file).max(file.total_lines);
    let mut line = |key: &str| {
        let value = entry.get(key).filter(|value| !value.is_null())?;
        let place = format!("{place}/{key}");
        match value.as_u64() {
            Some(0) => marks.error("zero-line", place, "lines count from 1"),
            Some(line) if line > total => {
                marks.error("span-outside", place, format!("line {line} is beyond the file's {total} lines"));
            }
            Some(line) => return Some(line),
            None => marks.error("wrong-type", place, "a line must be a whole number from 1"),
        }
        None
    };
    let (start, end) = (line("line_start"), line("line_end"));
    if let (Some(start), Some(end)) = (start, end)
        && start > end
    {
        marks.error("span-reversed", place, format!("line_start {start} is after line_end {end}"));
    }
    let start = start.or(end);
    if let (Some(range), Some(first)) = (file.range, start)
        && (end.unwrap_or(first) < range.first || first > range.last)
    {
        let message = format!("lines {}-{} were asked for", range.first, range.last);
        marks.warn("span-outside-range", place, message);
    }
    (start, end)
}

/// Warns of evidence that cites lines which the finding does not cover or the file does not have.
fn check_evidence(text: &str, places: &[Place<'_>], place: &str, desk: &Desk<'_>, marks: &mut Marks) {
    for (number, (file, _)) in places.iter().enumerate() {
        if places[..number].iter().any(|(earlier, _)| earlier.path == file.path) {
            continue;
        }
        let total = desk.lines(file).max(file.total_lines);
        let spans: Vec<_> = places.iter().filter(|(other, _)| other.path == file.path).map(|(_, a)| a).collect();
        let whole = spans.iter().any(|a| a.line_start.is_none());
        for line in cited_lines(text, &file.path) {
            let inside = |a: &&AffectedFile| {
                a.line_start.is_some_and(|start| (start..=a.line_end.unwrap_or(start)).contains(&line))
            };
            if line == 0 || line > total {
                marks.warn("evidence-outside-file", place, format!("line {line} is not in the file"));
            } else if !whole && !spans.iter().any(inside) {
                marks.warn("evidence-outside-span", place, format!("line {line} is outside the finding's lines"));
            }
        }
    }
}

/// The lines that `path:line` and `path:line-line` name in a text.
fn cited_lines(text: &str, path: &str) -> Vec<u64> {
    let mut lines = Vec::new();
    for (at, _) in text.match_indices(path) {
        // `b.rs` must not be seen inside `lib.rs`.
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.')) {
            continue;
        }
        let Some(rest) = text[at + path.len()..].strip_prefix(':') else { continue };
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let first = digits(rest);
        lines.extend(rest[..first].parse::<u64>());
        if let Some(more) = rest[first..].strip_prefix('-') {
            lines.extend(more[..digits(more)].parse::<u64>());
        }
    }
    lines
}

/// Looks for the quote in the finding's files. A quote that is nowhere costs the finding its confidence.
fn check_quote(finding: &mut Finding, place: &str, desk: &mut Desk<'_>, marks: &mut Marks) {
    let Some(quote) = finding.quote.clone() else { return };
    let mut best = None;
    for affected in &finding.affected_files {
        let Some(text) = desk.text(&affected.path) else { continue };
        let span = affected.line_start.map(|start| (start, affected.line_end.unwrap_or(start)));
        let found = text.find(&quote, span);
        if best.as_ref().is_none_or(|known| rank(&found) < rank(known)) {
            best = Some(found);
        }
        if best.as_ref().is_some_and(|found| rank(found) == 0) {
            break;
        }
    }
    match best {
        None => marks.warn("quote-unchecked", place, "the file's text could not be had, so the quote was not checked"),
        Some(Quoted::Here) => finding.quote = Some(quote.trim().to_owned()),
        Some(Quoted::Elsewhere(line)) => {
            finding.quote = Some(quote.trim().to_owned());
            finding.tags.push("quote-elsewhere".to_owned());
            marks.warn(
                "quote-elsewhere",
                place,
                format!("the quote stands at line {line}, not at the finding's lines"),
            );
        }
        Some(Quoted::Folded(text, here)) => {
            finding.quote = Some(text);
            finding.tags.push("quote-repaired".to_owned());
            marks.warn("quote-repaired", place, "white space differed; the file's own text was put in");
            if !here {
                finding.tags.push("quote-elsewhere".to_owned());
                marks.warn("quote-elsewhere", place, "the quote stands outside the finding's lines");
            }
        }
        Some(Quoted::Nowhere) => {
            finding.confidence = Confidence::Low;
            finding.tags.push("unverified-quote".to_owned());
            marks.warn("unverified-quote", place, "the quote is not in the file; confidence is now low");
        }
    }
}

fn rank(quoted: &Quoted) -> u8 {
    match quoted {
        Quoted::Here => 0,
        Quoted::Folded(_, true) => 1,
        Quoted::Elsewhere(_) => 2,
        Quoted::Folded(_, false) => 3,
        Quoted::Nowhere => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cited_lines_are_read_from_whole_paths_only() {
        assert_eq!(cited_lines("see src/b.rs:3-7, `src/b.rs:12`", "src/b.rs"), [3, 7, 12]);
        assert!(cited_lines("lib.rs:3 b.rs", "b.rs").is_empty());
        assert!(cited_lines("b.rs:99999999999999999999999", "b.rs").is_empty());
    }
}
