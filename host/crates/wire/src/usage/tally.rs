//! What an answer was seen to cost.

use serde_json::Value;

use super::parts::Parts;
use super::read::read;

/// Bytes of a token, about, where nothing counts them.
pub(crate) const BYTES_PER_TOKEN: u64 = 4;

/// Tokens of one request, as the service counted them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Tokens in, with those that a cache was read or written for.
    pub input: u64,
    /// Tokens out, with those of hidden reasoning.
    pub output: u64,
    /// Those of `input` that were read from a cache.
    pub cached: u64,
    /// Model that answered.
    pub model: Option<String>,
    /// Requests to a model: one.
    pub requests: u32,
}

/// All that is known after some events. Later events correct earlier ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Whether the service counted at all.
    pub counted: bool,
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_written: u64,
    pub model: Option<String>,
    /// Why the answer ended: the reason that the service gives, or the type of its error.
    pub stop: Option<String>,
    /// What an error inside an answer that began well says, JSON.
    pub error: Option<String>,
    /// Bytes of text, reasoning and tool arguments that passed.
    pub text_bytes: u64,
}

impl Tally {
    pub fn counted(&self) -> Option<Counted> {
        self.counted.then(|| Counted {
            input: self.input.saturating_add(self.cache_read).saturating_add(self.cache_written),
            output: self.output,
            cached: self.cache_read,
            model: self.model.clone(),
            requests: 1,
        })
    }

    pub fn estimated_output_tokens(&self) -> u64 {
        self.text_bytes.div_ceil(BYTES_PER_TOKEN)
    }
}

/// Reads a body as it passes.
#[derive(Default)]
pub(crate) struct UsageCounter {
    parts: Parts,
    tally: Tally,
}

impl UsageCounter {
    pub fn push(&mut self, bytes: &[u8]) {
        let tally = &mut self.tally;
        self.parts.push(bytes, &mut |text| absorb(text, tally));
    }

    pub fn finish(&mut self) {
        let tally = &mut self.tally;
        self.parts.finish(&mut |text| absorb(text, tally));
    }

    pub fn tally(&self) -> &Tally {
        &self.tally
    }
}

/// Texts that are no JSON, such as `[DONE]`, say nothing.
fn absorb(text: &[u8], tally: &mut Tally) {
    if let Ok(value) = serde_json::from_slice::<Value>(text) {
        read(&value, tally);
    }
}
