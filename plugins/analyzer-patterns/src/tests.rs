//! Laws of the analyzer as a whole.

mod hostile;
mod relations;
mod rules;
mod secrets;
mod structure;

use crate::facts::{Fact, Finding, SourceFile};
use crate::inspect::inspect;

/// Facts of a text; `~` is left out, so that no secret stands in this repository.
fn facts_of(language: &str, path: &str, text: &str) -> Vec<Fact> {
    let file = SourceFile {
        path: path.to_owned(),
        language: language.to_owned(),
        content: text.replace('~', "").into_bytes(),
    };
    inspect(&file, "").unwrap()
}

fn findings_of(language: &str, path: &str, text: &str) -> Vec<Finding> {
    facts_of(language, path, text)
        .into_iter()
        .filter_map(|fact| match fact {
            Fact::Finding(finding) => Some(finding),
            _ => None,
        })
        .collect()
}

fn rules_of(language: &str, path: &str, text: &str) -> Vec<String> {
    findings_of(language, path, text).into_iter().map(|finding| finding.rule).collect()
}

/// Every span names exactly the bytes of its quote, and its lines and columns agree with its bytes.
fn assert_spans_agree(content: &[u8], facts: &[Fact]) {
    for fact in facts {
        let span = match fact {
            Fact::Finding(f) => {
                let bytes = &content[f.span.start_byte as usize..f.span.end_byte as usize];
                assert_eq!(f.quote, String::from_utf8_lossy(bytes), "quote of {}", f.rule);
                f.span
            }
            Fact::Import(f) => f.span,
            Fact::Definition(f) => f.span,
            Fact::Route(f) => f.span,
            Fact::Suppression(f) => f.span,
            _ => continue,
        };
        let (start, end) = (span.start_byte as usize, span.end_byte as usize);
        assert!(start < end && end <= content.len(), "{fact:?}");
        let before = &content[..start];
        let line = before.iter().filter(|b| **b == b'\n').count() + 1;
        let column = start - before.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1) + 1;
        assert_eq!((span.start_line as usize, span.start_column as usize), (line, column), "{fact:?}");
        let last_line = content[..end - 1].iter().filter(|b| **b == b'\n').count() + 1;
        assert_eq!(span.end_line as usize, last_line, "{fact:?}");
    }
}
