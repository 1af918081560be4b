//! The program's events, read defensively: unknown events and keys, keys in any order, lines that are no JSON, a last
//! line that was cut, and output whose middle was not kept.

use assize_plugin_sdk::Usage;
use serde_json::Value;

/// What an event said of a request that came to nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// HTTP status.
    pub status: Option<u16>,
    /// Word of the program, such as `rate_limit`.
    pub kind: String,
    /// Sentence of the program or the service.
    pub said: String,
}

/// All that is kept of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// Exit code that the last event `result` tells; absent when there is none.
    pub exit_code: Option<i64>,
    /// The last message of the model that is not empty.
    pub answer: String,
    /// Whether the program was told to stop.
    pub aborted: bool,
    /// The error that ended the session.
    pub error: Option<Refusal>,
    /// The last request that failed, when no answer has followed.
    pub failure: Option<Refusal>,
    /// Model that answered.
    pub model: Option<String>,
    /// Requests to the model.
    pub requests: u32,
}

impl Stream {
    /// What it cost, as far as events tell: they count no tokens.
    pub fn usage(&self) -> Option<Usage> {
        (self.requests > 0).then(|| Usage {
            model: self.model.clone(),
            requests: Some(self.requests),
            ..Usage::default()
        })
    }

    fn take(&mut self, event: &Value) {
        let data = &event["data"];
        match text(event, "type") {
            "model.call_start" => {
                self.requests = self.requests.saturating_add(1);
                self.model = owned(data, "model").or(self.model.take());
            }
            "model.call_failure" => {
                self.failure = Some(Refusal {
                    status: status(&data["statusCode"]),
                    kind: text(data, "failureKind").to_owned(),
                    said: text(data, "errorMessage").to_owned(),
                });
            }
            "assistant.turn_retry" => {
                let failure = self.failure.get_or_insert_default();
                failure.kind = text(data, "reason").to_owned();
            }
            "assistant.message" => self.take_message(data),
            "session.error" => {
                self.error = Some(Refusal {
                    status: status(&data["statusCode"]),
                    kind: text(data, "errorType").to_owned(),
                    said: text(data, "message").to_owned(),
                });
            }
            "abort" => self.aborted = true,
            "assistant.idle" => self.aborted |= data["aborted"] == true,
            "result" => self.exit_code = Some(event["exitCode"].as_i64().unwrap_or(1)),
            _ => {}
        }
    }

    fn take_message(&mut self, data: &Value) {
        let content = text(data, "content");
        self.failure = None;
        if content.trim().is_empty() {
            return;
        }
        self.error = None;
        self.answer = content.to_owned();
        self.model = owned(data, "model").or(self.model.take());
    }
}

/// Reads an output.
pub fn read_stream(stdout: &[u8]) -> Stream {
    let mut stream = Stream::default();
    for line in stdout.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
        if line.first() == Some(&b'{')
            && let Ok(event) = serde_json::from_slice::<Value>(line)
        {
            stream.take(&event);
        }
    }
    stream
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn owned(value: &Value, key: &str) -> Option<String> {
    value[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn status(value: &Value) -> Option<u16> {
    value.as_u64().and_then(|number| u16::try_from(number).ok()).filter(|status| (100..600).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAILURE: &str = r#"{"type":"model.call_failure","data":{"statusCode":429,"retryAttempt":0,"failureKind":"api","errorMessage":"slow down"}}"#;
    const RETRY: &str = r#"{"type":"assistant.turn_retry","data":{"reason":"rate_limit"}}"#;

    fn message(content: &str) -> String {
        serde_json::json!({"type": "assistant.message", "data": {"content": content, "model": "m-1"}}).to_string()
    }

    #[test]
    fn a_failure_counts_until_an_answer_follows_it() {
        let failed = read_stream(format!("{FAILURE}\n{RETRY}").as_bytes()).failure.expect("a failure");
        assert_eq!((failed.status, failed.kind.as_str(), failed.said.as_str()), (Some(429), "rate_limit", "slow down"));
        assert_eq!(read_stream(format!("{FAILURE}\n{RETRY}\n{}", message("[]")).as_bytes()).failure, None);
    }

    #[test]
    fn the_last_message_that_says_something_is_the_answer() {
        let output =
            format!("noise\n{}\n[1]\n{}\n{}\n{{\"type\":\"resul", message("first"), message("[]"), message(" "));
        let stream = read_stream(output.as_bytes());
        assert_eq!((stream.answer.as_str(), stream.exit_code), ("[]", None));
        assert_eq!(stream.model.as_deref(), Some("m-1"));
    }

    #[test]
    fn events_in_a_prompt_or_answer_are_none() {
        let quoted = serde_json::json!({"type": "user.message", "data": {"content": FAILURE}}).to_string();
        assert_eq!(read_stream(quoted.as_bytes()), Stream::default());
    }

    #[test]
    fn numbers_that_are_none_are_absent() {
        let odd = r#"{"type":"model.call_failure","data":{"statusCode":99999999999,"errorMessage":7}}"#;
        assert_eq!(read_stream(odd.as_bytes()).failure, Some(Refusal::default()));
        let deep = format!("{{\"type\":{}", "[".repeat(100_000));
        assert_eq!(read_stream(deep.as_bytes()), Stream::default());
    }
}
