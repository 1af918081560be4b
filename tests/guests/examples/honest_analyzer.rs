//! Finds one fact of each form, relates files in a ring, and reads a report of one line.
#![cfg(target_family = "wasm")]

wit_bindgen::generate!({ world: "analyzer-plugin", path: "../../wit/v0.1" });

use assize::plugin::facts::{
    Definition, Fact, Finding, ImportFact, Metric, Observation, Reference, Route, Span, Suppression,
};
use assize::plugin::log::{Level, write};
use assize::plugin::types::{Description, PluginError, Service};
use exports::assize::plugin::analyzer::{FileFacts, Relation, SourceFile};

struct Component;

impl exports::assize::plugin::plugin::Guest for Component {
    fn describe() -> Description {
        Description {
            name: "honest-analyzer".to_owned(),
            version: "0.1.0".to_owned(),
            summary: "Finds one fact of each form.".to_owned(),
            license: "MIT".to_owned(),
            kind: "analyzer".to_owned(),
            serves: vec![Service { kind: "language".to_owned(), value: "*".to_owned() }],
            config_schema: "{}".to_owned(),
            requests: Vec::new(),
            extra: Vec::new(),
        }
    }
}

fn span() -> Span {
    Span { start_line: 1, start_column: 2, end_line: 3, end_column: 4, start_byte: 5, end_byte: 6 }
}

fn finding(quote: String) -> Finding {
    Finding {
        rule: "a/rule".to_owned(),
        title: "title".to_owned(),
        lens: "security".to_owned(),
        category: "category".to_owned(),
        severity: "high".to_owned(),
        confidence: "low".to_owned(),
        summary: "summary".to_owned(),
        span: span(),
        quote,
        cwe: Some("CWE-1".to_owned()),
        fix: None,
        extra: vec![("k".to_owned(), "v".to_owned())],
    }
}

impl exports::assize::plugin::analyzer::Guest for Component {
    fn inspect(file: SourceFile, config: String) -> Result<Vec<Fact>, PluginError> {
        write(Level::Debug, "inspecting", &[("path".to_owned(), file.path.clone())]);
        if !config.starts_with('{') {
            return Err(PluginError::InvalidConfiguration(config));
        }
        if file.content.is_empty() {
            return Ok(Vec::new());
        }
        let text = String::from_utf8(file.content).map_err(|e| PluginError::MalformedInput(e.to_string()))?;
        let (span, extra) = (span(), Vec::new());
        Ok(vec![
            Fact::Finding(finding(text.clone())),
            Fact::ImportOf(ImportFact { specifier: file.path, kind: file.language, span, extra: extra.clone() }),
            Fact::Definition(Definition {
                name: "d".to_owned(),
                kind: "function".to_owned(),
                exported: true,
                span,
                extra: extra.clone(),
            }),
            Fact::Reference(Reference { name: "r".to_owned(), span, extra: extra.clone() }),
            Fact::Route(Route {
                method: "GET".to_owned(),
                path: "/".to_owned(),
                handler: None,
                span,
                extra: extra.clone(),
            }),
            Fact::Suppression(Suppression { target: None, reason: "why".to_owned(), span, extra: extra.clone() }),
            Fact::Metric(Metric { name: "bytes".to_owned(), value: text.len() as f64, span: None, extra }),
        ])
    }

    fn relate(files: Vec<FileFacts>, paths: Vec<String>, _: String) -> Result<Vec<Relation>, PluginError> {
        if files.is_empty() {
            return Err(PluginError::Unsupported("no files".to_owned()));
        }
        Ok(files
            .iter()
            .enumerate()
            .map(|(at, file)| Relation {
                source: file.path.clone(),
                target: paths[(at + 1) % paths.len()].clone(),
                kind: file.language.clone(),
                confidence: file.facts.len() as f32 / 8.0,
                span: span(),
                extra: Vec::new(),
            })
            .collect())
    }

    fn import_report(format: String, content: Vec<u8>) -> Result<Vec<Observation>, PluginError> {
        let path = String::from_utf8(content).map_err(|e| PluginError::MalformedInput(e.to_string()))?;
        Ok(vec![Observation { analyzer: format, path, finding: finding("q".to_owned()), extra: Vec::new() }])
    }
}

export!(Component);
