//! What the facts say of each file, gathered in one pass.

use std::collections::BTreeMap;

use crate::fact::{Fact, FileFacts, Metric, Route, RuleFinding};
use crate::result::{Confidence, Severity};

use super::table::FileTable;
use super::work;

/// A place where something dangerous is done.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    /// How often.
    pub(super) times: u32,
    /// First line, when it is known.
    pub(super) line: Option<u32>,
}

/// The facts of one file that planning uses.
#[derive(Debug, Default)]
pub(super) struct FileSignals<'a> {
    /// Sinks by name, without `sink/`.
    pub(super) sinks: BTreeMap<&'a str, Seen>,
    /// Highest value of every other metric.
    pub(super) metrics: BTreeMap<&'a str, f64>,
    /// Findings of rules.
    pub(super) findings: Vec<&'a RuleFinding>,
    /// Ways in.
    pub(super) routes: Vec<&'a Route>,
    /// Specifiers of imports.
    pub(super) imports: Vec<&'a str>,
    /// First and last lines of definitions.
    pub(super) definitions: Vec<(u64, u64)>,
    /// Whether it holds tests of its own.
    pub(super) inline_tests: bool,
}

impl FileSignals<'_> {
    /// The worst finding of a rule, if any; what a rule is unsure of counts one step less.
    pub(super) fn worst_finding(&self) -> Option<(Severity, &RuleFinding)> {
        self.findings
            .iter()
            .filter_map(|finding| Some((weighed_severity(finding)?, *finding)))
            .max_by(|a, b| a.0.cmp(&b.0).then_with(|| b.1.rule.cmp(&a.1.rule)))
    }

    /// The value of a metric; 0 when there is none.
    pub(super) fn metric(&self, name: &str) -> f64 {
        self.metrics.get(name).copied().unwrap_or(0.0)
    }
}

/// Severity of a rule's finding after its confidence.
pub(super) fn weighed_severity(finding: &RuleFinding) -> Option<Severity> {
    let severity = Severity::parse(&finding.severity)?;
    let unsure = Confidence::parse(&finding.confidence) == Some(Confidence::Low);
    Some(match severity {
        Severity::Critical if unsure => Severity::High,
        Severity::High if unsure => Severity::Medium,
        Severity::Medium if unsure => Severity::Low,
        other => other,
    })
}

/// Gathers the facts of every file of the table; facts of other files are passed over.
pub(super) fn derive_signals<'a>(table: &FileTable<'_>, facts: &'a [FileFacts]) -> Vec<FileSignals<'a>> {
    let mut signals: Vec<FileSignals<'a>> = Vec::new();
    signals.resize_with(table.len(), FileSignals::default);
    for file in facts {
        let Some(number) = table.find(&file.path) else { continue };
        let signal = &mut signals[number as usize];
        for fact in &file.facts {
            work::tick();
            take_fact(signal, fact);
        }
    }
    for signal in &mut signals {
        signal.definitions.sort_unstable();
        signal.imports.sort_unstable();
        signal.imports.dedup();
    }
    signals
}

fn take_fact<'a>(signal: &mut FileSignals<'a>, fact: &'a Fact) {
    match fact {
        Fact::Finding(finding) => signal.findings.push(finding),
        Fact::Import(import) => signal.imports.push(&import.specifier),
        Fact::Definition(definition) => {
            let (first, last) = (definition.span.start_line, definition.span.end_line);
            signal.definitions.push((u64::from(first.max(1)), u64::from(last.max(first))));
            signal.inline_tests |= definition.name == "tests" || definition.name.starts_with("test_");
        }
        Fact::Route(route) => signal.routes.push(route),
        Fact::Metric(metric) => take_metric(signal, metric),
        Fact::Reference(_) | Fact::Suppression(_) => {}
    }
}

fn take_metric<'a>(signal: &mut FileSignals<'a>, metric: &'a Metric) {
    // A sink that was counted and not found is no sink; the comparison is false for what is not a number, too.
    if metric.value.is_nan() || metric.value <= 0.0 {
        return;
    }
    match metric.name.strip_prefix("sink/") {
        Some(sink) => {
            let seen = signal.sinks.entry(sink).or_default();
            seen.times = seen.times.saturating_add(1);
            let line = metric.span.map(|span| span.start_line);
            seen.line = match (seen.line, line) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        None => {
            let value = signal.metrics.entry(&metric.name).or_insert(metric.value);
            *value = value.max(metric.value);
        }
    }
}
