//! Tasks, the unit of coverage, and packets, the unit of launching.

use serde::{Deserialize, Serialize};

use crate::id::{Digest, FindingId, PacketId, TaskId, UnitId};
use crate::lens::Lens;

/// Lines of a file, both inclusive, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LineRange {
    /// First line.
    pub first: u64,
    /// Last line.
    pub last: u64,
}

/// How soon a task is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Priority {
    /// Last.
    Low,
    /// In between.
    Medium,
    /// First.
    High,
}

/// One file of a task, as it was when the task was planned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskFile {
    /// Repository-relative path.
    pub path: String,
    /// Digest of the bytes.
    pub digest: Digest,
    /// Lines of the whole file.
    pub total_lines: u64,
    /// Bytes of the whole file.
    pub bytes: u64,
    /// Part to review; absent means the whole file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<LineRange>,
}

/// Why a task exists beside the base plan, and what it must decide.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deepening {
    /// `high-severity`, `low-confidence`, `conflict`, `lens-verification` or `clean-high-risk`.
    pub trigger: String,
    /// Round, from 1.
    pub round: u32,
    /// Findings to confirm, raise, lower or refute; empty where the task looks again without any.
    pub findings: Vec<FindingId>,
    /// What the reviewer is asked, rendered for the prompt: titles, places and claims of the findings.
    pub question: String,
    /// Lane whose answer is looked at again; a second opinion goes to another lane when there is one.
    pub source_lane: Option<String>,
}

/// One lens over a few files of one unit or flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// By content.
    pub id: TaskId,
    /// For people and for the worker contract's `task_id`: `<unit>:<lens>[:part-N]`, unique in one plan.
    pub name: String,
    /// Unit, or `flow:<id>`.
    pub unit: UnitId,
    /// `pass:<lens>`, `flow-pass:<lens>` or `deepening:<lens>`.
    pub pass_id: String,
    /// The lens.
    pub lens: Lens,
    /// The files, sorted by path.
    pub files: Vec<TaskFile>,
    /// How soon.
    pub priority: Priority,
    /// Highest risk among the files, 0 to 100.
    pub risk: u8,
    /// Machine words: `critical-flow`, `large-file`, `analyzer-signal`, …
    pub tags: Vec<String>,
    /// Why it was planned, for people.
    pub rationale: String,
    /// Set where it does not belong to the base plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deepening: Option<Deepening>,
}

impl Task {
    /// Lines that are to be reviewed.
    pub fn lines(&self) -> u64 {
        self.files.iter().map(|file| file.range.map_or(file.total_lines, |r| r.last + 1 - r.first)).sum()
    }
}

/// Tasks that go to one reviewer together, because they share files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packet {
    /// By its tasks.
    pub id: PacketId,
    /// The tasks, most important first.
    pub tasks: Vec<TaskId>,
    /// Highest priority among them.
    pub priority: Priority,
    /// Highest risk among them.
    pub risk: u8,
    /// Prompt, content and expected answers.
    pub estimated_tokens: u64,
}
