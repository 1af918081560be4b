//! The end of a launch in one transaction: how it ended, what it brought, and where its tasks go from here.

use std::collections::HashSet;

use assize_core::id::TaskId;
use assize_core::result::ResultRecord;
use serde_json::json;

use crate::error::{Fault, StoreError};
use crate::results::{Ingested, Quarantined, ingest, keep_apart};
use crate::slots::{AttemptCost, LaunchEnd, LaunchState, REQUEUE, conclude, count_attempt, expect_state, tasks_of};
use crate::sql::Sql;
use crate::store::Store;
use crate::waivers::park;

/// Everything that the end of a launch changes. Tasks of the launch that are named nowhere go back to be leased again,
/// so that no task can be forgotten here.
#[derive(Clone, Debug, PartialEq)]
pub struct Settlement {
    /// How it ended.
    pub end: LaunchEnd,
    /// Valid results.
    pub results: Vec<ResultRecord>,
    /// Answers that are none.
    pub quarantine: Vec<Quarantined>,
    /// Tasks of the launch that are not tried again for now, each with the reason that the report gives. One that has
    /// a result in this settlement is done, not parked.
    pub park: Vec<(TaskId, String)>,
}

/// What a settlement did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Results that were new.
    pub ingested: usize,
    /// Results that were there already.
    pub already: usize,
    /// Tasks that are pending again.
    pub requeued: Vec<TaskId>,
    /// Tasks that are parked.
    pub parked: Vec<TaskId>,
}

impl Store {
    /// Settles a live launch; after a [`Store::conclude_launch`] the recorded end stays and only the rest is done.
    ///
    /// # Errors
    /// [`StoreError::UnknownLaunch`]; [`StoreError::WrongLaunchState`] where it is settled or freed already (results
    /// that come late go through [`Store::ingest`]); [`StoreError::UnknownTask`]; [`StoreError::TaskNotOfLaunch`]; what
    /// SQLite says. Then nothing of it has happened.
    pub fn settle(&mut self, settlement: &Settlement) -> Result<Settled, StoreError> {
        self.write("settle a launch", |sql| settle(sql, settlement))
    }
}

fn settle(sql: &Sql<'_>, settlement: &Settlement) -> Result<Settled, Fault> {
    let end = &settlement.end;
    let state = expect_state(sql, &end.launch, "settle a launch", LaunchState::is_live)?;
    if state != LaunchState::Concluded {
        conclude(sql, end)?;
    }
    let mut settled = Settled::default();
    for record in &settlement.results {
        match ingest(sql, record)? {
            Ingested::New => settled.ingested += 1,
            Ingested::Already => settled.already += 1,
        }
    }
    for answer in &settlement.quarantine {
        keep_apart(sql, Some(&end.launch), answer, end.at_ms)?;
    }
    place_tasks(sql, settlement, &mut settled)?;
    let counted = end.attempt == AttemptCost::Counted;
    let update = "UPDATE launches SET state = 'settled', counted = ?2 WHERE launch = ?1";
    sql.execute(update, (end.launch.as_str(), counted))?;
    let subject = json!({
        "launch": end.launch, "ingested": settled.ingested, "already": settled.already,
        "quarantined": settlement.quarantine.len(), "requeued": settled.requeued.len(),
        "parked": settled.parked.len(), "counted": counted,
    });
    sql.note(end.at_ms, "slot-settled", &subject)?;
    Ok(settled)
}

/// Parks what is to be parked and gives every task back that the launch still has.
fn place_tasks(sql: &Sql<'_>, settlement: &Settlement, settled: &mut Settled) -> Result<(), Fault> {
    let end = &settlement.end;
    let tasks = tasks_of(sql, &end.launch)?;
    let own: HashSet<&TaskId> = tasks.iter().collect();
    for (task, reason) in &settlement.park {
        if !own.contains(task) {
            return Err(StoreError::TaskNotOfLaunch { task: task.clone(), launch: end.launch.clone() }.into());
        }
        if park(sql, task, "leased", reason, end.at_ms)? {
            settled.parked.push(task.clone());
        }
    }
    for task in &tasks {
        count_attempt(sql, task, end.attempt)?;
        if sql.execute(REQUEUE, [task.as_str()])? > 0 {
            sql.note(end.at_ms, "task-requeued", &json!({ "task": task, "launch": end.launch }))?;
            settled.requeued.push(task.clone());
        }
    }
    Ok(())
}
