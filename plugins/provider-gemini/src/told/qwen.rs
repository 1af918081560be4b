//! What Qwen Code tells: `system`, `assistant`, `user` and `result`, in the shape of Claude Code. Where a limit of its own
//! ends it there is no `result`, only a line on standard error.

use assize_plugin_sdk::{Exited, Usage};
use serde_json::Value;

use super::{Ending, Retry, Told, owned, read_events, read_stderr, text};

/// Start of the line that tells of a retry.
const RETRY_LINE: &str = "Retrying in ";

/// Reads an output.
pub fn read_qwen(exited: &Exited) -> Told {
    let mut told = Told::default();
    for event in read_events(&exited.stdout).flatten() {
        take(&mut told, &event);
    }
    told.stderr = read_stderr(exited);
    // The line names the status, which the event does not; a line alone tells of a retry that nothing has followed too.
    let line = told.stderr.iter().rfind(|line| line.starts_with(RETRY_LINE)).cloned();
    if let Some(line) = line {
        match &mut told.retry {
            Some(retry) => retry.said = line,
            None if told.answer.is_empty() => told.retry = Some(Retry { event: String::new(), said: line }),
            None => {}
        }
    }
    told
}

fn take(told: &mut Told, event: &Value) {
    match (text(event, "type"), text(event, "subtype")) {
        ("system", "init") => {
            told.version = owned(event, "qwen_code_version");
            told.model = owned(event, "model");
        }
        ("system", "retry") => {
            told.retry = Some(Retry { event: event.to_string(), said: text(&event["data"], "message").to_owned() });
        }
        ("assistant", _) => {
            told.retry = None;
            told.model = owned(&event["message"], "model").or(told.model.take());
            let parts = event["message"]["content"].as_array().map(Vec::as_slice).unwrap_or_default();
            let said: String =
                parts.iter().filter(|part| text(part, "type") == "text").map(|p| text(p, "text")).collect();
            if !said.trim().is_empty() {
                told.answer = said;
            }
        }
        ("result", subtype) => take_result(told, event, subtype),
        _ => {}
    }
}

fn take_result(told: &mut Told, event: &Value, subtype: &str) {
    let succeeded = subtype == "success" && event["is_error"] != true;
    told.ending = Some(Ending {
        succeeded,
        kind: subtype.to_owned(),
        said: owned(&event["error"], "message").unwrap_or_else(|| text(event, "error").to_owned()),
    });
    if succeeded {
        // The result is the whole of the last message; where it is left out the message itself counts.
        told.answer = owned(event, "result").unwrap_or(std::mem::take(&mut told.answer));
    }
    told.usage = usage_of(event, told.model.as_deref());
}

/// The service counts what it read from its cache among its input.
fn usage_of(event: &Value, model: Option<&str>) -> Option<Usage> {
    let count = |key: &str| event["usage"][key].as_u64();
    let whole = count("input_tokens")?;
    let cached = count("cache_read_input_tokens");
    Some(Usage {
        input_tokens: Some(whole.saturating_sub(cached.unwrap_or(0))),
        output_tokens: count("output_tokens"),
        cached_input_tokens: cached,
        model: model.map(str::to_owned),
        requests: event["num_turns"].as_u64().and_then(|turns| u32::try_from(turns).ok()),
        ..Usage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const RETRY: &str = r#"{"type":"system","subtype":"retry","data":{"attempt":1,"maxRetries":10,"delayMs":60000}}"#;
    const LINE: &str = "\u{1b}[31mRetrying in 60s (attempt 1/10): [API Error: 429 slow down]\u{1b}[0m";

    fn read(stdout: &str, stderr: &str) -> Told {
        read_qwen(&Exited { stdout: stdout.into(), stderr: stderr.into(), ..Exited::default() })
    }

    #[test]
    fn a_retry_counts_until_an_answer_follows_it() {
        let retry = read(RETRY, LINE).retry.expect("a retry");
        assert!(retry.event.contains("60000"));
        assert!(retry.said.ends_with("[API Error: 429 slow down]"));
        let answered = format!(
            "{RETRY}\n{{\"type\":\"assistant\",\"message\":{{\"content\":[{{\"type\":\"text\",\"text\":\"[]\"}}]}}}}"
        );
        assert_eq!(read(&answered, LINE).retry, None);
        assert_eq!(read("", LINE).retry.expect("a retry").event, "");
    }

    #[test]
    fn an_answer_that_quotes_events_is_no_event() {
        let quoted = serde_json::json!({"type": "user", "message": {"content": RETRY}}).to_string();
        assert_eq!(read(&format!("{quoted}\n[1]\n{{\"type\":\"resul"), ""), Told::default());
    }

    #[test]
    fn what_came_from_a_cache_is_not_counted_twice() {
        let result = r#"{"usage":{"input_tokens":1234,"cache_read_input_tokens":1000,"output_tokens":3},"num_turns":2,"is_error":false,"result":"[]","subtype":"success","type":"result"}"#;
        let usage = read(result, "").usage.expect("usage");
        assert_eq!((usage.input_tokens, usage.cached_input_tokens, usage.requests), (Some(234), Some(1000), Some(2)));
    }
}
