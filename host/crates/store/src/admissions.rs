//! Why launches were made when they were, what left the machine for them, and what stands in the place of a task that was
//! too large.

use std::collections::HashMap;

use assize_core::dispatch::Decision;
use assize_core::id::{LaunchId, TaskId};
use assize_core::task::Task;
use serde_json::{Value, json};

use crate::error::{Fault, StoreError};
use crate::sql::{self, Sql};
use crate::store::Store;
use crate::tasks::split_into;

/// Decisions that are kept: days of a busy run.
const KEPT: u64 = 100_000;

/// A decision, and the launch that it led to.
#[derive(Clone, Debug, PartialEq)]
pub struct Admission {
    /// The launch; absent where the packet had to wait.
    pub launch: Option<LaunchId>,
    /// The decision.
    pub decision: Decision,
}

impl Store {
    /// Keeps decisions. The oldest go when there are too many.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn note_admissions(&mut self, admissions: &[Admission]) -> Result<(), StoreError> {
        if admissions.is_empty() {
            return Ok(());
        }
        self.write("keep a decision", |sql| {
            for admission in admissions {
                keep(sql, admission)?;
            }
            let cut = "DELETE FROM admissions WHERE seq <= (SELECT max(seq) FROM admissions) - ?1";
            sql.execute(cut, [sql::to_sql(KEPT)]).map(drop)
        })
    }

    /// The latest decisions, oldest first: of one launch, of one lane, or all.
    ///
    /// # Errors
    /// What SQLite says; [`StoreError::Damaged`] for rows that do not read back.
    pub fn admissions(&self, about: Option<&str>, most: u32) -> Result<Vec<Admission>, StoreError> {
        self.read("read decisions", |sql| {
            let select = "SELECT launch, decision FROM admissions
                 WHERE ?1 IS NULL OR launch = ?1 OR lane = ?1 ORDER BY seq DESC LIMIT ?2";
            let mut rows = sql.every(select, (about, most), |row| {
                let launch: Option<String> = row.get(0)?;
                Ok(Admission { launch: launch.map(LaunchId::new), decision: sql::json(row, 1)? })
            })?;
            rows.reverse();
            Ok(rows)
        })
    }

    /// Writes into the ledger what left the machine for a launch: where it went, sizes and digests, never a body.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn note_request(&mut self, launch: &LaunchId, request: &Value, at_ms: u64) -> Result<(), StoreError> {
        self.write("note a request", |sql| {
            sql.note(at_ms, "request-sent", &json!({ "launch": launch, "request": request }))
        })
    }

    /// Puts parts into the place of a task that no lane can take. Its results, if it has any, stay.
    ///
    /// # Errors
    /// [`StoreError::UnknownTask`], and what SQLite says.
    pub fn split_task(&mut self, parent: &TaskId, parts: &[Task], at_ms: u64) -> Result<(), StoreError> {
        self.write("split a task", |sql| {
            split_into(sql, parent, parts)?;
            let insert = "INSERT INTO splits (parent, parts) VALUES (?1, ?2)
                 ON CONFLICT (parent) DO UPDATE SET parts = ?2";
            sql.execute(insert, (parent.as_str(), sql::encode(parts)?))?;
            let names: Vec<&TaskId> = parts.iter().map(|part| &part.id).collect();
            sql.note(at_ms, "task-split", &json!({ "task": parent, "parts": names }))
        })
    }

    /// The parts of every task that was split, by the task: a new plan puts them into its place again.
    ///
    /// # Errors
    /// What SQLite says; [`StoreError::Damaged`] for rows that do not read back.
    pub fn splits(&self) -> Result<HashMap<TaskId, Vec<Task>>, StoreError> {
        self.read("read splits", |sql| {
            let rows = sql.every("SELECT parent, parts FROM splits", [], |row| {
                Ok((TaskId::new(row.get::<_, String>(0)?), sql::json::<Vec<Task>>(row, 1)?))
            })?;
            Ok(rows.into_iter().collect())
        })
    }

    /// Says that a settled launch waits for a person, or that it does no longer.
    ///
    /// # Errors
    /// [`StoreError::UnknownLaunch`], and what SQLite says.
    pub fn set_waiting(&mut self, launch: &LaunchId, waiting: bool, at_ms: u64) -> Result<(), StoreError> {
        self.write("set a launch aside", |sql| {
            let update = "UPDATE launches SET waiting = ?2 WHERE launch = ?1";
            if sql.execute(update, (launch.as_str(), waiting))? == 0 {
                return Err(StoreError::UnknownLaunch { launch: launch.clone() }.into());
            }
            let kind = if waiting { "launch-handed-off" } else { "launch-taken-back" };
            sql.note(at_ms, kind, &json!({ "launch": launch }))
        })
    }

    /// Launches that wait for a person, with the tasks of them that are still pending; oldest first.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn waiting(&self) -> Result<Vec<(LaunchId, Vec<TaskId>)>, StoreError> {
        self.read("read what waits", |sql| {
            let select = "SELECT launch FROM launches WHERE waiting = 1 ORDER BY launch";
            let launches = sql.every(select, [], |row| Ok(LaunchId::new(row.get::<_, String>(0)?)))?;
            launches
                .into_iter()
                .map(|launch| {
                    let pending = "SELECT task FROM launch_tasks JOIN tasks ON tasks.id = task
                         WHERE launch = ?1 AND tasks.state = 'pending' ORDER BY launch_tasks.ord";
                    let tasks =
                        sql.every(pending, [launch.as_str()], |row| Ok(TaskId::new(row.get::<_, String>(0)?)))?;
                    Ok((launch, tasks))
                })
                .collect()
        })
    }
}

fn keep(sql: &Sql<'_>, admission: &Admission) -> Result<(), Fault> {
    let decision = &admission.decision;
    let insert = "INSERT INTO admissions (at_ms, launch, lane, admitted, decision) VALUES (?1, ?2, ?3, ?4, ?5)";
    let launch = admission.launch.as_ref().map(LaunchId::as_str);
    let values = (sql::to_sql(decision.at_ms), launch, &decision.lane, decision.admitted, sql::encode(decision)?);
    sql.execute(insert, values).map(drop)
}
