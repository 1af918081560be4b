//! A worker that answers every task at once and finds nothing, so that what is left is the cost of launching it.
//! `instant-worker TASK_JSON`

use std::error::Error;
use std::fs;
use std::process::ExitCode;

use serde_json::{Value, json};

fn main() -> ExitCode {
    match answer() {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn answer() -> Result<(), Box<dyn Error>> {
    let task_file = std::env::args().nth(1).ok_or("the path of task.json is missing")?;
    let worker: Value = serde_json::from_slice(&fs::read(task_file)?)?;
    let place = |key: &str| worker[key].as_str().ok_or("a path is missing");
    let tasks: Vec<Value> = serde_json::from_slice(&fs::read(place("pending_audit_tasks_path")?)?)?;
    let results: Vec<Value> = tasks.iter().map(result_of).collect();
    fs::write(place("audit_results_path")?, Value::Array(results).to_string())?;
    Ok(())
}

fn result_of(task: &Value) -> Value {
    let counts = &task["file_line_counts"];
    let paths = task["file_paths"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let coverage: Vec<Value> = paths.map(|path| json!({"path": path, "total_lines": counts[path]})).collect();
    json!({
        "task_id": task["task_id"],
        "unit_id": task["unit_id"],
        "pass_id": task["pass_id"],
        "lens": task["lens"],
        "file_coverage": coverage,
        "findings": [],
    })
}
