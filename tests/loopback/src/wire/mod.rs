//! The protocols' documents and streams.

mod chat;
mod converse;
mod events;
mod gemini;
mod messages;
mod responses;

pub use events::{render_break, render_events, render_whole};

#[cfg(test)]
mod tests;
