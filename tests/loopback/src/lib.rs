//! A model API on the loopback interface that speaks Anthropic Messages, OpenAI Chat Completions and Responses, Gemini and
//! Bedrock Converse. What it answers is chosen by the first segments of the address,
//! `http://127.0.0.1:PORT/-/SCENARIO/v1/messages`, so that one server plays all parts at once. `SCENARIOS.md` lists them.
//!
//! `~TAG` after a scenario keeps the state of concurrent clients apart. Without a scenario the server plays `ok`.
//! `GET /__requests` tells what was asked; credentials are never kept.

mod answer;
mod asked;
mod body;
mod connection;
mod credential;
mod gzip;
mod http;
mod journal;
mod latency;
mod limits;
mod prompt;
mod protocol;
mod refusal;
mod reply;
mod said;
mod scenario;
mod scenario_words;
mod schema;
mod send;
mod server;
mod shared;
mod wire;

pub use answer::render_answer;
pub use journal::Entry;
pub use latency::Latency;
pub use prompt::{AskedTask, Prompt, read_prompt};
pub use server::LoopbackApi;
