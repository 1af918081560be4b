//! Refusals in the words of each service.

mod body;
mod headers;
mod limit_words;
mod quota_words;
mod render;
mod words;

pub use body::{Words, render_body};
pub use headers::{PLAN_SECONDS, limit_headers};
pub use limit_words::{limit_words, limited};
pub use quota_words::{daily, insufficient_quota, plan};
pub use render::{Occasion, Reason, identity, render_missing, render_refusal, request_id};
pub use words::{invalid, words_of};

#[cfg(test)]
mod tests;
