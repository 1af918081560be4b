//! The tool with which the model reads more of the task's files.

use assize_plugin_sdk::{LaunchRequest, ReadSources, Source};
use serde_json::{Value, json};

use crate::reply::Call;

/// Name of the tool.
pub(crate) const READ_FILE: &str = "read_file";
/// What the model is told of it.
pub(crate) const READ_FILE_SAYS: &str = "Reads a file of these tasks, its lines numbered. Paths are as the files are listed. Leave the lines out for the whole file.";

/// Bytes of one file that the host is asked for.
const FILE_BYTES: u64 = 256 * 1024;
/// Bytes of one answer. What is beyond is cut at a line, and the model is told.
const ANSWER_BYTES: usize = 128 * 1024;
/// Bytes that a launch answers in all, because each is paid for again with every request that follows.
const LAUNCH_BYTES: usize = 512 * 1024;

/// Parameters of the tool, JSON Schema.
pub(crate) fn read_file_parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Path of the file."},
            "first_line": {"type": "integer", "minimum": 1, "description": "First line, from 1."},
            "last_line": {"type": "integer", "minimum": 1, "description": "Last line, inclusive."}
        },
        "required": ["path"],
        "additionalProperties": false
    })
}

/// Whether some line that may be read does not stand in the prompt, which shows what is under review.
pub(crate) fn hides_something(request: &LaunchRequest) -> bool {
    request.read_paths.iter().any(|path| {
        let shown_whole = |file: &assize_plugin_sdk::TaskFile| file.path == *path && file.range.is_none();
        !request.tasks.iter().flat_map(|task| &task.files).any(shown_whole)
    })
}

/// The calls of one answer, read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    asks: Vec<(Call, Result<Wish, String>)>,
}

/// Lines of a file that the model wants.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wish {
    path: String,
    first: u64,
    last: u64,
}

impl Reading {
    /// Reads what the model wants. What it may not have gets an answer that says so, and the launch goes on.
    pub(crate) fn of(calls: &[Call], read_paths: &[String]) -> Self {
        Self { asks: calls.iter().map(|call| (call.clone(), read_wish(call, read_paths))).collect() }
    }

    /// What the host is asked for; absent when nothing may be read.
    pub(crate) fn plan_effect(&self) -> Option<ReadSources> {
        let mut paths: Vec<String> =
            self.asks.iter().filter_map(|(_, wish)| Some(wish.as_ref().ok()?.path.clone())).collect();
        paths.sort();
        paths.dedup();
        (!paths.is_empty()).then(|| ReadSources { paths, cap: FILE_BYTES, extra: Vec::new() })
    }

    /// The answer to each call, and how many bytes of the launch's measure are left after them.
    pub(crate) fn answer(self, sources: &Result<Vec<Source>, String>, left: &mut Budget) -> Vec<(Call, String)> {
        let answer = |wish: Result<Wish, String>, left: &mut Budget| {
            let wish = wish?;
            let source = sources.as_ref().map_err(Clone::clone)?.iter().find(|source| source.path == wish.path);
            let source = source.ok_or_else(|| "the file has no text that could be read".to_owned())?;
            render_lines(source, &wish, left)
        };
        let mut answers = Vec::new();
        for (call, wish) in self.asks {
            let text = answer(wish, left).unwrap_or_else(|error| format!("Error: {error}"));
            answers.push((call, text));
        }
        answers
    }
}

/// Bytes of files that a launch may still answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(LAUNCH_BYTES)
    }
}

fn read_wish(call: &Call, read_paths: &[String]) -> Result<Wish, String> {
    if call.name != READ_FILE {
        return Err(format!("there is no such tool; there is {READ_FILE}"));
    }
    let arguments: Value =
        serde_json::from_str(&call.arguments).map_err(|_| "the arguments are no JSON object".to_owned())?;
    let path = arguments["path"].as_str().ok_or("the argument `path` is missing")?;
    let path = path.strip_prefix("./").unwrap_or(path);
    if !read_paths.iter().any(|known| known == path) {
        return Err("only files of these tasks can be read, their paths written as listed".to_owned());
    }
    let line = |key: &str, otherwise: u64| match &arguments[key] {
        Value::Null => Ok(otherwise),
        value => value.as_u64().filter(|line| *line > 0).ok_or_else(|| format!("`{key}` is a line from 1")),
    };
    let wish = Wish { path: path.to_owned(), first: line("first_line", 1)?, last: line("last_line", u64::MAX)? };
    if wish.first > wish.last { Err("`first_line` lies behind `last_line`".to_owned()) } else { Ok(wish) }
}

fn render_lines(source: &Source, wish: &Wish, left: &mut Budget) -> Result<String, String> {
    let room = left.0.min(ANSWER_BYTES);
    let mut text = String::new();
    let mut told = false;
    for (line, number) in source.text.split_terminator('\n').zip(1u64..) {
        if number < wish.first || number > wish.last {
            continue;
        }
        told = true;
        let shown = format!("{number}| {}\n", line.strip_suffix('\r').unwrap_or(line));
        if text.len() + shown.len() > room {
            if text.is_empty() {
                return Err("no more can be read in this review; answer with what you have".to_owned());
            }
            text.push_str("(cut here; ask for the lines from here on)\n");
            break;
        }
        text.push_str(&shown);
    }
    if !told && !source.truncated {
        return Err(format!("the file has {} lines", source.text.split_terminator('\n').count()));
    }
    if source.truncated && !text.ends_with("on)\n") {
        text.push_str("(the file goes on, but no more of it can be read)\n");
    }
    left.0 = left.0.saturating_sub(text.len());
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use assize_plugin_sdk::{Task, TaskFile};

    fn call(arguments: &str) -> Call {
        Call { id: "c".to_owned(), name: READ_FILE.to_owned(), arguments: arguments.to_owned(), opaque: None }
    }

    fn ask(arguments: &str, text: &str) -> String {
        let reading = Reading::of(&[call(arguments)], &["a.rs".to_owned()]);
        let source = Source { path: "a.rs".to_owned(), text: text.to_owned(), truncated: false };
        reading.answer(&Ok(vec![source]), &mut Budget::default()).remove(0).1
    }

    #[test]
    fn lines_keep_their_numbers() {
        assert_eq!(ask(r#"{"path":"a.rs"}"#, "one\r\ntwo\n"), "1| one\n2| two\n");
        assert_eq!(ask(r#"{"path":"./a.rs","first_line":2,"last_line":2}"#, "one\ntwo\nthree"), "2| two\n");
        assert_eq!(ask(r#"{"path":"a.rs","first_line":9}"#, "one\n"), "Error: the file has 1 lines");
    }

    #[test]
    fn what_may_not_be_had_is_answered_and_never_asked_for() {
        for (arguments, part) in [
            (r#"{"path":"../secret"}"#, "only files"),
            (r#"{"path":"/etc/passwd"}"#, "only files"),
            (r#"{"path":"b.rs"}"#, "only files"),
            (r#"{"path":7}"#, "`path`"),
            ("{\"pa", "no JSON"),
            ("[]", "`path`"),
            (r#"{"path":"a.rs","first_line":0}"#, "`first_line`"),
            (r#"{"path":"a.rs","first_line":3,"last_line":2}"#, "behind"),
        ] {
            let reading = Reading::of(&[call(arguments)], &["a.rs".to_owned()]);
            assert_eq!(reading.plan_effect(), None, "{arguments}");
            assert!(ask(arguments, "x").contains(part), "{arguments}: {}", ask(arguments, "x"));
        }
        let other = Call { name: "run".to_owned(), ..call("{}") };
        assert_eq!(Reading::of(&[other], &[]).plan_effect(), None);
    }

    #[test]
    fn a_launch_reads_only_so_much() {
        let text = format!("{}\n", "x".repeat(99)).repeat(5000);
        let source = Ok(vec![Source { path: "a.rs".to_owned(), text, truncated: true }]);
        let mut left = Budget::default();
        let mut answers = Vec::new();
        for _ in 0..8 {
            let reading = Reading::of(&[call(r#"{"path":"a.rs"}"#)], &["a.rs".to_owned()]);
            answers.push(reading.answer(&source, &mut left).remove(0).1);
        }
        assert!(answers.iter().map(String::len).sum::<usize>() <= LAUNCH_BYTES + 8 * 100);
        assert!(answers[0].ends_with("from here on)\n"));
        assert!(answers[7].starts_with("Error: no more"));
    }

    #[test]
    fn the_tool_is_offered_only_where_something_is_hidden() {
        let file = |range| TaskFile { path: "a.rs".to_owned(), total_lines: 9, range };
        let request = |range, paths: &[&str]| LaunchRequest {
            tasks: vec![Task { files: vec![file(range)], ..Task::default() }],
            read_paths: paths.iter().map(|path| (*path).to_owned()).collect(),
            ..LaunchRequest::default()
        };
        assert!(!hides_something(&request(None, &["a.rs"])));
        assert!(hides_something(&request(Some((1, 2)), &["a.rs"])));
        assert!(hides_something(&request(None, &["a.rs", "b.rs"])));
        assert!(!hides_something(&request(None, &[])));
    }
}
