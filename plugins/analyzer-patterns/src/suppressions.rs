//! `assize: ignore[CATEGORY] reason` in comments. Without a reason nothing is held back.

use crate::collector::Collector;
use crate::facts::Suppression;
use crate::lexer::Class;
use crate::text::{Text, find};

/// Requests kept of one file; each is compared with each finding.
const MOST: usize = 200;

/// The requests of a file, each with the line that it also holds for when it stands alone on its own.
pub fn read(text: &Text<'_>, out: &mut Collector<'_>) -> Vec<(Suppression, Option<u32>)> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = find(text.bytes, b"assize:", from) {
        from = at + 7;
        if found.len() >= MOST {
            break;
        }
        let is_comment = text.class_at(at) == Class::Comment;
        if !is_comment && text.segments.len() > 1 {
            continue;
        }
        let line = text.rest_of_line(from);
        let rest = line.trim_ascii_start();
        let Some(rest) = rest.strip_prefix(b"ignore") else { continue };
        let (target, rest) = match rest.strip_prefix(b"[") {
            Some(inner) => match inner.iter().position(|b| *b == b']') {
                Some(close) => {
                    (Some(String::from_utf8_lossy(inner[..close].trim_ascii()).into_owned()), &inner[close + 1..])
                }
                None => continue,
            },
            None => (None, rest),
        };
        let reason = String::from_utf8_lossy(rest);
        let reason = reason.trim().trim_end_matches("*/").trim_end_matches("-->").trim_start_matches([':', '-']).trim();
        if reason.is_empty() || target.as_deref() == Some("") {
            out.signal("suppression-without-reason", Some((at, from)));
            continue;
        }
        let end = at + 7 + line.len();
        let index = text.line_of(at);
        let next = stands_alone(text, index, at).then(|| next_line(text, index)).flatten();
        let extra = next.map(|line| ("line".to_owned(), line.to_string())).into_iter().collect();
        let suppression = Suppression { target, reason: reason.to_owned(), span: text.span(at, end), extra };
        found.push((suppression, next));
    }
    found
}

fn stands_alone(text: &Text<'_>, index: usize, at: usize) -> bool {
    let (start, _) = text.line(index);
    text.bytes[start..at].iter().take(64).all(|b| b.is_ascii_whitespace() || b"/*#-;<!%".contains(b))
        && at - start <= 64
}

fn next_line(text: &Text<'_>, index: usize) -> Option<u32> {
    let last = text.line_count().min(index + 6);
    (index + 1..last)
        .find(|line| {
            let (start, end) = text.line(*line);
            let first = text.skip_blanks(start);
            first < end && text.class_at(first) != Class::Comment
        })
        .and_then(|line| u32::try_from(line + 1).ok())
}
