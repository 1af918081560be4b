//! What is said, in the protocol that was spoken: as one document, or as the pieces of a stream.

use serde_json::Value;

use crate::asked::Asked;
use crate::protocol::Protocol;
use crate::said::Said;
use crate::wire::{chat, converse, gemini, messages, responses};

/// Characters of one piece of a streamed answer.
const PIECE_CHARS: usize = 2_000;

/// A stream, each event as it goes over the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    /// Before the answer.
    pub opening: Vec<String>,
    /// The answer, piece after piece.
    pub pieces: Vec<String>,
    /// After the answer.
    pub closing: Vec<String>,
}

impl Events {
    /// All in their order.
    pub fn all(self) -> Vec<String> {
        [self.opening, self.pieces, self.closing].concat()
    }

    /// The beginning: half of the pieces at least, so that a client has begun to read an answer; never the end.
    pub fn half(mut self) -> Vec<String> {
        self.pieces.truncate(self.pieces.len().div_ceil(2));
        [self.opening, self.pieces].concat()
    }
}

/// The document.
pub fn render_whole(asked: &Asked, said: &Said) -> Value {
    match asked.protocol {
        Protocol::Messages => messages::render_whole(asked, said),
        Protocol::Chat => chat::render_whole(asked, said),
        Protocol::Responses => responses::render_whole(asked, said),
        Protocol::Gemini => gemini::render_whole(asked, said),
        Protocol::Converse => converse::render_whole(said),
    }
}

/// The stream; empty for a protocol that has none here.
pub fn render_events(asked: &Asked, said: &Said) -> Events {
    match asked.protocol {
        Protocol::Messages => messages::render_events(asked, said),
        Protocol::Chat => chat::render_events(asked, said),
        Protocol::Responses => responses::render_events(asked, said),
        Protocol::Gemini => gemini::render_events(asked, said),
        Protocol::Converse => Events::default(),
    }
}

/// The event that breaks a stream off: too many requests when `limit`, else too much load.
pub fn render_break(asked: &Asked, said: &Said, limit: bool) -> String {
    match asked.protocol {
        Protocol::Messages => messages::render_break(limit),
        Protocol::Chat => chat::render_break(limit),
        Protocol::Responses => responses::render_break(asked, said, limit),
        Protocol::Gemini => gemini::render_break(asked, limit),
        Protocol::Converse => String::new(),
    }
}

/// A text in pieces; none for no text.
pub fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(PIECE_CHARS).map(|piece| piece.iter().collect()).collect()
}

/// An event with its kind.
pub fn named_event(kind: &str, data: &Value) -> String {
    format!("event: {kind}\ndata: {data}\n\n")
}

/// An event without a kind.
pub fn plain_event(data: &Value) -> String {
    format!("data: {data}\n\n")
}
