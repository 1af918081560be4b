//! Finds the results in what a reviewer wrote: JSON that is bare, fenced, wrapped, surrounded by prose, encoded twice,
//! one value a line, or cut off.
//!
//! Only whole values are taken, never repaired ones. Depth is bounded by the parser's own limit.

use serde_json::Value;

use super::problem::Problem;

/// Layers of strings around JSON that are taken off.
const ENCODINGS: usize = 3;
/// Places at which a value may be tried in vain in text that is not JSON as a whole.
const FAILURES: usize = 1_000;

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Extracted {
    /// Values that stand for results, in their order. Nothing is known of them but that they are there.
    pub items: Vec<Value>,
    /// What had to be taken off to get at them.
    pub notes: Vec<Problem>,
}

/// The results in a text; an error when there is no JSON that could be one.
pub(super) fn extract_results(text: &str) -> Result<Extracted, Problem> {
    let text = text.trim_start_matches('\u{feff}').trim_matches(|c: char| c.is_whitespace() || c == '\0');
    if text.is_empty() {
        return Err(Problem::new("empty-answer", "", "the answer is empty"));
    }
    let mut found = Extracted::default();
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        take_whole(value, &mut found);
        return if found.items.is_empty() && !is_empty_list(text) {
            Err(Problem::new("no-results", "", "the answer is JSON but holds no array of results"))
        } else {
            Ok(found)
        };
    }
    scan_prose(text, &mut found);
    if found.items.is_empty() {
        for block in fenced_blocks(text) {
            if let Ok(value) = serde_json::from_str::<Value>(block.trim()) {
                let whole_list = value.as_array().is_some_and(Vec::is_empty);
                take_whole(value, &mut found);
                if whole_list || !found.items.is_empty() {
                    found.notes.push(Problem::new("fenced", "", "the answer stood in a code fence"));
                    return Ok(found);
                }
            }
        }
        return Err(Problem::new("not-json", "", "the answer holds no complete JSON result"));
    }
    Ok(found)
}

/// Whether the text is an empty array or a wrapper of one: an answer without results, but an answer.
fn is_empty_list(text: &str) -> bool {
    let value = serde_json::from_str::<Value>(text).unwrap_or_default();
    let list = value.get("results").unwrap_or(&value);
    list.as_array().is_some_and(Vec::is_empty)
}

/// Takes the results of a value that was the whole answer.
fn take_whole(value: Value, found: &mut Extracted) {
    match unwrap_strings(value, found) {
        Value::Array(items) => {
            for item in items {
                let item = unwrap_strings(item, found);
                found.items.push(item);
            }
        }
        Value::Object(mut object) if !object.contains_key("task_id") => {
            let Some(inner) = object.swap_remove("results") else { return };
            found.notes.push(Problem::new("wrapped", "", "the results stood inside an object"));
            if let Value::Array(items) = unwrap_strings(inner, found) {
                found.items.extend(items);
            }
        }
        object @ Value::Object(_) => found.items.push(object),
        _ => {}
    }
}

/// Takes strings off JSON that was encoded more than once.
fn unwrap_strings(mut value: Value, found: &mut Extracted) -> Value {
    for _ in 0..ENCODINGS {
        let Value::String(text) = &value else { break };
        let Ok(inner) = serde_json::from_str::<Value>(text.trim()) else { break };
        found.notes.push(Problem::new("double-encoded", "", "JSON stood inside a JSON string"));
        value = inner;
    }
    value
}

/// Tries a value at every bracket that could open a result; what parses is stepped over, what looks like a result is
/// taken.
fn scan_prose(text: &str, found: &mut Extracted) {
    let bytes = text.as_bytes();
    let Some(last) = text.rfind("\"task_id\"") else { return };
    let (mut at, mut failures, mut broken_array) = (0, 0, false);
    while failures < FAILURES
        && let Some(step) = bytes[at..=last].iter().position(|b| matches!(b, b'[' | b'{'))
    {
        at += step;
        if opens_result(&bytes[at..]) {
            let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
            if let Some(Ok(value)) = values.next() {
                at += values.byte_offset().saturating_sub(1);
                take_if_result(value, found);
            } else {
                failures += 1;
                broken_array |= bytes[at] == b'[' && found.items.is_empty();
            }
        }
        at += 1;
        if at > last {
            break;
        }
    }
    if !found.items.is_empty() {
        let (code, message) = if broken_array {
            ("partial-json", "the array of results was broken; only its complete results were taken")
        } else {
            ("prose-around", "the results stood in other text")
        };
        found.notes.push(Problem::new(code, "", message));
    }
}

/// Whether what follows a bracket is what follows it in a result: a name, or the object of a list.
fn opens_result(bytes: &[u8]) -> bool {
    let next = bytes[1..].iter().find(|b| !b.is_ascii_whitespace());
    match bytes[0] {
        b'[' => next == Some(&b'{'),
        _ => next == Some(&b'"'),
    }
}

/// Takes a value out of prose only when it can hardly be anything but a result.
fn take_if_result(value: Value, found: &mut Extracted) {
    match value {
        Value::Array(items) if items.iter().any(looks_like_result) => found.items.extend(items),
        Value::Object(ref object) => {
            let wrapped = object.get("results").and_then(Value::as_array);
            if looks_like_result(&value) {
                found.items.push(value);
            } else if wrapped.is_some_and(|items| items.iter().any(looks_like_result)) {
                take_whole(value, found);
            }
        }
        _ => {}
    }
}

/// Whether a value names a task and says something about it.
fn looks_like_result(value: &Value) -> bool {
    value.get("task_id").is_some() && (value.get("file_coverage").is_some() || value.get("findings").is_some())
}

/// The insides of code fences, in order.
fn fenced_blocks(text: &str) -> impl Iterator<Item = &str> {
    let mut parts = text.split("```");
    parts.next();
    let inside = parts.step_by(2);
    inside.map(|block| block.split_once('\n').map_or(block, |(_, body)| body))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r#"{"task_id":"t","file_coverage":[],"findings":[]}"#;

    fn count(text: &str) -> Option<usize> {
        extract_results(text).ok().map(|found| found.items.len())
    }

    #[test]
    fn results_are_found_however_they_are_dressed() {
        let encoded = serde_json::to_string(&format!("[{ONE}]")).expect("a string");
        let twice = serde_json::to_string(&encoded).expect("a string");
        for text in [
            format!("[{ONE}]"),
            ONE.to_owned(),
            format!("\u{feff}[{ONE}]\n\0"),
            format!("```json\n[{ONE}]\n```"),
            format!("Here [1] you are {{so}}:\n```\n[{ONE}]\n```\nNo findings [] otherwise."),
            format!("{{\"results\":[{ONE}]}}"),
            format!("{{\"results\":{encoded}}}"),
            format!("Sure: {{\"results\":[{ONE}]}} done"),
            encoded.clone(),
            twice,
            format!("```json\n{encoded}\n```"),
            format!("[{ONE},]"),
            format!("[{ONE},{{\"task_id\":\"u\",\"findings\":[{{\"a\":1}},"),
        ] {
            assert_eq!(count(&text), Some(1), "{text}");
        }
        assert_eq!(count(&format!("{ONE}\n{ONE}\n")), Some(2));
        assert_eq!(count(&format!("[{ONE}]\nand [{ONE}]")), Some(2));
    }

    #[test]
    fn what_is_no_result_is_not_taken_for_one() {
        for text in [
            "",
            "No findings.",
            "[1, 2",
            "{\"a\": 1}",
            "\"text\"",
            "true",
            "the list [1,2] is fine",
            "```\n{\"a\":1}\n```",
        ] {
            assert_eq!(count(text), None, "{text}");
        }
        assert_eq!(count("[]"), Some(0));
        assert_eq!(count("{\"results\":[]}"), Some(0));
        assert_eq!(count("```json\n[]\n```"), Some(0));
    }

    #[test]
    fn a_bomb_of_brackets_is_an_error_and_not_a_crash() {
        assert_eq!(count(&"[".repeat(300_000)), None);
        assert_eq!(count(&"{\"a\":".repeat(100_000)), None);
        assert_eq!(count(&format!("{}\"task_id\"", "{\"a\":".repeat(100_000))), None);
        assert_eq!(count(&format!("{}\"task_id\"", "[{\"a\":".repeat(100_000))), None);
        assert_eq!(count(&format!("{}{}", "[".repeat(200), "]".repeat(200))), None);
    }
}
