//! The program's events, read defensively: unknown events and keys, lines that are no JSON, a last line that was cut, and
//! output whose middle was not kept.

use assize_plugin_sdk::{Usage, strip_escapes};
use serde_json::Value;

use crate::refusal::{Refusal, read_refusal};

/// Lines that are no JSON and are kept, for messages of the start.
const KEPT_LINES: usize = 20;

/// How the last step ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The event `step_finish`, with its reason.
    Finished(String),
    /// The event `error`.
    Failed(Refusal),
}

/// All that is kept of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// How the last step ended; none when none did, or when another has begun.
    pub ending: Option<Ending>,
    /// Text of the last step that had one.
    pub answer: String,
    /// What the steps cost.
    pub usage: Option<Usage>,
    /// Lines that are no JSON.
    pub plain_lines: Vec<String>,
    /// Whether the next text begins an answer anew.
    is_new_step: bool,
}

/// Reads an output.
pub fn read_stream(stdout: &[u8]) -> Stream {
    let mut stream = Stream::default();
    let mut dollars = 0.0;
    for line in stdout.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        match serde_json::from_slice::<Value>(line) {
            Ok(event) if event.is_object() => {
                stream.take(&event);
                dollars += event["part"]["cost"].as_f64().unwrap_or(0.0);
            }
            _ if line.first() == Some(&b'{') => {}
            _ => stream.take_plain(line),
        }
    }
    if let Some(usage) = &mut stream.usage {
        usage.cost_micro_usd = micro_usd(dollars);
    }
    stream
}

impl Stream {
    fn take(&mut self, event: &Value) {
        let part = &event["part"];
        match event["type"].as_str().unwrap_or_default() {
            "step_start" => {
                self.is_new_step = true;
                self.ending = None;
            }
            "text" => self.take_text(part["text"].as_str().unwrap_or_default()),
            "step_finish" => {
                self.ending = Some(Ending::Finished(part["reason"].as_str().unwrap_or_default().to_owned()));
                self.take_usage(&part["tokens"]);
            }
            "error" => self.ending = Some(Ending::Failed(read_refusal(&event["error"]))),
            _ => {}
        }
    }

    fn take_text(&mut self, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        if std::mem::take(&mut self.is_new_step) {
            self.answer.clear();
        }
        if !self.answer.is_empty() {
            self.answer.push('\n');
        }
        self.answer.push_str(text);
    }

    /// Each step is one request. What the total holds beyond the parts that are input was written by the model, thoughts
    /// included.
    fn take_usage(&mut self, tokens: &Value) {
        let count = |value: &Value| value.as_u64().unwrap_or(0);
        let Some(fresh) = tokens["input"].as_u64() else { return };
        let (read, written) = (count(&tokens["cache"]["read"]), count(&tokens["cache"]["write"]));
        let input = fresh.saturating_add(written);
        let beyond = count(&tokens["total"]).saturating_sub(input).saturating_sub(read);
        let usage = self.usage.get_or_insert_with(Usage::default);
        let add = |to: &mut Option<u64>, more: u64| *to = Some(to.unwrap_or(0).saturating_add(more));
        add(&mut usage.input_tokens, input);
        add(&mut usage.cached_input_tokens, read);
        add(&mut usage.output_tokens, count(&tokens["output"]).max(beyond));
        usage.requests = Some(usage.requests.unwrap_or(0).saturating_add(1));
    }

    fn take_plain(&mut self, line: &[u8]) {
        if self.plain_lines.len() < KEPT_LINES && line.len() < 2000 {
            self.plain_lines.push(strip_escapes(&String::from_utf8_lossy(line)));
        }
    }
}

/// Dollars as millionths. The program says nothing when it does not know a model's price, so nothing is no amount.
fn micro_usd(dollars: f64) -> Option<u64> {
    (dollars.is_finite() && dollars > 0.0 && dollars < 1e12).then(|| (dollars * 1e6).round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: &str = r#"{"type":"step_start","sessionID":"ses_1","part":{"type":"step-start"}}"#;
    const STOP: &str = r#"{"type":"step_finish","part":{"reason":"stop","type":"step-finish","tokens":{"total":1237,"input":234,"output":3,"reasoning":0,"cache":{"write":0,"read":1000}},"cost":0.0125}}"#;

    fn said(text: &str) -> String {
        serde_json::json!({"type": "text", "part": {"type": "text", "text": text}}).to_string()
    }

    #[test]
    fn foreign_lines_events_and_keys_do_not_disturb() {
        let output =
            format!("warming up\n{{\"type\":\"aurora\"}}\n{START}\n{}\r\n[1,2]\n{STOP}\n{{\"type\":\"err", said("[]"));
        let stream = read_stream(output.as_bytes());
        assert_eq!((stream.ending, stream.answer.as_str()), (Some(Ending::Finished("stop".to_owned())), "[]"));
        assert_eq!(stream.plain_lines, ["warming up", "[1,2]"]);
        let usage = stream.usage.expect("usage");
        assert_eq!((usage.input_tokens, usage.cached_input_tokens), (Some(234), Some(1000)));
        assert_eq!((usage.output_tokens, usage.cost_micro_usd, usage.requests), (Some(3), Some(12_500), Some(1)));
    }

    #[test]
    fn the_text_of_the_last_step_that_speaks_is_the_answer_and_costs_are_sums() {
        let output = [START, &said("I look"), STOP, START, &said("["), &said("]"), STOP, START, STOP].join("\n");
        let stream = read_stream(output.as_bytes());
        assert_eq!(stream.answer, "[\n]");
        assert_eq!(stream.usage.expect("usage").requests, Some(3));
    }

    #[test]
    fn output_of_a_tool_that_looks_like_an_event_is_none() {
        let event = serde_json::json!({"type": "tool_use", "part": {"type": "tool", "state": {"output": format!("{STOP}\n{STOP}")}}});
        assert_eq!(read_stream(event.to_string().as_bytes()), Stream::default());
    }

    #[test]
    fn a_step_that_has_begun_again_is_open() {
        let failed = r#"{"type":"error","error":{"name":"UnknownError","data":{"message":"x"}}}"#;
        assert_eq!(read_stream(format!("{failed}\n{START}").as_bytes()).ending, None);
        assert!(matches!(read_stream(format!("{STOP}\n{failed}").as_bytes()).ending, Some(Ending::Failed(_))));
    }

    #[test]
    fn damage_depth_and_amounts_that_are_none_are_survived() {
        let deep = format!("{{\"type\":{}", "[".repeat(100_000));
        assert_eq!(read_stream(deep.as_bytes()), Stream::default());
        assert_eq!(read_stream(&[0xff, 0xfe, b'\n', b'{']).ending, None);
        let odd = format!(
            r#"{{"type":"step_finish","part":{{"tokens":{{"input":{0},"output":{0},"cache":{{"read":{0},"write":{0}}}}},"cost":1e300}}}}"#,
            u64::MAX
        );
        let usage = read_stream(format!("{odd}\n{odd}").as_bytes()).usage.expect("usage");
        assert_eq!((usage.input_tokens, usage.cost_micro_usd), (Some(u64::MAX), None));
    }
}
