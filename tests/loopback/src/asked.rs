//! What a generation request asks for, whichever protocol it speaks.

use serde_json::Value;

use crate::body::read_body;
use crate::prompt::{Prompt, read_prompt};
use crate::protocol::{Protocol, Target};

/// What matters of a generation request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Asked {
    /// The protocol.
    pub protocol: Protocol,
    /// Model that is asked.
    pub model: String,
    /// Whether the answer is to be streamed.
    pub stream: bool,
    /// Whether a stream is one of events; Gemini also knows one that is a JSON array.
    pub events: bool,
    /// The audit prompt among the texts; none where there is none.
    pub prompt: Option<Prompt>,
    /// Bytes of the request.
    pub bytes: usize,
    /// Tools that are offered.
    pub tools: Vec<Tool>,
    /// Which tool has to be called.
    pub forced: Forced,
    /// Results of tools in the conversation so far.
    pub tool_results: usize,
    /// Form of the answer.
    pub format: Format,
    /// Most tokens of the answer; 0 where nothing is said.
    pub max_tokens: u64,
    /// Working directory that an agent names in its prompt.
    pub directory: Option<String>,
    /// Whether a block is marked for the cache.
    pub cache_control: bool,
    /// Whether options of the stream are given.
    pub stream_options: bool,
    /// Whether the stream is to tell what was used; every protocol but one always does.
    pub stream_usage: bool,
}

/// A tool as it is offered.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Schema of its arguments.
    pub schema: Value,
}

/// Whether a tool has to be called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Forced {
    /// The model is free.
    #[default]
    Free,
    /// One of those that are offered.
    Any,
    /// This one.
    Named(String),
}

/// The form that an answer is to have.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Format {
    /// Any.
    #[default]
    Text,
    /// A JSON object.
    JsonObject,
    /// JSON that fits a schema.
    JsonSchema(Value),
}

/// Texts of a request: those of the system first, then message after message, each with its blocks.
pub type Texts<'a> = Vec<Vec<&'a str>>;

/// Reads a request. A body that is no JSON asks for nothing in particular.
pub fn read_request(target: &Target, body: &[u8]) -> Asked {
    let value: Value = serde_json::from_slice(body).unwrap_or_default();
    let mut asked = Asked {
        protocol: target.protocol,
        model: target.model.clone().unwrap_or_else(|| value["model"].as_str().unwrap_or("loopback").to_owned()),
        stream: target.stream || value["stream"].as_bool().unwrap_or(false),
        events: target.events || target.protocol != Protocol::Gemini,
        bytes: body.len(),
        ..Asked::default()
    };
    let texts = read_body(&value, &mut asked);
    asked.prompt = find_prompt(&texts);
    asked.directory = texts.iter().flatten().find_map(|text| find_directory(text));
    asked
}

impl Asked {
    /// Tokens that the request is counted as, roughly.
    pub fn input_tokens(&self) -> u64 {
        tokens(self.bytes)
    }

    /// Tasks of the audit prompt.
    pub fn tasks(&self) -> usize {
        self.prompt.as_ref().map_or(0, |prompt| prompt.tasks.len())
    }
}

/// Tokens of so many bytes, roughly.
pub fn tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(4)).unwrap_or(u64::MAX).max(1)
}

/// Clients put texts of their own before and after, and some split the prompt for the sake of a cache: the last message that holds a
/// whole prompt is the one in hand, then all texts together, then any text.
fn find_prompt(texts: &Texts) -> Option<Prompt> {
    let whole = |text: &str| read_prompt(text).filter(|prompt| !prompt.files.is_empty());
    let messages = || texts.iter().rev().find_map(|blocks| whole(&blocks.join("\n")));
    let blocks = || texts.iter().rev().flatten().find_map(|text| whole(text));
    let together = || whole(&texts.iter().flatten().copied().collect::<Vec<_>>().join("\n"));
    let any = || texts.iter().rev().flatten().find_map(|text| read_prompt(text));
    messages().or_else(blocks).or_else(together).or_else(any)
}

/// Agents tell the model where they work, so that it can name files absolutely.
fn find_directory(text: &str) -> Option<String> {
    ["orking directory: ", "<cwd>"].iter().find_map(|mark| {
        let (_, rest) = text.split_once(mark)?;
        let path = rest.split(['\n', '<']).next()?.trim();
        path.starts_with('/').then(|| path.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::prompt::tests::SAMPLE;

    fn read(protocol: Protocol, body: Value) -> Asked {
        read_request(&Target { protocol, ..Target::default() }, body.to_string().as_bytes())
    }

    #[test]
    fn the_audit_prompt_is_found_among_other_texts() {
        let asked = read(
            Protocol::Messages,
            json!({"model": "m", "stream": true, "messages": [
                {"role": "user", "content": [{"type": "text", "text": "reminder"}, {"type": "text", "text": SAMPLE}]},
                {"role": "user", "content": "more"},
            ]}),
        );
        assert_eq!((asked.model.as_str(), asked.stream), ("m", true));
        assert_eq!(asked.tasks(), 2);
        assert_eq!(read_request(&Target::default(), b"nonsense").prompt, None);
    }

    #[test]
    fn a_prompt_that_is_split_for_the_cache_is_put_together() {
        let (rules, rest) = SAMPLE.split_once("\n## Tasks").unwrap();
        let rest = format!("## Tasks{rest}");
        let split =
            json!({"system": [{"type": "text", "text": rules}], "messages": [{"role": "user", "content": rest}]});
        let blocks = json!({"messages": [{"role": "user", "content": [
            {"type": "text", "text": rules}, {"type": "text", "text": rest},
        ]}]});
        for body in [split, blocks] {
            let prompt = read(Protocol::Messages, body).prompt.unwrap();
            assert_eq!((prompt.tasks.len(), prompt.files.len(), prompt.shown.len()), (2, 2, 1));
        }
    }

    #[test]
    fn every_protocol_says_the_same_in_its_own_way() {
        let schema = json!({"type": "object"});
        let bodies = [
            (
                Protocol::Messages,
                json!({"max_tokens": 9, "system": "s", "messages": [{"role": "user", "content": SAMPLE},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]}],
                    "tools": [{"name": "read_file", "input_schema": schema}], "tool_choice": {"type": "any"}}),
            ),
            (
                Protocol::Chat,
                json!({"max_completion_tokens": 9, "messages": [{"role": "user", "content": SAMPLE}, {"role": "tool", "content": "x"}],
                    "tools": [{"type": "function", "function": {"name": "read_file", "parameters": schema}}], "tool_choice": "required"}),
            ),
            (
                Protocol::Responses,
                json!({"max_output_tokens": 9, "input": [{"role": "user", "content": [{"type": "input_text", "text": SAMPLE}]},
                    {"type": "function_call_output", "call_id": "c", "output": "x"}],
                    "tools": [{"type": "function", "name": "read_file", "parameters": schema}, {"type": "web_search"}],
                    "tool_choice": "required"}),
            ),
            (
                Protocol::Gemini,
                json!({"contents": [{"role": "user", "parts": [{"text": SAMPLE}]}, {"role": "user", "parts": [{"functionResponse": {}}]}],
                    "tools": [{"functionDeclarations": [{"name": "read_file", "parameters": schema}]}],
                    "toolConfig": {"functionCallingConfig": {"mode": "ANY"}}, "generationConfig": {"maxOutputTokens": 9}}),
            ),
            (
                Protocol::Converse,
                json!({"messages": [{"role": "user", "content": [{"text": SAMPLE}]}, {"role": "user", "content": [{"toolResult": {}}]}],
                    "toolConfig": {"tools": [{"toolSpec": {"name": "read_file", "inputSchema": {"json": schema}}}], "toolChoice": {"any": {}}},
                    "inferenceConfig": {"maxTokens": 9}}),
            ),
        ];
        for (protocol, body) in bodies {
            let asked = read(protocol, body);
            assert_eq!((asked.tasks(), asked.tool_results, asked.max_tokens), (2, 1, 9), "{protocol:?}");
            assert_eq!(asked.tools, [Tool { name: "read_file".to_owned(), schema: schema.clone() }], "{protocol:?}");
            assert_eq!(asked.forced, Forced::Any, "{protocol:?}");
        }
    }

    #[test]
    fn demanded_forms_are_read() {
        let schema = json!({"type": "object", "properties": {"title": {"type": "string"}}});
        for (protocol, body) in [
            (Protocol::Messages, json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}})),
            (
                Protocol::Chat,
                json!({"response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}}),
            ),
            (Protocol::Responses, json!({"text": {"format": {"type": "json_schema", "name": "n", "schema": schema}}})),
            (
                Protocol::Gemini,
                json!({"generationConfig": {"responseMimeType": "application/json", "responseSchema": schema}}),
            ),
        ] {
            assert_eq!(read(protocol, body).format, Format::JsonSchema(schema.clone()), "{protocol:?}");
        }
        let object = json!({"response_format": {"type": "json_object"}});
        assert_eq!(read(Protocol::Chat, object).format, Format::JsonObject);
    }

    #[test]
    fn an_agent_s_directory_is_found() {
        for text in ["x\nWorking directory: /a b/c\ny", "<environment_context>\n  <cwd>/a b/c</cwd>"] {
            assert_eq!(find_directory(text).as_deref(), Some("/a b/c"));
        }
        assert_eq!(find_directory("Working directory: here"), None);
    }
}
