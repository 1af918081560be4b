//! A whole run: obligations in order until nothing is left, or nothing can go on.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use assize_core::dispatch::{End, Limits, Spent};
use assize_core::id::{LaneId, TaskId};
use assize_core::inventory::Inventory;
use assize_core::plan::Structure;
use assize_core::result::ReviewerKind;
use assize_core::review::{DEEPENING_ROUNDS, DeepeningInput, apply_verdicts, derive_findings, plan_deepening};
use assize_core::task::Task;
use assize_store::{StateDir, TaskRow, TaskState};
use assize_survey::case_folds;
use assize_wire::HttpClient;
use tokio::sync::mpsc::UnboundedReceiver;

use super::dispatcher::{Dispatcher, Parts};
use super::launching::{LaneWork, Shared};
use super::network::http_client;
use super::preflight::preflight;
use super::recovery::{recover, take_answers};
use crate::audit::{Audit, AuditError, Facts, ReportFiles, StructureRecord, Surveyed};
use crate::components::{RunLane, choose_lanes};
use crate::config::Environment;
use crate::launch::{CancelSource, Secrets, Snapshot, cancellation};
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
    /// What this run spent.
    pub spent: Spent,
    /// Lanes of this run, in their order.
    pub provider: String,
}

/// Runs an audit to its end.
pub async fn run_audit(
    audit: &mut Audit,
    reporter: &mut dyn Reporter,
    interrupts: &mut UnboundedReceiver<()>,
) -> Result<RunOutcome, AuditError> {
    let lanes = choose_lanes(&audit.settings, &audit.catalog)?;
    for lane in &lanes {
        reporter.report(&RunEvent::Provider { why: format!("{} ({})", lane.name, lane.why) });
    }
    let provider = lanes.iter().map(|lane| lane.name.clone()).collect::<Vec<_>>().join(",");
    let deadline_ms = audit.settings.deadline.map(|deadline| deadline.instant_ms(crate::clock::now_ms()));
    let (cancel, _) = cancellation();
    let settings = &audit.settings;
    let environment = Arc::new(settings.environment.clone());
    let mut run = Run {
        http: http_client(settings, &lanes)?,
        secrets: Arc::new(Secrets::new(environment.clone(), settings.user.secrets.clone(), settings.root.clone())),
        environment,
        lanes,
        deadline_ms,
        cancel,
        spent: Spent::default(),
        pinged: false,
    };
    let mut pass = 0;
    loop {
        pass += 1;
        let (end, again) = one_pass(audit, reporter, interrupts, &mut run).await?;
        if again && pass < MOST_PASSES && end == RunEnd::Complete {
            reporter.report(&RunEvent::Warning("files changed while they were reviewed; surveying again".to_owned()));
            continue;
        }
        let report = audit.refresh_report()?;
        let end = match end {
            RunEnd::Complete if !report.verdict.complete => RunEnd::Incomplete(causes_left(&report, again)),
            end => end,
        };
        return Ok(RunOutcome { end, report, spent: run.spent, provider });
    }
}

/// What all passes of a run share.
pub(super) struct Run {
    pub(super) lanes: Vec<RunLane>,
    environment: Arc<Environment>,
    http: HttpClient,
    /// Read once, however often the repository is surveyed: a password store may ask a person.
    secrets: Arc<Secrets>,
    deadline_ms: Option<u64>,
    cancel: CancelSource,
    pub(super) spent: Spent,
    /// Whether the lanes have been asked for a first answer.
    pub(super) pinged: bool,
}

impl Run {
    /// Whether every lane is of one of these kinds.
    fn only(&self, kinds: &[ReviewerKind]) -> bool {
        self.lanes.iter().all(|lane| kinds.contains(&lane.reviewer))
    }

    /// What the run may still do and spend.
    fn limits(&self, audit: &Audit) -> Limits {
        let settings = &audit.settings;
        let widest = self.lanes.iter().map(|lane| lane.spec.widest).fold(0, u32::saturating_add);
        Limits {
            workers: settings.workers.unwrap_or(widest),
            attempts: settings.attempts,
            launches: settings.max_launches.map(|most| most.saturating_sub(self.spent.launches)),
            tokens: settings.budget_tokens.map(|most| most.saturating_sub(self.spent.tokens)),
            micro_usd: settings.budget_micro_usd.map(|most| most.saturating_sub(self.spent.micro_usd)),
            deadline_ms: self.deadline_ms,
        }
    }
}

/// Survey, structure, plan, review, deepening; and whether the repository changed meanwhile.
async fn one_pass(
    audit: &mut Audit,
    reporter: &mut dyn Reporter,
    interrupts: &mut UnboundedReceiver<()>,
    run: &mut Run,
) -> Result<(RunEnd, bool), AuditError> {
    let surveyed = audit.refresh_inventory()?;
    tell_survey(reporter, &surveyed);
    if surveyed.inventory.auditable().next().is_none() {
        return Err(AuditError::NothingToAudit(audit.settings.root.clone()));
    }
    take_what_was_left(audit, reporter, &surveyed)?;
    if nothing_is_open(audit, &surveyed, run)? {
        return Ok((RunEnd::Complete, false));
    }
    let (record, mut facts) = audit.refresh_structure(&surveyed).await?;
    tell_structure(reporter, &record, facts.as_ref());
    if interrupts.try_recv().is_ok() {
        return Ok((RunEnd::Interrupted, false));
    }
    let (plan, changes) = audit.refresh_plan(&surveyed, &record, &mut facts).await?;
    if let Some(changes) = changes {
        let (tasks, pairs) = (plan.tasks, plan.required.len());
        let detail = format!("{tasks} tasks for {pairs} (file, lens) pairs, {} of them new", changes.added);
        reporter.report(&RunEvent::Stage { name: "plan", detail });
    }
    if interrupts.try_recv().is_ok() {
        return Ok((RunEnd::Interrupted, false));
    }
    audit.store.unpark_all(crate::clock::now_ms())?;
    reopen_weaker(audit, run)?;
    let rows = audit.store.tasks()?;
    if !rows.iter().any(|row| row.state == TaskState::Pending) && !may_deepen(audit, run) {
        return Ok((RunEnd::Complete, false));
    }
    let facts = match facts {
        Some(facts) => facts,
        None => audit.gather_facts(&surveyed.inventory).await?,
    };
    let shared = share(audit, reporter, surveyed.inventory, &facts, run)?;
    drop(facts);
    if let Some(end) = preflight(audit, reporter, &shared, run).await? {
        return Ok((end, false));
    }
    review(audit, reporter, interrupts, run, Review { shared, structure: &record.structure }).await
}

/// What reviewing rests on.
struct Review<'a> {
    shared: Arc<Shared>,
    structure: &'a Structure,
}

/// Dispatches what is open, and then what second looks add, until nothing is left or nothing can go on.
async fn review(
    audit: &mut Audit,
    reporter: &mut dyn Reporter,
    interrupts: &mut UnboundedReceiver<()>,
    run: &mut Run,
    review: Review<'_>,
) -> Result<(RunEnd, bool), AuditError> {
    let limits = run.limits(audit);
    let lanes = run.lanes.iter().map(LaneWork::of).collect();
    let Review { shared, structure } = review;
    let cancel = run.cancel.clone();
    let parts = Parts { audit, reporter, interrupts, cancel, shared, lanes, limits, structure };
    let mut dispatcher = Dispatcher::new(parts)?;
    let mut end = dispatch(&mut dispatcher, run).await?;
    while end == End::Complete && !dispatcher.sources_changed && deepen(dispatcher.audit(), run)? > 0 {
        end = dispatch(&mut dispatcher, run).await?;
    }
    let spent = dispatcher.spent();
    run.spent.launches = run.spent.launches.saturating_add(spent.launches);
    run.spent.tokens = run.spent.tokens.saturating_add(spent.tokens);
    run.spent.micro_usd = run.spent.micro_usd.saturating_add(spent.micro_usd);
    let again = dispatcher.sources_changed;
    let interrupted = dispatcher.was_interrupted();
    let idle_until_ms = dispatcher.idle_until_ms;
    let end = match end {
        _ if interrupted => RunEnd::Interrupted,
        End::Complete => still_waiting(audit)?.map_or(RunEnd::Complete, RunEnd::Incomplete),
        End::Waiting => RunEnd::Incomplete(still_waiting(audit)?.unwrap_or_default()),
        End::Drained => RunEnd::Interrupted,
        End::Budget(which) => RunEnd::Paused(budget_spent(&which)),
        End::Deadline => RunEnd::Paused(match idle_until_ms {
            Some(at) => format!(
                "limits leave no room for anything before {}; run again then, or say with --deadline how long to wait",
                crate::clock::rfc3339(at)
            ),
            None => "the deadline (--deadline) has come".to_owned(),
        }),
        End::Blocked(causes) => RunEnd::Incomplete(causes),
    };
    Ok((end, again))
}

/// Dispatches all pending tasks; those that wait for a person are not handed to one a second time.
async fn dispatch(dispatcher: &mut Dispatcher<'_>, run: &Run) -> Result<End, AuditError> {
    let rows = dispatcher.audit().store.tasks()?;
    let mut waiting: HashSet<TaskId> = HashSet::new();
    if run.only(&[ReviewerKind::Person]) {
        waiting.extend(dispatcher.audit().store.waiting()?.into_iter().flat_map(|(_, tasks)| tasks));
    }
    let rows: Vec<&TaskRow> = rows.iter().filter(|row| !waiting.contains(&row.task.id)).collect();
    dispatcher.run(&rows).await
}

fn budget_spent(which: &str) -> String {
    let flag = match which {
        "tokens" => "--budget-tokens",
        "usd" => "--budget-usd",
        _ => "--max-launches",
    };
    let name = if which == "launches" { "launch" } else { which };
    format!("the {name} budget ({flag}) is spent")
}

/// One line for what waits for people, where anything does.
fn still_waiting(audit: &Audit) -> Result<Option<Vec<String>>, AuditError> {
    let waiting: Vec<_> = audit.store.waiting()?.into_iter().filter(|(_, tasks)| !tasks.is_empty()).collect();
    let tasks: usize = waiting.iter().map(|(_, tasks)| tasks.len()).sum();
    let Some((launch, _)) = waiting.first() else { return Ok(None) };
    let runs = match audit.store.dir() {
        Some(dir) => dir.run_dir(launch)?.parent().map(|dir| dir.display().to_string()).unwrap_or_default(),
        None => String::new(),
    };
    let mut lines = vec![format!(
        "{tasks} tasks wait for a person; when the answers are written, run again: it takes them from where they lie"
    )];
    lines.extend(waiting.iter().map(|(launch, tasks)| format!("{runs}/{launch}/hand-off.md: {} tasks", tasks.len())));
    Ok(Some(lines))
}

/// Takes up what a host that died and what people left behind.
fn take_what_was_left(audit: &mut Audit, reporter: &mut dyn Reporter, surveyed: &Surveyed) -> Result<(), AuditError> {
    let (freed, saved) = recover(audit, &surveyed.inventory)?;
    if freed > 0 {
        let detail = format!("{freed} launches of a host that is gone: {saved} results saved, the rest is free again");
        reporter.report(&RunEvent::Stage { name: "recovery", detail });
    }
    let taken = take_answers(audit, &surveyed.inventory)?;
    if taken.results > 0 {
        let detail = format!("{} results of people taken", taken.results);
        reporter.report(&RunEvent::Stage { name: "hand-off", detail });
    }
    for problem in taken.problems {
        reporter.report(&RunEvent::Warning(problem));
    }
    Ok(())
}

fn tell_structure(reporter: &mut dyn Reporter, record: &StructureRecord, facts: Option<&Facts>) {
    if let Some(facts) = facts {
        let (units, edges) = (record.structure.units.len(), record.structure.edges.len());
        let detail =
            format!("{} files inspected, {} known; {units} units, {edges} edges", facts.inspected, facts.cached);
        reporter.report(&RunEvent::Stage { name: "structure", detail });
    }
    for problem in &record.problems {
        let text = format!("{} was not analyzed by {}: {}", problem.path, problem.analyzer, problem.message);
        reporter.report(&RunEvent::Warning(text));
    }
}

/// What all launches share.
fn share(
    audit: &Audit,
    reporter: &mut dyn Reporter,
    inventory: Inventory,
    facts: &Facts,
    run: &Run,
) -> Result<Arc<Shared>, AuditError> {
    let settings = &audit.settings;
    let snapshot = copy_repository(audit, reporter, &inventory, run)?;
    Ok(Arc::new(Shared {
        root: settings.root.clone(),
        workplace: snapshot.as_ref().map_or_else(|| settings.root.clone(), |copy| copy.root.clone()),
        snapshot,
        exe: own_binary()?,
        state_dir: StateDir::existing(&settings.state_dir)?,
        http: run.http.clone(),
        secrets: run.secrets.clone(),
        environment: run.environment.clone(),
        fold_case: case_folds(&settings.root),
        inventory,
        observations: Arc::new(facts.observations()),
        unanalyzed: Arc::new(
            facts.problems.iter().map(|p| (p.path.clone(), format!("{}: {}", p.analyzer, p.message))).collect(),
        ),
        timeout_ms: settings.timeout_ms,
        deadline_ms: run.deadline_ms,
    }))
}

/// The copy in which programs work; none where no lane wants one.
fn copy_repository(
    audit: &Audit,
    reporter: &mut dyn Reporter,
    inventory: &Inventory,
    run: &Run,
) -> Result<Option<Arc<Snapshot>>, AuditError> {
    let settings = &audit.settings;
    if !run.lanes.iter().any(|lane| lane.snapshot) {
        return Ok(None);
    }
    let parent = settings.environment.cache_dir().unwrap_or_else(|| settings.state_dir.clone()).join("snapshots");
    let snapshot = Snapshot::refresh(&settings.root, &parent, inventory.auditable())
        .map_err(|error| AuditError::Snapshot(error.to_string()))?;
    for problem in &snapshot.problems {
        reporter.report(&RunEvent::Warning(format!("not in the copy that programs work in: {problem}")));
    }
    Ok(Some(Arc::new(snapshot)))
}

/// Whether the plan is what would be made now and every task of it is done, so that nothing has to be loaded. Not said
/// when somebody who can think is asked: what rules have done may then be open again.
fn nothing_is_open(audit: &Audit, surveyed: &Surveyed, run: &Run) -> Result<bool, AuditError> {
    if !run.only(&[ReviewerKind::Rules]) || !audit.plan_is_current(surveyed)? {
        return Ok(false);
    }
    let states = audit.store.task_states()?;
    Ok(!states.is_empty() && states.iter().all(|(_, state, _)| *state == TaskState::Done))
}

/// Rules cannot judge what others found, and their own findings need no second look by themselves.
fn may_deepen(audit: &Audit, run: &Run) -> bool {
    audit.settings.deepening && !run.only(&[ReviewerKind::Rules])
}

/// Plans the next round of second looks, and gives how many tasks it added.
fn deepen(audit: &mut Audit, run: &Run) -> Result<usize, AuditError> {
    if !may_deepen(audit, run) {
        return Ok(0);
    }
    let rows = audit.store.tasks()?;
    let results = audit.store.results()?;
    let tasks: Vec<Task> = rows.iter().map(|row| row.task.clone()).collect();
    let findings = apply_verdicts(derive_findings(&tasks, &results), &tasks, &results);
    let rounds = tasks.iter().filter_map(|task| Some(task.deepening.as_ref()?.round)).max().unwrap_or(0);
    let planned = tasks.iter().filter(|task| task.deepening.is_some()).count();
    let lanes: Vec<LaneId> = run.lanes.iter().map(|lane| LaneId::new(lane.name.clone())).collect();
    let more = plan_deepening(DeepeningInput {
        tasks: &tasks,
        results: &results,
        findings: &findings,
        rounds: rounds.min(DEEPENING_ROUNDS),
        planned,
        base_tasks: tasks.len() - planned,
        lanes: &lanes,
        adjudicators: true,
    });
    Ok(audit.store.add_tasks(&more, crate::clock::now_ms())?)
}

/// What only rules have looked at is looked at again when somebody who can think is asked; so is what no reviewer has
/// looked at whose kind counts.
fn reopen_weaker(audit: &mut Audit, run: &Run) -> Result<(), AuditError> {
    if run.only(&[ReviewerKind::Rules]) {
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
pub(super) fn own_binary() -> Result<PathBuf, AuditError> {
    std::env::current_exe().map_err(|source| AuditError::File {
        operation: "read",
        path: PathBuf::from("/proc/self/exe"),
        source,
    })
}
