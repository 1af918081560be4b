//! The bodies of generation requests, protocol by protocol.

use serde_json::Value;

use crate::asked::{Asked, Forced, Format, Texts, Tool};
use crate::protocol::Protocol;

/// Reads what a body asks for into `asked`, and gives its texts.
pub fn read_body<'a>(body: &'a Value, asked: &mut Asked) -> Texts<'a> {
    asked.stream_usage = true;
    match asked.protocol {
        Protocol::Messages => read_messages(body, asked),
        Protocol::Chat => read_chat(body, asked),
        Protocol::Responses => read_responses(body, asked),
        Protocol::Gemini => read_gemini(body, asked),
        Protocol::Converse => read_converse(body, asked),
    }
}

fn read_messages<'a>(body: &'a Value, asked: &mut Asked) -> Texts<'a> {
    let messages = list(&body["messages"]);
    asked.max_tokens = number(&body["max_tokens"]);
    asked.tools = named(list(&body["tools"]), "input_schema");
    asked.forced = match body["tool_choice"]["type"].as_str() {
        Some("any") => Forced::Any,
        Some("tool") => Forced::Named(word(&body["tool_choice"]["name"])),
        _ => Forced::Free,
    };
    asked.format = format_of(match &body["output_config"]["format"] {
        Value::Null => &body["output_format"],
        format => format,
    });
    let blocks = || messages.iter().flat_map(|message| list(&message["content"]));
    asked.tool_results = blocks().filter(|block| block["type"] == "tool_result").count();
    let marked = |block: &Value| !block["cache_control"].is_null();
    asked.cache_control = marked(body) || blocks().chain(list(&body["system"])).chain(list(&body["tools"])).any(marked);
    conversation(&body["system"], messages, "content")
}

fn read_chat<'a>(body: &'a Value, asked: &mut Asked) -> Texts<'a> {
    let messages = list(&body["messages"]);
    asked.max_tokens = number(&body["max_completion_tokens"]).max(number(&body["max_tokens"]));
    asked.tools = named(list(&body["tools"]).iter().map(|tool| &tool["function"]), "parameters");
    asked.forced = forced_by(&body["tool_choice"], &body["tool_choice"]["function"]["name"]);
    let format = &body["response_format"];
    asked.format = match format["json_schema"]["schema"] {
        Value::Null => format_of(format),
        ref schema => Format::JsonSchema(schema.clone()),
    };
    asked.tool_results = messages.iter().filter(|message| message["role"] == "tool").count();
    asked.stream_options = !body["stream_options"].is_null();
    asked.stream_usage = body["stream_options"]["include_usage"] == true;
    conversation(&Value::Null, messages, "content")
}

fn read_responses<'a>(body: &'a Value, asked: &mut Asked) -> Texts<'a> {
    let items = list(&body["input"]);
    asked.max_tokens = number(&body["max_output_tokens"]);
    let functions = list(&body["tools"]).iter().filter(|tool| tool["type"] == "function");
    asked.tools = named(functions, "parameters");
    asked.forced = forced_by(&body["tool_choice"], &body["tool_choice"]["name"]);
    asked.format = format_of(&body["text"]["format"]);
    let is_result = |item: &&Value| item["type"].as_str().is_some_and(|kind| kind.ends_with("_call_output"));
    asked.tool_results = items.iter().filter(is_result).count();
    let mut texts = conversation(&body["instructions"], items, "content");
    texts.extend(body["input"].as_str().map(|text| vec![text]));
    texts
}

fn read_gemini<'a>(body: &'a Value, asked: &mut Asked) -> Texts<'a> {
    let contents = list(&body["contents"]);
    let generation = either(body, ["generationConfig", "generation_config"]);
    asked.max_tokens = number(either(generation, ["maxOutputTokens", "max_output_tokens"]));
    asked.tools = list(&body["tools"])
        .iter()
        .flat_map(|tool| list(either(tool, ["functionDeclarations", "function_declarations"])))
        .map(|declared| {
            let schema = ["parametersJsonSchema", "parameters_json_schema", "parameters"];
            Tool { name: word(&declared["name"]), schema: either(declared, schema).clone() }
        })
        .collect();
    let calling = &body["toolConfig"]["functionCallingConfig"];
    asked.forced = match (calling["mode"] == "ANY", list(&calling["allowedFunctionNames"])) {
        (true, [only]) => Forced::Named(word(only)),
        (true, _) => Forced::Any,
        (false, _) => Forced::Free,
    };
    let schema = ["responseJsonSchema", "response_json_schema", "responseSchema", "response_schema"];
    asked.format = match either(generation, schema) {
        Value::Null if either(generation, ["responseMimeType", "response_mime_type"]) == "application/json" => {
            Format::JsonObject
        }
        Value::Null => Format::Text,
        schema => Format::JsonSchema(schema.clone()),
    };
    let parts = contents.iter().flat_map(|content| list(&content["parts"]));
    asked.tool_results =
        parts.filter(|part| !either(part, ["functionResponse", "function_response"]).is_null()).count();
    let system = either(body, ["systemInstruction", "system_instruction"]);
    conversation(&system["parts"], contents, "parts")
}

fn read_converse<'a>(body: &'a Value, asked: &mut Asked) -> Texts<'a> {
    let (messages, tools) = (list(&body["messages"]), &body["toolConfig"]);
    asked.max_tokens = number(&body["inferenceConfig"]["maxTokens"]);
    asked.tools = list(&tools["tools"])
        .iter()
        .map(|tool| &tool["toolSpec"])
        .map(|tool| Tool { name: word(&tool["name"]), schema: tool["inputSchema"]["json"].clone() })
        .filter(|tool| !tool.name.is_empty())
        .collect();
    asked.forced = match (&tools["toolChoice"]["any"], tools["toolChoice"]["tool"]["name"].as_str()) {
        (_, Some(name)) => Forced::Named(name.to_owned()),
        (Value::Null, None) => Forced::Free,
        _ => Forced::Any,
    };
    let blocks = messages.iter().flat_map(|message| list(&message["content"]));
    asked.tool_results = blocks.filter(|block| !block["toolResult"].is_null()).count();
    conversation(&body["system"], messages, "content")
}

fn forced_by(choice: &Value, name: &Value) -> Forced {
    match (choice.as_str(), name.as_str()) {
        (Some("required"), _) => Forced::Any,
        (_, Some(name)) => Forced::Named(name.to_owned()),
        _ => Forced::Free,
    }
}

fn format_of(format: &Value) -> Format {
    match format["type"].as_str() {
        Some("json_schema") => Format::JsonSchema(format["schema"].clone()),
        Some("json_object") => Format::JsonObject,
        _ => Format::Text,
    }
}

fn named<'a>(tools: impl IntoIterator<Item = &'a Value>, schema: &str) -> Vec<Tool> {
    let tools = tools.into_iter().map(|tool| Tool { name: word(&tool["name"]), schema: tool[schema].clone() });
    tools.filter(|tool| !tool.name.is_empty()).collect()
}

fn conversation<'a>(system: &'a Value, messages: &'a [Value], key: &str) -> Texts<'a> {
    let contents = messages.iter().map(|message| &message[key]);
    std::iter::once(system).chain(contents).map(texts_of).filter(|texts| !texts.is_empty()).collect()
}

fn texts_of(content: &Value) -> Vec<&str> {
    match content {
        Value::String(text) => vec![text],
        blocks => list(blocks).iter().filter_map(|block| block["text"].as_str()).collect(),
    }
}

/// The first member that is there: this service takes names in either case, and has had several for the same thing.
fn either<'a, const N: usize>(value: &'a Value, names: [&str; N]) -> &'a Value {
    names.into_iter().map(|name| &value[name]).find(|member| !member.is_null()).unwrap_or(&Value::Null)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}
