//! What a host that died left behind: answers that are already written are swept through the same validation as any
//! other, then the slots are free. Whoever has the lock knows that every other holder is gone.

use std::collections::HashMap;

use assize_core::id::{LaneId, LaunchId, TaskId};
use assize_core::inventory::Inventory;
use assize_core::plugin::Outcome;
use assize_core::result::{ResultRecord, Reviewer, ReviewerKind};
use assize_core::review::{CheckOptions, Checked, check_answer, result_digest};
use assize_core::task::Task;
use assize_store::{AttemptCost, Lease};

use super::contract::{places, read_answer};
use super::launching::{LaunchReport, rows_of};
use super::settling::settlement;
use crate::audit::{Audit, AuditError, LaunchSources};
use crate::clock;

/// Sweeps and frees. Gives the slots that were freed and the results that were saved.
pub(super) fn recover(audit: &mut Audit, inventory: &Inventory) -> Result<(usize, usize), AuditError> {
    let leases = audit.store.leases()?;
    let (mut freed, mut saved) = (0, 0);
    for lease in leases {
        freed += 1;
        saved += sweep(audit, inventory, &lease)?;
    }
    Ok((freed, saved))
}

fn sweep(audit: &mut Audit, inventory: &Inventory, lease: &Lease) -> Result<usize, AuditError> {
    let mut tasks: Vec<Task> = Vec::new();
    for id in &lease.tasks {
        tasks.extend(audit.store.task(id)?);
    }
    let answer = match audit.store.dir() {
        Some(dir) => read_answer(&places(&audit.settings.root, &dir.run_dir(&lease.launch)?).results_file),
        None => None,
    };
    let checked = match &answer {
        Some(Ok(text)) => check(audit, inventory, &tasks, text),
        _ => Checked::default(),
    };
    let now_ms = clock::now_ms();
    if checked.accepted.is_empty() {
        audit.store.free_slot(&lease.launch, "its host is gone", AttemptCost::Uncounted, now_ms)?;
        return Ok(0);
    }
    // A store of an older version does not say it; then rules were told by their lane's name.
    let by_name = if lease.lane.as_str() == "rules" { ReviewerKind::Rules } else { ReviewerKind::Agent };
    let kind = lease.reviewer.unwrap_or(by_name);
    let report = LaunchReport {
        launch: lease.launch.clone(),
        outcome: Outcome::Interrupted,
        message: "its host is gone; what it had written was taken".to_owned(),
        usage: None,
        wall_ms: 0,
        exit: (None, None),
        raw: String::new(),
        changed: Vec::new(),
        readings: Vec::new(),
        reviewer: Reviewer { kind, lane: lease.lane.clone(), model: lease.model.clone() },
        handed_off: false,
        copy_changes: Vec::new(),
        checked,
    };
    let by_id: HashMap<TaskId, Task> = tasks.into_iter().map(|task| (task.id.clone(), task)).collect();
    let settlement = settlement(&report, Vec::new(), &by_id, now_ms);
    Ok(audit.store.settle(&settlement)?.ingested)
}

/// What people have answered.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Results that were new.
    pub(super) results: usize,
    /// Answers that could not be used, one line each.
    pub(super) problems: Vec<String>,
}

/// Takes the answers of people from where they were asked to leave them, through the same validation as any other. A
/// launch of which nothing is left to answer waits no more.
pub(super) fn take_answers(audit: &mut Audit, inventory: &Inventory) -> Result<Taken, AuditError> {
    let mut taken = Taken::default();
    for (launch, pending) in audit.store.waiting()? {
        let left = take_answer(audit, inventory, &launch, pending, &mut taken)?;
        if left == 0 {
            audit.store.set_waiting(&launch, false, clock::now_ms())?;
        }
    }
    Ok(taken)
}

/// Takes one answer; gives how many tasks of the launch are still open.
fn take_answer(
    audit: &mut Audit,
    inventory: &Inventory,
    launch: &LaunchId,
    pending: Vec<TaskId>,
    taken: &mut Taken,
) -> Result<usize, AuditError> {
    let mut tasks: Vec<Task> = Vec::new();
    for id in &pending {
        tasks.extend(audit.store.task(id)?);
    }
    let file = match audit.store.dir() {
        Some(dir) => places(&audit.settings.root, &dir.run_dir(launch)?).results_file,
        None => return Ok(pending.len()),
    };
    let text = match read_answer(&file) {
        None => return Ok(pending.len()),
        Some(Err(problem)) => {
            taken.problems.push(problem);
            return Ok(pending.len());
        }
        Some(Ok(text)) => text,
    };
    let checked = check(audit, inventory, &tasks, &text);
    let lane = audit.store.launch(launch)?.map_or_else(|| LaneId::new("hand-off"), |row| row.lane);
    let records: Vec<ResultRecord> = checked
        .accepted
        .iter()
        .map(|accepted| ResultRecord {
            task: accepted.task.clone(),
            digest: result_digest(&accepted.result),
            result: accepted.result.clone(),
            reviewer: Reviewer { kind: ReviewerKind::Person, lane: lane.clone(), model: None },
            launch: Some(launch.clone()),
            at_ms: clock::now_ms(),
        })
        .collect();
    audit.store.ingest_all(&records)?;
    taken.results += records.len();
    let refused = checked.rejected.iter().flat_map(|rejected| rejected.errors.first());
    for problem in checked.problems.iter().chain(refused) {
        taken.problems.push(format!("{}: {} {}: {}", file.display(), problem.code, problem.place, problem.message));
    }
    Ok(pending.len() - records.len())
}

/// Checks an answer against the sources as they are now; what rests on files that have changed is not taken.
fn check(audit: &Audit, inventory: &Inventory, tasks: &[Task], text: &str) -> Checked {
    let rows = rows_of(inventory, tasks);
    let sources = LaunchSources::read(&audit.settings.root, rows.values());
    let unchanged = |task: &&Task| {
        task.files.iter().all(|file| rows.contains_key(&file.path) && !sources.changed.contains(&file.path))
    };
    let tasks: Vec<&Task> = tasks.iter().filter(unchanged).collect();
    check_answer(text, &tasks, &sources, CheckOptions::default())
}
