//! What happens to the engine.

use serde::{Deserialize, Serialize};

use crate::id::TaskId;
use crate::plugin::{Outcome, Reading};

/// A slot of this run, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SlotKey(pub u64);

/// A request of a launched program, unique within its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RequestKey(pub u64);

/// What has happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Packets are to be reviewed.
    Ready(Vec<Packet>),
    /// A launch has ended and was settled.
    Settled(Settled),
    /// A launched program wants to send a request; it is held until it is admitted or refused.
    RequestAsked(RequestAsked),
    /// The response of an admitted request has ended, or the request was given up.
    RequestEnded(RequestEnded),
    /// The answer to `Command::Split`.
    SplitInto {
        /// The task that was too large.
        task: TaskId,
        /// What stands in its place, each a packet of its own; empty means that it cannot be split.
        parts: Vec<PacketTask>,
    },
    /// The instant of `Command::Wait` has come.
    Woke,
    /// Nothing more is to be started.
    Drain,
}

/// Tasks that go to one reviewer together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// Its tasks.
    pub tasks: Vec<PacketTask>,
    /// Estimated tokens of its prompt: at most the sum of its tasks, because they share files.
    pub tokens: u64,
    /// The lane whose work it looks at again: another one goes first, while there is one.
    pub avoid: Option<String>,
}

/// A task of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketTask {
    /// Its id.
    pub task: TaskId,
    /// Tries that were made before.
    pub attempts: u32,
    /// Estimated tokens of a prompt with this task alone.
    pub tokens: u64,
}

/// The end of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// Slot.
    pub slot: SlotKey,
    /// What the provider said.
    pub outcome: Outcome,
    /// One line for people.
    pub message: String,
    /// Tasks with an accepted result.
    pub done: Vec<TaskId>,
    /// Tasks that must not be tried again in this run, such as those whose files have changed under the reviewer.
    pub dropped: Vec<TaskId>,
    /// Tasks that were handed to a person: they wait outside of this run.
    pub set_aside: Vec<TaskId>,
    /// What was read of the lane's limits.
    pub readings: Vec<Reading>,
    /// What it drew, as far as it was told; absent means that nothing was told.
    pub usage: Option<SlotUsage>,
    /// From 0 to 1, for cooldowns without a hint.
    pub jitter: f64,
}

/// What a launch drew, as far as it was told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotUsage {
    /// Requests to a model.
    pub requests: Option<u64>,
    /// Tokens in, cached ones included.
    pub input_tokens: Option<u64>,
    /// Tokens out.
    pub output_tokens: Option<u64>,
    /// Millionths of a US dollar.
    pub micro_usd: Option<u64>,
}

/// A request that a launched program wants to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestAsked {
    /// The launch it belongs to.
    pub slot: SlotKey,
    /// Its key.
    pub request: RequestKey,
    /// Estimated tokens in.
    pub input_tokens: u64,
    /// Tokens out that it allows at most.
    pub output_tokens: u64,
    /// Instant after which the program would give up; it is refused rather than held beyond it.
    pub until_ms: u64,
}

/// The end of a request that was admitted.
#[derive(Clone, Debug, PartialEq)]
pub struct RequestEnded {
    /// The launch it belongs to.
    pub slot: SlotKey,
    /// Its key.
    pub request: RequestKey,
    /// Whether the service said no because of a limit or of its load.
    pub rate_limited: bool,
    /// What was read of the lane's limits.
    pub readings: Vec<Reading>,
    /// Tokens in, if they were told.
    pub input_tokens: Option<u64>,
    /// Tokens out, if they were told.
    pub output_tokens: Option<u64>,
    /// From 0 to 1, for cooldowns without a hint.
    pub jitter: f64,
}
