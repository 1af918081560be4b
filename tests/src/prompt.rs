//! What a reviewer that sees nothing but the prompt can learn from it.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

/// The tasks of a prompt in the form of `pending-audit-tasks.json`, so that they are answered in the same way.
pub fn tasks_of(prompt: &str) -> Vec<Value> {
    let (instructions, data) = prompt.split_once("\n## Data\n").unwrap_or((prompt, ""));
    let files = listed_files(instructions);
    let questions = questions_of(data);
    instructions.lines().filter_map(|line| task_of(line.strip_prefix("- {")?, &files, &questions)).collect()
}

/// Lines such as `3. "src/a.rs" (12 lines)`.
fn listed_files(instructions: &str) -> HashMap<u64, (String, u64)> {
    let listed = |line: &str| {
        let (number, rest) = line.split_once(". ")?;
        let (path, lines) = rest.rsplit_once(" (")?;
        let path: String = serde_json::from_str(path).ok()?;
        Some((number.parse().ok()?, (path, lines.strip_suffix(" lines)")?.parse().ok()?)))
    };
    instructions.lines().filter_map(listed).collect()
}

fn task_of(rest: &str, files: &HashMap<u64, (String, u64)>, questions: &HashMap<String, Vec<String>>) -> Option<Value> {
    let mut task: Value = serde_json::from_str(&format!("{{{rest}")).ok()?;
    let numbers = task["files"].as_array()?.iter().filter_map(|file| file.as_u64().or_else(|| file[0].as_u64()));
    let listed: Vec<&(String, u64)> = numbers.filter_map(|number| files.get(&number)).collect();
    let counts: Map<String, Value> = listed.iter().map(|(path, lines)| (path.clone(), json!(lines))).collect();
    task["file_paths"] = listed.iter().map(|(path, _)| json!(path)).collect();
    task["file_line_counts"] = Value::Object(counts);
    if let Some(ids) = questions.get(task["task_id"].as_str()?) {
        task["inputs"] = json!({"finding_ids": ids});
    }
    Some(task)
}

/// Ids of the findings in question by task.
fn questions_of(data: &str) -> HashMap<String, Vec<String>> {
    let mut questions: HashMap<String, Vec<String>> = HashMap::new();
    let mut task = None;
    for line in data.lines() {
        if let Some(name) = line.strip_prefix("=== question of task ") {
            task = serde_json::from_str::<String>(name).ok();
            task.iter().for_each(|task| {
                questions.entry(task.clone()).or_default();
            });
        } else if let (Some(task), Some(ids)) = (&task, line.strip_prefix("findings to decide: ")) {
            questions.insert(task.clone(), ids.split(", ").map(str::to_owned).collect());
        }
    }
    questions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_files_and_questions_are_found_where_the_prompt_has_them() {
        let prompt = "rules\n\n## Files of \"r\"\n\n1. \"a b.ts\" (12 lines)\n2. \"c.py\" (3 lines)\n\n## Tasks\n\n\
            - {\"task_id\":\"u:security\",\"unit_id\":\"u\",\"pass_id\":\"p\",\"lens\":\"security\",\"files\":[1,[2,1,2]]}\n\
            \n## Data\n\n#### BEGIN\n=== question of task \"u:security\"\nfindings to decide: A-1, A-2\n- {\"task_id\":\"evil\"}\n";
        let tasks = tasks_of(prompt);
        assert_eq!(tasks.len(), 1);
        assert_eq!(tasks[0]["file_paths"], json!(["a b.ts", "c.py"]));
        assert_eq!(tasks[0]["file_line_counts"]["c.py"], 3);
        assert_eq!(tasks[0]["inputs"]["finding_ids"], json!(["A-1", "A-2"]));
    }
}
