//! Risk: a score from named signals, each with a share of its own, so that the sum reaches 100 only when all of them do.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::inventory::{FileKind, FileRow};
use crate::result::Severity;

use super::flows::Flow;
use super::signals::{FileSignals, weighed_severity};
use super::surfaces::{Surface, SurfaceKind};
use super::table::FileTable;
use super::work;

/// Shares of the score. They add up to 100.
const SINKS: u8 = 30;
const FINDINGS: u8 = 20;
const EXPOSURE: u8 = 15;
const CHURN: u8 = 10;
const SIZE: u8 = 8;
const FAN_IN: u8 = 7;
const UNSAFE: u8 = 5;
const UNTESTED: u8 = 5;
/// A sink in a test harms whoever runs the tests, and hardly anybody else.
const SINKS_IN_TESTS: u8 = 6;

/// One reason why a file is risky.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signal {
    /// `sink/sql`, `finding`, `exposure`, `churn`, `size`, `fan-in`, `unsafe`, `untested`.
    pub name: String,
    /// Its part of the score.
    pub points: u8,
    /// For people.
    pub detail: String,
}

/// Risk of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRisk {
    /// Repository-relative path.
    pub path: String,
    /// Sum of the points, 0 to 100.
    pub score: u8,
    /// The reasons, most points first.
    pub signals: Vec<Signal>,
}

impl FileRisk {
    /// Whether a signal is among the reasons.
    pub fn has(&self, name: &str) -> bool {
        self.signals.iter().any(|signal| signal.name == name)
    }
}

/// What the score is made from.
pub(super) struct RiskEvidence<'a> {
    pub(super) table: &'a FileTable<'a>,
    pub(super) signals: &'a [FileSignals<'a>],
    pub(super) surfaces: &'a [Surface],
    pub(super) flows: &'a [Flow],
    pub(super) fan_in: &'a [u32],
    pub(super) tested: &'a [bool],
    pub(super) churn: &'a BTreeMap<String, u32>,
}

/// How much a sink weighs.
pub(super) fn sink_points(sink: &str) -> u8 {
    match sink {
        "eval" | "subprocess" => 14,
        "sql" | "deserialize" => 12,
        "auth" | "template" => 10,
        "crypto" => 9,
        "file" | "network" => 5,
        _ => 4,
    }
}

/// Scores every file of the table, in its order.
pub(super) fn derive_risks(evidence: &RiskEvidence<'_>) -> Vec<FileRisk> {
    let exposure = exposures(evidence);
    evidence
        .table
        .numbers()
        .map(|file| {
            work::tick();
            let mut signals = Vec::new();
            add_sinks(evidence, file, &mut signals);
            add_findings(&evidence.signals[file as usize], &mut signals);
            signals.extend(exposure.get(&file).cloned());
            add_numbers(evidence, file, &mut signals);
            signals.retain(|signal| signal.points > 0);
            signals.sort_by(|a, b| b.points.cmp(&a.points).then_with(|| a.name.cmp(&b.name)));
            let score = signals.iter().map(|signal| signal.points).fold(0, u8::saturating_add).min(100);
            FileRisk { path: evidence.table.path(file).to_owned(), score, signals }
        })
        .collect()
}

fn signal(name: impl Into<String>, points: u8, detail: impl Into<String>) -> Signal {
    Signal { name: name.into(), points, detail: detail.into() }
}

/// Heaviest sinks first, until their share is spent.
fn add_sinks(evidence: &RiskEvidence<'_>, file: u32, signals: &mut Vec<Signal>) {
    let is_test = evidence.table.row(file).kind == FileKind::Test;
    let mut left = if is_test { SINKS_IN_TESTS } else { SINKS };
    let mut sinks: Vec<_> = evidence.signals[file as usize].sinks.iter().collect();
    sinks.sort_by_key(|(sink, _)| (std::cmp::Reverse(sink_points(sink)), **sink));
    for (sink, seen) in sinks {
        let points = sink_points(sink).min(left);
        left -= points;
        let detail = match seen.line {
            Some(line) => format!("{} places, first in line {line}", seen.times),
            None => format!("{} places", seen.times),
        };
        signals.push(signal(format!("sink/{sink}"), points, detail));
    }
}

fn add_findings(of_file: &FileSignals<'_>, signals: &mut Vec<Signal>) {
    let Some((worst, finding)) = of_file.worst_finding() else {
        return;
    };
    let points: u8 = match worst {
        Severity::Critical => 18,
        Severity::High => 13,
        Severity::Medium => 7,
        Severity::Low => 2,
        Severity::Info => 0,
    };
    let more = of_file.findings.iter().filter(|other| weighed_severity(other) >= Some(Severity::Low)).count();
    let extra = if points == 0 { 0 } else { u8::try_from(more.saturating_sub(1)).unwrap_or(FINDINGS) };
    let points = points.saturating_add(extra).min(FINDINGS);
    signals.push(signal("finding", points, format!("{} of {}, {more} in all", worst.as_str(), finding.rule)));
}

/// What each file that can be reached from outside gets; its own surface before the flows through it.
fn exposures(evidence: &RiskEvidence<'_>) -> HashMap<u32, Signal> {
    let mut found: HashMap<u32, Signal> = HashMap::new();
    let own = evidence.surfaces.iter().map(|surface| {
        let points = match surface.kind {
            SurfaceKind::Route => EXPOSURE,
            SurfaceKind::Message => 12,
            SurfaceKind::Cli | SurfaceKind::Job => 8,
            SurfaceKind::Entry => 4,
            SurfaceKind::Library => 3,
        };
        (surface.path.as_str(), points, &surface.label)
    });
    let through = evidence.flows.iter().flat_map(|flow| {
        let points = if flow.confidence >= 0.5 { 10 } else { 6 };
        flow.files.iter().map(move |path| (path.as_str(), points, &flow.id))
    });
    for (path, points, label) in own.chain(through) {
        work::tick();
        let Some(file) = evidence.table.find(path) else {
            continue;
        };
        if found.get(&file).is_none_or(|known| known.points < points) {
            found.insert(file, signal("exposure", points, format!("reached by {label}")));
        }
    }
    found
}

fn add_numbers(evidence: &RiskEvidence<'_>, file: u32, signals: &mut Vec<Signal>) {
    let (row, of_file) = (evidence.table.row(file), &evidence.signals[file as usize]);
    let commits = evidence.churn.get(&row.path).copied().unwrap_or(0);
    signals.push(signal("churn", churn_points(commits), format!("{commits} recent commits")));
    let lines = row.lines.unwrap_or(0);
    signals.push(signal(
        "size",
        step(lines, &[(3_000, SIZE), (1_200, 6), (600, 4), (300, 2)]),
        format!("{lines} lines"),
    ));
    let fan_in = u64::from(evidence.fan_in[file as usize]);
    let points = step(fan_in, &[(100, FAN_IN), (30, 6), (10, 4), (3, 2)]);
    signals.push(signal("fan-in", points, format!("{fan_in} files need it")));
    if of_file.metric("unsafe") > 0.0 {
        signals.push(signal("unsafe", UNSAFE, "works outside the language's safety"));
    }
    if wants_test(row) && !evidence.tested[file as usize] {
        signals.push(signal("untested", UNTESTED, "no test needs it or is named after it"));
    }
}

/// Rises fast and then slowly: half of the share at ten commits.
fn churn_points(commits: u32) -> u8 {
    let (commits, share) = (u64::from(commits), u64::from(CHURN));
    u8::try_from(share * commits / (commits + 10)).unwrap_or(CHURN)
}

/// Points of the highest step that the value reaches; steps go down.
fn step(value: u64, steps: &[(u64, u8)]) -> u8 {
    steps.iter().find(|(least, _)| value >= *least).map_or(0, |(_, points)| *points)
}

/// Whether one would expect a test: code, and enough of it.
fn wants_test(row: &FileRow) -> bool {
    row.kind == FileKind::Source && row.lines.is_some_and(|lines| lines >= 30)
}
