//! What a host that died left behind: answers that are already written are swept through the same validation as any
//! other, then the slots are free. Whoever has the lock knows that every other holder is gone.

use std::collections::HashMap;

use assize_core::id::TaskId;
use assize_core::inventory::Inventory;
use assize_core::plugin::Outcome;
use assize_core::result::{Reviewer, ReviewerKind};
use assize_core::review::{CheckOptions, Checked, check_answer};
use assize_core::task::Task;
use assize_store::{AttemptCost, Lease};

use super::contract::{places, read_answer};
use super::dispatcher::settlement;
use super::launching::{LaunchReport, rows_of};
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
    let kind = if lease.lane.as_str() == "rules" { ReviewerKind::Rules } else { ReviewerKind::Agent };
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
        reviewer: Reviewer { kind, lane: lease.lane.clone(), model: None },
        checked,
    };
    let by_id: HashMap<TaskId, Task> = tasks.into_iter().map(|task| (task.id.clone(), task)).collect();
    let settlement = settlement(&report, Vec::new(), &by_id, now_ms);
    Ok(audit.store.settle(&settlement)?.ingested)
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
