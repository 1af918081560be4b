//! What providers share that talk to a model themselves: the conversation, the files that the model may read, the answer,
//! and how it all ends. A provider adds what is particular to its service, as a [`ModelApi`].

mod address;
mod answer;
mod api;
mod evidence;
mod launch;
mod reading;
mod verdict;

pub use address::{check_base_url, encode_segment};
pub use answer::{Brief, READ_FILE, SUBMIT_RESULTS, Tool, join_submissions, unwrap_results};
pub use api::{Answered, Call, Ending, ModelApi, Refusal, Reply, Round, Settings};
pub use launch::Dialogue;
pub use verdict::judge_status;
