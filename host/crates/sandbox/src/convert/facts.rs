//! Facts, relations and observations.

use assize_core::fact::{
    Definition, Fact, FileFacts, ImportFact, Metric, Observation, Reference, Relation, Route, RuleFinding, Span,
    Suppression,
};

use crate::bindings::{analyzer, facts as wit};

fn span(span: wit::Span) -> Span {
    let wit::Span { start_line, start_column, end_line, end_column, start_byte, end_byte } = span;
    Span { start_line, start_column, end_line, end_column, start_byte, end_byte }
}

fn span_in(span: Span) -> wit::Span {
    let Span { start_line, start_column, end_line, end_column, start_byte, end_byte } = span;
    wit::Span { start_line, start_column, end_line, end_column, start_byte, end_byte }
}

fn finding(from: wit::Finding) -> RuleFinding {
    RuleFinding {
        rule: from.rule,
        title: from.title,
        lens: from.lens,
        category: from.category,
        severity: from.severity,
        confidence: from.confidence,
        summary: from.summary,
        span: span(from.span),
        quote: from.quote,
        cwe: from.cwe,
        fix: from.fix,
        extra: from.extra,
    }
}

fn finding_in(from: RuleFinding) -> wit::Finding {
    wit::Finding {
        rule: from.rule,
        title: from.title,
        lens: from.lens,
        category: from.category,
        severity: from.severity,
        confidence: from.confidence,
        summary: from.summary,
        span: span_in(from.span),
        quote: from.quote,
        cwe: from.cwe,
        fix: from.fix,
        extra: from.extra,
    }
}

/// A fact that came out of an analyzer.
pub(crate) fn fact(fact: wit::Fact) -> Fact {
    match fact {
        wit::Fact::Finding(f) => Fact::Finding(finding(f)),
        wit::Fact::ImportOf(f) => {
            Fact::Import(ImportFact { specifier: f.specifier, kind: f.kind, span: span(f.span), extra: f.extra })
        }
        wit::Fact::Definition(f) => Fact::Definition(Definition {
            name: f.name,
            kind: f.kind,
            exported: f.exported,
            span: span(f.span),
            extra: f.extra,
        }),
        wit::Fact::Reference(f) => Fact::Reference(Reference { name: f.name, span: span(f.span), extra: f.extra }),
        wit::Fact::Route(f) => Fact::Route(Route {
            method: f.method,
            path: f.path,
            handler: f.handler,
            span: span(f.span),
            extra: f.extra,
        }),
        wit::Fact::Suppression(f) => {
            Fact::Suppression(Suppression { target: f.target, reason: f.reason, span: span(f.span), extra: f.extra })
        }
        wit::Fact::Metric(f) => {
            Fact::Metric(Metric { name: f.name, value: f.value, span: f.span.map(span), extra: f.extra })
        }
    }
}

fn fact_in(fact: Fact) -> wit::Fact {
    match fact {
        Fact::Finding(f) => wit::Fact::Finding(finding_in(f)),
        Fact::Import(f) => wit::Fact::ImportOf(wit::ImportFact {
            specifier: f.specifier,
            kind: f.kind,
            span: span_in(f.span),
            extra: f.extra,
        }),
        Fact::Definition(f) => wit::Fact::Definition(wit::Definition {
            name: f.name,
            kind: f.kind,
            exported: f.exported,
            span: span_in(f.span),
            extra: f.extra,
        }),
        Fact::Reference(f) => {
            wit::Fact::Reference(wit::Reference { name: f.name, span: span_in(f.span), extra: f.extra })
        }
        Fact::Route(f) => wit::Fact::Route(wit::Route {
            method: f.method,
            path: f.path,
            handler: f.handler,
            span: span_in(f.span),
            extra: f.extra,
        }),
        Fact::Suppression(f) => wit::Fact::Suppression(wit::Suppression {
            target: f.target,
            reason: f.reason,
            span: span_in(f.span),
            extra: f.extra,
        }),
        Fact::Metric(f) => {
            wit::Fact::Metric(wit::Metric { name: f.name, value: f.value, span: f.span.map(span_in), extra: f.extra })
        }
    }
}

/// The facts of one file as an analyzer is told them. Which analyzer found them is not part of it.
pub(crate) fn file_facts_in(from: &FileFacts) -> analyzer::FileFacts {
    analyzer::FileFacts {
        path: from.path.clone(),
        language: from.language.clone(),
        facts: from.facts.iter().cloned().map(fact_in).collect(),
    }
}

pub(crate) fn relation(from: analyzer::Relation) -> Relation {
    Relation {
        source: from.source,
        target: from.target,
        kind: from.kind,
        confidence: from.confidence,
        span: span(from.span),
        extra: from.extra,
    }
}

pub(crate) fn observation(from: wit::Observation) -> Observation {
    Observation { analyzer: from.analyzer, path: from.path, finding: finding(from.finding), extra: from.extra }
}

pub(crate) fn observation_in(from: Observation) -> wit::Observation {
    wit::Observation { analyzer: from.analyzer, path: from.path, finding: finding_in(from.finding), extra: from.extra }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fact_survives_the_way_in_and_out() {
        let span = Span { start_line: 1, start_column: 2, end_line: 3, end_column: 4, start_byte: 5, end_byte: 6 };
        let extra = vec![("k".to_owned(), "v".to_owned())];
        let text = |n: u32| format!("text {n}");
        let finding = RuleFinding {
            rule: text(1),
            title: text(2),
            lens: text(3),
            category: text(4),
            severity: text(5),
            confidence: text(6),
            summary: text(7),
            span,
            quote: text(8),
            cwe: Some(text(9)),
            fix: Some(text(10)),
            extra: extra.clone(),
        };
        let facts = [
            Fact::Finding(finding.clone()),
            Fact::Import(ImportFact { specifier: text(1), kind: text(2), span, extra: extra.clone() }),
            Fact::Definition(Definition { name: text(1), kind: text(2), exported: true, span, extra: extra.clone() }),
            Fact::Reference(Reference { name: text(1), span, extra: extra.clone() }),
            Fact::Route(Route { method: text(1), path: text(2), handler: Some(text(3)), span, extra: extra.clone() }),
            Fact::Suppression(Suppression { target: Some(text(1)), reason: text(2), span, extra: extra.clone() }),
            Fact::Metric(Metric { name: text(1), value: 0.5, span: Some(span), extra: extra.clone() }),
        ];
        for one in facts {
            assert_eq!(fact(fact_in(one.clone())), one);
        }
        let seen = Observation { analyzer: text(1), path: text(2), finding, extra };
        assert_eq!(observation(observation_in(seen.clone())), seen);
    }
}
