//! Gathers what the recognisers report, holds suppressed findings back, and puts everything into order.

use std::collections::BTreeMap;

use crate::config::Config;
use crate::facts::{Definition, Fact, Finding, Import, Metric, Route, Suppression};
use crate::rules::{Rule, lowered};
use crate::text::Text;

/// Findings reported for one file. More tell a reader nothing; the number of the rest is a metric.
pub const MOST_FINDINGS: usize = 500;

/// Candidates kept before doubles are removed; bounds memory on hostile text.
const MOST_CANDIDATES: usize = 4 * MOST_FINDINGS;

/// Imports, definitions and routes kept of one file, each.
const MOST_FACTS: usize = 5_000;

/// Longest quote in bytes. Key blocks of 16384-bit keys fit.
const LONGEST_QUOTE: usize = 16 * 1024;

/// A finding before it is put into words.
#[derive(Clone, Copy, Debug)]
pub struct Hit {
    /// First byte.
    pub start: usize,
    /// Byte after the last.
    pub end: usize,
    /// Instead of the rule's.
    pub severity: Option<&'static str>,
    /// Instead of the rule's.
    pub confidence: Option<&'static str>,
}

impl Hit {
    /// With the rule's severity and confidence.
    pub fn at(start: usize, end: usize) -> Self {
        Self { start, end, severity: None, confidence: None }
    }
}

/// A stretch of the file, where there is one.
type Place = Option<(usize, usize)>;

/// What was found so far.
pub struct Collector<'a> {
    text: &'a Text<'a>,
    config: &'a Config,
    in_test: bool,
    hits: Vec<(&'static Rule, Hit)>,
    dropped: usize,
    /// Number of places of each signal, and the first of them.
    signals: BTreeMap<&'static str, (usize, Place)>,
    /// Imports in the order of the file.
    pub imports: Vec<Import>,
    /// Definitions in the order of the file.
    pub definitions: Vec<Definition>,
    /// Routes in the order of the file.
    pub routes: Vec<Route>,
}

impl<'a> Collector<'a> {
    /// Nothing yet.
    pub fn new(text: &'a Text<'a>, config: &'a Config) -> Self {
        Self {
            text,
            config,
            in_test: is_test_path(text.path),
            hits: Vec::new(),
            dropped: 0,
            signals: BTreeMap::new(),
            imports: Vec::new(),
            definitions: Vec::new(),
            routes: Vec::new(),
        }
    }

    /// Entropy threshold of the configuration.
    pub fn entropy(&self) -> f64 {
        self.config.entropy
    }

    /// Reports a finding.
    pub fn report(&mut self, rule: &'static Rule, hit: Hit) {
        if hit.end <= hit.start || hit.end > self.text.bytes.len() || self.config.is_disabled(rule.id) {
            return;
        }
        if self.hits.len() >= MOST_CANDIDATES {
            self.dropped += 1;
            return;
        }
        let mut hit = hit;
        hit.end = hit.end.min(hit.start + LONGEST_QUOTE);
        self.hits.push((rule, hit));
    }

    /// Counts a signal and keeps its first place.
    pub fn signal(&mut self, name: &'static str, place: Option<(usize, usize)>) {
        let entry = self.signals.entry(name).or_insert((0, place));
        entry.0 += 1;
    }

    /// Sets a number.
    pub fn number(&mut self, name: &'static str, value: usize) {
        self.signals.insert(name, (value, None));
    }

    /// Whether more imports are kept.
    pub fn wants_imports(&self) -> bool {
        self.imports.len() < MOST_FACTS
    }

    /// Whether more definitions are kept.
    pub fn wants_definitions(&self) -> bool {
        self.definitions.len() < MOST_FACTS
    }

    /// Whether more routes are kept.
    pub fn wants_routes(&self) -> bool {
        self.routes.len() < MOST_FACTS
    }

    /// All facts: findings, imports, definitions, routes, suppressions, metrics, each in the order of the file.
    pub fn finish(mut self, suppressions: Vec<(Suppression, Option<u32>)>) -> Vec<Fact> {
        let mut hits = std::mem::take(&mut self.hits);
        // At one place the rule that stands first in its family wins: specific rules have a lower rank than generic ones.
        hits.sort_by(|a, b| (a.1.start, a.0.rank, a.1.end, a.0.id).cmp(&(b.1.start, b.0.rank, b.1.end, b.0.id)));
        let mut facts = Vec::new();
        let mut held = 0;
        let mut secret_end = 0;
        let mut last: Option<(&str, usize)> = None;
        for (rule, hit) in &hits {
            if last == Some((rule.id, hit.start)) || (rule.is_secret() && hit.start < secret_end) {
                continue;
            }
            last = Some((rule.id, hit.start));
            if rule.is_secret() {
                secret_end = hit.end;
            }
            let finding = self.word(rule, hit);
            if suppressions.iter().any(|(s, line)| is_held(s, *line, &finding)) {
                held += 1;
            } else if facts.len() < MOST_FINDINGS {
                facts.push(Fact::Finding(finding));
            } else {
                self.dropped += 1;
            }
        }
        if held > 0 {
            self.number("findings-suppressed", held);
        }
        if self.dropped > 0 {
            self.number("findings-capped", self.dropped);
        }
        if self.text.is_spent() {
            self.number("looks-capped", 1);
        }
        facts.extend(self.imports.drain(..).map(Fact::Import));
        facts.extend(self.definitions.drain(..).map(Fact::Definition));
        facts.extend(self.routes.drain(..).map(Fact::Route));
        facts.extend(suppressions.into_iter().map(|(s, _)| Fact::Suppression(s)));
        for (name, (value, place)) in &self.signals {
            facts.push(Fact::Metric(Metric {
                name: (*name).to_owned(),
                value: *value as f64,
                span: place.map(|(start, end)| self.text.span(start, end)),
                extra: Vec::new(),
            }));
        }
        facts
    }

    fn word(&self, rule: &'static Rule, hit: &Hit) -> Finding {
        let mut severity = hit.severity.unwrap_or(rule.severity);
        let mut extra = Vec::new();
        if rule.is_secret() {
            extra.push(("secret".to_owned(), "true".to_owned()));
        }
        if self.in_test {
            // Code of tests is not shipped and its secrets are mostly invented; it stays visible, one step lower.
            severity = lowered(severity);
            extra.push(("context".to_owned(), "test".to_owned()));
        }
        Finding {
            rule: rule.id.to_owned(),
            title: rule.title.to_owned(),
            lens: rule.lens.to_owned(),
            category: rule.category.to_owned(),
            severity: severity.to_owned(),
            confidence: hit.confidence.unwrap_or(rule.confidence).to_owned(),
            summary: rule.summary.to_owned(),
            span: self.text.span(hit.start, hit.end),
            quote: String::from_utf8_lossy(&self.text.bytes[hit.start..hit.end]).into_owned(),
            cwe: (!rule.cwe.is_empty()).then(|| rule.cwe.to_owned()),
            fix: Some(rule.fix.to_owned()),
            extra,
        }
    }
}

fn is_held(suppression: &Suppression, next: Option<u32>, finding: &Finding) -> bool {
    let lines = finding.span.start_line..=finding.span.end_line;
    let here = lines.contains(&suppression.span.start_line) || next.is_some_and(|line| lines.contains(&line));
    here && suppression.target.as_deref().is_none_or(|target| {
        finding.category == target
            || finding.rule == target
            || finding.rule.strip_prefix(target).is_some_and(|rest| rest.starts_with('/'))
    })
}

/// Whether a path is one of tests, fixtures or examples.
fn is_test_path(path: &str) -> bool {
    let mut parts = path.split('/').peekable();
    while let Some(part) = parts.next() {
        let part = part.to_ascii_lowercase();
        let is_file = parts.peek().is_none();
        if matches!(
            part.as_str(),
            "test"
                | "tests"
                | "__tests__"
                | "spec"
                | "specs"
                | "fixtures"
                | "fixture"
                | "testdata"
                | "mocks"
                | "__mocks__"
                | "examples"
                | "example"
        ) && !is_file
        {
            return true;
        }
        if is_file
            && (part.starts_with("test_")
                || part.contains("_test.")
                || part.contains(".test.")
                || part.contains(".spec.")
                || part.ends_with("_spec.rb")
                || part.ends_with("test.java")
                || part.ends_with("tests.cs")
                || part.contains(".example")
                || part.contains(".sample"))
        {
            return true;
        }
    }
    false
}
