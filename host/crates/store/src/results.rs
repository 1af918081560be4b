//! Results by content, and the answers that were not good enough to be one.

use assize_core::id::{Digest, LaunchId, TaskId};
use assize_core::result::ResultRecord;
use serde_json::{Value, json};

use crate::error::{Fault, StoreError};
use crate::sql::{self, Sql};
use crate::store::Store;
use crate::tasks::state_of;

/// What is kept of an answer that failed validation; enough to see what went wrong, and no disk filled by it.
const RAW_KEPT: usize = 64 << 10;

/// Whether a result was new.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ingested {
    /// It is the task's current result now.
    New,
    /// It was there already, from a reviewer of the same kind.
    Already,
}

/// An answer that failed validation.
#[derive(Clone, Debug, PartialEq)]
pub struct Quarantined {
    /// The task that it was meant for, as the answer named it or as it was asked.
    pub task_name: String,
    /// What validation had to say, as JSON.
    pub errors: Value,
    /// The answer; what is too long is cut.
    pub raw: String,
}

/// A quarantined answer as it was kept.
#[derive(Clone, Debug, PartialEq)]
pub struct QuarantineRow {
    /// The launch that brought it.
    pub launch: Option<LaunchId>,
    /// The answer; its text may be cut.
    pub answer: Quarantined,
    /// Bytes of the whole answer.
    pub raw_bytes: u64,
    /// When, milliseconds since the Unix epoch.
    pub at_ms: u64,
}

impl Store {
    /// Ingests one result: it is kept, and its task is done. Ingesting it again changes nothing.
    ///
    /// # Errors
    /// [`StoreError::UnknownTask`], and what SQLite says.
    pub fn ingest(&mut self, record: &ResultRecord) -> Result<Ingested, StoreError> {
        self.write("ingest a result", |sql| ingest(sql, record))
    }

    /// Ingests many results in one transaction, such as those of rules or of a file.
    ///
    /// # Errors
    /// As [`Store::ingest`]; then none of them is ingested.
    pub fn ingest_all(&mut self, records: &[ResultRecord]) -> Result<Vec<Ingested>, StoreError> {
        self.write("ingest results", |sql| records.iter().map(|record| ingest(sql, record)).collect())
    }

    /// The current results of the plan's tasks, in the plan's order: of each kind of reviewer the latest, so that what
    /// rules found stays when an agent looks after them.
    ///
    /// # Errors
    /// What SQLite says; [`StoreError::Damaged`] for rows that do not read back.
    pub fn results(&self) -> Result<Vec<ResultRecord>, StoreError> {
        self.read("read results", |sql| {
            let statement = "SELECT results.record FROM tasks JOIN results ON results.task = tasks.id
                 WHERE tasks.state <> 'superseded'
                 AND results.seq = (SELECT max(seq) FROM results AS later
                     WHERE later.task = tasks.id AND later.reviewer = results.reviewer)
                 ORDER BY tasks.deepening, tasks.ord, tasks.id, results.seq";
            sql.every(statement, [], |row| sql::json(row, 0))
        })
    }

    /// The current results of these tasks, in the order given, whether the tasks are in the plan or not.
    ///
    /// # Errors
    /// As [`Store::results`].
    pub fn results_of(&self, tasks: &[TaskId]) -> Result<Vec<ResultRecord>, StoreError> {
        self.read("read results", |sql| {
            let mut found = Vec::new();
            for task in tasks {
                let statement =
                    "SELECT record FROM results WHERE task = ?1 AND seq = (SELECT max(seq) FROM results AS later
                     WHERE later.task = ?1 AND later.reviewer = results.reviewer) ORDER BY seq";
                found.extend(sql.every(statement, [task.as_str()], |row| sql::json(row, 0))?);
            }
            Ok(found)
        })
    }

    /// Every result that a task ever had, oldest first.
    ///
    /// # Errors
    /// As [`Store::results`].
    pub fn result_history(&self, task: &TaskId) -> Result<Vec<ResultRecord>, StoreError> {
        self.read("read results", |sql| {
            let statement = "SELECT record FROM results WHERE task = ?1 ORDER BY seq";
            sql.every(statement, [task.as_str()], |row| sql::json(row, 0))
        })
    }

    /// Every quarantined answer, oldest first.
    ///
    /// # Errors
    /// As [`Store::results`].
    pub fn quarantine(&self) -> Result<Vec<QuarantineRow>, StoreError> {
        self.read("read the quarantine", |sql| {
            let statement = "SELECT launch, task_name, errors, raw, raw_bytes, at_ms FROM quarantine ORDER BY seq";
            sql.every(statement, [], |row| {
                Ok(QuarantineRow {
                    launch: row.get::<_, Option<String>>(0)?.map(LaunchId::new),
                    answer: Quarantined { task_name: row.get(1)?, errors: sql::json(row, 2)?, raw: row.get(3)? },
                    raw_bytes: sql::unsigned(row, 4)?,
                    at_ms: sql::unsigned(row, 5)?,
                })
            })
        })
    }
}

/// Ingests one result inside an operation.
///
/// The key has the kind of reviewer beside task and digest: "nothing found" from rules and from an agent are the same
/// bytes, but where only agents count, the second one must not be lost in the first.
pub(crate) fn ingest(sql: &Sql<'_>, record: &ResultRecord) -> Result<Ingested, Fault> {
    let task = record.task.as_str();
    let Some(state) = state_of(sql, &record.task)? else {
        return Err(StoreError::UnknownTask { task: record.task.clone() }.into());
    };
    let insert = "INSERT INTO results (task, digest, reviewer, record) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING";
    let kind = record.reviewer.kind.as_str();
    let inserted = sql.execute(insert, (task, record.digest.as_bytes(), kind, sql::encode(record)?))? > 0;
    let moved = !matches!(state.as_str(), "done" | "superseded");
    if moved {
        sql.execute("UPDATE tasks SET state = 'done', reason = NULL WHERE id = ?1", [task])?;
    }
    if inserted || moved {
        // A task that was reopened may get the same answer again: no new result, but the task is done.
        let word = if inserted { "result-ingested" } else { "result-repeated" };
        let subject = json!({ "task": record.task, "digest": record.digest, "launch": record.launch });
        sql.note(record.at_ms, word, &subject)?;
    }
    Ok(if inserted { Ingested::New } else { Ingested::Already })
}

/// Keeps a bad answer inside an operation.
pub(crate) fn keep_apart(
    sql: &Sql<'_>,
    launch: Option<&LaunchId>,
    answer: &Quarantined,
    at_ms: u64,
) -> Result<(), Fault> {
    let raw = &answer.raw[..answer.raw.floor_char_boundary(RAW_KEPT)];
    let insert = "INSERT INTO quarantine (launch, task_name, errors, raw, raw_bytes, at_ms)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let bytes = sql::to_sql(answer.raw.len() as u64);
    let errors = sql::encode(&answer.errors)?;
    sql.execute(insert, (launch.map(LaunchId::as_str), &answer.task_name, errors, raw, bytes, sql::to_sql(at_ms)))?;
    let subject = json!({ "launch": launch, "digest": Digest::of(answer.raw.as_bytes()) });
    sql.note(at_ms, "result-quarantined", &subject)
}
