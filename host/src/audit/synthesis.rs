//! Synthesis: findings out of current results, and the report in its formats.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use assize_core::id::Digest;
use assize_core::inventory::Inventory;
use assize_core::plan::Structure;
use assize_core::plugin::Outcome;
use assize_core::render::{
    AnalyzerRecord, DesignLead, LaneSummary, ParkedTask, ReportInput, RunSummary, UnauditedFile, render_findings_json,
    render_markdown, render_sarif,
};
use assize_core::result::{ResultRecord, ReviewerKind, Severity};
use assize_core::review::{
    Coverage, CoverageOptions, MergedFinding, Waiver, apply_verdicts, derive_blocks, derive_coverage, derive_findings,
    merge_findings,
};
use assize_core::task::Task;
use assize_store::{LaunchRow, LaunchState, Store, TaskRow, TaskState};
use serde::{Deserialize, Serialize};

use super::inventory::INVENTORY;
use super::open::load;
use super::{Audit, AuditError, AuditReader, plan, structure};
use crate::clock;
use crate::components::{Catalog, Component, Wanted};
use crate::config::Settings;

/// Name of the artifact that says what the report was made from.
const REPORT: &str = "report";
/// Name of the value that says of which state of the store the report tells.
const REPORT_STATE: &str = "report-state";
const MARKDOWN: &str = "audit-report.md";
const FINDINGS: &str = "audit-findings.json";
const SARIF: &str = "audit.sarif";
/// Results of a lane from which on nothing but empty ones is suspicious.
const EMPTY_RESULTS: u64 = 20;
/// Version of rendering: a change of it writes reports again.
const REPORT_VERSION: &[u8] = b"2";

/// Coverage and findings as they follow from the store.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Coverage of the required pairs.
    pub coverage: Coverage,
    /// Merged findings, worst first.
    pub merged: Vec<MergedFinding>,
    /// Tasks of the plan.
    pub tasks: Vec<TaskRow>,
}

/// What a report comes to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether every required pair is reviewed or waived and nothing is parked.
    pub complete: bool,
    /// Findings that count, by severity.
    pub by_severity: BTreeMap<Severity, usize>,
    /// Required pairs that are reviewed, and all of them.
    pub reviewed: (u64, u64),
    /// Parked tasks.
    pub parked: usize,
}

/// Where the report is.
#[derive(Clone, Debug)]
pub struct ReportFiles {
    /// `audit-report.md`.
    pub markdown: PathBuf,
    /// `audit-findings.json`.
    pub findings: PathBuf,
    /// `audit.sarif`.
    pub sarif: PathBuf,
    /// What it comes to.
    pub verdict: Verdict,
}

impl Audit {
    /// Writes the report, unless the one that is there was made from the same state of the store.
    pub fn refresh_report(&mut self) -> Result<ReportFiles, AuditError> {
        if let Some(files) = self.current_report()? {
            return Ok(files);
        }
        let input = self.report_input()?;
        let json = render_findings_json(&input);
        let inputs = Digest::of_parts([REPORT_VERSION, json.as_bytes()]);
        let verdict = verdict_of(&input);
        for (name, text) in [(MARKDOWN, render_markdown(&input)), (FINDINGS, json), (SARIF, render_sarif(&input))] {
            self.store.publish(&Path::new("report").join(name), text.as_bytes())?;
        }
        let body = serde_json::to_vec(&verdict)
            .map_err(|error| AuditError::Record { name: REPORT.to_owned(), message: error.to_string() })?;
        self.store.put_artifact(REPORT, inputs, &body, clock::now_ms())?;
        self.store.set_meta(REPORT_STATE, &self.report_state()?)?;
        Ok(self.report_files(verdict))
    }

    /// The report that is there, when nothing has happened since it was written: the ledger's head says so.
    fn current_report(&self) -> Result<Option<ReportFiles>, AuditError> {
        let state = self.report_state()?;
        if self.store.meta(REPORT_STATE)? != Some(state) {
            return Ok(None);
        }
        let Some(verdict) = load(&self.store, REPORT)? else { return Ok(None) };
        let files = self.report_files(verdict);
        let there = [&files.markdown, &files.findings, &files.sarif].iter().all(|file| file.is_file());
        Ok(there.then_some(files))
    }

    fn report_files(&self, verdict: Verdict) -> ReportFiles {
        let dir = self.settings.state_dir.join("report");
        let file = |name: &str| dir.join(name);
        ReportFiles { markdown: file(MARKDOWN), findings: file(FINDINGS), sarif: file(SARIF), verdict }
    }

    /// What a report depends on, as text: every change of the store is in the ledger, and the rest is named here.
    fn report_state(&self) -> Result<String, AuditError> {
        let head = self.store.ledger_head()?;
        let wishes = &self.settings.repository_wishes;
        let settings = format!("{:?} {:?} {wishes:?}", self.settings.require, self.settings.lenses);
        let version = env!("CARGO_PKG_VERSION");
        Ok(Digest::of_parts([REPORT_VERSION, version.as_bytes(), head.as_bytes(), settings.as_bytes()]).to_string())
    }

    /// Everything that the report is made from.
    pub fn report_input(&self) -> Result<ReportInput, AuditError> {
        report_input(&self.store, &self.settings, analyzer_records(&self.catalog))
    }
}

/// The report's input from a store that is only read.
pub(crate) fn report_input(
    store: &Store,
    settings: &Settings,
    analyzers: Vec<AnalyzerRecord>,
) -> Result<ReportInput, AuditError> {
    let inventory: Inventory = load(store, INVENTORY)?
        .ok_or_else(|| AuditError::NotFound("nothing has been surveyed yet; run: assize run".to_owned()))?;
    let record = structure::recorded(store)?;
    let results = store.results()?;
    let findings = derive_current_findings(store, settings, &results)?;
    let launches = store.launches()?;
    let edges = edges_of(&record.structure);
    let units: BTreeMap<&str, &str> = record
        .structure
        .units
        .iter()
        .flat_map(|unit| unit.files.iter().map(|file| (file.as_str(), unit.id.as_str())))
        .collect();
    let unit_of = |path: &str| units.get(path).map(|unit| (*unit).to_owned());
    let blocks = derive_blocks(&findings.merged, &edges, &unit_of);
    let last = results.iter().map(|r| r.at_ms).chain(launches.iter().filter_map(|l| l.ended_ms)).max();
    Ok(ReportInput {
        repository: inventory.name.clone(),
        head: inventory.vcs.head.clone(),
        generated_at: clock::rfc3339(last.unwrap_or_default()),
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        scope: settings.lenses.as_ref().map(|lenses| {
            let words: Vec<&str> = lenses.iter().map(|lens| lens.as_str()).collect();
            format!("lenses {}", words.join(", "))
        }),
        inventory: count_entries(&inventory),
        coverage: findings.coverage,
        blocks,
        run: summarise(&launches, &results),
        parked: findings.tasks.iter().filter_map(parked_task).collect(),
        unaudited: unaudited(&inventory),
        analyzers,
        leads: record.structure.leads.iter().map(design_lead).collect(),
        runtime_validation: BTreeMap::new(),
        suppressed: BTreeMap::new(),
        notices: notices(&record, settings),
        raw_paths: inventory.rows.iter().filter_map(|row| Some((row.path.clone(), row.raw.clone()?))).collect(),
        findings: findings.merged,
    })
}

/// The report's input for a reader, with the analyzers that a run would have now.
pub fn render_input(reader: &AuditReader) -> Result<ReportInput, AuditError> {
    let catalog = Catalog::load(&reader.settings, Wanted::Analyzers)?;
    report_input(&reader.store, &reader.settings, analyzer_records(&catalog))
}

fn analyzer_records(catalog: &Catalog) -> Vec<AnalyzerRecord> {
    let record = |c: &&Component| AnalyzerRecord {
        name: c.name().to_owned(),
        version: c.plugin.description().version.clone(),
        digest: c.plugin.digest_sha256().parse().unwrap_or_else(|_| Digest::of(b"")),
    };
    catalog.analyzers().iter().map(record).collect()
}

/// Coverage and findings out of the current results.
pub fn derive_current_findings(
    store: &Store,
    settings: &Settings,
    results: &[ResultRecord],
) -> Result<Findings, AuditError> {
    let plan = plan::recorded(store)?;
    let rows = store.tasks()?;
    let tasks: Vec<Task> = rows.iter().map(|row| row.task.clone()).collect();
    let parked = rows.iter().filter_map(|row| match &row.state {
        TaskState::Parked { reason } => Some(Waiver {
            path: None,
            lens: None,
            task: Some(row.task.id.clone()),
            reason: format!("parked: {reason}"),
        }),
        _ => None,
    });
    let mut waivers: Vec<Waiver> = parked.collect();
    waivers.extend(store.waivers()?.into_iter().map(|waiver| Waiver {
        path: Some(waiver.path),
        lens: Some(waiver.lens),
        task: None,
        reason: waiver.reason,
    }));
    let options = CoverageOptions { require: settings.require.clone() };
    let coverage = derive_coverage(&plan.pairs(), &tasks, results, &waivers, &options);
    let found = derive_findings(&tasks, results);
    let merged = merge_findings(apply_verdicts(found, &tasks, results));
    Ok(Findings { coverage, merged, tasks: rows })
}

/// What a report comes to.
pub(crate) fn verdict_of(input: &ReportInput) -> Verdict {
    let mut by_severity: BTreeMap<Severity, usize> = BTreeMap::new();
    for finding in input.standing() {
        *by_severity.entry(finding.finding.severity).or_default() += 1;
    }
    let summary = &input.coverage.summary;
    Verdict {
        complete: input.is_complete(),
        by_severity,
        reviewed: (summary.reviewed, summary.required),
        parked: input.parked.len(),
    }
}

/// What a reader must know of that went wrong or was narrowed, one line each.
fn notices(record: &structure::StructureRecord, settings: &Settings) -> Vec<String> {
    let about = |path: &str, text: &str| if path.is_empty() { text.to_owned() } else { format!("{path}: {text}") };
    let mut notices: Vec<String> = record.survey.iter().map(|(path, message)| about(path, message)).collect();
    let analyzed =
        |p: &super::AnalyzerProblem| about(&p.path, &format!("not analyzed by {}: {}", p.analyzer, p.message));
    notices.extend(record.problems.iter().map(analyzed));
    notices.extend(settings.repository_wishes.iter().cloned());
    notices
}

fn edges_of(structure: &Structure) -> Vec<(String, String)> {
    let file = |at: u32| structure.files.get(at as usize).cloned();
    structure.edges.iter().filter_map(|edge| Some((file(edge.source)?, file(edge.target)?))).collect()
}

fn count_entries(inventory: &Inventory) -> BTreeMap<String, BTreeMap<String, u64>> {
    let mut counts: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for row in &inventory.rows {
        let status = serde_json::to_value(row.status).ok().and_then(|word| word.as_str().map(str::to_owned));
        *counts.entry(status.unwrap_or_default()).or_default().entry(row.reason.clone()).or_default() += 1;
    }
    counts
}

fn unaudited(inventory: &Inventory) -> Vec<UnauditedFile> {
    let left_out = inventory.rows.iter().filter(|row| !row.is_auditable());
    left_out
        .map(|row| UnauditedFile { path: row.path.clone(), status: row.status, reason: row.reason.clone() })
        .collect()
}

fn parked_task(row: &TaskRow) -> Option<ParkedTask> {
    let TaskState::Parked { reason } = &row.state else { return None };
    Some(ParkedTask {
        name: row.task.name.clone(),
        lens: row.task.lens,
        files: row.task.files.iter().map(|file| file.path.clone()).collect(),
        reason: reason.clone(),
    })
}

fn design_lead(lead: &assize_core::plan::DesignLead) -> DesignLead {
    let kind = serde_json::to_value(lead.kind).ok().and_then(|word| word.as_str().map(str::to_owned));
    let evidence: Vec<String> = lead.evidence.iter().map(|e| format!("{}:{} {}", e.path, e.line, e.text)).collect();
    DesignLead {
        kind: kind.unwrap_or_default(),
        title: lead.title.clone(),
        detail: evidence.join("; "),
        files: lead.files.clone(),
    }
}

fn summarise(launches: &[LaunchRow], results: &[ResultRecord]) -> RunSummary {
    let mut summary = RunSummary::default();
    let mut lanes: BTreeMap<String, (LaneSummary, BTreeSet<String>)> = BTreeMap::new();
    for record in results {
        let lane = record.reviewer.lane.as_str();
        let entry = lanes.entry(lane.to_owned()).or_insert_with(|| empty_lane(lane, record.reviewer.kind));
        entry.0.kind = entry.0.kind.max(record.reviewer.kind);
        entry.0.results += 1;
        entry.0.findings += record.result.findings.len() as u64;
        entry.1.extend(record.reviewer.model.clone());
    }
    for launch in launches.iter().filter(|launch| launch.state == LaunchState::Settled) {
        summary.launches += 1;
        summary.retried += u64::from(launch.attempt > 1);
        let outcome = launch.outcome.map_or("unknown", Outcome::as_str);
        *summary.by_outcome.entry(outcome.to_owned()).or_default() += 1;
        if launch.outcome != Some(Outcome::Completed) {
            *summary.failures.entry(outcome.to_owned()).or_default() += 1;
        }
        let lane = launch.lane.as_str();
        // A lane without any result has shown no kind; what was launched was at least a program.
        lanes.entry(lane.to_owned()).or_insert_with(|| empty_lane(lane, ReviewerKind::Agent)).0.launches += 1;
        if let Some(usage) = &launch.usage {
            add(&mut summary.input_tokens, usage.input_tokens);
            add(&mut summary.output_tokens, usage.output_tokens);
            add(&mut summary.cost_micro_usd, usage.cost_micro_usd);
        }
    }
    summary.lanes = lanes
        .into_values()
        .map(|(mut lane, models)| {
            lane.all_empty = lane.kind != ReviewerKind::Rules && lane.results >= EMPTY_RESULTS && lane.findings == 0;
            lane.models = models.into_iter().collect();
            lane
        })
        .collect();
    summary
}

fn empty_lane(lane: &str, kind: ReviewerKind) -> (LaneSummary, BTreeSet<String>) {
    let summary = LaneSummary {
        lane: lane.to_owned(),
        kind,
        models: Vec::new(),
        launches: 0,
        results: 0,
        findings: 0,
        all_empty: false,
    };
    (summary, BTreeSet::new())
}

/// Unknown stays unknown until somebody tells a number.
fn add(total: &mut Option<u64>, more: Option<u64>) {
    if let Some(more) = more {
        *total = Some(total.unwrap_or(0).saturating_add(more));
    }
}
