//! Everything that a report is made from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::{Digest, FindingId};
use crate::inventory::FileStatus;
use crate::lens::Lens;
use crate::result::ReviewerKind;
use crate::review::{Coverage, MergedFinding, PairState, WorkBlock};

/// Plain data of one report. The same input gives the same bytes in every format.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReportInput {
    /// Name of the repository.
    pub repository: String,
    /// Commit that was checked out.
    pub head: Option<String>,
    /// When the report was made, as text; the only declared time.
    pub generated_at: String,
    /// Version of the program.
    pub tool_version: String,
    /// Set where only a part of the repository was in scope, with what that part is: `since v1.2`.
    pub scope: Option<String>,
    /// Entries of the inventory by status and machine reason.
    pub inventory: BTreeMap<String, BTreeMap<String, u64>>,
    /// Which pairs were reviewed.
    pub coverage: Coverage,
    /// Merged findings, worst first, the refuted ones too.
    pub findings: Vec<MergedFinding>,
    /// Findings that configuration or the source holds back.
    pub suppressed: BTreeMap<FindingId, Suppressed>,
    /// Work blocks.
    pub blocks: Vec<WorkBlock>,
    /// What it took.
    pub run: RunSummary,
    /// Tasks that could not be finished.
    pub parked: Vec<ParkedTask>,
    /// Files that were not reviewed at all.
    pub unaudited: Vec<UnauditedFile>,
    /// Analyzers that gave facts.
    pub analyzers: Vec<AnalyzerRecord>,
    /// Leads about the design; they are not findings.
    pub leads: Vec<DesignLead>,
    /// Outcomes of runtime validation by status, where it was asked for.
    pub runtime_validation: BTreeMap<String, u64>,
    /// Problems of the survey and of analyzers, a line each: ignore files that were not applied, files that an analyzer
    /// could not look at.
    #[serde(default)]
    pub notices: Vec<String>,
    /// Exact bytes of the paths that are not UTF-8, by the text that stands for them everywhere else.
    #[serde(default)]
    pub raw_paths: BTreeMap<String, Vec<u8>>,
}

impl ReportInput {
    /// Whether everything that was required is done.
    pub fn is_complete(&self) -> bool {
        self.coverage.is_complete() && self.parked.is_empty()
    }

    /// Whether something was reviewed, and by nothing but rules.
    pub fn is_rules_only(&self) -> bool {
        let kinds = &self.coverage.summary.by_kind;
        !kinds.is_empty() && kinds.keys().all(|kind| *kind == ReviewerKind::Rules)
    }

    /// Findings that count: neither refuted nor suppressed.
    pub fn standing(&self) -> impl Iterator<Item = &MergedFinding> {
        self.findings.iter().filter(|merged| merged.counts() && !self.suppressed.contains_key(&merged.id))
    }

    /// Findings that were refuted.
    pub fn refuted(&self) -> impl Iterator<Item = &MergedFinding> {
        self.findings.iter().filter(|merged| !merged.counts())
    }

    /// Findings that are held back, each with why.
    pub fn held_back(&self) -> impl Iterator<Item = (&MergedFinding, &Suppressed)> {
        let counting = self.findings.iter().filter(|merged| merged.counts());
        counting.filter_map(|merged| Some((merged, self.suppressed.get(&merged.id)?)))
    }

    /// Entries of a status.
    pub(super) fn entries(&self, status: FileStatus) -> u64 {
        let word = match status {
            FileStatus::Auditable => "auditable",
            FileStatus::Excluded => "excluded",
            FileStatus::Unreadable => "unreadable",
            FileStatus::Special => "special",
        };
        self.inventory.get(word).map_or(0, |reasons| reasons.values().sum())
    }

    /// Notices that say something.
    pub(super) fn problems(&self) -> impl Iterator<Item = &str> {
        self.notices.iter().map(String::as_str).filter(|notice| !notice.trim().is_empty())
    }

    /// Whether an agent or a model was launched, or somebody told what a launch took.
    pub(super) fn has_usage(&self) -> bool {
        let run = &self.run;
        let told = [run.input_tokens, run.output_tokens, run.cost_micro_usd].iter().any(Option::is_some);
        let uses = |lane: &LaneSummary| matches!(lane.kind, ReviewerKind::Agent | ReviewerKind::Model);
        told || run.lanes.iter().any(|lane| lane.launches > 0 && uses(lane))
    }

    /// Counts of pairs for each lens that is required anywhere, in scheduling order.
    pub(super) fn lens_rows(&self) -> BTreeMap<Lens, LensRow> {
        let mut rows: BTreeMap<Lens, LensRow> = BTreeMap::new();
        for pair in &self.coverage.pairs {
            let row = rows.entry(pair.lens).or_default();
            row.required += 1;
            match &pair.state {
                PairState::Reviewed { by, .. } => {
                    if let Some(kind) = by.iter().map(|reviewer| reviewer.kind).max() {
                        *row.by_kind.entry(kind).or_default() += 1;
                    }
                }
                PairState::Waived { .. } => row.waived += 1,
                PairState::Missing => row.missing += 1,
                PairState::Stale => row.stale += 1,
            }
        }
        rows
    }
}

/// Pairs of one lens.
#[derive(Clone, Debug, Default, Serialize)]
pub(super) struct LensRow {
    pub required: u64,
    pub by_kind: BTreeMap<ReviewerKind, u64>,
    pub waived: u64,
    pub stale: u64,
    pub missing: u64,
}

/// Why a finding is held back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suppressed {
    /// Whether a comment in the source asks for it; else configuration does.
    pub in_source: bool,
    /// The reason that was given.
    pub reason: String,
}

/// What a run took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunSummary {
    /// Launches in all.
    pub launches: u64,
    /// Launches by outcome.
    pub by_outcome: BTreeMap<String, u64>,
    /// Tokens that were read; absent when no provider told.
    pub input_tokens: Option<u64>,
    /// Tokens that were written; absent when no provider told.
    pub output_tokens: Option<u64>,
    /// Cost in millionths of a US dollar; absent when unknown.
    pub cost_micro_usd: Option<u64>,
    /// Lanes, sorted by name.
    pub lanes: Vec<LaneSummary>,
    /// Waits, sorted by reason.
    pub waits: Vec<WaitSummary>,
    /// Failures by class.
    pub failures: BTreeMap<String, u64>,
    /// Launches that repeated earlier ones.
    pub retried: u64,
}

/// What one lane did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneSummary {
    /// Lane.
    pub lane: String,
    /// Kind of its reviewer.
    pub kind: ReviewerKind,
    /// Models that answered, sorted.
    pub models: Vec<String>,
    /// Launches.
    pub launches: u64,
    /// Results that were accepted.
    pub results: u64,
    /// Findings in them.
    pub findings: u64,
    /// Set where the lane looks broken: all its results are empty.
    pub all_empty: bool,
}

/// Time that was spent waiting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitSummary {
    /// Machine reason.
    pub reason: String,
    /// How often.
    pub count: u64,
    /// Milliseconds in all.
    pub total_ms: u64,
}

/// A task that could not be finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ParkedTask {
    /// Name.
    pub name: String,
    /// Lens.
    pub lens: Lens,
    /// Files.
    pub files: Vec<String>,
    /// Why.
    pub reason: String,
}

/// A file that was not reviewed at all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnauditedFile {
    /// Path.
    pub path: String,
    /// Status of the inventory.
    pub status: FileStatus,
    /// Machine reason.
    pub reason: String,
}

/// An analyzer that gave facts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnalyzerRecord {
    /// Name.
    pub name: String,
    /// Version.
    pub version: String,
    /// Digest of the component.
    pub digest: Digest,
}

/// A lead about the design, with its evidence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesignLead {
    /// Kind: `import-cycle`, `hub`, `orphan`, …
    pub kind: String,
    /// One line.
    pub title: String,
    /// What supports it.
    pub detail: String,
    /// Files.
    pub files: Vec<String>,
}
