//! The request's body.

use assize_plugin_sdk::Outcome;
use assize_plugin_sdk::dialogue::{Answered, Brief, Refusal, Round, Tool};
use serde_json::{Value, json};

/// What a service that speaks the protocol may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// Marks up to which a cache may hold the conversation.
    pub cache: bool,
    /// Tools.
    pub tools: bool,
    /// Whether one of the tools reads files.
    pub read_files: bool,
}

impl Features {
    /// Leaves out the feature that a refusal names. Whether there was one to leave out.
    pub(crate) fn leave_out(&mut self, refusal: &Refusal) -> bool {
        if refusal.status != 400 || refusal.outcome != Outcome::Misconfigured {
            return false;
        }
        let said = refusal.text.to_ascii_lowercase();
        if said.contains("cache_control") {
            return std::mem::take(&mut self.cache);
        }
        let names_tools = ["tools", "tool use", "tool_use", "tool calling", "input_schema"];
        names_tools.iter().any(|words| said.contains(words)) && std::mem::take(&mut self.tools)
    }
}

/// The body of a request that carries the whole conversation.
///
/// What never changes comes first, tools and rules, and ends with the first mark of the cache. A second mark stands at the
/// newest answer to a call, because by then the conversation is going to be sent once more.
pub fn render_body(model: &str, output_tokens: u64, features: Features, brief: &Brief, rounds: &[Round]) -> Value {
    let tools = plan_tools(features, brief);
    let mut body = json!({
        "model": model,
        "max_tokens": output_tokens,
        "stream": true,
        "system": render_system(features, brief, &tools),
        "messages": render_messages(features, brief, rounds),
    });
    if !tools.is_empty() {
        body["tools"] = tools.iter().map(render_tool).collect();
    }
    body
}

fn plan_tools(features: Features, brief: &Brief) -> Vec<Tool> {
    if !features.tools {
        return Vec::new();
    }
    let read = brief.read_tool().filter(|_| features.read_files);
    [Some(brief.submit_tool()), read].into_iter().flatten().collect()
}

fn render_tool(tool: &Tool) -> Value {
    json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema})
}

fn render_system(features: Features, brief: &Brief, tools: &[Tool]) -> Value {
    let mut blocks = vec![json!({"type": "text", "text": brief.render_system(tools)})];
    // The service refuses empty blocks.
    if !brief.rules.trim().is_empty() {
        blocks.push(json!({"type": "text", "text": brief.rules}));
    }
    mark_last(features, &mut blocks);
    Value::Array(blocks)
}

fn render_messages(features: Features, brief: &Brief, rounds: &[Round]) -> Value {
    let mut messages = vec![json!({"role": "user", "content": [{"type": "text", "text": brief.tasks}]})];
    for (at, round) in rounds.iter().enumerate() {
        messages.push(json!({"role": "assistant", "content": round.said}));
        let mut results: Vec<Value> = round.answers.iter().map(render_result).collect();
        if results.is_empty() {
            continue;
        }
        if at + 1 == rounds.len() {
            mark_last(features, &mut results);
        }
        messages.push(json!({"role": "user", "content": results}));
    }
    Value::Array(messages)
}

fn render_result(answer: &Answered) -> Value {
    let mut result = json!({"type": "tool_result", "tool_use_id": answer.id, "content": answer.text});
    if answer.is_error {
        result["is_error"] = json!(true);
    }
    result
}

fn mark_last(features: Features, blocks: &mut [Value]) {
    if let Some(last) = blocks.last_mut().filter(|_| features.cache) {
        last["cache_control"] = json!({"type": "ephemeral"});
    }
}
