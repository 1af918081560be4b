//! What the model says to a request, whichever protocol it is then put into.

use serde_json::{Value, json};

use crate::answer::render_answer;
use crate::asked::{Asked, Forced, Format, Tool, tokens};
use crate::protocol::Protocol;
use crate::scenario::{Calls, Scenario, Shape};
use crate::schema::{make_up, wrap};

/// Names of tools that take the answer.
const SUBMIT: &[&str] = &["submit_results", "structuredoutput"];
/// Names of tools that read files.
const READ: &[&str] = &["read_file", "read", "view", "view_file", "open_file"];
/// Names of tools that run commands.
const SHELL: &[&str] =
    &["bash", "shell", "exec_command", "shell_command", "run_shell_command", "run_command", "execute"];
/// Names of tools that write files.
const WRITE: &[&str] = &["write", "write_file", "create", "create_file"];

/// What the model says.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// Number of the request, for ids.
    pub number: u64,
    /// Seconds since 1970, where a document tells when it was made.
    pub created: i64,
    /// What is said.
    pub content: Content,
    /// Why it ends.
    pub stop: Stop,
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of what is said.
    pub output_tokens: u64,
}

/// The content of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A text.
    Text(String),
    /// A call of a tool: its name, and its arguments as JSON text.
    Call(String, String),
}

/// Why a message ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It is complete.
    End,
    /// A tool has to be called.
    Call,
    /// More tokens were not allowed.
    Length,
    /// The model refuses.
    Refusal,
    /// The service's filter took it away.
    Filter,
}

impl Content {
    /// Its text, or the arguments of the call.
    pub fn text(&self) -> &str {
        match self {
            Content::Text(text) | Content::Call(_, text) => text,
        }
    }
}

/// Arguments of a call as a value; none for those that are cut.
pub fn arguments_value(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| json!({}))
}

/// Decides what is said. `credential` is told back where the scenario wants it.
pub fn say(scenario: &Scenario, shape: Shape, asked: &Asked, credential: &str) -> (Content, Stop) {
    if let Some((name, arguments)) = scenario.calls.and_then(|calls| call_tool(calls, asked)) {
        return (Content::Call(name, arguments), Stop::Call);
    }
    let results = asked.prompt.as_ref().map(|prompt| render_answer(prompt, scenario.findings));
    if let (Shape::Plain, Some(tool)) = (shape, answering_tool(scenario, asked)) {
        return (Content::Call(tool.name.clone(), fill(tool, asked, results.as_deref())), Stop::Call);
    }
    let text = plain_text(asked, results);
    let stop = match shape {
        Shape::Half => Stop::Length,
        Shape::Refused => Stop::Refusal,
        Shape::Filtered => Stop::Filter,
        _ => Stop::End,
    };
    (Content::Text(reshape(shape, text, credential)), stop)
}

fn reshape(shape: Shape, text: String, credential: &str) -> String {
    match shape {
        Shape::Plain => text,
        Shape::ProseAround => {
            format!(
                "I have read all of it. These are the results:\n\n```json\n{text}\n```\n\nNothing else is worth telling."
            )
        }
        Shape::DoubleEncoded => Value::String(text).to_string(),
        Shape::Empty | Shape::Filtered => String::new(),
        Shape::Half => text.chars().take(text.chars().count() / 2).collect(),
        Shape::Refused => "I cannot help with this request.".to_owned(),
        Shape::EchoKey => format!("The credential was {credential}\n\n{text}"),
    }
}

fn plain_text(asked: &Asked, results: Option<String>) -> String {
    match (&asked.format, results) {
        (Format::JsonSchema(schema), Some(results)) => wrap(schema, &results),
        // Gemini's JSON may be an array; an object is what the others mean.
        (Format::JsonObject, Some(results)) if asked.protocol != Protocol::Gemini => {
            format!("{{\"results\":{results}}}")
        }
        (_, Some(results)) => results,
        (Format::JsonSchema(schema), None) => make_up(schema, &|_| None).to_string(),
        (Format::JsonObject, None) => r#"{"answer":"OK"}"#.to_owned(),
        (Format::Text, None) => "OK".to_owned(),
    }
}

/// The tool that takes the answer: one that has to be called, or the one for it where the scenario wants that.
fn answering_tool<'a>(scenario: &Scenario, asked: &'a Asked) -> Option<&'a Tool> {
    match &asked.forced {
        Forced::Named(name) => asked.tools.iter().find(|tool| tool.name == *name),
        Forced::Any => offered(asked, SUBMIT).or(asked.tools.first()),
        Forced::Free if scenario.submit => offered(asked, SUBMIT),
        Forced::Free => None,
    }
}

fn offered<'a>(asked: &'a Asked, names: &[&str]) -> Option<&'a Tool> {
    asked.tools.iter().find(|tool| names.contains(&tool.name.to_ascii_lowercase().as_str()))
}

fn fill(tool: &Tool, asked: &Asked, results: Option<&str>) -> String {
    match results {
        Some(results) if !READ.contains(&tool.name.to_ascii_lowercase().as_str()) => wrap(&tool.schema, results),
        _ => make_up_arguments(tool, &first_path(asked), asked),
    }
}

/// The next call; none when they have all been made, or when the request offers no such tool: it is one on the side then.
fn call_tool(calls: Calls, asked: &Asked) -> Option<(String, String)> {
    let (names, rounds) = match calls {
        Calls::Read(rounds) => (READ, rounds),
        Calls::Forever => (READ, usize::MAX),
        Calls::Outside | Calls::BadArguments | Calls::Unknown => (READ, 1),
        Calls::Shell => (SHELL, 1),
        Calls::Write => (WRITE, 1),
    };
    if asked.tool_results >= rounds {
        return None;
    }
    let tool = offered(asked, names)?;
    let path = if calls == Calls::Outside { "../../../../etc/passwd".to_owned() } else { first_path(asked) };
    let arguments = make_up_arguments(tool, &path, asked);
    Some(match calls {
        Calls::Unknown => ("no_such_tool".to_owned(), arguments),
        Calls::BadArguments => (tool.name.clone(), arguments[..1].to_owned()),
        _ => (tool.name.clone(), arguments),
    })
}

/// Arguments are an object, though the schema may say nothing.
fn make_up_arguments(tool: &Tool, path: &str, asked: &Asked) -> String {
    let made_up = make_up(&tool.schema, &|name| known_argument(name, path, asked));
    if made_up.is_object() { made_up.to_string() } else { "{}".to_owned() }
}

/// The first file of the first task.
fn first_path(asked: &Asked) -> String {
    let path = asked.prompt.as_ref().and_then(|prompt| {
        let (number, _) = prompt.tasks.first()?.files.first()?;
        prompt.files.get(number).map(|(path, _)| path.clone())
    });
    path.unwrap_or_else(|| "README.md".to_owned())
}

/// What tools of agents and of ours call their arguments.
fn known_argument(name: &str, path: &str, asked: &Asked) -> Option<Value> {
    Some(match name {
        "path" => json!(path),
        "file_path" | "filePath" | "absolute_path" | "filename" => match &asked.directory {
            Some(directory) => json!(format!("{directory}/{path}")),
            None => json!(path),
        },
        "command" | "cmd" | "script" => json!("echo TOOL-RAN > tool_marker.txt; cat README.md"),
        "content" | "contents" | "file_text" => json!("written by the loopback model\n"),
        "first_line" | "start_line" => json!(1),
        "last_line" | "end_line" => json!(40),
        _ => return None,
    })
}

/// Puts together what is said.
pub fn render_said(asked: &Asked, number: u64, created: i64, (content, stop): (Content, Stop)) -> Said {
    let output_tokens = tokens(content.text().len());
    Said { number, created, content, stop, input_tokens: asked.input_tokens(), output_tokens }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::read_prompt;
    use crate::prompt::tests::SAMPLE;

    fn asked() -> Asked {
        let path = json!({"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}, "first_line": {"type": "integer"}}});
        let results = json!({"type": "object", "properties": {"results": {"type": "array"}}});
        Asked {
            prompt: read_prompt(SAMPLE),
            tools: vec![
                Tool { name: "read_file".to_owned(), schema: path },
                Tool { name: "submit_results".to_owned(), schema: results },
            ],
            ..Asked::default()
        }
    }

    fn play(name: &str, asked: &Asked) -> (Content, Stop) {
        let scenario = Scenario::parse(name).unwrap();
        let crate::scenario::Act::Answer(shape) = scenario.act else { panic!("{name}") };
        say(&scenario, shape, asked, "SECRET")
    }

    #[test]
    fn files_are_read_before_the_answer_is_submitted() {
        let mut asked = asked();
        let (Content::Call(name, arguments), Stop::Call) = play("tool-read-2+submit", &asked) else { panic!("call") };
        assert_eq!((name.as_str(), arguments.as_str()), ("read_file", r#"{"path":"src/\"b\".rs","first_line":1}"#));
        asked.tool_results = 2;
        let (Content::Call(name, arguments), Stop::Call) = play("tool-read-2+submit", &asked) else { panic!("call") };
        assert_eq!(name, "submit_results");
        assert_eq!(arguments_value(&arguments)["results"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn a_request_on_the_side_calls_nothing() {
        let aside = Asked::default();
        for name in ["tool-read", "tool-shell", "tool-unknown", "submit", "tool-forever"] {
            assert_eq!(play(name, &aside), (Content::Text("OK".to_owned()), Stop::End), "{name}");
        }
    }

    #[test]
    fn a_tool_that_has_to_be_called_is_called() {
        let mut asked = asked();
        asked.forced = Forced::Any;
        assert!(matches!(play("ok", &asked).0, Content::Call(name, _) if name == "submit_results"));
        asked.forced = Forced::Named("read_file".to_owned());
        assert!(matches!(play("ok", &asked).0, Content::Call(name, _) if name == "read_file"));
    }

    #[test]
    fn arguments_are_an_object_even_without_a_schema() {
        let tools = vec![Tool { name: "read_file".to_owned(), schema: Value::Null }];
        assert_eq!(play("tool-read", &Asked { tools, ..Asked::default() }).0.text(), "{}");
    }

    #[test]
    fn bad_calls_are_bad() {
        let asked = asked();
        assert!(matches!(play("tool-unknown", &asked).0, Content::Call(name, _) if name == "no_such_tool"));
        assert!(play("tool-outside", &asked).0.text().contains("../etc/passwd"));
        let cut = play("tool-bad-arguments", &asked).0;
        assert!(serde_json::from_str::<Value>(cut.text()).is_err());
    }

    #[test]
    fn shapes_change_the_answer_and_nothing_else() {
        let asked = asked();
        let (plain, _) = play("ok-findings", &asked);
        let plain = plain.text();
        let (prose, stop) = play("prose-around-findings", &asked);
        assert!(prose.text().contains(plain) && prose.text().len() > plain.len() && stop == Stop::End);
        let (twice, _) = play("double-encoded-findings", &asked);
        assert_eq!(serde_json::from_str::<String>(twice.text()).unwrap(), plain);
        let (half, stop) = play("max-tokens-findings", &asked);
        assert!(plain.starts_with(half.text()) && half.text().len() < plain.len() && stop == Stop::Length);
        assert!(play("echo-key-ok", &asked).0.text().contains("SECRET"));
        assert_eq!(play("empty-answer", &asked).0.text(), "");
    }

    #[test]
    fn demanded_forms_are_kept_to() {
        let mut asked = asked();
        asked.protocol = Protocol::Chat;
        asked.format = Format::JsonObject;
        assert!(play("ok", &asked).0.text().starts_with(r#"{"results":[{"#));
        asked.prompt = None;
        asked.format = Format::JsonSchema(json!({"type": "object", "properties": {"title": {"type": "string"}}}));
        assert_eq!(play("ok", &asked).0.text(), r#"{"title":"OK"}"#);
    }

    #[test]
    fn agents_get_the_paths_that_their_tools_want() {
        let schema =
            json!({"type": "object", "required": ["file_path"], "properties": {"file_path": {"type": "string"}}});
        let tools = vec![Tool { name: "Read".to_owned(), schema }];
        let asked = Asked { tools, directory: Some("/somewhere".to_owned()), ..Asked::default() };
        assert_eq!(play("tool-read", &asked).0.text(), r#"{"file_path":"/somewhere/README.md"}"#);
    }
}
