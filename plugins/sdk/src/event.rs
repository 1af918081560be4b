//! What effects bring.

use serde::{Deserialize, Serialize};

use crate::describe::Extra;
use crate::text;

/// A place in a file: lines and columns from 1, bytes from 0; the last line is inside, the last column and byte are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Span {
    /// First line.
    pub start_line: u32,
    /// First column.
    pub start_column: u32,
    /// Last line.
    pub end_line: u32,
    /// Column after the last.
    pub end_column: u32,
    /// First byte.
    pub start_byte: u64,
    /// Byte after the last.
    pub end_byte: u64,
}

/// Something wrong at a place, as an analyzer's rule reports it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Finding {
    /// Rule id.
    pub rule: String,
    /// One line.
    pub title: String,
    /// Lens.
    pub lens: String,
    /// Kebab-case category.
    pub category: String,
    /// `critical`, `high`, `medium`, `low` or `info`.
    pub severity: String,
    /// `high`, `medium` or `low`.
    pub confidence: String,
    /// What is wrong and why it matters.
    pub summary: String,
    /// Where.
    pub span: Span,
    /// Exact source text.
    pub quote: String,
    /// Weakness, such as `CWE-798`.
    pub cwe: Option<String>,
    /// How to mend it.
    pub fix: Option<String>,
    /// More.
    pub extra: Extra,
}

/// A finding with where it comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(default)]
pub struct Observation {
    /// Analyzer or tool.
    pub analyzer: String,
    /// Repository-relative path.
    pub path: String,
    /// The finding.
    pub finding: Finding,
    /// More.
    pub extra: Extra,
}

/// A program has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Exited {
    /// Exit code; absent when a signal ended it.
    pub code: Option<i32>,
    /// Signal; absent when it exited by itself.
    pub signal: Option<i32>,
    /// The host ended it at its deadline.
    pub timed_out: bool,
    /// The host ended it because the run was interrupted.
    pub interrupted: bool,
    /// Head and tail of standard output.
    #[serde(with = "text::bytes")]
    pub stdout: Vec<u8>,
    /// Head and tail of standard error.
    #[serde(with = "text::bytes")]
    pub stderr: Vec<u8>,
    /// Bytes of standard output that were not kept.
    pub stdout_dropped: u64,
    /// Bytes of standard error that were not kept.
    pub stderr_dropped: u64,
    /// Wall time in milliseconds.
    pub wall_ms: u64,
    /// Whether the results file exists and is not empty.
    pub results_written: bool,
    /// More.
    pub extra: Extra,
}

/// A response has arrived.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Responded {
    /// HTTP status.
    pub status: u16,
    /// Headers in the order received.
    pub headers: Vec<(String, String)>,
    /// Body, capped.
    #[serde(with = "text::bytes")]
    pub body: Vec<u8>,
    /// Bytes that were not kept.
    pub body_dropped: u64,
    /// Milliseconds since the Unix epoch.
    pub received_at_ms: u64,
    /// More.
    pub extra: Extra,
}

/// Text of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Repository-relative path.
    pub path: String,
    /// Text.
    pub text: String,
    /// Whether it was cut.
    pub truncated: bool,
}

/// Why an effect was not carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Failure {
    /// `denied`, `unsupported`, `not-found`, `spawn`, `unreachable`, `tls`, `timeout`, `too-large`, `invalid` or `interrupted`.
    pub kind: String,
    /// One line; for `denied` it is the line that would allow it.
    pub message: String,
    /// More.
    pub extra: Extra,
}

/// What an effect brought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A program has ended.
    Exited(Exited),
    /// A response has arrived.
    Responded(Responded),
    /// Observations.
    Analyzed(Vec<Observation>),
    /// Texts.
    Sources(Vec<Source>),
    /// A person was told.
    HandedOff,
    /// Time has passed.
    Waited,
    /// The effect was refused or failed.
    Failed(Failure),
}

impl Event {
    /// The word of the interface.
    pub fn word(&self) -> &'static str {
        match self {
            Event::Exited(_) => "exited",
            Event::Responded(_) => "responded",
            Event::Analyzed(_) => "analyzed",
            Event::Sources(_) => "sources",
            Event::HandedOff => "handed-off",
            Event::Waited => "waited",
            Event::Failed(_) => "failed",
        }
    }
}
