//! Laws of the store, and the small plan that they are tried on.

mod admissions;
mod atomicity;
mod cleaning;
mod content;
mod ledger;
mod life;
mod opening;
mod plan;
mod quota;

use assize_core::id::{Digest, LaneId, LaunchId, PacketId, TaskId, UnitId};
use assize_core::lens::Lens;
use assize_core::plugin::{Outcome, Usage};
use assize_core::result::{AuditResult, FileCoverage, ResultRecord, Reviewer, ReviewerKind};
use assize_core::task::{Priority, Task, TaskFile};
use rusqlite::Connection;
use rusqlite::types::Value;

use crate::{AttemptCost, Holder, LaunchEnd, NewSlot, Store, TaskState};

pub(crate) fn task(name: &str) -> Task {
    let digest = Digest::of(name.as_bytes());
    Task {
        id: TaskId::new(digest.short(32)),
        name: format!("unit:{name}:security"),
        unit: UnitId::new("unit"),
        pass_id: "pass:security".to_owned(),
        lens: Lens::Security,
        files: vec![TaskFile { path: format!("src/{name}.rs"), digest, total_lines: 10, bytes: 200, range: None }],
        priority: Priority::Medium,
        risk: 40,
        tags: vec!["critical-flow".to_owned()],
        rationale: "it parses input".to_owned(),
        deepening: None,
    }
}

pub(crate) fn tasks(names: &[&str]) -> Vec<Task> {
    names.iter().map(|name| task(name)).collect()
}

pub(crate) fn id(name: &str) -> TaskId {
    task(name).id
}

pub(crate) fn record(name: &str, notes: &str) -> ResultRecord {
    let Task { id, name: task_id, pass_id, lens, .. } = task(name);
    let result = AuditResult {
        task_id,
        unit_id: "unit".to_owned(),
        pass_id,
        lens,
        file_coverage: vec![FileCoverage { path: format!("src/{name}.rs"), total_lines: 10 }],
        findings: Vec::new(),
        notes: Some(notes.to_owned()),
        requires_followup: None,
        verification: None,
    };
    let reviewer = Reviewer { kind: ReviewerKind::Agent, lane: LaneId::new("scripted"), model: None };
    ResultRecord { task: id, digest: Digest::of(notes.as_bytes()), result, reviewer, launch: None, at_ms: 7 }
}

pub(crate) fn holder() -> Holder {
    Holder { pid: 4242, started: "815".to_owned(), host: "here".to_owned() }
}

pub(crate) fn slot(launch: &str, names: &[&str]) -> NewSlot {
    NewSlot {
        launch: LaunchId::new(launch),
        wave: 1,
        packet: PacketId::new("packet"),
        tasks: names.iter().map(|name| id(name)).collect(),
        lane: LaneId::new("scripted"),
        reviewer: ReviewerKind::Agent,
        model: None,
        attempt: 1,
        holder: holder(),
        until_ms: 1_000,
        at_ms: 5,
    }
}

pub(crate) fn end(launch: &str, outcome: Outcome) -> LaunchEnd {
    LaunchEnd {
        launch: LaunchId::new(launch),
        outcome,
        message: "it ended".to_owned(),
        usage: Some(Usage { input_tokens: Some(12), ..Usage::default() }),
        wall_ms: 33,
        exit_code: Some(0),
        exit_signal: None,
        attempt: AttemptCost::Counted,
        at_ms: 6,
    }
}

/// A store in memory with a plan of these tasks.
pub(crate) fn planned(names: &[&str]) -> Store {
    let mut store = Store::in_memory().unwrap();
    store.replace_base_tasks(&tasks(names), 1).unwrap();
    store
}

pub(crate) fn state(store: &Store, name: &str) -> Option<TaskState> {
    let wanted = id(name);
    store.task_states().unwrap().into_iter().find(|(task, ..)| *task == wanted).map(|(_, state, _)| state)
}

pub(crate) fn attempts(store: &Store, name: &str) -> u32 {
    let wanted = id(name);
    store.tasks().unwrap().into_iter().find(|row| row.task.id == wanted).unwrap().attempts
}

/// Every row of every table, so that two states of a store can be compared.
pub(crate) fn dump(conn: &Connection) -> Vec<(String, Vec<Value>)> {
    let mut names = conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").unwrap();
    let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let mut out = Vec::new();
    for name in names {
        let mut statement = conn.prepare(&format!("SELECT * FROM {name} ORDER BY 1, 2")).unwrap();
        let columns = statement.column_count();
        let mut rows = statement.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            out.push((name.clone(), (0..columns).map(|at| row.get_unwrap(at)).collect()));
        }
    }
    out
}
