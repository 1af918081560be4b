//! The component: the interface's types on one side, plain data on the other, nothing decided here.
#![allow(missing_docs, unsafe_code, reason = "the bindings are generated")]

wit_bindgen::generate!({ path: "../../wit/v0.1", world: "analyzer-plugin" });

use assize::plugin::{facts as wire, types};
use exports::assize::plugin::{analyzer, plugin};

use crate::facts as own;

struct Component;

impl plugin::Guest for Component {
    fn describe() -> types::Description {
        types::Description {
            name: crate::NAME.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            summary: crate::SUMMARY.to_owned(),
            license: env!("CARGO_PKG_LICENSE").to_owned(),
            kind: "analyzer".to_owned(),
            serves: vec![types::Service { kind: "language".to_owned(), value: "*".to_owned() }],
            config_schema: crate::CONFIG_SCHEMA.to_owned(),
            requests: Vec::new(),
            extra: Vec::new(),
        }
    }
}

impl analyzer::Guest for Component {
    fn inspect(file: analyzer::SourceFile, config: String) -> Result<Vec<wire::Fact>, types::PluginError> {
        let file = own::SourceFile { path: file.path, language: file.language, content: file.content };
        crate::inspect::inspect(&file, &config)
            .map(|facts| facts.into_iter().map(lower_fact).collect())
            .map_err(lower_error)
    }

    fn relate(
        files: Vec<analyzer::FileFacts>,
        paths: Vec<String>,
        config: String,
    ) -> Result<Vec<analyzer::Relation>, types::PluginError> {
        let files: Vec<own::FileFacts> = files
            .into_iter()
            .map(|file| own::FileFacts {
                path: file.path,
                language: file.language,
                facts: file.facts.into_iter().filter_map(lift_fact).collect(),
            })
            .collect();
        crate::relate::relate(&files, &paths, &config)
            .map(|relations| relations.into_iter().map(lower_relation).collect())
            .map_err(lower_error)
    }

    fn import_report(format: String, _content: Vec<u8>) -> Result<Vec<wire::Observation>, types::PluginError> {
        Err(types::PluginError::Unsupported(format!("{} reads no reports, so not `{format}`", crate::NAME)))
    }
}

fn lower_error(error: own::Error) -> types::PluginError {
    match error {
        own::Error::InvalidConfiguration(text) => types::PluginError::InvalidConfiguration(text),
        own::Error::Unsupported(text) => types::PluginError::Unsupported(text),
    }
}

fn lower_span(span: own::Span) -> wire::Span {
    wire::Span {
        start_line: span.start_line,
        start_column: span.start_column,
        end_line: span.end_line,
        end_column: span.end_column,
        start_byte: span.start_byte,
        end_byte: span.end_byte,
    }
}

fn lift_span(span: wire::Span) -> own::Span {
    own::Span {
        start_line: span.start_line,
        start_column: span.start_column,
        end_line: span.end_line,
        end_column: span.end_column,
        start_byte: span.start_byte,
        end_byte: span.end_byte,
    }
}

fn lower_fact(fact: own::Fact) -> wire::Fact {
    match fact {
        own::Fact::Finding(f) => wire::Fact::Finding(wire::Finding {
            rule: f.rule,
            title: f.title,
            lens: f.lens,
            category: f.category,
            severity: f.severity,
            confidence: f.confidence,
            summary: f.summary,
            span: lower_span(f.span),
            quote: f.quote,
            cwe: f.cwe,
            fix: f.fix,
            extra: f.extra,
        }),
        own::Fact::Import(f) => wire::Fact::ImportOf(wire::ImportFact {
            specifier: f.specifier,
            kind: f.kind,
            span: lower_span(f.span),
            extra: f.extra,
        }),
        own::Fact::Definition(f) => wire::Fact::Definition(wire::Definition {
            name: f.name,
            kind: f.kind,
            exported: f.exported,
            span: lower_span(f.span),
            extra: f.extra,
        }),
        own::Fact::Reference(f) => {
            wire::Fact::Reference(wire::Reference { name: f.name, span: lower_span(f.span), extra: f.extra })
        }
        own::Fact::Route(f) => wire::Fact::Route(wire::Route {
            method: f.method,
            path: f.path,
            handler: f.handler,
            span: lower_span(f.span),
            extra: f.extra,
        }),
        own::Fact::Suppression(f) => wire::Fact::Suppression(wire::Suppression {
            target: f.target,
            reason: f.reason,
            span: lower_span(f.span),
            extra: f.extra,
        }),
        own::Fact::Metric(f) => wire::Fact::Metric(wire::Metric {
            name: f.name,
            value: f.value,
            span: f.span.map(lower_span),
            extra: f.extra,
        }),
    }
}

/// Relations are made of imports and definitions; nothing else is copied.
fn lift_fact(fact: wire::Fact) -> Option<own::Fact> {
    match fact {
        wire::Fact::ImportOf(f) => Some(own::Fact::Import(own::Import {
            specifier: f.specifier,
            kind: f.kind,
            span: lift_span(f.span),
            extra: f.extra,
        })),
        wire::Fact::Definition(f) => Some(own::Fact::Definition(own::Definition {
            name: f.name,
            kind: f.kind,
            exported: f.exported,
            span: lift_span(f.span),
            extra: f.extra,
        })),
        _ => None,
    }
}

fn lower_relation(relation: own::Relation) -> analyzer::Relation {
    analyzer::Relation {
        source: relation.source,
        target: relation.target,
        kind: relation.kind,
        confidence: relation.confidence,
        span: lower_span(relation.span),
        extra: relation.extra,
    }
}

export!(Component);
