//! A model API on the loopback interface that speaks the Anthropic Messages protocol. What it answers is chosen by the
//! first segments of the address, `http://127.0.0.1:PORT/-/SCENARIO/v1/messages`, so that one server plays all parts at once.
//!
//! | scenario | answer |
//! |---|---|
//! | `ok` | a valid result for every task of an audit prompt; `OK` to anything else |
//! | `429` | `rate_limit_error`, the windows of the service, `retry-after: 30` |
//! | `429-once` | the same with `retry-after: 1` to the first request, then as `ok` |
//! | `529`, `500`, `401`, `400-too-long` | the service's error of that name |
//! | `hang` | nothing, until the client leaves |
//! | `stall`, `disconnect` | half of the answer, then silence or the end of the connection |
//! | `badjson`, `empty` | status 200 with half a document, or with none |
//! | `bucket`, `bucket-LIMIT-SECONDS` | a token bucket for each credential, with headers that tell the truth; 5 in 10 s unless said |
//!
//! `-findings` after the name puts one finding into each answer; `~TAG` after that keeps the state of concurrent clients apart.
//! Without a scenario the server plays `ok`. `GET /__requests` tells what was asked; credentials are never kept.

mod answer;
mod connection;
mod http;
mod journal;
mod limits;
mod message;
mod prompt;
mod reply;
mod scenario;
mod server;

pub use answer::render_answer;
pub use journal::Entry;
pub use prompt::{AskedTask, Prompt, read_prompt};
pub use server::LoopbackApi;
