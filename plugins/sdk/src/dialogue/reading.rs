//! The tool that reads files of the launch: which calls are served, and what the model is shown.

use serde_json::Value;

use crate::event::Source;

use super::answer::{READ_FILE, SUBMIT_RESULTS};
use super::api::{Answered, Call};

/// Rounds in which files are read. A review of a packet needs few; a model that goes on is not reviewing.
pub(super) const ROUNDS: u32 = 16;
/// Calls of one round that are served, so that the host's bound for all files together holds.
const CALLS: usize = 16;
/// Bytes asked of one file.
pub(super) const FILE_BYTES: u64 = 1024 * 1024;
/// Bytes shown for one call.
const CALL_BYTES: usize = 64 * 1024;
/// Bytes shown in one launch.
const LAUNCH_BYTES: usize = 512 * 1024;
/// Bytes that a token of context is counted as; half of what a token holds, because the rest is the prompt's and the answer's.
const BYTES_PER_TOKEN: u64 = 2;

/// What a launch may still read.
#[derive(Debug)]
pub(super) struct Reading {
    allowed: Vec<String>,
    rounds: u32,
    bytes_left: usize,
}

/// Calls of one round, judged.
#[derive(Debug, Default)]
pub(super) struct Asked {
    calls: Vec<(Call, Judged)>,
}

/// What becomes of a call.
#[derive(Debug, PartialEq, Eq)]
enum Judged {
    Read(Wish),
    Noted,
    No(String),
}

/// Lines of a file.
#[derive(Debug, PartialEq, Eq)]
struct Wish {
    path: String,
    first: u64,
    last: u64,
}

impl Reading {
    /// A launch that may read these paths.
    pub(super) fn new(allowed: &[String], context_tokens: Option<u64>) -> Self {
        let of_context = context_tokens.map(|tokens| tokens.saturating_mul(BYTES_PER_TOKEN));
        let bytes_left = of_context.and_then(|bytes| usize::try_from(bytes).ok()).unwrap_or(LAUNCH_BYTES);
        Self { allowed: allowed.to_vec(), rounds: 0, bytes_left: bytes_left.min(LAUNCH_BYTES) }
    }

    /// Counts a round. Whether the model may have it: one more than are served, in which it is told so.
    pub(super) fn take_round(&mut self) -> bool {
        self.rounds = self.rounds.saturating_add(1);
        self.rounds <= ROUNDS + 1
    }

    /// Judges the calls of a round.
    pub(super) fn judge(&self, calls: Vec<Call>) -> Asked {
        let judged = calls.into_iter().enumerate().map(|(at, call)| {
            let judged = self.judge_call(at, &call);
            (call, judged)
        });
        Asked { calls: judged.collect() }
    }

    fn judge_call(&self, at: usize, call: &Call) -> Judged {
        if call.name == SUBMIT_RESULTS {
            return Judged::Noted;
        }
        if call.name != READ_FILE {
            return Judged::No("there is no such tool".to_owned());
        }
        if self.rounds >= ROUNDS || self.bytes_left == 0 {
            return Judged::No("no more is read in this review; give the answer now".to_owned());
        }
        if at >= CALLS {
            return Judged::No(format!("only {CALLS} calls are served at once; ask again"));
        }
        match read_wish(&call.input) {
            Ok(wish) if self.allowed.contains(&wish.path) => Judged::Read(wish),
            Ok(_) => Judged::No("the path is not among the files of this request; write it as listed".to_owned()),
            Err(why) => Judged::No(why),
        }
    }

    /// Answers the calls of a round from the files that the host read. A file that it did not read is told as such.
    pub(super) fn answer(&mut self, asked: Asked, sources: &[Source]) -> Vec<Answered> {
        asked.calls.into_iter().map(|(call, judged)| self.answer_call(call, judged, sources)).collect()
    }

    fn answer_call(&mut self, call: Call, judged: Judged, sources: &[Source]) -> Answered {
        let (text, is_error) = match judged {
            Judged::Noted => ("noted".to_owned(), false),
            Judged::No(why) => (why, true),
            Judged::Read(wish) => match sources.iter().find(|source| source.path == wish.path) {
                Some(source) => match render_lines(source, &wish, CALL_BYTES.min(self.bytes_left)) {
                    Ok(text) => (text, false),
                    Err(why) => (why, true),
                },
                None => ("the file could not be read".to_owned(), true),
            },
        };
        self.bytes_left = self.bytes_left.saturating_sub(text.len());
        Answered { id: call.id, name: call.name, text, is_error }
    }
}

impl Asked {
    /// Paths to be read, each once.
    pub(super) fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = Vec::new();
        for (_, judged) in &self.calls {
            if let Judged::Read(wish) = judged
                && !paths.contains(&wish.path)
            {
                paths.push(wish.path.clone());
            }
        }
        paths
    }
}

fn read_wish(input: &str) -> Result<Wish, String> {
    let value: Value = serde_json::from_str(input).map_err(|_| "the arguments are no JSON object".to_owned())?;
    let Some(path) = value["path"].as_str() else { return Err("`path` is missing".to_owned()) };
    let line = |name: &str, otherwise: u64| match &value[name] {
        Value::Null => Ok(otherwise),
        // Some models write numbers as text.
        Value::String(text) => text.trim().parse().map_err(|_| format!("`{name}` is no line number")),
        number => number.as_u64().ok_or_else(|| format!("`{name}` is no line number")),
    };
    let (first, last) = (line("first_line", 1)?.max(1), line("last_line", u64::MAX)?);
    if first > last {
        return Err("`first_line` is greater than `last_line`".to_owned());
    }
    Ok(Wish { path: path.strip_prefix("./").unwrap_or(path).to_owned(), first, last })
}

/// Whole lines with their numbers, as many as fit; the line above them says which they are.
fn render_lines(source: &Source, wish: &Wish, cap: usize) -> Result<String, String> {
    let total = (1u64..).zip(source.text.split_terminator('\n')).last().map_or(0, |(number, _)| number);
    if total < wish.first {
        let cut = if source.truncated { ", as far as it is read" } else { "" };
        return Err(format!("the file has {total} lines{cut}"));
    }
    let mut lines = String::new();
    let mut shown = None;
    for (number, line) in (1u64..).zip(source.text.split_terminator('\n')) {
        if number < wish.first {
            continue;
        }
        let line = line.strip_suffix('\r').unwrap_or(line);
        if number > wish.last || lines.len() + line.len() + 24 > cap {
            break;
        }
        lines.push_str(&format!("{number}| {line}\n"));
        shown = Some(number);
    }
    let Some(shown) = shown else { return Err(format!("line {} is too long to be shown", wish.first)) };
    let more = if source.truncated { " or more" } else { "" };
    Ok(format!("lines {} to {shown} of {total}{more}\n{lines}", wish.first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(input: &str) -> Call {
        Call { id: "c".to_owned(), name: READ_FILE.to_owned(), input: input.to_owned() }
    }

    fn source(text: &str) -> Source {
        Source { path: "a.rs".to_owned(), text: text.to_owned(), truncated: false }
    }

    fn ask(reading: &mut Reading, input: &str, text: &str) -> (String, bool) {
        let asked = reading.judge(vec![call(input)]);
        let answers = reading.answer(asked, &[source(text)]);
        (answers[0].text.clone(), answers[0].is_error)
    }

    fn reading() -> Reading {
        Reading::new(&["a.rs".to_owned()], None)
    }

    #[test]
    fn lines_come_numbered_and_whole() {
        let text = "one\r\ntwo\nthree";
        for (input, shown) in [
            (r#"{"path":"a.rs"}"#, "lines 1 to 3 of 3\n1| one\n2| two\n3| three\n"),
            (r#"{"path":"./a.rs","first_line":2,"last_line":2}"#, "lines 2 to 2 of 3\n2| two\n"),
            (r#"{"path":"a.rs","first_line":"3","last_line":99}"#, "lines 3 to 3 of 3\n3| three\n"),
            (r#"{"path":"a.rs","first_line":0,"last_line":1}"#, "lines 1 to 1 of 3\n1| one\n"),
        ] {
            assert_eq!(ask(&mut reading(), input, text), (shown.to_owned(), false), "{input}");
        }
    }

    #[test]
    fn what_cannot_be_served_is_told_and_nothing_is_read_for_it() {
        for input in [
            "",
            "[]",
            r#"{"path":"/etc/passwd"}"#,
            r#"{"path":"../a.rs"}"#,
            r#"{"path":7}"#,
            r#"{"path":"a.rs","first_line":-1}"#,
            r#"{"path":"a.rs","first_line":9,"last_line":8}"#,
            r#"{"path":"a.rs","last_line":"end"}"#,
        ] {
            let reading = reading();
            let asked = reading.judge(vec![call(input)]);
            assert!(asked.paths().is_empty(), "{input}");
            assert!(ask(&mut Reading::new(&["a.rs".to_owned()], None), input, "x").1, "{input}");
        }
        assert_eq!(
            ask(&mut reading(), r#"{"path":"a.rs","first_line":9}"#, "x"),
            ("the file has 1 lines".into(), true)
        );
    }

    #[test]
    fn a_path_is_asked_for_once_a_round() {
        let asked = reading().judge(vec![call(r#"{"path":"a.rs"}"#), call(r#"{"path":"a.rs","first_line":2}"#)]);
        assert_eq!(asked.paths(), ["a.rs"]);
    }

    #[test]
    fn a_long_file_is_shown_up_to_a_whole_line() {
        let long = "x".repeat(999);
        let text = format!("{long}\n").repeat(200);
        let (shown, is_error) = ask(&mut reading(), r#"{"path":"a.rs"}"#, &text);
        assert!(!is_error && shown.len() < CALL_BYTES + 100 && shown.ends_with("x\n"));
        let last = shown.lines().last().and_then(|line| line.split_once('|')).map(|(number, _)| number.to_owned());
        assert!(shown.starts_with(&format!("lines 1 to {} of 200\n", last.unwrap())));
        let (told, is_error) = ask(&mut reading(), r#"{"path":"a.rs"}"#, &"x".repeat(CALL_BYTES));
        assert_eq!((told.as_str(), is_error), ("line 1 is too long to be shown", true));
    }

    #[test]
    fn a_launch_reads_only_so_much() {
        let mut small = Reading::new(&["a.rs".to_owned()], Some(30));
        assert!(!ask(&mut small, r#"{"path":"a.rs"}"#, "0123456789").1);
        assert!(ask(&mut small, r#"{"path":"a.rs"}"#, "0123456789012345678901234567").1);
        let mut many = reading();
        let rounds = (0..100).take_while(|_| many.take_round()).count();
        assert_eq!(rounds as u32, ROUNDS + 1);
        assert!(ask(&mut many, r#"{"path":"a.rs"}"#, "x").0.contains("give the answer now"));
    }

    #[test]
    fn more_calls_than_are_served_all_get_an_answer() {
        let calls: Vec<Call> = (0..40).map(|_| call(r#"{"path":"a.rs"}"#)).collect();
        let mut reading = reading();
        let asked = reading.judge(calls);
        let answers = reading.answer(asked, &[source("x")]);
        assert_eq!((answers.len(), answers.iter().filter(|answer| answer.is_error).count()), (40, 40 - CALLS));
    }
}
