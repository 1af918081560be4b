//! What the engine wants done, and what it decided on the way.

use serde::{Deserialize, Serialize};

use super::event::{RequestKey, SlotKey};
use super::window::WindowKey;
use crate::id::TaskId;

/// What is to be done, in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Lease the slot and launch it.
    Launch {
        /// Slot.
        slot: SlotKey,
        /// Lane.
        lane: String,
        /// Tasks, as in the packet.
        tasks: Vec<TaskId>,
        /// From 1: the highest among the tasks.
        attempt: u32,
        /// What it may cost at most, where the run has a budget of money.
        micro_usd: Option<u64>,
    },
    /// Let the request go to the service.
    AdmitRequest {
        /// Slot.
        slot: SlotKey,
        /// Request.
        request: RequestKey,
    },
    /// Answer the request with a refusal that says when to come back.
    RefuseRequest {
        /// Slot.
        slot: SlotKey,
        /// Request.
        request: RequestKey,
        /// Milliseconds from now.
        retry_after_ms: u64,
    },
    /// These tasks are given up.
    Park {
        /// Tasks.
        tasks: Vec<TaskId>,
        /// Why, for the report.
        reason: String,
    },
    /// A lane takes nothing more in this run.
    LaneClosed {
        /// Lane.
        lane: String,
        /// Why.
        reason: String,
    },
    /// Cut the task into parts and answer with `Event::SplitInto`; the run does not end before the answer.
    Split {
        /// The task.
        task: TaskId,
        /// Tokens that the prompt of one part may have at most.
        most_tokens: u64,
    },
    /// Come back with `Event::Woke` at this instant, or earlier with another event. It holds until the next event.
    Wait {
        /// Milliseconds since the Unix epoch, always later than the event.
        until_ms: u64,
    },
    /// A decision to be recorded.
    Note(Decision),
    /// Nothing runs and nothing can be started.
    End(End),
}

/// How dispatching ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Every task is done or parked.
    Complete,
    /// What is left was handed to persons.
    Waiting,
    /// No lane can take what is left; one line a cause.
    Blocked(Vec<String>),
    /// A budget is spent: `launches`, `tokens` or `usd`.
    Budget(String),
    /// The deadline has come, or nothing can start before it.
    Deadline,
    /// It was asked to stop.
    Drained,
}

/// Why a packet was given to a lane, or why not: one row of `assize quota why`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// When, milliseconds since the Unix epoch.
    pub at_ms: u64,
    /// The slot, if it was admitted.
    pub slot: Option<SlotKey>,
    /// First task of the packet.
    pub first_task: TaskId,
    /// Tasks of the packet.
    pub tasks: usize,
    /// The lane.
    pub lane: String,
    /// Whether it was admitted.
    pub admitted: bool,
    /// One line.
    pub reason: String,
    /// The windows that were consulted.
    pub windows: Vec<Consulted>,
    /// Which of them decided: the one that fits last.
    pub binding: Option<usize>,
    /// When the packet fits, if time alone makes it fit.
    pub fits_at_ms: Option<u64>,
}

/// One window as it stood at a decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Consulted {
    /// The window.
    pub key: WindowKey,
    /// What was left before the decision, in the window's unit; negative when more was drawn than expected.
    pub level: f64,
    /// What the packet is expected to draw.
    pub draw: f64,
    /// What the window holds when it is full; absent when that is not known.
    pub capacity: Option<f64>,
    /// When the draw fits; absent when it never does, or when that depends on launches that run.
    pub fits_at_ms: Option<u64>,
}
