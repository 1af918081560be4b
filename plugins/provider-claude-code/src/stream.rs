//! The program's events, read defensively: unknown events and keys, keys in any order, lines that are no JSON, a last
//! line that was cut, and output whose middle was not kept.

use assize_plugin_sdk::{Usage, strip_escapes};
use serde_json::Value;

/// Events about limits that are kept; the last ones say most.
const KEPT_EVENTS: usize = 8;
/// Lines that are no JSON and are kept, for messages of the start.
const KEPT_LINES: usize = 20;

/// What an event said of a refusal by the service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiError {
    /// HTTP status.
    pub status: Option<u16>,
    /// Word of the service or the program, such as `rate_limit`.
    pub kind: String,
    /// The event as JSON, where it is one about limits.
    pub event: String,
}

impl ApiError {
    /// What is left out here and an earlier report of the same refusal knows: above all its event, which names the wait
    /// that the service asked for. A report of another refusal says nothing of this one.
    fn completed_by(self, earlier: Option<Self>) -> Self {
        let Some(earlier) = earlier.filter(|earlier| self.may_be(earlier)) else { return self };
        Self {
            status: self.status.or(earlier.status),
            kind: if self.kind.is_empty() { earlier.kind } else { self.kind },
            event: if self.event.is_empty() { earlier.event } else { self.event },
        }
    }

    /// Whether both may speak of one refusal: nothing that both know differs.
    fn may_be(&self, other: &Self) -> bool {
        let status_differs = matches!((self.status, other.status), (Some(one), Some(two)) if one != two);
        let kind_differs = !self.kind.is_empty() && !other.kind.is_empty() && self.kind != other.kind;
        !status_differs && !kind_differs
    }
}

/// The program's own last word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// `success`, `error_max_turns`, …
    pub subtype: String,
    /// Whether it calls itself an error.
    pub is_error: bool,
    /// Why it ended, such as `completed` or `max_turns`.
    pub terminal_reason: String,
    /// Why the model ended, such as `end_turn` or `refusal`.
    pub stop_reason: String,
    /// HTTP status of the error.
    pub status: Option<u16>,
    /// Word of the service for the error.
    pub kind: String,
    /// The answer, or the sentence of the error.
    pub text: String,
    /// Sentences of errors.
    pub errors: Vec<String>,
}

/// All that is kept of an output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// The last event `result`.
    pub ending: Option<Ending>,
    /// What it cost, from the same event.
    pub usage: Option<Usage>,
    /// Model of the last answer that came from one.
    pub model: Option<String>,
    /// Version of the program.
    pub version: Option<String>,
    /// Events about limits as JSON, oldest first.
    pub limit_events: Vec<String>,
    /// The last refusal that an event reported before the end.
    pub api_error: Option<ApiError>,
    /// Whether a plan's limit was named as used up.
    pub usage_limit_reached: bool,
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
            "system" => self.take_system(event),
            "assistant" => self.take_assistant(event),
            "rate_limit_event" => self.take_limits(&event["rate_limit_info"]),
            "result" => self.take_result(event),
            _ => {}
        }
    }

    fn take_plain(&mut self, line: &[u8]) {
        if self.plain_lines.len() < KEPT_LINES && line.len() < 2000 {
            self.plain_lines.push(strip_escapes(&String::from_utf8_lossy(line)));
        }
    }

    fn take_system(&mut self, event: &Value) {
        match text(event, "subtype") {
            "init" => {
                self.version = owned(event, "claude_code_version");
                self.model = self.model.take().or_else(|| owned(event, "model"));
            }
            "api_retry" => {
                self.api_error = Some(ApiError {
                    status: status(&event["error_status"]),
                    kind: text(event, "error").to_owned(),
                    event: event.to_string(),
                });
            }
            _ => {}
        }
    }

    fn take_assistant(&mut self, event: &Value) {
        if event["is_api_error_message"] != true {
            if let Some(model) = owned(&event["message"], "model") {
                self.model = Some(model);
            }
            return;
        }
        let error = ApiError {
            status: status(&event["api_error_status"]),
            kind: text(event, "error").to_owned(),
            event: String::new(),
        };
        if error.status.is_some() || !error.kind.is_empty() {
            self.api_error = Some(error.completed_by(self.api_error.take()));
        }
        if text(event, "api_error") == "usage_limit_reached" {
            self.take_limits(&event["api_error_params"]["rate_limit_info"]);
            self.usage_limit_reached = true;
        }
    }

    fn take_limits(&mut self, info: &Value) {
        if !info.is_object() {
            return;
        }
        // The last event decides: a window may have opened again while the program ran.
        self.usage_limit_reached = text(info, "status") == "rejected";
        let event = serde_json::json!({"type": "rate_limit_event", "rate_limit_info": info}).to_string();
        self.limit_events.retain(|kept| *kept != event);
        if self.limit_events.len() == KEPT_EVENTS {
            self.limit_events.remove(0);
        }
        self.limit_events.push(event);
    }

    fn take_result(&mut self, event: &Value) {
        let errors = event["errors"].as_array().map(Vec::as_slice).unwrap_or_default();
        self.ending = Some(Ending {
            subtype: text(event, "subtype").to_owned(),
            is_error: event["is_error"] == true,
            terminal_reason: text(event, "terminal_reason").to_owned(),
            stop_reason: text(event, "stop_reason").to_owned(),
            status: status(&event["api_error_status"]),
            kind: text(event, "api_error_type").to_owned(),
            text: text(event, "result").to_owned(),
            errors: errors.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        });
        self.usage = Some(self.read_usage(event));
    }

    fn read_usage(&self, event: &Value) -> Usage {
        let usage = &event["usage"];
        let fresh = usage["input_tokens"].as_u64();
        let written = usage["cache_creation_input_tokens"].as_u64().unwrap_or(0);
        Usage {
            // What is written to the cache is read by the model once, so it counts as input.
            input_tokens: fresh.map(|tokens| tokens.saturating_add(written)),
            output_tokens: usage["output_tokens"].as_u64(),
            cached_input_tokens: usage["cache_read_input_tokens"].as_u64(),
            cost_micro_usd: event["total_cost_usd"].as_f64().and_then(micro_usd),
            model: self.model.clone().filter(|model| !model.starts_with('<')).or_else(|| busiest_model(event)),
            requests: event["num_turns"].as_u64().and_then(|turns| u32::try_from(turns).ok()),
            extra: Vec::new(),
        }
    }
}

/// The model with the most output; the first by name among equals.
fn busiest_model(event: &Value) -> Option<String> {
    let models = event["modelUsage"].as_object()?;
    let mut named: Vec<(u64, &String)> =
        models.iter().map(|(name, used)| (used["outputTokens"].as_u64().unwrap_or(0), name)).collect();
    named.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    named.first().map(|(_, name)| (*name).clone())
}

/// Dollars as millionths; absent for what is no amount.
fn micro_usd(dollars: f64) -> Option<u64> {
    (dollars.is_finite() && (0.0..1e12).contains(&dollars)).then(|| (dollars * 1e6).round() as u64)
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

fn owned(value: &Value, key: &str) -> Option<String> {
    value[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn status(value: &Value) -> Option<u16> {
    let number = value.as_u64().or_else(|| value.as_str()?.parse().ok())?;
    u16::try_from(number).ok().filter(|status| (100..600).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULT: &str = r#"{"duration_ms":5,"usage":{"output_tokens":3,"input_tokens":1234,"cache_creation_input_tokens":10,"cache_read_input_tokens":1000},"total_cost_usd":0.005196,"num_turns":2,"new_key":{"x":[1]},"is_error":false,"subtype":"success","result":"[]","type":"result"}"#;

    #[test]
    fn foreign_lines_events_and_keys_do_not_disturb() {
        let output = format!(
            "warming up\n{{\"type\":\"aurora\"}}\n\n{{\"type\":\"assistant\",\"message\":{{\"model\":\"m-1\"}}}}\r\n[1,2]\n{RESULT}\n{{\"type\":\"result\",\"resu"
        );
        let stream = read_stream(output.as_bytes());
        let ending = stream.ending.expect("an ending");
        assert_eq!((ending.subtype.as_str(), ending.text.as_str(), ending.is_error), ("success", "[]", false));
        let usage = stream.usage.expect("usage");
        assert_eq!(usage.input_tokens, Some(1244));
        assert_eq!(usage.cached_input_tokens, Some(1000));
        assert_eq!(usage.cost_micro_usd, Some(5196));
        assert_eq!(usage.requests, Some(2));
        assert_eq!(usage.model.as_deref(), Some("m-1"));
        assert_eq!(stream.plain_lines, ["warming up", "[1,2]"]);
    }

    #[test]
    fn a_gap_in_the_middle_costs_only_the_line_it_cut() {
        let output = format!("{{\"type\":\"user\",\"message\":\"half\u{fffd}of a tool result\"}}}}\n{RESULT}");
        assert!(read_stream(output.as_bytes()).ending.is_some());
        assert!(read_stream(b"{\"type\":\"result\",\"subtype\":\"succ").ending.is_none());
        assert_eq!(read_stream(&[0xff, 0xfe, b'\n', b'{']).ending, None);
    }

    #[test]
    fn text_inside_an_answer_is_no_event() {
        let inner = RESULT.replace('"', "\\\"");
        let output = format!("{{\"type\":\"user\",\"message\":{{\"content\":\"{inner}\\n{inner}\"}}}}");
        assert_eq!(read_stream(output.as_bytes()).ending, None);
    }

    #[test]
    fn limit_events_are_kept_once_and_the_last_ones_only() {
        let mut output = String::new();
        for n in 0..20 {
            let event = format!(
                "{{\"type\":\"rate_limit_event\",\"rate_limit_info\":{{\"status\":\"allowed\",\"resetsAt\":{n}}}}}\n"
            );
            output.push_str(&event);
            output.push_str(&event);
        }
        let stream = read_stream(output.as_bytes());
        assert_eq!(stream.limit_events.len(), KEPT_EVENTS);
        assert!(stream.limit_events[KEPT_EVENTS - 1].contains(":19}"));
        assert!(!stream.usage_limit_reached);
    }

    const RETRY: &str =
        r#"{"type":"system","subtype":"api_retry","retry_delay_ms":1500,"error_status":429,"error":"rate_limit"}"#;

    fn api_error_after_retry(status: &str, kind: &str) -> ApiError {
        let message = format!(
            r#"{{"type":"assistant","is_api_error_message":true,"error":"{kind}","api_error_status":{status},"message":{{}}}}"#
        );
        read_stream(format!("{RETRY}\n{message}").as_bytes()).api_error.expect("an error")
    }

    #[test]
    fn a_message_about_the_refusal_that_was_retried_keeps_the_wait_that_the_retry_named() {
        for (status, kind) in [("null", "rate_limit"), ("429", "rate_limit"), ("429", ""), ("null", "")] {
            let error = api_error_after_retry(status, kind);
            assert_eq!((error.status, error.kind.as_str()), (Some(429), "rate_limit"), "{status} {kind}");
            assert!(error.event.contains("\"retry_delay_ms\":1500"), "{status} {kind}: {}", error.event);
        }
    }

    #[test]
    fn a_message_about_another_refusal_forgets_the_retry() {
        for (status, kind) in [("529", "overloaded"), ("529", ""), ("null", "overloaded")] {
            let error = api_error_after_retry(status, kind);
            assert_eq!((error.kind.as_str(), error.event.as_str()), (kind, ""), "{status}");
            assert_ne!(error.status, Some(429));
        }
    }

    #[test]
    fn amounts_that_are_none_are_absent() {
        assert_eq!(micro_usd(-1.0), None);
        assert_eq!(micro_usd(f64::NAN), None);
        assert_eq!(micro_usd(0.02), Some(20_000));
        let deep = format!("{{\"type\":{}", "[".repeat(100_000));
        assert_eq!(read_stream(deep.as_bytes()).ending, None);
    }
}
