//! Rules that look at whole lines or strings: conflict markers, statements built from strings, open networks.

use super::calls_script::danger;
use super::{Rule, has_hole};
use crate::collector::{Collector, Hit};
use crate::language::*;
use crate::lexer::Class;
use crate::text::{Text, contains, find, is_word};

// The file does not do what either side meant, and mostly does not run.
static CONFLICT: Rule = Rule {
    id: "conflict/merge-markers",
    title: "an unresolved merge conflict",
    lens: "correctness",
    category: "merge-conflict",
    severity: "high",
    confidence: "high",
    cwe: "",
    summary: "the markers of a merge were committed; both versions stand in the file",
    fix: "choose or combine the versions and remove the markers",
    rank: 50,
};
// Built text is the commonest way to injection; where the values come from is not followed.
static SQL_BUILT: Rule = danger(
    "calls/sql-built-string",
    "possible SQL injection: a statement is built from strings",
    "sql-injection",
    "medium",
    "low",
    "CWE-89",
    "values are pasted into the statement; one from outside can change what it does",
    "use placeholders and pass the values as parameters",
);
// Every address of the internet may come in.
static OPEN_INGRESS: Rule = Rule {
    id: "permissions/open-ingress",
    title: "a network rule lets every address in",
    lens: "config_deployment",
    category: "open-network",
    severity: "medium",
    confidence: "medium",
    cwe: "CWE-284",
    summary: "the rule opens the port to the whole internet",
    fix: "name the networks that need access",
    rank: 50,
};
// One statement for each round of a loop.
static QUERY_IN_LOOP: Rule = Rule {
    id: "performance/query-in-loop",
    title: "possible query in a loop",
    lens: "performance",
    category: "query-in-loop",
    severity: "low",
    confidence: "low",
    cwe: "",
    summary: "the loop sends one statement for each round; the cost grows with the rows",
    fix: "ask once for all rows, or send a batch",
    rank: 50,
};

/// Runs the rules that words do not wake.
pub fn check_file(text: &Text<'_>, out: &mut Collector<'_>) {
    if !text.is(PROSE) {
        check_conflict(text, out);
    }
    if text.is(CODE & !SHELL) {
        check_statements(text, out);
    }
    if text.is(YAML | TERRAFORM | JSON) {
        check_networks(text, out);
    }
}

/// The three markers in order, each at the start of a line. A line of equal signs alone is an underline.
fn check_conflict(text: &Text<'_>, out: &mut Collector<'_>) {
    let mut from = 0;
    while let Some(open) = find_line(text, b"<<<<<<< ", from) {
        let Some(middle) = find_line(text, b"=======", open) else { return };
        let Some(close) = find_line(text, b">>>>>>> ", middle) else { return };
        let (_, end) = text.line(text.line_of(close));
        out.report(&CONFLICT, Hit::at(open, end));
        from = end;
    }
}

fn find_line(text: &Text<'_>, marker: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(hit) = find(text.bytes, marker, at) {
        let is_start = hit == 0 || text.bytes[hit - 1] == b'\n';
        let is_whole = marker != b"=======" || matches!(text.byte(hit + 7), b'\n' | b'\r' | b' ' | 0);
        if is_start && is_whole {
            return Some(hit);
        }
        at = hit + 1;
    }
    None
}

fn check_statements(text: &Text<'_>, out: &mut Collector<'_>) {
    for (index, segment) in text.segments.iter().enumerate() {
        if segment.class != Class::String || segment.end - segment.start < 12 || !begins_statement(text, segment.start)
        {
            continue;
        }
        let before = text.line_before(segment.start);
        let is_call = text.spend(before.len() * 4)
            && [&b"execute"[..], b"query", b"Query", b"raw(", b"Exec(", b"prepare", b"executescript"]
                .iter()
                .any(|w| contains(before, w));
        if is_call && loops(text, segment.start) {
            let end = segment.end.min(segment.start + 300);
            out.report(&QUERY_IN_LOOP, Hit::at(segment.start, end));
        }
        let is_built = has_hole(text, segment.start) || is_joined(text, index);
        let is_formatted =
            before.ends_with(b"format!(") || before.ends_with(b"Sprintf(") || before.ends_with(b"String.format(");
        if is_built || is_formatted {
            let end = segment.end + text.rest_of_line(segment.end).trim_ascii_end().len();
            let confidence = is_call.then_some("medium");
            out.report(&SQL_BUILT, Hit { confidence, ..Hit::at(segment.start, end) });
        }
    }
}

/// Whether a string begins like a statement with a table behind it.
fn begins_statement(text: &Text<'_>, start: usize) -> bool {
    let mut at = start;
    while at < start + 4 && matches!(text.byte(at), b'"' | b'\'' | b'`') {
        at += 1;
    }
    at = text.skip_white(at);
    let end = text.word_end(at);
    let verb = &text.bytes[at..end];
    let needles: &[&[u8]] = match verb.to_ascii_lowercase().as_slice() {
        b"select" => &[b" from "],
        b"insert" | b"replace" => &[b" into "],
        b"update" => &[b" set "],
        b"delete" => &[b" from "],
        b"drop" | b"alter" | b"create" | b"truncate" => &[b" table ", b" database ", b" user "],
        _ => return false,
    };
    // `select` may be a word of prose; its second keyword must follow in the same case.
    let window = &text.bytes[end..text.bytes.len().min(end + 300)];
    text.spend(window.len() * needles.len()) && {
        let window: Vec<u8> =
            window.iter().map(|b| if b.is_ascii_whitespace() { b' ' } else { b.to_ascii_lowercase() }).collect();
        needles.iter().any(|needle| contains(&window, needle))
    }
}

/// Whether something that is no literal is joined to the string.
fn is_joined(text: &Text<'_>, index: usize) -> bool {
    let Some(segment) = text.segments.get(index) else { return false };
    let mut at = text.skip_white(segment.end);
    // Neighbouring literals belong to one text: walk over them, a few at most.
    for _ in 0..8 {
        let is_plus = text.byte(at) == b'+' || (text.is(PHP) && text.byte(at) == b'.');
        if text.is(PYTHON) && text.byte(at) == b'%' {
            return !matches!(text.byte(at + 1), b'%');
        }
        if text.bytes.get(at..).is_some_and(|rest| rest.starts_with(b".format(")) {
            return text.is(PYTHON);
        }
        let next = if is_plus { text.skip_white(at + 1) } else { at };
        if text.class_at(next) == Class::String {
            let Some(found) = text.segments.get(text.segment_index(next)) else { return false };
            if !is_plus && !text.is(PYTHON | C) {
                return false;
            }
            at = text.skip_white(found.end);
            continue;
        }
        let end = text.word_end(next);
        let name = &text.bytes[next.min(end)..end];
        let is_constant = name.iter().all(|b| b.is_ascii_uppercase() || *b == b'_' || b.is_ascii_digit());
        let is_value = is_word(text.byte(next)) || matches!(text.byte(next), b'$' | b'(');
        return is_plus && is_value && (name.is_empty() || !is_constant);
    }
    false
}

/// Whether a loop's head stands close above with less indentation.
fn loops(text: &Text<'_>, at: usize) -> bool {
    let mut line = text.line_of(at);
    let (from, _) = text.line(line);
    let mut indent = text.skip_blanks(from) - from;
    for _ in 0..12 {
        if line == 0 || indent == 0 || !text.spend(40) {
            return false;
        }
        line -= 1;
        let (from, end) = text.line(line);
        let first = text.skip_blanks(from);
        if first >= end || first - from >= indent {
            continue;
        }
        indent = first - from;
        let head = &text.bytes[first..end];
        if head.starts_with(b"for ")
            || head.starts_with(b"for(")
            || head.starts_with(b"while ")
            || head.starts_with(b"while(")
            || head.starts_with(b"foreach")
        {
            return true;
        }
        if head.starts_with(b"def ") || head.starts_with(b"func") || head.starts_with(b"fn ") {
            return false;
        }
    }
    false
}

fn check_networks(text: &Text<'_>, out: &mut Collector<'_>) {
    let mut from = 0;
    while let Some(at) = find(text.bytes, b"0.0.0.0/0", from) {
        from = at + 9;
        if text.class_at(at) == Class::Comment {
            continue;
        }
        let before = &text.bytes[at.saturating_sub(600)..at];
        if !text.spend(before.len() * 3) {
            return;
        }
        let last = |needle: &[u8]| before.windows(needle.len()).rposition(|w| w.eq_ignore_ascii_case(needle));
        let ingress = last(b"ingress").max(last(b"source_ranges")).max(last(b"inbound"));
        let egress = last(b"egress").max(last(b"outbound"));
        let is_route = contains(text.line_before(at), b"destination") || contains(text.line_before(at), b"route");
        if ingress.is_some() && ingress > egress && !is_route {
            out.report(&OPEN_INGRESS, Hit::at(at, at + 9));
        }
    }
}
