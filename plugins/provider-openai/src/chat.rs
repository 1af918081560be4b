//! Chat Completions: what a request says, and what comes back, streamed or whole.

use assize_plugin_sdk::read_events;
use serde_json::{Value, json};

use crate::config::Format;
use crate::features::LengthField;
use crate::plan::Ask;
use crate::reading::{READ_FILE, READ_FILE_SAYS, read_file_parameters};
use crate::reply::{CALLS, Call, Finish, Reply, read_usage, text};
use crate::service_error::{ServiceError, read_error};

/// The body of a request.
pub(crate) fn render_chat(ask: &Ask<'_>) -> Value {
    let features = ask.features;
    let mut messages = Vec::new();
    if features.system {
        messages.push(json!({"role": "system", "content": ask.rules}));
        messages.push(json!({"role": "user", "content": ask.prompt}));
    } else {
        messages.push(json!({"role": "user", "content": format!("{}\n\n{}", ask.rules, ask.prompt)}));
    }
    messages.extend(ask.turns.iter().cloned());
    let mut body = json!({"model": ask.model, "messages": messages, "stream": features.stream});
    if features.stream && features.stream_usage {
        body["stream_options"] = json!({"include_usage": true});
    }
    if let Some(tokens) = ask.max_output_tokens {
        match features.length {
            LengthField::MaxCompletionTokens => body["max_completion_tokens"] = tokens.into(),
            LengthField::MaxTokens => body["max_tokens"] = tokens.into(),
            LengthField::Unsaid => {}
        }
    }
    match features.format {
        Format::JsonSchema => {
            let schema = json!({"name": "audit_results", "strict": false, "schema": ask.schema});
            body["response_format"] = json!({"type": "json_schema", "json_schema": schema});
        }
        Format::JsonObject => body["response_format"] = json!({"type": "json_object"}),
        Format::Plain => {}
    }
    if features.tools {
        let function = json!({"name": READ_FILE, "description": READ_FILE_SAYS, "parameters": read_file_parameters()});
        body["tools"] = json!([{"type": "function", "function": function}]);
        if ask.must_answer {
            body["tool_choice"] = "none".into();
        }
    }
    if let Some(effort) = ask.reasoning_effort.filter(|_| features.effort) {
        body["reasoning_effort"] = effort.into();
    }
    body
}

/// The message that answers a call.
pub(crate) fn render_chat_answer(call: &Call, answer: &str) -> Value {
    json!({"role": "tool", "tool_call_id": call.id, "content": answer})
}

/// Reads a body of either form; a server may not stream although it was asked to.
pub(crate) fn read_chat(body: &[u8]) -> Reply {
    let mut draft = Draft::default();
    if is_whole(body) {
        match serde_json::from_slice(body) {
            Ok(value) => draft.take(&value, "message"),
            Err(_) => draft.reply.broken = true,
        }
        draft.reply.complete = !draft.reply.broken;
    } else {
        for event in read_events(body) {
            match (event.data.trim(), event.name.as_str()) {
                ("[DONE]", _) => {
                    draft.reply.complete = true;
                    break;
                }
                ("", _) => {}
                (data, name) => match serde_json::from_str(data) {
                    Ok(value) if name == "error" => draft.reply.error = Some(error_of(&value)),
                    Ok(value) => draft.take(&value, "delta"),
                    Err(_) => draft.reply.broken = true,
                },
            }
        }
    }
    draft.finish()
}

/// Whether a body is one JSON value and no stream of events.
pub(crate) fn is_whole(body: &[u8]) -> bool {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
    matches!(body.iter().find(|byte| !byte.is_ascii_whitespace()), Some(b'{' | b'[' | b'"'))
}

pub(crate) fn error_of(value: &Value) -> ServiceError {
    read_error(value).unwrap_or_else(|| ServiceError::said("the service sent an error without a sentence"))
}

/// An answer while it comes in.
#[derive(Default)]
struct Draft {
    reply: Reply,
    /// Thoughts that some services want back together with the calls that they led to.
    reasoning: String,
    /// Which call each of the reply's calls is, by the service's own number.
    numbers: Vec<Option<u64>>,
}

impl Draft {
    fn take(&mut self, value: &Value, part: &str) {
        if !value["error"].is_null() || value["object"] == "error" || value.is_array() || value.is_string() {
            self.reply.error = Some(error_of(value));
            return;
        }
        if let Some(counted) = read_usage(&value["usage"]) {
            self.reply.counted = Some(counted);
        }
        let model = text(value, "model");
        if !model.is_empty() {
            self.reply.model = Some(model.to_owned());
        }
        let choice = &value["choices"][0];
        if choice.is_null() {
            return;
        }
        if !choice["error"].is_null() {
            self.reply.error = Some(error_of(choice));
        }
        // Some services send whole messages in a stream.
        let said = if choice[part].is_object() { &choice[part] } else { &choice["message"] };
        self.take_message(said);
        self.take_end(text(choice, "finish_reason"));
    }

    fn take_message(&mut self, message: &Value) {
        match &message["content"] {
            Value::String(text) => self.reply.text.push_str(text),
            Value::Array(parts) => {
                let texts = parts.iter().filter(|part| part["type"] == "text").map(|part| text(part, "text"));
                self.reply.text.extend(texts);
            }
            _ => {}
        }
        self.reply.refused |= !text(message, "refusal").trim().is_empty();
        self.reasoning.push_str(text(message, "reasoning_content"));
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            self.take_call(call);
        }
    }

    /// A call comes in pieces that share a number, or, where a service leaves numbers out, follow their id.
    fn take_call(&mut self, piece: &Value) {
        let number = piece["index"].as_u64();
        let id = text(piece, "id");
        let known = match number {
            Some(_) => self.numbers.iter().position(|known| *known == number),
            None => self.reply.calls.iter().rposition(|call| id.is_empty() || call.id == id),
        };
        let at = known.unwrap_or(self.reply.calls.len());
        if known.is_none() {
            if at >= CALLS {
                return;
            }
            self.numbers.push(number);
            self.reply.calls.push(Call::default());
        }
        let call = &mut self.reply.calls[at];
        if call.id.is_empty() {
            call.id = id.to_owned();
        }
        if call.name.is_empty() {
            call.name = text(&piece["function"], "name").to_owned();
        }
        match &piece["function"]["arguments"] {
            Value::String(arguments) => call.push_arguments(arguments),
            whole @ Value::Object(_) => call.push_arguments(&whole.to_string()),
            _ => {}
        }
        if piece["extra_content"].is_object() {
            call.opaque = Some(piece["extra_content"].clone());
        }
    }

    fn take_end(&mut self, word: &str) {
        let finish = match word {
            "" => return,
            "length" | "max_tokens" | "model_length" | "max_output_tokens" => Finish::Length,
            "content_filter" | "content-filter" | "safety" | "sensitive" | "refusal" => Finish::Filtered,
            "error" | "abort" | "insufficient_system_resource" => {
                let said = ServiceError::said(&format!("the service ended the answer early ({word})"));
                self.reply.error.get_or_insert(ServiceError { code: word.to_owned(), ..said });
                return;
            }
            _ => Finish::Stop,
        };
        self.reply.finish = Some(finish);
        self.reply.complete = true;
    }

    fn finish(mut self) -> Reply {
        for (at, call) in self.reply.calls.iter_mut().enumerate() {
            if call.id.is_empty() {
                call.id = format!("call_{at}");
            }
        }
        let calls: Vec<Value> = self.reply.calls.iter().map(render_call).collect();
        if !calls.is_empty() {
            let content = if self.reply.text.is_empty() { Value::Null } else { self.reply.text.clone().into() };
            let mut message = json!({"role": "assistant", "content": content, "tool_calls": calls});
            if !self.reasoning.is_empty() {
                message["reasoning_content"] = self.reasoning.into();
            }
            self.reply.echo = vec![message];
        }
        self.reply
    }
}

fn render_call(call: &Call) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments});
    let mut shown = json!({"id": call.id, "type": "function", "function": function});
    if let Some(opaque) = &call.opaque {
        shown["extra_content"] = opaque.clone();
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(chunks: &[Value]) -> Reply {
        let body: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        read_chat(body.as_bytes())
    }

    fn delta(delta: Value, finish: Value) -> Value {
        json!({"model": "m-1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})
    }

    #[test]
    fn a_stream_and_a_whole_answer_read_alike() {
        let streamed = stream(&[
            json!({"choices": [], "prompt_filter_results": []}),
            delta(json!({"role": "assistant", "content": ""}), Value::Null),
            delta(json!({"content": "[", "reasoning_content": "hm"}), Value::Null),
            delta(json!({"content": "]"}), Value::Null),
            delta(json!({}), json!("stop")),
            json!({"model": "m-1", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}),
        ]);
        let whole = json!({"model": "m-1", "choices": [{"message": {"role": "assistant", "content": "[]"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 2}});
        assert_eq!(streamed, read_chat(whole.to_string().as_bytes()));
        assert_eq!((streamed.text.as_str(), streamed.complete, streamed.finish), ("[]", true, Some(Finish::Stop)));
    }

    #[test]
    fn calls_are_put_together_from_their_pieces() {
        let call = |index: Value, id: &str, name: &str, arguments: &str| {
            delta(
                json!({"tool_calls": [{"index": index, "id": id, "function": {"name": name, "arguments": arguments}}]}),
                Value::Null,
            )
        };
        for numbered in [true, false] {
            let n = |n: u64| if numbered { json!(n) } else { Value::Null };
            let reply = stream(&[
                call(n(0), "a", "read_file", "{\"pa"),
                call(n(0), "", "", "th\":\"x\"}"),
                call(n(1), "b", "read_file", "{}"),
                delta(json!({}), json!("tool_calls")),
            ]);
            let seen: Vec<(&str, &str)> = reply.calls.iter().map(|c| (c.id.as_str(), c.arguments.as_str())).collect();
            assert_eq!(seen, [("a", "{\"path\":\"x\"}"), ("b", "{}")], "numbered: {numbered}");
            assert_eq!(reply.echo[0]["tool_calls"][0]["function"]["arguments"], "{\"path\":\"x\"}");
        }
    }

    #[test]
    fn what_a_service_wants_back_goes_back() {
        let reply = stream(&[
            delta(json!({"reasoning_content": "so"}), Value::Null),
            delta(
                json!({"tool_calls": [{"function": {"name": "read_file", "arguments": {"path": "x"}}, "extra_content": {"google": 1}}]}),
                json!("stop"),
            ),
        ]);
        let echo = &reply.echo[0];
        assert_eq!(
            (&echo["reasoning_content"], &echo["tool_calls"][0]["extra_content"]),
            (&json!("so"), &json!({"google": 1}))
        );
        assert_eq!(
            (&echo["tool_calls"][0]["id"], &reply.calls[0].arguments),
            (&json!("call_0"), &"{\"path\":\"x\"}".to_owned())
        );
    }

    #[test]
    fn an_error_within_a_stream_is_found_in_each_form() {
        for error in [
            json!({"error": {"message": "busy", "code": 502}}),
            json!({"object": "error", "message": "busy", "code": 502}),
            json!({"choices": [{"error": {"message": "busy", "code": 502}, "delta": {"content": ""}, "finish_reason": "error"}]}),
        ] {
            let reply = stream(&[delta(json!({"content": "["}), Value::Null), error]);
            assert_eq!(reply.error.map(|error| (error.message, error.status)), Some(("busy".to_owned(), Some(502))));
        }
        let named = read_chat(b"event: error\ndata: {\"message\":\"busy\"}\n\n");
        assert_eq!(named.error.map(|error| error.message), Some("busy".to_owned()));
    }

    #[test]
    fn a_stream_that_was_cut_is_not_complete() {
        assert!(!stream(&[delta(json!({"content": "[]"}), Value::Null)]).complete);
        let cut = read_chat(b"data: {\"choices\":[{\"delta\":{\"content\":\"[]\"}}]}\n\ndata: {\"choi");
        assert!(cut.broken && !cut.complete);
        assert!(read_chat(b"data: {\"choices\":[{\"delta\":{\"content\":\"[]\"}}]}\n\ndata: [DONE]\n\n").complete);
        assert!(!read_chat(b"").complete);
        assert!(read_chat(b"{\"choices\":[{\"mess").broken);
    }

    #[test]
    fn parts_that_are_thoughts_are_no_answer() {
        let content = json!([{"type": "thinking", "thinking": "no"}, {"type": "text", "text": "[]"}]);
        assert_eq!(stream(&[delta(json!({"content": content}), json!("stop"))]).text, "[]");
    }

    #[test]
    fn calls_without_measure_are_not_gathered() {
        let pieces: Vec<Value> = (0..1000).map(|n| json!({"index": n, "id": n.to_string()})).collect();
        assert_eq!(stream(&[delta(json!({"tool_calls": pieces}), Value::Null)]).calls.len(), CALLS);
    }
}
