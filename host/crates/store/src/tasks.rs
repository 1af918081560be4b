//! Tasks: the plan as a set, and where each of them stands.

use std::collections::{HashMap, HashSet};

use assize_core::id::{Digest, TaskId};
use assize_core::task::Task;
use rusqlite::Row;
use serde_json::json;

use crate::error::{Fault, StoreError};
use crate::sql::{self, Sql};
use crate::store::Store;

/// Where a task stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskState {
    /// It can be leased.
    Pending,
    /// A launch has it.
    Leased,
    /// It has a result.
    Done,
    /// It was given up for now.
    Parked {
        /// Why, for the report.
        reason: String,
    },
}

/// One task of the current plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    /// The task.
    pub task: Task,
    /// Where it stands.
    pub state: TaskState,
    /// Launches that were counted against it since it was planned, unparked or reopened.
    pub attempts: u32,
}

/// What a new plan changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Tasks that were not in the plan before.
    pub added: usize,
    /// Tasks that are in it no more.
    pub removed: usize,
    /// Tasks that were and are in it.
    pub kept: usize,
}

impl Store {
    /// Makes `tasks`, in their order, the base plan. What was planned already keeps its state, slots in flight
    /// included. What is gone is superseded; its results stay, and are current again when the same task comes back.
    /// A task that is named twice counts once. Deepening tasks are not touched.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn replace_base_tasks(&mut self, tasks: &[Task], at_ms: u64) -> Result<Changes, StoreError> {
        self.write("replace the plan", |sql| replace(sql, tasks, at_ms))
    }

    /// Adds deepening tasks behind those that are there; gives the number of those that were not in the plan.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn add_tasks(&mut self, tasks: &[Task], at_ms: u64) -> Result<usize, StoreError> {
        self.write("add tasks", |sql| {
            let last = "SELECT coalesce(max(ord), -1) FROM tasks WHERE deepening = 1";
            let mut ord = sql.first(last, [], |row| Ok(row.get::<_, i64>(0)?))?.unwrap_or(-1);
            let mut added = Vec::new();
            for task in tasks {
                if state_of(sql, &task.id)?.is_some_and(|state| state != "superseded") {
                    continue;
                }
                ord += 1;
                plan_task(sql, task, &sql::encode(task)?, Place { deepening: true, ord })?;
                added.push(&task.id);
            }
            note_many(sql, at_ms, "tasks-added", &added)?;
            Ok(added.len())
        })
    }

    /// Takes tasks out of the plan, such as deepening tasks over files that were edited; gives the number of those that
    /// were in it.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn supersede_tasks(&mut self, tasks: &[TaskId], at_ms: u64) -> Result<usize, StoreError> {
        self.write("supersede tasks", |sql| move_many(sql, tasks, at_ms, "tasks-superseded", SUPERSEDE))
    }

    /// Makes done tasks pending again, because their result does not count or does not cover; gives the number of
    /// those that were done. The result stays current until there is a newer one.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn reopen_tasks(&mut self, tasks: &[TaskId], at_ms: u64) -> Result<usize, StoreError> {
        let statement = "UPDATE tasks SET state = 'pending', attempts = 0 WHERE id = ?1 AND state = 'done'";
        self.write("reopen tasks", |sql| move_many(sql, tasks, at_ms, "tasks-reopened", statement))
    }

    /// The current plan: base tasks in their order, then deepening tasks in theirs.
    ///
    /// # Errors
    /// What SQLite says; [`StoreError::Damaged`] for rows that do not read back.
    pub fn tasks(&self) -> Result<Vec<TaskRow>, StoreError> {
        self.read("read tasks", |sql| {
            let statement = "SELECT state, reason, attempts, body FROM tasks
                 WHERE state <> 'superseded' ORDER BY deepening, ord, id";
            sql.every(statement, [], |row| {
                Ok(TaskRow { state: read_state(row)?, attempts: sql::small(row, 2)?, task: sql::json(row, 3)? })
            })
        })
    }

    /// State and attempts of the tasks of the current plan, in its order, without their bodies.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn task_states(&self) -> Result<Vec<(TaskId, TaskState, u32)>, StoreError> {
        self.read("read task states", |sql| {
            let statement = "SELECT state, reason, attempts, id FROM tasks
                 WHERE state <> 'superseded' ORDER BY deepening, ord, id";
            sql.every(statement, [], |row| {
                Ok((TaskId::new(row.get::<_, String>(3)?), read_state(row)?, sql::small(row, 2)?))
            })
        })
    }

    /// A task, whether it is in the current plan or was superseded.
    ///
    /// # Errors
    /// What SQLite says; [`StoreError::Damaged`] for a row that does not read back.
    pub fn task(&self, task: &TaskId) -> Result<Option<Task>, StoreError> {
        self.read("read a task", |sql| {
            sql.first("SELECT body FROM tasks WHERE id = ?1", [task.as_str()], |row| sql::json(row, 0))
        })
    }
}

/// Takes a task out of the plan.
const SUPERSEDE: &str = "UPDATE tasks SET state = 'superseded', reason = NULL WHERE id = ?1 AND state <> 'superseded'";

/// Where a task stands in the plan.
struct Place {
    deepening: bool,
    ord: i64,
}

fn replace(sql: &Sql<'_>, tasks: &[Task], at_ms: u64) -> Result<Changes, Fault> {
    let current = "SELECT id, ord, body FROM tasks WHERE deepening = 0 AND state <> 'superseded'";
    let rows = sql
        .every(current, [], |row| Ok((row.get::<_, String>(0)?, (row.get::<_, i64>(1)?, row.get::<_, String>(2)?))))?;
    let mut before: HashMap<String, (i64, String)> = rows.into_iter().collect();
    let mut seen = HashSet::with_capacity(tasks.len());
    let mut changes = Changes::default();
    let mut added = Vec::new();
    let mut ord = 0;
    for task in tasks {
        if !seen.insert(task.id.as_str()) {
            continue;
        }
        let body = sql::encode(task)?;
        match before.remove(task.id.as_str()) {
            Some((old_ord, old_body)) => {
                changes.kept += 1;
                // The id says what is reviewed; name, risk and priority may change around it.
                if old_ord != ord || old_body != body {
                    sql.execute("UPDATE tasks SET ord = ?2, body = ?3 WHERE id = ?1", (task.id.as_str(), ord, body))?;
                }
            }
            None => {
                plan_task(sql, task, &body, Place { deepening: false, ord })?;
                added.push(&task.id);
            }
        }
        ord += 1;
    }
    let mut removed: Vec<TaskId> = before.into_keys().map(TaskId::new).collect();
    removed.sort();
    for task in &removed {
        sql.execute(SUPERSEDE, [task.as_str()])?;
    }
    changes.added = added.len();
    changes.removed = removed.len();
    if changes.added + changes.removed > 0 {
        let subject = json!({
            "added": changes.added,
            "added_digest": digest_of(&added),
            "removed": changes.removed,
            "removed_digest": digest_of(&removed.iter().collect::<Vec<_>>()),
            "kept": changes.kept,
        });
        sql.note(at_ms, "tasks-planned", &subject)?;
    }
    Ok(changes)
}

/// Puts a task into the plan, for the first time or again. One that comes back is done if it has a result: results are
/// known by content, and the content is the same again.
fn plan_task(sql: &Sql<'_>, task: &Task, body: &str, place: Place) -> Result<(), Fault> {
    let statement = "INSERT INTO tasks (id, deepening, ord, state, reason, attempts, body)
         VALUES (?1, ?2, ?3, 'pending', NULL, 0, ?4)
         ON CONFLICT (id) DO UPDATE SET deepening = ?2, ord = ?3, reason = NULL, attempts = 0, body = ?4, state = CASE
             WHEN EXISTS (SELECT 1 FROM results WHERE task = ?1) THEN 'done'
             WHEN EXISTS (SELECT 1 FROM launch_tasks JOIN launches USING (launch)
                 WHERE task = ?1 AND launches.state IN ('leased', 'launching', 'concluded')) THEN 'leased'
             ELSE 'pending' END";
    sql.execute(statement, (task.id.as_str(), place.deepening, place.ord, body)).map(drop)
}

/// Takes a task out of the plan and puts its parts into its place.
pub(crate) fn split_into(sql: &Sql<'_>, parent: &TaskId, parts: &[Task]) -> Result<(), Fault> {
    let place = "SELECT deepening, ord FROM tasks WHERE id = ?1";
    let found = sql.first(place, [parent.as_str()], |row| Ok(Place { deepening: row.get(0)?, ord: row.get(1)? }))?;
    let Some(place) = found else { return Err(StoreError::UnknownTask { task: parent.clone() }.into()) };
    sql.execute(SUPERSEDE, [parent.as_str()])?;
    for part in parts {
        plan_task(sql, part, &sql::encode(part)?, Place { deepening: place.deepening, ord: place.ord })?;
    }
    Ok(())
}

/// The word of a task's state, if the task is there.
pub(crate) fn state_of(sql: &Sql<'_>, task: &TaskId) -> Result<Option<String>, Fault> {
    sql.first("SELECT state FROM tasks WHERE id = ?1", [task.as_str()], |row| Ok(row.get(0)?))
}

/// Runs a statement for each task and notes those that it changed, in one entry.
pub(crate) fn move_many(
    sql: &Sql<'_>,
    tasks: &[TaskId],
    at_ms: u64,
    kind: &str,
    statement: &str,
) -> Result<usize, Fault> {
    let mut moved = Vec::new();
    for task in tasks {
        if sql.execute(statement, [task.as_str()])? > 0 {
            moved.push(task);
        }
    }
    note_many(sql, at_ms, kind, &moved)?;
    Ok(moved.len())
}

/// One entry for many tasks: how many, and the digest of their ids. A plan of many thousands would swell the ledger.
fn note_many(sql: &Sql<'_>, at_ms: u64, kind: &str, tasks: &[&TaskId]) -> Result<(), Fault> {
    if tasks.is_empty() {
        return Ok(());
    }
    sql.note(at_ms, kind, &json!({ "tasks": tasks.len(), "digest": digest_of(tasks) }))
}

fn digest_of(tasks: &[&TaskId]) -> Digest {
    Digest::of_parts(tasks.iter().map(|task| task.as_str().as_bytes()))
}

/// The state in columns 0 (word) and 1 (reason).
fn read_state(row: &Row<'_>) -> Result<TaskState, Fault> {
    let word = row.get_ref(0)?.as_str().map_err(|error| Fault::Row(error.to_string()))?;
    Ok(match word {
        "pending" => TaskState::Pending,
        "leased" => TaskState::Leased,
        "done" => TaskState::Done,
        "parked" => TaskState::Parked { reason: row.get::<_, Option<String>>(1)?.unwrap_or_default() },
        other => return Err(Fault::Row(format!("unknown task state {other}"))),
    })
}
