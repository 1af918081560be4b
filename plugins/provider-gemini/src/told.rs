//! What a program told of its launch, read defensively: unknown events and keys, keys in any order, lines that are no
//! JSON, a last line that was cut, and output whose middle was not kept.

mod gemini;
mod qwen;

use assize_plugin_sdk::{Exited, Usage, derive_tail, strip_escapes};
use serde_json::Value;

pub use gemini::read_gemini;
pub use qwen::read_qwen;

/// Bytes at the end of standard error that are read.
const STDERR_BYTES: usize = 16 * 1024;
/// Lines of it that are kept; the last ones say why the program ended.
const STDERR_LINES: usize = 200;

/// The program's own last word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Whether it calls itself a success.
    pub succeeded: bool,
    /// Word of the program for its error.
    pub kind: String,
    /// Sentence of the error.
    pub said: String,
}

/// A request that was refused and that the program tries again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retry {
    /// The event as JSON; empty where only a line told of it.
    pub event: String,
    /// Sentence of the refusal.
    pub said: String,
}

/// All that is kept of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// The last event `result`.
    pub ending: Option<Ending>,
    /// The last message of the model that is not empty.
    pub answer: String,
    /// Whether output within that message was not kept.
    pub torn: bool,
    /// What it cost.
    pub usage: Option<Usage>,
    /// Model that answered.
    pub model: Option<String>,
    /// Version of the program.
    pub version: Option<String>,
    /// The retry that nothing has followed.
    pub retry: Option<Retry>,
    /// Last lines of standard error, without colours.
    pub stderr: Vec<String>,
}

/// The objects of an output, one a line; `None` stands for a line that is none.
fn read_events(stdout: &[u8]) -> impl Iterator<Item = Option<Value>> {
    let lines = stdout.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii).filter(|line| !line.is_empty());
    lines.map(|line| serde_json::from_slice::<Value>(line).ok().filter(Value::is_object))
}

fn read_stderr(exited: &Exited) -> Vec<String> {
    let text = strip_escapes(&derive_tail(&exited.stderr, STDERR_BYTES));
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(STDERR_LINES)..].iter().map(|line| (*line).to_owned()).collect()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn owned(value: &Value, key: &str) -> Option<String> {
    value[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
