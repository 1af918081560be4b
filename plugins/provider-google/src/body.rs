//! The request's body.

use assize_plugin_sdk::Outcome;
use assize_plugin_sdk::dialogue::{Answered, Brief, Refusal, Round, Tool};
use serde_json::{Value, json};

/// What is asked of the model beside text. Some models refuse functions together with a fixed form of the answer, so that
/// it is one or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A function that reads files.
    Functions,
    /// An answer that satisfies the schema.
    Schema,
    /// An answer that is JSON.
    Json,
    /// Text.
    Plain,
}

impl Form {
    /// What is asked after a refusal that names what was asked; none when it names something else.
    pub(crate) fn after(self, refusal: &Refusal) -> Option<Self> {
        if refusal.status != 400 || refusal.outcome != Outcome::Misconfigured {
            return None;
        }
        let said = refusal.text.to_ascii_lowercase();
        let names = |words: &[&str]| words.iter().any(|word| said.contains(word));
        match self {
            Form::Functions if names(&["function", "tool"]) => Some(Form::Schema),
            Form::Schema if names(&["schema"]) => Some(Form::Json),
            Form::Schema | Form::Json if names(&["mime", "json mode", "json_mode"]) => Some(Form::Plain),
            _ => None,
        }
    }
}

/// The body of a request that carries the whole conversation. What never changes comes first, because the service keeps
/// the beginning of what it was asked before.
pub fn render_body(output_tokens: u64, form: Form, brief: &Brief, rounds: &[Round]) -> Value {
    let tools: Vec<Tool> = brief.read_tool().filter(|_| form == Form::Functions).into_iter().collect();
    let mut system = vec![json!({"text": brief.render_system(&tools)})];
    if !brief.rules.trim().is_empty() {
        system.push(json!({"text": brief.rules}));
    }
    let mut body = json!({
        "systemInstruction": {"parts": system},
        "contents": render_contents(brief, rounds),
        "generationConfig": {"maxOutputTokens": output_tokens},
    });
    let config = &mut body["generationConfig"];
    if matches!(form, Form::Schema | Form::Json) {
        config["responseMimeType"] = json!("application/json");
    }
    if form == Form::Schema && brief.results_schema.is_object() {
        config["responseJsonSchema"] = brief.results_schema.clone();
    }
    if !tools.is_empty() {
        let declarations: Vec<Value> = tools.iter().map(render_tool).collect();
        body["tools"] = json!([{"functionDeclarations": declarations}]);
    }
    body
}

fn render_tool(tool: &Tool) -> Value {
    json!({"name": tool.name, "description": tool.description, "parameters": tool.schema})
}

fn render_contents(brief: &Brief, rounds: &[Round]) -> Value {
    let mut contents = vec![json!({"role": "user", "parts": [{"text": brief.tasks}]})];
    for round in rounds {
        contents.push(json!({"role": "model", "parts": round.said}));
        if !round.answers.is_empty() {
            let parts: Vec<Value> = round.answers.iter().map(render_answer).collect();
            contents.push(json!({"role": "user", "parts": parts}));
        }
    }
    Value::Array(contents)
}

fn render_answer(answer: &Answered) -> Value {
    let key = if answer.is_error { "error" } else { "output" };
    let mut response = json!({"name": answer.name, "response": {key: answer.text}});
    if !answer.id.is_empty() {
        response["id"] = json!(answer.id);
    }
    json!({"functionResponse": response})
}
