//! How tasks become launches: one pure engine that takes events and gives commands. It reads no clock; `now_ms` comes in.

mod engine;
mod lane;

pub use engine::{Command, Dispatch, End, Event, LaneSpec, Limits, Settled, SlotKey, costs_an_attempt};
pub use lane::{Cooldown, LaneState, LaneView};

#[cfg(test)]
mod tests;
