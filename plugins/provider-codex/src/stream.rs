//! The program's events, read defensively: unknown events and keys, lines that are no JSON, a last line that was cut, and
//! output whose middle was not kept.

use assize_plugin_sdk::{Usage, strip_escapes};
use serde_json::Value;

/// Lines that are no JSON and are kept, for messages of the start.
const KEPT_LINES: usize = 20;

/// How the last turn ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The event `turn.completed`.
    Completed,
    /// The event `turn.failed`, with its sentence.
    Failed(String),
}

/// All that is kept of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// How the last turn ended; none when no turn did.
    pub ending: Option<Ending>,
    /// Text of the last message of the model.
    pub answer: String,
    /// What the turns cost.
    pub usage: Option<Usage>,
    /// Sentence of the last event `error` that is no sign of a retry.
    pub error: Option<String>,
    /// Why the program tried again last.
    pub retry: Option<String>,
    /// Whether any event was seen.
    pub began: bool,
    /// Lines that are no JSON.
    pub plain_lines: Vec<String>,
}

/// Reads an output.
pub fn read_stream(stdout: &[u8]) -> Stream {
    let mut stream = Stream::default();
    for line in stdout.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(event) if event.is_object() => stream.take(&event),
            _ if line.first() == Some(&b'{') => {}
            _ => stream.take_plain(line),
        }
    }
    stream
}

impl Stream {
    fn take(&mut self, event: &Value) {
        match text(event, "type") {
            "thread.started" => self.began = true,
            "turn.started" => {
                self.began = true;
                self.ending = None;
            }
            // An item that is called an error is a warning: the program goes on after it.
            "item.completed" => self.take_item(&event["item"]),
            "turn.completed" => {
                self.ending = Some(Ending::Completed);
                self.take_usage(&event["usage"]);
            }
            "turn.failed" => self.ending = Some(Ending::Failed(text(&event["error"], "message").to_owned())),
            "error" => self.take_error(text(event, "message")),
            _ => {}
        }
    }

    fn take_item(&mut self, item: &Value) {
        if text(item, "type") == "agent_message" && !text(item, "text").trim().is_empty() {
            self.answer = text(item, "text").to_owned();
        }
    }

    /// Each turn reports its own cost.
    fn take_usage(&mut self, usage: &Value) {
        let Some(input) = usage["input_tokens"].as_u64() else { return };
        let cached = usage["cached_input_tokens"].as_u64().unwrap_or(0).min(input);
        let output = usage["output_tokens"].as_u64().unwrap_or(0);
        let sum = self.usage.get_or_insert_with(Usage::default);
        let add = |to: &mut Option<u64>, more: u64| *to = Some(to.unwrap_or(0).saturating_add(more));
        add(&mut sum.input_tokens, input - cached);
        add(&mut sum.cached_input_tokens, cached);
        add(&mut sum.output_tokens, output);
    }

    fn take_error(&mut self, message: &str) {
        if message.starts_with("Reconnecting...") {
            self.retry = Some(message.to_owned());
        } else if !message.is_empty() {
            self.error = Some(message.to_owned());
        }
    }

    fn take_plain(&mut self, line: &[u8]) {
        if self.plain_lines.len() < KEPT_LINES && line.len() < 2000 {
            self.plain_lines.push(strip_escapes(&String::from_utf8_lossy(line)));
        }
    }
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DONE: &str = r#"{"type":"turn.completed","usage":{"input_tokens":1234,"cached_input_tokens":1000,"cache_write_input_tokens":0,"output_tokens":3,"reasoning_output_tokens":0}}"#;
    const MESSAGE: &str =
        r#"{"type":"item.completed","item":{"id":"item_2","type":"agent_message","text":"[]","new":1}}"#;

    #[test]
    fn foreign_lines_events_and_keys_do_not_disturb() {
        let output =
            format!("warming up\n{{\"type\":\"aurora\"}}\n\n{MESSAGE}\r\n[1,2]\n{DONE}\n{{\"type\":\"turn.fai");
        let stream = read_stream(output.as_bytes());
        assert_eq!((stream.ending, stream.answer.as_str()), (Some(Ending::Completed), "[]"));
        assert_eq!(stream.plain_lines, ["warming up", "[1,2]"]);
        let usage = stream.usage.expect("usage");
        assert_eq!(
            (usage.input_tokens, usage.cached_input_tokens, usage.output_tokens),
            (Some(234), Some(1000), Some(3))
        );
    }

    #[test]
    fn the_last_message_that_says_something_is_the_answer() {
        let say = |text: &str| {
            format!("{{\"type\":\"item.completed\",\"item\":{{\"type\":\"agent_message\",\"text\":\"{text}\"}}}}\n")
        };
        let output = format!("{}{}{}{DONE}", say("I look"), say("[]"), say(" "));
        assert_eq!(read_stream(output.as_bytes()).answer, "[]");
    }

    #[test]
    fn output_of_a_tool_that_looks_like_an_event_is_none() {
        let inner = DONE.replace('"', "\\\"");
        let output = format!(
            "{{\"type\":\"item.completed\",\"item\":{{\"type\":\"command_execution\",\"aggregated_output\":\"{inner}\\n{inner}\"}}}}"
        );
        assert_eq!(read_stream(output.as_bytes()), Stream::default());
    }

    #[test]
    fn a_turn_that_failed_and_was_begun_again_is_open() {
        let failed = r#"{"type":"turn.failed","error":{"message":"x"}}"#;
        let output = format!("{failed}\n{{\"type\":\"turn.started\"}}\n");
        assert_eq!(read_stream(output.as_bytes()).ending, None);
        let output = format!("{DONE}\n{failed}");
        assert_eq!(read_stream(output.as_bytes()).ending, Some(Ending::Failed("x".to_owned())));
    }

    #[test]
    fn damage_and_depth_are_survived() {
        let deep = format!("{{\"type\":{}", "[".repeat(100_000));
        assert_eq!(read_stream(deep.as_bytes()), Stream::default());
        assert_eq!(read_stream(&[0xff, 0xfe, b'\n', b'{']).ending, None);
        let odd = r#"{"type":"turn.completed","usage":{"input_tokens":1,"cached_input_tokens":18446744073709551615}}"#;
        assert_eq!(read_stream(odd.as_bytes()).usage.expect("usage").input_tokens, Some(0));
    }
}
