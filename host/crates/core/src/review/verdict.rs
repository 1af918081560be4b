//! What second opinions change: verdicts confirm, raise, lower or refute findings, and say who did.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::identity::KnownFinding;
use crate::id::{LaunchId, TaskId};
use crate::result::{Confidence, ResultRecord, Reviewer, Severity, Verdict, VerdictKind};
use crate::task::Task;

/// Who decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judge {
    /// Name of the deepening task.
    pub task_name: String,
    /// Who answered it.
    pub reviewer: Reviewer,
    /// The launch that brought the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<LaunchId>,
}

/// What second opinions made of a finding.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum VerificationState {
    /// Nobody looked a second time.
    #[default]
    Unverified,
    /// Somebody looked and was not convinced, without a verdict; confidence is low.
    Doubted {
        /// Why.
        reason: String,
        /// Who.
        by: Judge,
    },
    /// It stands.
    Confirmed {
        /// Who.
        by: Judge,
    },
    /// It is worse than was said first.
    Raised {
        /// What was said first.
        from: Severity,
        /// What holds now.
        to: Severity,
        /// Why.
        reason: String,
        /// Who.
        by: Judge,
    },
    /// It is less bad than was said first.
    Lowered {
        /// What was said first.
        from: Severity,
        /// What holds now.
        to: Severity,
        /// Why.
        reason: String,
        /// Who.
        by: Judge,
    },
    /// It is wrong. It stays in the findings file, marked, and counts nowhere.
    Refuted {
        /// Why.
        reason: String,
        /// Who.
        by: Judge,
    },
}

impl VerificationState {
    /// The word of the state.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Unverified => "unverified",
            Self::Doubted { .. } => "doubted",
            Self::Confirmed { .. } => "confirmed",
            Self::Raised { .. } => "raised",
            Self::Lowered { .. } => "lowered",
            Self::Refuted { .. } => "refuted",
        }
    }

    /// Who decided, and why where a reason was given.
    pub fn decision(&self) -> Option<(&Judge, Option<&str>)> {
        match self {
            Self::Unverified => None,
            Self::Confirmed { by } => Some((by, None)),
            Self::Doubted { reason, by }
            | Self::Raised { reason, by, .. }
            | Self::Lowered { reason, by, .. }
            | Self::Refuted { reason, by } => Some((by, Some(reason))),
        }
    }

    /// Whether somebody looked and let it stand, at whatever severity.
    pub fn is_verified(&self) -> bool {
        matches!(self, Self::Confirmed { .. } | Self::Raised { .. } | Self::Lowered { .. })
    }

    /// Whether it was found wrong.
    pub fn is_refuted(&self) -> bool {
        matches!(self, Self::Refuted { .. })
    }
}

/// Applies the verdicts of deepening tasks, in the order of ingestion: a later one beats an earlier one.
///
/// `findings` come fresh from [`super::derive_findings`]. A verdict counts only for findings that its task asked about,
/// and never when it comes from rules, which cannot judge. An answer without verdicts stands for all findings asked:
/// `verified` confirms them, and doubts lower their confidence without refuting them.
pub fn apply_verdicts(mut findings: Vec<KnownFinding>, tasks: &[Task], results: &[ResultRecord]) -> Vec<KnownFinding> {
    let asked: HashMap<&TaskId, &Task> = tasks.iter().filter(|t| t.deepening.is_some()).map(|t| (&t.id, t)).collect();
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (at, known) in findings.iter().enumerate() {
        places.entry(known.id.as_str().to_owned()).or_default().push(at);
    }
    let first: Vec<(Severity, Confidence)> =
        findings.iter().map(|k| (k.finding.severity, k.finding.confidence)).collect();
    for record in judges_in_order(results) {
        let Some(task) = asked.get(&record.task) else { continue };
        for verdict in verdicts_of(record, task) {
            for &at in places.get(&verdict.finding_id).into_iter().flatten() {
                let by = Judge {
                    task_name: task.name.clone(),
                    reviewer: record.reviewer.clone(),
                    launch: record.launch.clone(),
                };
                apply(&mut findings[at], first[at], &verdict, by);
            }
        }
    }
    findings
}

fn judges_in_order(results: &[ResultRecord]) -> Vec<&ResultRecord> {
    let rules = crate::result::ReviewerKind::Rules;
    let mut order: Vec<_> =
        results.iter().filter(|r| r.result.verification.is_some() && r.reviewer.kind != rules).collect();
    order.sort_by(|a, b| (a.at_ms, &a.task, a.digest).cmp(&(b.at_ms, &b.task, b.digest)));
    order
}

/// A decision, with the doubt that the worker contract can express and a verdict cannot.
struct Decision {
    finding_id: String,
    kind: Option<VerdictKind>,
    severity: Option<Severity>,
    confidence: Option<Confidence>,
    reason: String,
}

impl From<&Verdict> for Decision {
    fn from(verdict: &Verdict) -> Self {
        Self {
            finding_id: verdict.finding_id.clone(),
            kind: Some(verdict.verdict),
            severity: verdict.severity,
            confidence: verdict.confidence,
            reason: verdict.reason.clone(),
        }
    }
}

fn verdicts_of(record: &ResultRecord, task: &Task) -> Vec<Decision> {
    let (Some(verification), Some(deepening)) = (&record.result.verification, &task.deepening) else {
        return Vec::new();
    };
    if !verification.verdicts.is_empty() {
        let asked = |v: &&Verdict| deepening.findings.iter().any(|id| id.as_str() == v.finding_id);
        return verification.verdicts.iter().filter(asked).map(Decision::from).collect();
    }
    let doubts = [&verification.concerns, &verification.confidence_concerns, &verification.coverage_concerns];
    let doubts: Vec<&str> = doubts.into_iter().flatten().map(String::as_str).collect();
    if !verification.verified && doubts.is_empty() {
        return Vec::new();
    }
    let kind = verification.verified.then_some(VerdictKind::Confirm);
    let decide = |id: &crate::id::FindingId| Decision {
        finding_id: id.as_str().to_owned(),
        kind,
        severity: None,
        confidence: None,
        reason: doubts.join("; "),
    };
    deepening.findings.iter().map(decide).collect()
}

fn apply(known: &mut KnownFinding, first: (Severity, Confidence), verdict: &Decision, by: Judge) {
    let (from, confidence) = first;
    let reason = verdict.reason.clone();
    let to = match verdict.kind {
        Some(VerdictKind::Raise) => verdict.severity.unwrap_or_else(|| one_up(from)),
        Some(VerdictKind::Lower) => verdict.severity.unwrap_or_else(|| one_down(from)),
        _ => from,
    };
    known.finding.severity = to;
    known.finding.confidence = verdict.confidence.unwrap_or(confidence);
    known.verification = match verdict.kind {
        None => {
            known.finding.confidence = Confidence::Low;
            VerificationState::Doubted { reason, by }
        }
        Some(VerdictKind::Refute) => VerificationState::Refuted { reason, by },
        Some(_) if to > from => VerificationState::Raised { from, to, reason, by },
        Some(_) if to < from => VerificationState::Lowered { from, to, reason, by },
        Some(_) => VerificationState::Confirmed { by },
    };
}

fn one_up(severity: Severity) -> Severity {
    match severity {
        Severity::Info => Severity::Low,
        Severity::Low => Severity::Medium,
        Severity::Medium => Severity::High,
        Severity::High | Severity::Critical => Severity::Critical,
    }
}

fn one_down(severity: Severity) -> Severity {
    match severity {
        Severity::Critical => Severity::High,
        Severity::High => Severity::Medium,
        Severity::Medium => Severity::Low,
        Severity::Low | Severity::Info => Severity::Info,
    }
}
