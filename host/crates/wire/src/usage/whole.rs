//! What a whole answer says, for requests that do not pass through the gateway.

use super::tally::{Counted, UsageCounter};

/// What one answer was seen to say of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountedBody {
    /// Absent when the service did not count.
    pub usage: Option<Counted>,
    /// Tokens out by the text, for when it did not.
    pub estimated_output_tokens: u64,
    /// Why the model ended, in the service's word, or the type of the error inside the stream.
    pub stop: Option<String>,
    /// What an error inside an answer that began well says.
    pub error_text: Option<String>,
}

/// Reads a decompressed body in any of the protocols that are known, streamed or not.
pub fn count_usage(body: &[u8]) -> CountedBody {
    let mut counter = UsageCounter::default();
    counter.push(body);
    counter.finish();
    let tally = counter.tally();
    CountedBody {
        usage: tally.counted(),
        estimated_output_tokens: tally.estimated_output_tokens(),
        stop: tally.stop.clone(),
        error_text: tally.error.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_answer_is_counted_as_a_streamed_one_is() {
        let body = br#"{"model":"m","usage":{"prompt_tokens":7,"completion_tokens":3},"choices":[]}"#;
        let counted = count_usage(body);
        let usage = counted.usage.unwrap();
        assert_eq!((usage.input, usage.output, usage.model.as_deref()), (7, 3, Some("m")));
        assert_eq!(count_usage(b"no answer"), CountedBody::default());
    }
}
