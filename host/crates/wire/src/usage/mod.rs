//! Counts tokens in answers as they pass: Anthropic Messages, OpenAI Chat Completions and Responses, Gemini; plain and
//! streamed. Never holds more than one event. Pure.

mod parts;
mod read;
mod tally;
mod whole;

pub(crate) use read::capped;
pub use tally::Counted;
#[cfg(test)]
use tally::Tally;
pub(crate) use tally::{BYTES_PER_TOKEN, UsageCounter};
pub use whole::{CountedBody, count_usage};

#[cfg(test)]
mod tests;
