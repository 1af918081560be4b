//! The worker contract `audit-code-worker/v1alpha1`: what lies in a run directory for a launched worker to read.

use serde_json::{Value, json};

use crate::task::Task;

/// Name and version of the contract.
pub const WORKER_CONTRACT: &str = "audit-code-worker/v1alpha1";

/// The absolute paths and words that `task.json` tells a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerPlaces {
    /// Launch id.
    pub run_id: String,
    /// Root of the repository.
    pub repo_root: String,
    /// The run directory.
    pub artifacts_dir: String,
    /// The prompt.
    pub prompt_path: String,
    /// The tasks.
    pub pending_audit_tasks_path: String,
    /// Where the array of results goes.
    pub audit_results_path: String,
    /// Where a worker may leave a remark of its own; it is kept, not read.
    pub result_path: String,
    /// A command that only checks the results file. Workers in the deferred mode need not run it.
    pub worker_command: Vec<String>,
    /// Milliseconds.
    pub timeout_ms: u64,
}

/// `task.json`. The mode is always `deferred`: the worker writes results and exits, and the host ingests them.
pub fn render_worker_task(places: &WorkerPlaces, read_paths: &[String]) -> String {
    let value = json!({
        "contract_version": WORKER_CONTRACT,
        "run_id": places.run_id,
        "repo_root": places.repo_root,
        "artifacts_dir": places.artifacts_dir,
        "obligation_id": "audit_tasks_completed",
        "preferred_executor": "agent",
        "prompt_path": places.prompt_path,
        "result_path": places.result_path,
        "worker_command": places.worker_command,
        "worker_command_mode": "deferred",
        "audit_results_path": places.audit_results_path,
        "pending_audit_tasks_path": places.pending_audit_tasks_path,
        "timeout_ms": places.timeout_ms,
        "max_retries": 0,
        "access": { "read_paths": read_paths, "write_paths": [places.audit_results_path, places.result_path] },
    });
    pretty(&value)
}

/// `pending-audit-tasks.json`: the tasks of the packet, in order.
pub fn render_pending_tasks(tasks: &[&Task]) -> String {
    pretty(&Value::Array(tasks.iter().map(|task| pending_task(task)).collect()))
}

fn pending_task(task: &Task) -> Value {
    let paths: Vec<&str> = task.files.iter().map(|file| file.path.as_str()).collect();
    let counts: serde_json::Map<String, Value> =
        task.files.iter().map(|file| (file.path.clone(), json!(file.total_lines))).collect();
    let ranges: Vec<Value> = task
        .files
        .iter()
        .filter_map(|file| file.range.map(|range| json!({"path": file.path, "start": range.first, "end": range.last})))
        .collect();
    let mut value = json!({
        "task_id": task.name,
        "unit_id": task.unit,
        "pass_id": task.pass_id,
        "lens": task.lens,
        "file_paths": paths,
        "file_line_counts": counts,
        "rationale": task.rationale,
        "priority": task.priority,
        "tags": task.tags,
        "status": "pending",
    });
    if !ranges.is_empty() {
        value["line_ranges"] = Value::Array(ranges);
    }
    if let Some(deepening) = &task.deepening {
        value["inputs"] = json!({"question": deepening.question, "finding_ids": deepening.findings});
    }
    value
}

fn pretty(value: &Value) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Digest, TaskId, UnitId};
    use crate::lens::Lens;
    use crate::task::{LineRange, Priority, TaskFile};

    #[test]
    fn a_worker_finds_ids_files_and_line_counts() {
        let file = |path: &str, range| TaskFile {
            path: path.to_owned(),
            digest: Digest::of(b""),
            total_lines: 9,
            bytes: 10,
            range,
        };
        let task = Task {
            id: TaskId::new("0"),
            name: "u:security".to_owned(),
            unit: UnitId::new("u"),
            pass_id: "pass:security".to_owned(),
            lens: Lens::Security,
            files: vec![file("a.rs", None), file("b.rs", Some(LineRange { first: 2, last: 5 }))],
            priority: Priority::High,
            risk: 1,
            tags: Vec::new(),
            rationale: String::new(),
            deepening: None,
        };
        let value: Value = serde_json::from_str(&render_pending_tasks(&[&task])).unwrap();
        assert_eq!(value[0]["task_id"], "u:security");
        assert_eq!(value[0]["file_line_counts"]["b.rs"], 9);
        assert_eq!(value[0]["line_ranges"][0]["end"], 5);
        assert_eq!(value[0]["priority"], "high");
    }
}
