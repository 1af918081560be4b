//! What reviewers answer: the worker contract's results and findings, and the record that is kept of them.

use serde::{Deserialize, Serialize};

use crate::id::{Digest, LaneId, LaunchId, TaskId};
use crate::lens::Lens;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Small.
    Low,
    /// Ought to be mended.
    Medium,
    /// Must be mended soon.
    High,
    /// Must be mended now.
    Critical,
}

impl Severity {
    /// All, worst first.
    pub const WORST_FIRST: [Severity; 5] =
        [Severity::Critical, Severity::High, Severity::Medium, Severity::Low, Severity::Info];

    /// The word of the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Low => "low",
            Severity::Medium => "medium",
            Severity::High => "high",
            Severity::Critical => "critical",
        }
    }

    /// The severity of a word, in any case.
    pub fn parse(word: &str) -> Option<Self> {
        Self::WORST_FIRST.into_iter().find(|s| s.as_str().eq_ignore_ascii_case(word.trim()))
    }
}

/// How sure the reviewer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// A guess.
    Low,
    /// Likely.
    Medium,
    /// Sure.
    High,
}

impl Confidence {
    /// The word of the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }

    /// The confidence of a word, in any case.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::High, Self::Medium, Self::Low].into_iter().find(|c| c.as_str().eq_ignore_ascii_case(word.trim()))
    }
}

/// That a file was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileCoverage {
    /// Repository-relative path.
    pub path: String,
    /// Lines of the whole file.
    pub total_lines: u64,
}

/// Where a finding is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AffectedFile {
    /// Repository-relative path.
    pub path: String,
    /// First line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_start: Option<u64>,
    /// Last line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_end: Option<u64>,
    /// Function, class or key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol: Option<String>,
}

/// One finding of one result, after validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// The reviewer's own id; kept as an alias.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// One line.
    pub title: String,
    /// Category, as the reviewer wrote it.
    pub category: String,
    /// How bad.
    pub severity: Severity,
    /// How sure.
    pub confidence: Confidence,
    /// The lens of the task.
    pub lens: Lens,
    /// What is wrong and why it matters.
    pub summary: String,
    /// Where; at least one.
    pub affected_files: Vec<AffectedFile>,
    /// Why; at least one.
    pub evidence: Vec<String>,
    /// Exact source text that it rests on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
    /// What happens if it is left.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impact: Option<String>,
    /// How likely that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub likelihood: Option<String>,
    /// Steps.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reproduction: Vec<String>,
    /// Whether it runs through the code base.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub systemic: Option<bool>,
    /// Ids of related findings, as the reviewer wrote them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related_findings: Vec<String>,
    /// Weakness, such as `CWE-798`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwe: Option<String>,
    /// How to mend it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// What validation had to say: `unverified-quote`, `quote-repaired`, …
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
}

/// What a deepening task decides about a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictKind {
    /// It stands.
    Confirm,
    /// It is worse.
    Raise,
    /// It is less bad.
    Lower,
    /// It is wrong.
    Refute,
}

/// One decision about one finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The finding's id.
    pub finding_id: String,
    /// The decision.
    pub verdict: VerdictKind,
    /// New severity, for `raise` and `lower`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub severity: Option<Severity>,
    /// New confidence, where it changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// Why; required for `refute`, `raise` and `lower`.
    #[serde(default)]
    pub reason: String,
}

/// A deepening task's answer. The first five members are the predecessor's contract; `verdicts` is ours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// Whether what was looked at stands.
    #[serde(default)]
    pub verified: bool,
    /// Whether more work is needed.
    #[serde(default)]
    pub needs_followup: bool,
    /// Doubts about findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concerns: Vec<String>,
    /// Doubts about coverage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coverage_concerns: Vec<String>,
    /// Doubts about confidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confidence_concerns: Vec<String>,
    /// Decisions, one a finding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<Verdict>,
}

/// One answer to one task, after validation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AuditResult {
    /// The task's name.
    pub task_id: String,
    /// The task's unit.
    pub unit_id: String,
    /// The task's pass.
    pub pass_id: String,
    /// The task's lens.
    pub lens: Lens,
    /// Every file of the task, once.
    pub file_coverage: Vec<FileCoverage>,
    /// What was found.
    pub findings: Vec<Finding>,
    /// Remarks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// Whether the reviewer wants another look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires_followup: Option<bool>,
    /// A deepening task's decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
}

/// What kind of reviewer looked. They are shown apart, and some may not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReviewerKind {
    /// Deterministic rules.
    Rules,
    /// A report or result file that was imported.
    Imported,
    /// A model behind an API.
    Model,
    /// An agent CLI.
    Agent,
    /// A person.
    Person,
}

impl ReviewerKind {
    /// The word used in reports and flags.
    pub fn as_str(self) -> &'static str {
        match self {
            ReviewerKind::Rules => "rules",
            ReviewerKind::Imported => "imported",
            ReviewerKind::Model => "model",
            ReviewerKind::Agent => "agent",
            ReviewerKind::Person => "person",
        }
    }
}

/// Who looked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewer {
    /// What kind.
    pub kind: ReviewerKind,
    /// Lane.
    pub lane: LaneId,
    /// Model that answered, as the provider told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A result that was ingested. Its key is (`task`, `digest`): ingesting it again changes nothing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResultRecord {
    /// Task by content.
    pub task: TaskId,
    /// Digest of the result's canonical JSON.
    pub digest: Digest,
    /// The result.
    pub result: AuditResult,
    /// Who.
    pub reviewer: Reviewer,
    /// Which launch brought it; absent for imports by hand.
    pub launch: Option<LaunchId>,
    /// When it was ingested, milliseconds since the Unix epoch.
    pub at_ms: u64,
}
