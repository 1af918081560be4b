//! A whole run: obligations in order until nothing is left, or nothing can go on.

use std::collections::HashMap;
use std::sync::Arc;

use assize_core::dispatch::End;
use assize_core::id::LaneId;
use assize_core::result::ReviewerKind;
use assize_core::review::{DEEPENING_ROUNDS, DeepeningInput, apply_verdicts, derive_findings, plan_deepening};
use assize_core::task::Task;
use assize_store::{StateDir, TaskRow, TaskState};
use assize_survey::case_folds;
use tokio::sync::mpsc::UnboundedReceiver;

use super::dispatcher::{Dispatcher, Parts};
use super::launching::Shared;
use super::recovery::recover;
use crate::audit::{Audit, AuditError, ReportFiles, Surveyed};
use crate::components::{Chosen, choose_provider};
use crate::launch::{CancelSource, cancellation};
use crate::reporters::{Reporter, RunEvent};

/// Surveys of one run: files that change under reviewers make it look again, but not for ever.
const MOST_PASSES: u32 = 3;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// Everything that is required is reviewed.
    Complete,
    /// Work is left that nobody can take, or that was given up; one line a cause.
    Incomplete(Vec<String>),
    /// A budget is spent; another run goes on.
    Paused(String),
    /// A person stopped it.
    Interrupted,
}

/// What a run came to.
#[derive(Debug)]
pub struct RunOutcome {
    /// How it ended.
    pub end: RunEnd,
    /// The report, as far as the audit has come.
    pub report: ReportFiles,
    /// Launches of this run.
    pub launches: u32,
    /// Provider of this run.
    pub provider: String,
}

/// Runs an audit to its end.
pub async fn run_audit(
    audit: &mut Audit,
    reporter: &mut dyn Reporter,
    interrupts: &mut UnboundedReceiver<()>,
) -> Result<RunOutcome, AuditError> {
    let chosen = choose_provider(&audit.settings, &audit.catalog)?;
    reporter.report(&RunEvent::Provider { why: format!("{} ({})", chosen.name, chosen.why) });
    let (cancel, _) = cancellation();
    let mut launches = 0;
    let mut pass = 0;
    loop {
        pass += 1;
        let (end, again) = one_pass(audit, reporter, interrupts, &chosen, &cancel, &mut launches).await?;
        if again && pass < MOST_PASSES && end == RunEnd::Complete {
            reporter.report(&RunEvent::Warning("files changed while they were reviewed; surveying again".to_owned()));
            continue;
        }
        let report = audit.refresh_report()?;
        let end = match end {
            RunEnd::Complete if !report.verdict.complete => RunEnd::Incomplete(causes_left(&report, again)),
            end => end,
        };
        return Ok(RunOutcome { end, report, launches, provider: chosen.name });
    }
}

/// Survey, structure, plan, review, deepening; and whether the repository changed meanwhile.
async fn one_pass(
    audit: &mut Audit,
    reporter: &mut dyn Reporter,
    interrupts: &mut UnboundedReceiver<()>,
    chosen: &Chosen,
    cancel: &CancelSource,
    launches: &mut u32,
) -> Result<(RunEnd, bool), AuditError> {
    let surveyed = audit.refresh_inventory()?;
    tell_survey(reporter, &surveyed);
    if surveyed.inventory.auditable().next().is_none() {
        return Err(AuditError::NothingToAudit(audit.settings.root.clone()));
    }
    let (freed, saved) = recover(audit, &surveyed.inventory)?;
    if freed > 0 {
        let detail = format!("{freed} launches of a host that is gone: {saved} results saved, the rest is free again");
        reporter.report(&RunEvent::Stage { name: "recovery", detail });
    }
    if nothing_is_open(audit, &surveyed, chosen)? {
        return Ok((RunEnd::Complete, false));
    }
    let (record, mut facts) = audit.refresh_structure(&surveyed).await?;
    if let Some(facts) = &facts {
        let (units, edges) = (record.structure.units.len(), record.structure.edges.len());
        let detail =
            format!("{} files inspected, {} known; {units} units, {edges} edges", facts.inspected, facts.cached);
        reporter.report(&RunEvent::Stage { name: "structure", detail });
    }
    for problem in &record.problems {
        let text = format!("{} was not analyzed by {}: {}", problem.path, problem.analyzer, problem.message);
        reporter.report(&RunEvent::Warning(text));
    }
    if interrupts.try_recv().is_ok() {
        return Ok((RunEnd::Interrupted, false));
    }
    let (plan, changes) = audit.refresh_plan(&surveyed, &record, &mut facts).await?;
    if let Some(changes) = changes {
        let detail = format!(
            "{} tasks for {} (file, lens) pairs, {} of them new",
            plan.tasks,
            plan.required.len(),
            changes.added
        );
        reporter.report(&RunEvent::Stage { name: "plan", detail });
    }
    if interrupts.try_recv().is_ok() {
        return Ok((RunEnd::Interrupted, false));
    }
    audit.store.unpark_all(crate::clock::now_ms())?;
    reopen_weaker(audit, chosen)?;
    let rows = audit.store.tasks()?;
    if !rows.iter().any(|row| row.state == TaskState::Pending) && !may_deepen(audit, chosen) {
        return Ok((RunEnd::Complete, false));
    }
    let facts = match facts {
        Some(facts) => facts,
        None => audit.gather_facts(&surveyed.inventory).await?,
    };
    let shared = Arc::new(Shared {
        root: audit.settings.root.clone(),
        exe: own_binary()?,
        state_dir: StateDir::existing(&audit.settings.state_dir)?,
        environment: Arc::new(audit.settings.environment.clone()),
        chosen: chosen.clone(),
        rate_limits: audit.catalog.rate_limits(&chosen.name).cloned(),
        fold_case: case_folds(&audit.settings.root),
        inventory: surveyed.inventory,
        observations: Arc::new(facts.observations()),
        unanalyzed: Arc::new(
            facts.problems.iter().map(|p| (p.path.clone(), format!("{}: {}", p.analyzer, p.message))).collect(),
        ),
        model: audit.settings.model.clone(),
        timeout_ms: audit.settings.timeout_ms,
    });
    drop(facts);
    let parts = Parts { audit, reporter, interrupts, cancel: cancel.clone(), shared, structure: &record.structure };
    let mut dispatcher = Dispatcher::new(parts)?;
    let mut end = dispatcher.run(&rows).await?;
    while end == End::Complete && !dispatcher.sources_changed {
        let added = deepen(dispatcher.audit(), chosen)?;
        if added == 0 {
            break;
        }
        let rows = dispatcher.audit().store.tasks()?;
        end = dispatcher.run(&rows).await?;
    }
    *launches += dispatcher.launched();
    let again = dispatcher.sources_changed;
    let end = match end {
        _ if dispatcher.was_interrupted() => RunEnd::Interrupted,
        End::Complete => RunEnd::Complete,
        End::Drained => RunEnd::Interrupted,
        End::Budget => RunEnd::Paused("the launch budget (--max-launches) is spent".to_owned()),
        End::Blocked(causes) => RunEnd::Incomplete(causes),
    };
    Ok((end, again))
}

/// Whether the plan is what would be made now and every task of it is done, so that nothing has to be loaded. Not said
/// when somebody who can think is asked: what rules have done may then be open again.
fn nothing_is_open(audit: &Audit, surveyed: &Surveyed, chosen: &Chosen) -> Result<bool, AuditError> {
    if chosen.name != "rules" || !audit.plan_is_current(surveyed)? {
        return Ok(false);
    }
    let states = audit.store.task_states()?;
    Ok(!states.is_empty() && states.iter().all(|(_, state, _)| *state == TaskState::Done))
}

/// Rules cannot judge what others found, and their own findings need no second look by themselves.
fn may_deepen(audit: &Audit, chosen: &Chosen) -> bool {
    audit.settings.deepening && chosen.name != "rules"
}

/// Plans the next round of second looks, and gives how many tasks it added.
fn deepen(audit: &mut Audit, chosen: &Chosen) -> Result<usize, AuditError> {
    if !may_deepen(audit, chosen) {
        return Ok(0);
    }
    let rows = audit.store.tasks()?;
    let results = audit.store.results()?;
    let tasks: Vec<Task> = rows.iter().map(|row| row.task.clone()).collect();
    let findings = apply_verdicts(derive_findings(&tasks, &results), &tasks, &results);
    let rounds = tasks.iter().filter_map(|task| Some(task.deepening.as_ref()?.round)).max().unwrap_or(0);
    let planned = tasks.iter().filter(|task| task.deepening.is_some()).count();
    let more = plan_deepening(DeepeningInput {
        tasks: &tasks,
        results: &results,
        findings: &findings,
        rounds: rounds.min(DEEPENING_ROUNDS),
        planned,
        base_tasks: tasks.len() - planned,
        lanes: &[LaneId::new(chosen.name.clone())],
        adjudicators: true,
    });
    Ok(audit.store.add_tasks(&more, crate::clock::now_ms())?)
}

/// What only rules have looked at is looked at again when somebody who can think is asked; so is what no reviewer has
/// looked at whose kind counts.
fn reopen_weaker(audit: &mut Audit, chosen: &Chosen) -> Result<(), AuditError> {
    if chosen.name == "rules" {
        return Ok(());
    }
    let mut strongest: HashMap<_, ReviewerKind> = HashMap::new();
    for record in audit.store.results()? {
        let kind = strongest.entry(record.task).or_insert(record.reviewer.kind);
        *kind = (*kind).max(record.reviewer.kind);
    }
    let require = &audit.settings.require;
    let too_weak = |row: &&TaskRow| {
        row.state == TaskState::Done
            && strongest
                .get(&row.task.id)
                .is_none_or(|kind| *kind == ReviewerKind::Rules || !(require.is_empty() || require.contains(kind)))
    };
    let rows = audit.store.tasks()?;
    let again: Vec<_> = rows.iter().filter(too_weak).map(|row| row.task.id.clone()).collect();
    if !again.is_empty() {
        audit.store.reopen_tasks(&again, crate::clock::now_ms())?;
    }
    Ok(())
}

fn causes_left(report: &ReportFiles, changing: bool) -> Vec<String> {
    let verdict = &report.verdict;
    let mut causes = Vec::new();
    if verdict.parked > 0 {
        causes.push(format!("parked tasks: {}; the report names them with their reasons", verdict.parked));
    }
    if verdict.reviewed.0 < verdict.reviewed.1 {
        let open = verdict.reviewed.1 - verdict.reviewed.0;
        causes.push(format!("{open} of {} required (file, lens) pairs have no review that counts", verdict.reviewed.1));
    }
    if changing {
        causes.push("files kept changing while they were reviewed; run again when they are still".to_owned());
    }
    causes
}

fn tell_survey(reporter: &mut dyn Reporter, surveyed: &Surveyed) {
    let auditable = surveyed.inventory.auditable().count();
    let detail = format!(
        "{auditable} of {} entries can be audited, {} files read, {} unchanged",
        surveyed.inventory.rows.len(),
        surveyed.read,
        surveyed.reused
    );
    reporter.report(&RunEvent::Stage { name: "inventory", detail });
    tell_problems(reporter, surveyed);
}

/// What the survey got over, one warning each.
pub fn tell_problems(reporter: &mut dyn Reporter, surveyed: &Surveyed) {
    for problem in &surveyed.problems {
        let about = if problem.path.is_empty() { String::new() } else { format!("{}: ", problem.path) };
        reporter.report(&RunEvent::Warning(format!("{about}{}", problem.message)));
    }
}

/// The file of this process, which contains the programs that are launched.
fn own_binary() -> Result<std::path::PathBuf, AuditError> {
    std::env::current_exe().map_err(|source| AuditError::File {
        operation: "read",
        path: std::path::PathBuf::from("/proc/self/exe"),
        source,
    })
}
