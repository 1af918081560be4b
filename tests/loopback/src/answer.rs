//! The answer of a reviewer who read everything and found nothing, or one thing.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::prompt::{AskedTask, Prompt};

/// The results of all tasks as a JSON array. With `finding`, the first task that is no second look and has a line to show holds one.
pub fn render_answer(prompt: &Prompt, finding: bool) -> String {
    let mut owed = finding;
    let results: Vec<Value> = prompt
        .tasks
        .iter()
        .map(|task| {
            let mut result = json!({
                "task_id": task.task_id,
                "unit_id": task.unit_id,
                "pass_id": task.pass_id,
                "lens": task.lens,
                "file_coverage": coverage(task, prompt),
                "findings": [],
            });
            if let Some(ids) = prompt.questions.get(&task.task_id) {
                let verdicts: Vec<Value> =
                    ids.iter().map(|id| json!({"finding_id": id, "verdict": "confirm"})).collect();
                result["verification"] = json!({"verified": true, "needs_followup": false, "verdicts": verdicts});
            } else if owed && let Some(found) = find(task, prompt) {
                result["findings"] = json!([found]);
                owed = false;
            }
            result
        })
        .collect();
    Value::Array(results).to_string()
}

/// Every file once, though a task may name several ranges of it.
fn coverage(task: &AskedTask, prompt: &Prompt) -> Vec<Value> {
    let numbers: BTreeSet<u64> = task.files.iter().map(|(number, _)| *number).collect();
    let listed = numbers.iter().filter_map(|number| prompt.files.get(number));
    listed.map(|(path, lines)| json!({"path": path, "total_lines": lines})).collect()
}

fn find(task: &AskedTask, prompt: &Prompt) -> Option<Value> {
    let (number, first, path) = task.files.iter().find_map(|(number, first)| {
        let (path, lines) = prompt.files.get(number)?;
        (first <= lines).then_some((number, first, path))
    })?;
    let (line, quote) = match prompt.shown.get(number) {
        Some((line, text)) => (line, Some(text.trim())),
        None => (first, None),
    };
    // Severe enough to be looked at a second time, so that second looks are tried too.
    let mut finding = json!({
        "title": "Finding of the loopback reviewer",
        "category": "loopback-trial",
        "severity": "high",
        "confidence": "medium",
        "lens": task.lens,
        "summary": "No model looked at this line; the finding shows that findings arrive.",
        "affected_files": [{"path": path, "line_start": line, "line_end": line}],
        "evidence": [format!("line {line} was taken without being read")],
    });
    if let Some(quote) = quote {
        finding["quote"] = json!(quote);
    }
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::read_prompt;
    use crate::prompt::tests::SAMPLE;

    fn answer(finding: bool) -> Value {
        serde_json::from_str(&render_answer(&read_prompt(SAMPLE).unwrap(), finding)).unwrap()
    }

    #[test]
    fn every_task_is_answered_once_and_every_file_is_covered_once() {
        let answer = answer(false);
        assert_eq!(answer.as_array().unwrap().len(), 2);
        assert_eq!(
            answer[0]["file_coverage"],
            json!([{"path": "src/a (1 lines).rs", "total_lines": 88}, {"path": "src/\"b\".rs", "total_lines": 0}])
        );
        assert_eq!(answer[0]["findings"], json!([]));
        assert_eq!(answer[0].get("verification"), None);
    }

    #[test]
    fn a_finding_names_a_line_that_exists_and_quotes_what_was_shown() {
        let answer = answer(true);
        let finding = &answer[0]["findings"][0];
        assert_eq!(
            finding["affected_files"],
            json!([{"path": "src/a (1 lines).rs", "line_start": 11, "line_end": 11}])
        );
        assert_eq!(finding["quote"], "fn main() {}");
        assert_eq!(finding["lens"], answer[0]["lens"]);
    }

    #[test]
    fn a_second_look_decides_and_finds_nothing_new() {
        let answer = answer(true);
        assert_eq!(answer[1]["findings"], json!([]));
        assert_eq!(
            answer[1]["verification"]["verdicts"][1],
            json!({"finding_id": "COR-00000002", "verdict": "confirm"})
        );
    }
}
