//! Responses: what a request says, and what comes back, streamed or whole. Nothing is kept at the service: each request
//! carries all that was said before.

use assize_plugin_sdk::read_events;
use serde_json::{Value, json};

use crate::chat::{error_of, is_whole};
use crate::config::Format;
use crate::features::LengthField;
use crate::plan::Ask;
use crate::reading::{READ_FILE, READ_FILE_SAYS, read_file_parameters};
use crate::reply::{CALLS, Call, Finish, Reply, read_usage, text};
use crate::service_error::read_error;

/// Pieces of one answer that are kept.
const ITEMS: usize = 1000;

/// The body of a request.
pub(crate) fn render_responses(ask: &Ask<'_>) -> Value {
    let features = ask.features;
    let mut input = vec![json!({"role": "user", "content": ask.prompt})];
    input.extend(ask.turns.iter().cloned());
    let mut body = json!({"model": ask.model, "instructions": ask.rules, "input": input, "stream": features.stream});
    if features.replay {
        body["store"] = false.into();
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    if let Some(tokens) = ask.max_output_tokens.filter(|_| features.length != LengthField::Unsaid) {
        body["max_output_tokens"] = tokens.into();
    }
    match features.format {
        Format::JsonSchema => {
            let format = json!({"type": "json_schema", "name": "audit_results", "strict": false, "schema": ask.schema});
            body["text"] = json!({"format": format});
        }
        Format::JsonObject => body["text"] = json!({"format": {"type": "json_object"}}),
        Format::Plain => {}
    }
    if features.tools {
        body["tools"] = json!([{"type": "function", "name": READ_FILE, "description": READ_FILE_SAYS, "strict": false,
            "parameters": read_file_parameters()}]);
        if ask.must_answer {
            body["tool_choice"] = "none".into();
        }
    }
    if let Some(effort) = ask.reasoning_effort.filter(|_| features.effort) {
        body["reasoning"] = json!({"effort": effort});
    }
    body
}

/// The item that answers a call.
pub(crate) fn render_responses_answer(call: &Call, answer: &str) -> Value {
    json!({"type": "function_call_output", "call_id": call.id, "output": answer})
}

/// Reads a body of either form.
pub(crate) fn read_responses(body: &[u8]) -> Reply {
    let mut draft = Draft::default();
    if is_whole(body) {
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => draft.take_end(&value),
            Err(_) => draft.reply.broken = true,
        }
    } else {
        for event in read_events(body) {
            match event.data.trim() {
                "" | "[DONE]" => {}
                data => match serde_json::from_str::<Value>(data) {
                    Ok(value) => draft.take(&value, &event.name),
                    Err(_) => draft.reply.broken = true,
                },
            }
        }
    }
    draft.finish()
}

/// An answer while it comes in.
#[derive(Default)]
struct Draft {
    reply: Reply,
    /// Text as it was streamed, should the items not be told.
    streamed: String,
    items: Vec<Value>,
}

impl Draft {
    fn take(&mut self, event: &Value, name: &str) {
        let kind = if text(event, "type").is_empty() { name } else { text(event, "type") };
        match kind {
            "response.output_text.delta" => self.streamed.push_str(text(event, "delta")),
            "response.refusal.delta" | "response.refusal.done" => self.reply.refused = true,
            "response.output_item.done" if self.items.len() < ITEMS => self.items.push(event["item"].clone()),
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                self.take_end(&event["response"]);
            }
            "error" => self.reply.error = Some(error_of(event)),
            _ if event.get("type").is_none() && event["error"].is_object() => self.reply.error = Some(error_of(event)),
            _ => {}
        }
    }

    /// The whole response, as it stands at the end of a stream or by itself.
    fn take_end(&mut self, response: &Value) {
        let reply = &mut self.reply;
        reply.counted = read_usage(&response["usage"]).or(reply.counted);
        let model = text(response, "model");
        if !model.is_empty() {
            reply.model = Some(model.to_owned());
        }
        if let Some(output) = response["output"].as_array().filter(|output| !output.is_empty()) {
            self.items = output.iter().take(ITEMS).cloned().collect();
        }
        match (text(response, "status"), text(&response["incomplete_details"], "reason")) {
            ("completed", _) => reply.finish = Some(Finish::Stop),
            ("incomplete", "content_filter") => reply.finish = Some(Finish::Filtered),
            ("incomplete", _) => reply.finish = Some(Finish::Length),
            // What is no response at all may be an error of something in between.
            ("failed" | "cancelled", _) => reply.error = Some(error_of(response)),
            _ => reply.error = read_error(response).or_else(|| reply.error.take()),
        }
        reply.complete = reply.finish.is_some();
    }

    fn finish(mut self) -> Reply {
        for item in &self.items {
            match text(item, "type") {
                "message" => take_message(item, &mut self.reply),
                "function_call" if self.reply.calls.len() < CALLS => {
                    let mut call = Call {
                        id: text(item, "call_id").to_owned(),
                        name: text(item, "name").to_owned(),
                        ..Call::default()
                    };
                    call.push_arguments(text(item, "arguments"));
                    self.reply.calls.push(call);
                }
                _ => {}
            }
        }
        if self.reply.text.is_empty() {
            self.reply.text = self.streamed;
        }
        self.reply.echo = self.items.into_iter().filter(goes_back).collect();
        self.reply
    }
}

fn take_message(item: &Value, reply: &mut Reply) {
    for part in item["content"].as_array().into_iter().flatten() {
        match text(part, "type") {
            "output_text" => reply.text.push_str(text(part, "text")),
            "refusal" => reply.refused = true,
            _ => {}
        }
    }
}

/// A thought that the service did not keep means nothing to it without its encrypted content.
fn goes_back(item: &Value) -> bool {
    match text(item, "type") {
        "reasoning" => !text(item, "encrypted_content").is_empty(),
        "message" | "function_call" => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(events: &[Value]) -> Reply {
        let body: String = events.iter().map(|e| format!("event: {}\ndata: {e}\n\n", text(e, "type"))).collect();
        read_responses(body.as_bytes())
    }

    fn message(text: &str) -> Value {
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text, "annotations": []}]})
    }

    #[test]
    fn a_stream_and_a_whole_answer_read_alike() {
        let response = json!({"object": "response", "status": "completed", "model": "m-1", "error": null, "incomplete_details": null,
            "output": [{"type": "reasoning", "id": "rs"}, message("[]")], "usage": {"input_tokens": 5, "output_tokens": 2}});
        let streamed = stream(&[
            json!({"type": "response.created", "response": {"status": "in_progress", "error": null}}),
            json!({"type": "response.output_text.delta", "delta": "["}),
            json!({"type": "response.completed", "response": response}),
        ]);
        assert_eq!(streamed, read_responses(response.to_string().as_bytes()));
        assert_eq!((streamed.text.as_str(), streamed.complete, streamed.finish), ("[]", true, Some(Finish::Stop)));
    }

    #[test]
    fn items_and_pieces_stand_in_for_an_output_that_is_not_told() {
        let end = json!({"type": "response.completed", "response": {"status": "completed", "output": []}});
        let items = stream(&[json!({"type": "response.output_item.done", "item": message("[1]")}), end.clone()]);
        assert_eq!((items.text.as_str(), items.complete), ("[1]", true));
        let pieces = stream(&[json!({"type": "response.output_text.delta", "delta": "[2]"}), end]);
        assert_eq!(pieces.text, "[2]");
    }

    #[test]
    fn calls_go_back_with_the_thoughts_that_can() {
        let call =
            json!({"type": "function_call", "id": "fc", "call_id": "c1", "name": "read_file", "arguments": "{}"});
        let response = json!({"status": "completed", "output": [{"type": "reasoning", "encrypted_content": "x"}, {"type": "reasoning"}, {"type": "web_search_call"}, call]});
        let reply = read_responses(response.to_string().as_bytes());
        assert_eq!((reply.calls.len(), reply.calls[0].id.as_str()), (1, "c1"));
        assert_eq!(
            reply.echo.iter().map(|item| text(item, "type")).collect::<Vec<_>>(),
            ["reasoning", "function_call"]
        );
    }

    #[test]
    fn each_ending_has_its_own_meaning() {
        let ended = |response: Value| read_responses(response.to_string().as_bytes());
        let cut = ended(
            json!({"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [message("[")]}),
        );
        assert_eq!((cut.finish, cut.complete), (Some(Finish::Length), true));
        let filtered = ended(json!({"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}));
        assert_eq!(filtered.finish, Some(Finish::Filtered));
        let failed = ended(json!({"status": "failed", "error": {"code": "server_is_overloaded", "message": "busy"}}));
        assert_eq!(failed.error.map(|error| error.code), Some("server_is_overloaded".to_owned()));
        let refusal = json!({"type": "message", "content": [{"type": "refusal", "refusal": "no"}]});
        assert!(ended(json!({"status": "completed", "output": [refusal]})).refused);
    }

    #[test]
    fn an_error_event_and_a_cut_stream_are_no_answers() {
        for event in [
            json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow"}),
            json!({"type": "error", "error": {"code": "rate_limit_exceeded", "message": "slow"}}),
            json!({"error": {"code": "rate_limit_exceeded", "message": "slow"}}),
        ] {
            let error = stream(std::slice::from_ref(&event)).error.unwrap_or_default();
            assert_eq!((error.code.as_str(), error.message.as_str()), ("rate_limit_exceeded", "slow"), "{event}");
        }
        let cut = stream(&[json!({"type": "response.output_text.delta", "delta": "[]"})]);
        assert!(!cut.complete && cut.error.is_none());
        assert!(read_responses(b"data: {\"type\":\"resp").broken);
        assert!(!read_responses(b"{\"hello\":1}").complete);
    }
}
