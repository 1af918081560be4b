//! The request's body.

use assize_plugin_sdk::dialogue::{Answered, Brief, Round, Tool};
use serde_json::{Value, json};

/// The body of a request that carries the whole conversation. The only tool reads files and the answer is text, because
/// the models behind this interface differ in how much of a schema they take.
pub fn render_body(output_tokens: u64, tools: bool, brief: &Brief, rounds: &[Round]) -> Value {
    let tools: Vec<Tool> = brief.read_tool().filter(|_| tools).into_iter().collect();
    let mut system = vec![json!({"text": brief.render_system(&tools)})];
    // The service refuses empty texts.
    if !brief.rules.trim().is_empty() {
        system.push(json!({"text": brief.rules}));
    }
    let mut body = json!({
        "system": system,
        "messages": render_messages(brief, rounds),
        "inferenceConfig": {"maxTokens": output_tokens},
    });
    if !tools.is_empty() {
        let specs: Vec<Value> = tools.iter().map(render_tool).collect();
        body["toolConfig"] = json!({"tools": specs});
    }
    body
}

fn render_tool(tool: &Tool) -> Value {
    json!({"toolSpec": {"name": tool.name, "description": tool.description, "inputSchema": {"json": tool.schema}}})
}

fn render_messages(brief: &Brief, rounds: &[Round]) -> Value {
    let mut messages = vec![json!({"role": "user", "content": [{"text": brief.tasks}]})];
    for round in rounds {
        messages.push(json!({"role": "assistant", "content": round.said}));
        if !round.answers.is_empty() {
            let results: Vec<Value> = round.answers.iter().map(render_result).collect();
            messages.push(json!({"role": "user", "content": results}));
        }
    }
    Value::Array(messages)
}

/// A result without a status is a success; the member is left out there because not every model takes it.
fn render_result(answer: &Answered) -> Value {
    let mut result = json!({"toolUseId": answer.id, "content": [{"text": answer.text}]});
    if answer.is_error {
        result["status"] = json!("error");
    }
    json!({"toolResult": result})
}
