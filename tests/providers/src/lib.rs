//! What the providers have in common: an honest answer that needs no reviewer, and the program that one may ask for.

use assize_plugin_sdk::{Conclusion, Description, LaunchRequest, Outcome, Piece, Request, RunProgram, Service, Stdin};
use serde_json::{Value, json};

/// A description with these names.
pub fn describe(name: &str, serves: &[&str], programs: &[&str]) -> Description {
    let service = |value: &&str| Service { kind: "provider".to_owned(), value: (*value).to_owned() };
    let request = |name: &&str| Request {
        kind: "program".to_owned(),
        name: (*name).to_owned(),
        reason: "It is what this plugin starts.".to_owned(),
    };
    Description {
        name: name.to_owned(),
        version: "0.1.0".to_owned(),
        summary: "A provider of the tests".to_owned(),
        license: "Apache-2.0 OR MIT".to_owned(),
        serves: serves.iter().map(service).collect(),
        config_schema: r#"{"type":"object"}"#.to_owned(),
        requests: programs.iter().map(request).collect(),
        extra: Vec::new(),
    }
}

/// Every task answered, with nothing found.
pub fn answer(request: &LaunchRequest) -> Conclusion {
    let answers: Vec<Value> = request
        .tasks
        .iter()
        .map(|task| {
            let coverage: Vec<Value> =
                task.files.iter().map(|file| json!({"path": file.path, "total_lines": file.total_lines})).collect();
            json!({"task_id": task.task_id, "unit_id": task.unit_id, "pass_id": task.pass_id, "lens": task.lens,
                "file_coverage": coverage, "findings": []})
        })
        .collect();
    let results = Some(Value::Array(answers).to_string());
    Conclusion { results, ..Conclusion::new(Outcome::Completed, "answered by the component itself") }
}

/// The program with the path of the task file as its argument.
pub fn program(name: &str, request: &LaunchRequest) -> RunProgram {
    RunProgram {
        program: name.to_owned(),
        args: vec![vec![Piece::Place("task-file".to_owned())]],
        env: Vec::new(),
        files: Vec::new(),
        stdin: Stdin::None,
        cwd: "repo".to_owned(),
        home: "launch".to_owned(),
        output_cap: 1 << 20,
        timeout_ms: request.timeout_ms,
        gateway: None,
        extra: Vec::new(),
    }
}

/// The configuration section.
pub fn config(request: &LaunchRequest) -> Value {
    serde_json::from_str(&request.config).unwrap_or_default()
}
