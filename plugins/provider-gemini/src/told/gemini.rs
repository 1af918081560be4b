//! What Gemini CLI tells: `init`, `message`, `tool_use`, `tool_result`, `error` and `result`. The first message is the
//! prompt, echoed; it is neither answer nor error.

use assize_plugin_sdk::{Exited, Usage};
use serde_json::Value;

use super::{Ending, Retry, Told, owned, read_events, read_stderr, text};

/// Reads an output.
pub fn read_gemini(exited: &Exited) -> Told {
    let mut reading = Reading { has_gaps: exited.stdout_dropped > 0, ..Reading::default() };
    for event in read_events(&exited.stdout) {
        match event {
            Some(event) => reading.take(&event),
            None => reading.is_torn = true,
        }
    }
    reading.close_message();
    let Reading { mut told, has_gaps, .. } = reading;
    told.torn &= has_gaps;
    told.stderr = read_stderr(exited);
    let tried = |line: &&String| line.starts_with("Attempt ") && line.contains(" failed");
    told.retry = told.stderr.iter().rfind(tried).map(|line| Retry { event: String::new(), said: line.clone() });
    told
}

#[derive(Default)]
struct Reading {
    told: Told,
    /// The message that is being told, piece by piece.
    message: String,
    /// Whether a line within it could not be read.
    is_torn: bool,
    has_gaps: bool,
}

impl Reading {
    fn take(&mut self, event: &Value) {
        match text(event, "type") {
            "init" => self.told.model = owned(event, "model").filter(|model| model != "auto"),
            "message" if text(event, "role") == "assistant" => {
                if event["delta"] != true {
                    self.close_message();
                }
                self.message.push_str(text(event, "content"));
            }
            "tool_use" | "tool_result" => self.close_message(),
            "error" if text(event, "severity") != "warning" => {
                self.told.ending.get_or_insert_default().said = text(event, "message").to_owned();
            }
            "result" => self.take_result(event),
            _ => {}
        }
    }

    /// What comes next belongs to another message.
    fn close_message(&mut self) {
        if !self.message.trim().is_empty() {
            self.told.answer = std::mem::take(&mut self.message);
            self.told.torn = self.is_torn;
        }
        self.message.clear();
        self.is_torn = false;
    }

    fn take_result(&mut self, event: &Value) {
        let error = &event["error"];
        let earlier = self.told.ending.take().unwrap_or_default();
        self.told.ending = Some(Ending {
            succeeded: text(event, "status") == "success",
            kind: text(error, "type").to_owned(),
            said: owned(error, "message").unwrap_or(earlier.said),
        });
        self.told.usage = self.usage_of(&event["stats"]);
    }

    fn usage_of(&mut self, stats: &Value) -> Option<Usage> {
        let count = |key: &str| stats[key].as_u64();
        let whole = count("input_tokens");
        let model = stats["models"].as_object().and_then(|models| models.keys().next()).cloned();
        self.told.model = self.told.model.take().or(model);
        whole?;
        Some(Usage {
            input_tokens: count("input").or_else(|| Some(whole?.saturating_sub(count("cached").unwrap_or(0)))),
            output_tokens: count("output_tokens"),
            cached_input_tokens: count("cached"),
            model: self.told.model.clone(),
            ..Usage::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULT: &str = r#"{"type":"result","status":"success","stats":{"total_tokens":2474,"input_tokens":2468,"output_tokens":6,"cached":2000,"input":468,"models":{"m-1":{}}}}"#;

    fn read(lines: &[&str], dropped: u64) -> Told {
        let stdout = lines.join("\n").into_bytes();
        read_gemini(&Exited { stdout, stdout_dropped: dropped, ..Exited::default() })
    }

    fn piece(text: &str) -> String {
        serde_json::json!({"type": "message", "role": "assistant", "content": text, "delta": true}).to_string()
    }

    #[test]
    fn pieces_are_joined_and_the_echoed_prompt_is_no_answer() {
        let prompt = r#"{"type":"message","role":"user","content":"[API Error: 429] {\"type\":\"result\"}"}"#;
        let told = read(&["noise", prompt, &piece("[{"), "{broken", &piece("}]"), RESULT], 0);
        assert_eq!(told.answer, "[{}]");
        assert!(!told.torn, "nothing was dropped");
        let usage = told.usage.expect("usage");
        assert_eq!(
            (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens),
            (Some(468), Some(2000), Some(6))
        );
        assert_eq!(told.model.as_deref(), Some("m-1"));
    }

    #[test]
    fn the_last_message_that_says_something_is_the_answer() {
        let tool = r#"{"type":"tool_use","tool_name":"read_file"}"#;
        let told = read(&[&piece("I will read"), tool, &piece("[]"), tool, &piece(" "), RESULT], 0);
        assert_eq!(told.answer, "[]");
    }

    #[test]
    fn a_gap_within_the_answer_tears_it_and_one_before_it_does_not() {
        let tool = r#"{"type":"tool_result","output":"x"}"#;
        assert!(read(&[&piece("[{"), "of the answer\"}", &piece("}]"), RESULT], 9).torn);
        assert!(!read(&[&piece("first"), "half a tool result\"}", tool, &piece("[]"), RESULT], 9).torn);
    }

    #[test]
    fn an_error_without_a_result_is_an_ending_and_a_warning_is_none() {
        let error = r#"{"type":"error","severity":"error","message":"it broke"}"#;
        let warning = r#"{"type":"error","severity":"warning","message":"Loop detected"}"#;
        assert_eq!(read(&[error], 0).ending.expect("an ending").said, "it broke");
        assert_eq!(read(&[warning, "{\"type\":\"result\",\"stat"], 0).ending, None);
    }
}
