//! Where an audit stands: obligations, tasks, coverage, launches. Read beside a run that may be going on.

use assize_core::id::Digest;
use assize_core::lens::LENS_TEXT_VERSION;
use assize_core::obligation::{AuditView, Freshness, Obligation, derive_obligations};
use assize_core::plan::{PROMPT_VERSION, PlanOptions};
use assize_core::review::CoverageSummary;
use assize_store::{ArtifactStamp, Lease, TaskState};
use serde::Serialize;

use super::inventory::{INVENTORY, look};
use super::open::load;
use super::plan::{PLAN, plan_digest};
use super::structure::{STRUCTURE, structure_digest};
use super::synthesis::{derive_current_findings, report_input, verdict_of};
use super::{AuditError, AuditReader, Verdict};
use crate::components::{Catalog, Wanted};

/// Where an audit stands.
#[derive(Debug, Serialize)]
pub struct Overview {
    /// Obligations in order.
    pub obligations: Vec<Obligation>,
    /// Tasks by state.
    pub tasks: TaskCounts,
    /// Coverage of the required pairs.
    pub coverage: CoverageSummary,
    /// Launches that run now: the wave.
    pub running: Vec<RunningLaunch>,
    /// Launches whose tasks wait for a person.
    pub waiting: Vec<WaitingLaunch>,
    /// Findings that count, by severity, worst first.
    pub findings: Vec<(String, usize)>,
    /// Whether all that was required is reviewed and nothing is parked.
    pub complete: bool,
}

/// Tasks by state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct TaskCounts {
    /// They wait.
    pub pending: usize,
    /// They run.
    pub leased: usize,
    /// They have a result.
    pub done: usize,
    /// They were given up.
    pub parked: usize,
}

/// A launch that waits for a person.
#[derive(Clone, Debug, Serialize)]
pub struct WaitingLaunch {
    /// Launch; its run directory holds the instructions and takes the answer.
    pub launch: String,
    /// Tasks without an answer.
    pub tasks: usize,
}

/// A launch that runs.
#[derive(Clone, Debug, Serialize)]
pub struct RunningLaunch {
    /// Launch.
    pub launch: String,
    /// Lane.
    pub lane: String,
    /// Tasks.
    pub tasks: usize,
    /// Try.
    pub attempt: u32,
    /// Process that holds it.
    pub pid: u32,
}

impl AuditReader {
    /// Looks at the repository and the store.
    pub fn overview(&self) -> Result<Overview, AuditError> {
        let recorded = load(&self.store, INVENTORY)?;
        let none_yet = recorded.is_none();
        let surveyed = look(&self.settings, recorded)?;
        let catalog = Catalog::load(&self.settings, Wanted::Analyzers)?;
        let structure_inputs = structure_digest(&catalog, &self.settings, surveyed.digest);
        let plan_inputs = plan_digest(&plan_options(&self.settings), structure_inputs);
        let freshness = |name: &str, inputs: Digest| -> Result<Freshness, AuditError> {
            Ok(match self.store.artifact_stamp(name)? {
                None => Freshness::Missing,
                Some(ArtifactStamp { inputs: made_from, .. }) if made_from == inputs => Freshness::Current,
                Some(_) => Freshness::Stale,
            })
        };
        let results = self.store.results()?;
        let findings = derive_current_findings(&self.store, &self.settings, &results)?;
        let tasks = count_tasks(findings.tasks.iter().map(|row| &row.state));
        let summary = findings.coverage.summary.clone();
        let (report, verdict) = self.report_freshness(none_yet)?;
        let view = AuditView {
            inventory: freshness(INVENTORY, surveyed.digest)?,
            auditable: surveyed.inventory.auditable().count(),
            structure: freshness(STRUCTURE, structure_inputs)?,
            plan: freshness(PLAN, plan_inputs)?,
            open_tasks: tasks.pending + tasks.leased,
            parked_tasks: tasks.parked,
            tasks: findings.tasks.len(),
            uncovered: (summary.missing + summary.stale) as usize,
            report,
        };
        let waiting = self.store.waiting()?.into_iter().filter(|(_, tasks)| !tasks.is_empty());
        let waiting =
            waiting.map(|(launch, tasks)| WaitingLaunch { launch: launch.to_string(), tasks: tasks.len() }).collect();
        let running = self.store.leases()?.into_iter().map(running_launch).collect();
        let worst_first = verdict.iter().flat_map(|v| v.by_severity.iter().rev());
        Ok(Overview {
            obligations: derive_obligations(&view),
            tasks,
            coverage: summary,
            running,
            waiting,
            findings: worst_first.map(|(severity, count)| (severity.as_str().to_owned(), *count)).collect(),
            complete: verdict.as_ref().is_some_and(|verdict| verdict.complete),
        })
    }

    /// The report against the results, by the time of the last result: rendering is deterministic, so a report that is
    /// not older than every result says what they say.
    fn report_freshness(&self, none_yet: bool) -> Result<(Freshness, Option<Verdict>), AuditError> {
        if none_yet {
            return Ok((Freshness::Missing, None));
        }
        let input = report_input(&self.store, &self.settings, Vec::new())?;
        let last = self.store.results()?.iter().map(|record| record.at_ms).max().unwrap_or_default();
        let freshness = match self.store.artifact_stamp("report")? {
            None => Freshness::Missing,
            Some(stamp) if stamp.at_ms >= last => Freshness::Current,
            Some(_) => Freshness::Stale,
        };
        Ok((freshness, Some(verdict_of(&input))))
    }
}

/// Counts tasks by state.
pub(crate) fn count_tasks<'a>(states: impl Iterator<Item = &'a TaskState>) -> TaskCounts {
    let mut counts = TaskCounts::default();
    for state in states {
        match state {
            TaskState::Pending => counts.pending += 1,
            TaskState::Leased => counts.leased += 1,
            TaskState::Done => counts.done += 1,
            TaskState::Parked { .. } => counts.parked += 1,
        }
    }
    counts
}

/// What planning depends on among the settings.
pub(super) fn plan_options(settings: &crate::config::Settings) -> PlanOptions {
    PlanOptions { lenses: settings.lenses.clone(), depth: settings.depth, ..PlanOptions::default() }
}

/// The versions of what reviewers are told.
pub(super) fn text_versions() -> Vec<u8> {
    [LENS_TEXT_VERSION.to_le_bytes(), PROMPT_VERSION.to_le_bytes()].concat()
}

fn running_launch(lease: Lease) -> RunningLaunch {
    RunningLaunch {
        launch: lease.launch.to_string(),
        lane: lease.lane.to_string(),
        tasks: lease.tasks.len(),
        attempt: lease.attempt,
        pid: lease.holder.pid,
    }
}
