//! How tasks become launches: one pure engine that takes events and gives commands. It reads no clock; `now_ms` comes in.

mod admission;
mod budget;
mod command;
mod cooldown;
mod draw;
mod engine;
mod event;
mod fitting;
mod lane;
mod queue;
mod refusal;
mod requests;
mod settle;
mod shared;
mod spec;
mod window;
mod windows;

pub use budget::Spent;
pub use command::{Command, Consulted, Decision, End};
pub use cooldown::Cooldown;
pub use draw::Draws;
pub use engine::Dispatch;
pub use event::{Event, Packet, PacketTask, RequestAsked, RequestEnded, RequestKey, Settled, SlotKey, SlotUsage};
pub use lane::{LaneMemory, LaneState, LaneView};
pub use settle::costs_an_attempt;
pub use shared::{SharedState, WindowView};
pub use spec::{LaneSpec, Limits, Pacing, Price, Scope, WindowSpec};
pub use window::{Dimension, Fit, Window, WindowKey};

#[cfg(test)]
mod tests;
