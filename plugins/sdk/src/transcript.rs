//! The test kit: a launch replayed from data. Events go in, and each step is compared with the step that is expected.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;

use crate::describe::PluginError;
use crate::event::Event;
use crate::launch::{Launch, LaunchRequest, Step};

/// One launch, as data.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transcript {
    /// The law that it shows.
    pub title: String,
    /// What the launch starts from; members that are left out are empty.
    #[serde(default)]
    pub request: LaunchRequest,
    /// The configuration section, written as JSON instead of as text; takes the place of `request.config`.
    #[serde(default)]
    pub config: Option<Value>,
    /// The error with which the start must end; then there are no turns.
    #[serde(default)]
    pub refused: Option<Value>,
    /// What goes in and what must come out, in order.
    #[serde(default)]
    pub turns: Vec<Turn>,
}

/// One call of `next`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// The event; absent in the first turn.
    #[serde(default)]
    pub event: Option<Event>,
    /// The step that must come out. Members of an object that are left out are not compared; lists are compared whole.
    #[serde(default)]
    pub step: Option<Value>,
    /// The error that must come out instead.
    #[serde(default)]
    pub error: Option<Value>,
}

/// Where a launch did something else than its transcript says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Title of the transcript.
    pub title: String,
    /// Number of the turn from 1; 0 is the start.
    pub turn: usize,
    /// JSON path, what was expected and what came.
    pub detail: String,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: turn {}: {}", self.title, self.turn, self.detail)
    }
}

/// Replays one transcript.
///
/// # Errors
/// The first difference between what was expected and what came.
pub fn check_transcript<L: Launch>(transcript: &Transcript) -> Result<(), Mismatch> {
    let fail = |turn: usize, detail: String| Mismatch { title: transcript.title.clone(), turn, detail };
    let mut request = transcript.request.clone();
    if let Some(config) = &transcript.config {
        request.config = config.to_string();
    }
    let mut launch = match (L::start(request), &transcript.refused) {
        (Ok(launch), None) => launch,
        (Ok(_), Some(_)) => return Err(fail(0, "the start was to be refused and was not".to_owned())),
        (Err(error), expected) => {
            let expected = expected.clone().unwrap_or(Value::Null);
            return check_value(&expected, &to_json(&error), "refused").map_err(|detail| fail(0, detail));
        }
    };
    for (index, turn) in transcript.turns.iter().enumerate() {
        let came = launch.next(turn.event.clone());
        check_turn(turn, &came).map_err(|detail| fail(index + 1, detail))?;
    }
    Ok(())
}

/// Replays every transcript of a JSON list and gives all differences, one a line.
///
/// # Errors
/// The differences, or why the list could not be read.
pub fn check_transcripts<L: Launch>(json: &str) -> Result<usize, String> {
    let transcripts: Vec<Transcript> = serde_json::from_str(json).map_err(|error| error.to_string())?;
    let mismatches: Vec<String> =
        transcripts.iter().filter_map(|t| check_transcript::<L>(t).err()).map(|m| m.to_string()).collect();
    if mismatches.is_empty() { Ok(transcripts.len()) } else { Err(mismatches.join("\n")) }
}

fn check_turn(turn: &Turn, came: &Result<Step, PluginError>) -> Result<(), String> {
    match (came, &turn.step, &turn.error) {
        (Ok(step), Some(expected), None) => check_value(expected, &to_json(step), "step"),
        (Err(error), None, Some(expected)) => check_value(expected, &to_json(error), "error"),
        (_, Some(_), Some(_)) | (_, None, None) => Err("a turn expects a step or an error".to_owned()),
        (Ok(step), None, Some(_)) => Err(format!("an error was expected, came {}", to_json(step))),
        (Err(error), Some(_), None) => Err(format!("a step was expected, came {}", to_json(error))),
    }
}

fn to_json<T: serde::Serialize>(value: &T) -> Value {
    serde_json::to_value(value).unwrap_or(Value::Null)
}

/// Compares by an explicit list of what is left to compare, so that depth costs no stack.
fn check_value(expected: &Value, came: &Value, root: &str) -> Result<(), String> {
    let mut open = vec![(root.to_owned(), expected, came)];
    while let Some((path, expected, came)) = open.pop() {
        match (expected, came) {
            (Value::Object(wanted), Value::Object(have)) => {
                for (key, value) in wanted {
                    open.push((format!("{path}.{key}"), value, have.get(key).unwrap_or(&Value::Null)));
                }
            }
            (Value::Array(wanted), Value::Array(have)) if wanted.len() == have.len() => {
                for (index, (value, other)) in wanted.iter().zip(have).enumerate() {
                    open.push((format!("{path}[{index}]"), value, other));
                }
            }
            (wanted, have) if wanted == have => {}
            (wanted, have) => return Err(format!("{path}: expected {wanted}, came {have}")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Conclusion, Description, Effect, Outcome};

    struct Once;

    impl Launch for Once {
        fn describe() -> Description {
            Description {
                name: "once".to_owned(),
                version: "0.0.0".to_owned(),
                summary: String::new(),
                license: String::new(),
                serves: Vec::new(),
                config_schema: "{}".to_owned(),
                requests: Vec::new(),
                extra: Vec::new(),
            }
        }

        fn start(request: LaunchRequest) -> Result<Self, PluginError> {
            if request.config.is_empty() {
                return Err(PluginError::InvalidConfiguration("empty".to_owned()));
            }
            Ok(Once)
        }

        fn next(&mut self, event: Option<Event>) -> Result<Step, PluginError> {
            Ok(match event {
                None => Step::Perform(Effect::Wait(7)),
                Some(_) => Step::Done(Conclusion::new(Outcome::Completed, "done")),
            })
        }
    }

    #[test]
    fn a_launch_that_follows_its_transcript_passes() {
        let json = r#"[
            {"title": "ok", "config": {}, "turns": [
                {"step": {"perform": {"wait": 7}}},
                {"event": "waited", "step": {"done": {"outcome": "completed"}}}]},
            {"title": "no", "refused": {"invalid-configuration": "empty"}}]"#;
        assert_eq!(check_transcripts::<Once>(json), Ok(2));
    }

    #[test]
    fn every_kind_of_difference_is_found() {
        for (turns, detail) in [
            (r#"[{"step": {"perform": {"wait": 8}}}]"#, "step.perform.wait: expected 8, came 7"),
            (r#"[{"error": {"internal": "x"}}]"#, "an error was expected"),
            (r#"[{}]"#, "expects a step or an error"),
            (r#"[{"event": "waited", "step": {"done": {"evidence": [1]}}}]"#, "step.done.evidence"),
            (r#"[{"event": "waited", "step": {"done": {"nonsense": 1}}}]"#, "step.done.nonsense"),
        ] {
            let json = format!(r#"[{{"title": "t", "config": {{}}, "turns": {turns}}}]"#);
            let error = check_transcripts::<Once>(&json).unwrap_err();
            assert!(error.contains(detail), "{error}");
        }
        let refused = r#"[{"title": "t", "config": {}, "refused": {"internal": "x"}}]"#;
        assert!(check_transcripts::<Once>(refused).is_err());
        assert!(check_transcripts::<Once>(r#"[{"title": "t"}]"#).is_err());
    }
}
