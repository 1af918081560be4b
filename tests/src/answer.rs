//! Honest answers to tasks, as the worker contract wants them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

/// The answer to one task of `pending-audit-tasks.json`: every file covered; with `findings`, one finding on the first
/// file that has a line to quote; to a second look, every finding in question confirmed.
pub fn answer_task(task: &Value, repo: &Path, findings: bool) -> Value {
    let paths: Vec<&str> = task["file_paths"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let coverage: Vec<Value> =
        paths.iter().map(|path| json!({"path": path, "total_lines": task["file_line_counts"][path]})).collect();
    let asked = task["inputs"].is_object();
    let found = if findings && !asked { paths.iter().find_map(|path| finding(task, repo, path)) } else { None };
    let mut answer = json!({
        "task_id": task["task_id"],
        "unit_id": task["unit_id"],
        "pass_id": task["pass_id"],
        "lens": task["lens"],
        "file_coverage": coverage,
        "findings": found.into_iter().collect::<Vec<_>>(),
        "requires_followup": false,
    });
    if asked {
        let ids = task["inputs"]["finding_ids"].as_array().cloned().unwrap_or_default();
        let verdicts: Vec<Value> = ids.iter().map(|id| json!({"finding_id": id, "verdict": "confirm"})).collect();
        answer["verification"] = json!({"verified": true, "needs_followup": false, "verdicts": verdicts});
    }
    answer
}

fn finding(task: &Value, repo: &Path, path: &str) -> Option<Value> {
    let text = String::from_utf8(fs::read(repo.join(path)).ok()?).ok()?;
    let (at, line) = text.lines().enumerate().find(|(_, line)| line.trim().len() > 3)?;
    Some(json!({
        "title": format!("Value is used unchecked in {path}"),
        "category": "input-validation",
        "severity": "medium",
        "confidence": "high",
        "lens": task["lens"],
        "summary": "The value reaches this place without a check.",
        "affected_files": [{"path": path, "line_start": at + 1, "line_end": at + 1}],
        "evidence": [format!("{path}:{} uses the value", at + 1)],
        "quote": line.trim(),
    }))
}
