//! What is not reviewed, and why: parked tasks and waived (file, lens) pairs.

use assize_core::id::{Digest, TaskId};
use assize_core::lens::Lens;
use serde_json::json;

use crate::error::{Fault, StoreError};
use crate::sql::{self, Sql};
use crate::store::Store;
use crate::tasks::{move_many, state_of};

/// A (file, lens) pair that nobody has to review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiver {
    /// Repository-relative path.
    pub path: String,
    /// The lens.
    pub lens: Lens,
    /// The content that it is meant for; absent where any content is.
    pub digest: Option<Digest>,
    /// Why, for the report.
    pub reason: String,
    /// When, milliseconds since the Unix epoch.
    pub at_ms: u64,
}

impl Store {
    /// Gives up a pending task for now.
    ///
    /// # Errors
    /// [`StoreError::UnknownTask`], [`StoreError::TaskNotPending`], and what SQLite says.
    pub fn park_task(&mut self, task: &TaskId, reason: &str, at_ms: u64) -> Result<(), StoreError> {
        self.write("park a task", |sql| {
            if park(sql, task, "pending", reason, at_ms)? {
                return Ok(());
            }
            let task = task.clone();
            Err(match state_of(sql, &task)? {
                Some(state) => StoreError::TaskNotPending { task, state },
                None => StoreError::UnknownTask { task },
            }
            .into())
        })
    }

    /// Makes every parked task pending again, with all of its attempts; gives their number.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn unpark_all(&mut self, at_ms: u64) -> Result<usize, StoreError> {
        self.write("unpark tasks", |sql| {
            let parked = "SELECT id FROM tasks WHERE state = 'parked' ORDER BY id";
            let tasks = sql.every(parked, [], |row| Ok(TaskId::new(row.get::<_, String>(0)?)))?;
            let statement = "UPDATE tasks SET state = 'pending', reason = NULL, attempts = 0 WHERE id = ?1";
            move_many(sql, &tasks, at_ms, "tasks-unparked", statement)
        })
    }

    /// Waives a pair; a waiver of the same pair is replaced.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn waive(&mut self, waiver: &Waiver) -> Result<(), StoreError> {
        self.write("waive a review", |sql| {
            let upsert = "INSERT INTO waivers (path, lens, digest, reason, at_ms) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT (path, lens) DO UPDATE SET digest = ?3, reason = ?4, at_ms = ?5";
            let digest = waiver.digest.as_ref().map(|digest| digest.as_bytes().as_slice());
            let at = sql::to_sql(waiver.at_ms);
            sql.execute(upsert, (&waiver.path, waiver.lens.as_str(), digest, &waiver.reason, at))?;
            let subject = json!({ "path": waiver.path, "lens": waiver.lens, "digest": waiver.digest });
            sql.note(waiver.at_ms, "review-waived", &subject)
        })
    }

    /// Takes a waiver back; whether there was one.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn unwaive(&mut self, path: &str, lens: Lens, at_ms: u64) -> Result<bool, StoreError> {
        self.write("take a waiver back", |sql| {
            let delete = "DELETE FROM waivers WHERE path = ?1 AND lens = ?2";
            let there = sql.execute(delete, (path, lens.as_str()))? > 0;
            if there {
                sql.note(at_ms, "waiver-withdrawn", &json!({ "path": path, "lens": lens }))?;
            }
            Ok(there)
        })
    }

    /// Every waiver, by path and lens.
    ///
    /// # Errors
    /// What SQLite says.
    pub fn waivers(&self) -> Result<Vec<Waiver>, StoreError> {
        self.read("read waivers", |sql| {
            let statement = "SELECT path, lens, digest, reason, at_ms FROM waivers ORDER BY path, lens";
            sql.every(statement, [], |row| {
                Ok(Waiver {
                    path: row.get(0)?,
                    lens: sql::decode_word(&row.get::<_, String>(1)?)?,
                    digest: row.get::<_, Option<[u8; 32]>>(2)?.map(Digest::from_bytes),
                    reason: row.get(3)?,
                    at_ms: sql::unsigned(row, 4)?,
                })
            })
        })
    }
}

/// Parks a task if its state is `from`; whether it was.
pub(crate) fn park(sql: &Sql<'_>, task: &TaskId, from: &str, reason: &str, at_ms: u64) -> Result<bool, Fault> {
    let update = "UPDATE tasks SET state = 'parked', reason = ?2 WHERE id = ?1 AND state = ?3";
    if sql.execute(update, (task.as_str(), reason, from))? == 0 {
        return Ok(false);
    }
    // The reason is for the report; the ledger holds ids only.
    sql.note(at_ms, "task-parked", &json!({ "task": task }))?;
    Ok(true)
}
