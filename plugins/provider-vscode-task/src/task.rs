//! The configuration section: a task as `tasks.json` has it, turned into a command.

use std::collections::BTreeMap;

use assize_plugin_sdk::PluginError;
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// Schema of the configuration section.
pub const TASK_SCHEMA: &str = r#"{
  "type": "object",
  "required": ["command"],
  "additionalProperties": false,
  "properties": {
    "label": {"type": "string", "description": "Name of the task, for people."},
    "type": {"enum": ["process"], "description": "No shell is involved."},
    "command": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "array", "minItems": 1, "items": {"type": "string"}}],
      "description": "Program, or program and arguments. Placeholders such as {taskPath} are replaced without a shell; {{ and }} are braces; ${workspaceFolder} is the repository."},
    "args": {"type": "array", "items": {"type": "string"}, "description": "Arguments; placeholders as in command."},
    "options": {"type": "object", "additionalProperties": false, "description": "As in tasks.json.", "properties": {
      "cwd": {"enum": ["repo", "run-dir", "${workspaceFolder}"], "description": "Where the program starts; the repository unless said."},
      "env": {"type": "object", "additionalProperties": {"type": "string"}, "description": "Variables for the program; placeholders as in command."}
    }},
    "env": {"type": "object", "additionalProperties": {"type": "string"}, "description": "The same as options.env; it comes first."},
    "inherit": {"type": "array", "items": {"type": "string", "minLength": 1},
      "description": "Variables taken from the host's own environment, such as VSCODE_IPC_HOOK_CLI for an open window; each needs a secret grant."},
    "model": {"type": "string", "description": "Value of {model} when the lane names none."},
    "stdin": {"enum": ["none", "prompt"], "description": "What the program reads; none unless said."},
    "output_cap": {"type": "integer", "minimum": 0, "description": "Bytes kept of standard output and of standard error."},
    "home": {"enum": ["launch", "user"], "description": "user: the user's home, so that the editor's login is found, unless said; launch: a home of its own."}
  }
}"#;

/// How the repository is called in `tasks.json`, and in templates.
const WORKSPACE: (&str, &str) = ("${workspaceFolder}", "{repoRoot}");

/// The configuration section, read.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskConfig {
    /// Name of the task, for people.
    #[serde(default)]
    pub label: String,
    /// `process`.
    #[serde(default, rename = "type")]
    pub kind: Option<String>,
    /// Program, or program and arguments.
    pub command: CommandLine,
    /// Arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// As in `tasks.json`.
    #[serde(default)]
    pub options: TaskOptions,
    /// Variables; they come before those of the options.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// Variables of the host's own environment.
    #[serde(default)]
    pub inherit: Vec<String>,
    /// Model when the lane names none.
    #[serde(default)]
    pub model: Option<String>,
    /// `none` or `prompt`.
    #[serde(default)]
    pub stdin: Option<String>,
    /// Bytes kept of each output.
    #[serde(default)]
    pub output_cap: Option<u64>,
    /// `user` or `launch`.
    #[serde(default)]
    pub home: Option<String>,
}

/// A program alone, or with its arguments.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum CommandLine {
    /// The program.
    Program(String),
    /// Program and arguments.
    Line(Vec<String>),
}

/// `options` of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TaskOptions {
    /// `repo`, `run-dir` or `${workspaceFolder}`.
    pub cwd: Option<String>,
    /// Variables.
    pub env: BTreeMap<String, String>,
}

impl TaskConfig {
    /// Reads the section.
    ///
    /// # Errors
    /// `invalid-configuration` with the key and the mend.
    pub fn parse(json: &str) -> Result<Self, PluginError> {
        let mut config: Self = serde_json::from_str(json)
            .map_err(|error| refuse(format!("the section of provider vscode-task cannot be read: {error}")))?;
        if config.kind.as_deref().is_some_and(|kind| kind != "process") {
            return Err(refuse("`type` must be `process`: tasks are started without a shell".to_owned()));
        }
        for template in config.templates_mut() {
            *template = translate(template)?;
        }
        Ok(config)
    }

    /// The section of the command provider that does the same.
    pub fn into_command(self) -> Value {
        let mut line = match self.command {
            CommandLine::Program(program) => vec![program],
            CommandLine::Line(line) => line,
        };
        line.extend(self.args);
        let mut env = self.options.env;
        env.extend(self.env);
        let cwd = self.options.cwd.map(|cwd| if cwd == WORKSPACE.0 { "repo".to_owned() } else { cwd });
        let mut section = Map::new();
        let optional = [
            ("model", self.model.map(Value::from)),
            ("stdin", self.stdin.map(Value::from)),
            ("cwd", cwd.map(Value::from)),
            ("output_cap", self.output_cap.map(Value::from)),
        ];
        section.extend(optional.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))));
        section.insert("command".to_owned(), json!(line));
        section.insert("env".to_owned(), json!(env));
        section.insert("inherit".to_owned(), json!(self.inherit));
        section.insert("home".to_owned(), self.home.unwrap_or_else(|| "user".to_owned()).into());
        section.into()
    }

    fn templates_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let line = match &mut self.command {
            CommandLine::Program(program) => std::slice::from_mut(program),
            CommandLine::Line(line) => line.as_mut_slice(),
        };
        line.iter_mut().chain(&mut self.args).chain(self.options.env.values_mut()).chain(self.env.values_mut())
    }
}

/// A template in which the repository has our name. An editor's other variables have no meaning in a launch.
fn translate(template: &str) -> Result<String, PluginError> {
    let translated = template.replace(WORKSPACE.0, WORKSPACE.1);
    match translated.find("${").filter(|at| !translated[at + 2..].starts_with('{')) {
        Some(at) => {
            let name: String = translated[at..].chars().take_while(|c| *c != '}').take(80).collect();
            let mend = "only ${workspaceFolder} is known beside placeholders such as {taskPath}; write ${{ for these characters";
            Err(refuse(format!("`{name}}}` is a variable of the editor: {mend}")))
        }
        None => Ok(translated),
    }
}

fn refuse(text: String) -> PluginError {
    PluginError::InvalidConfiguration(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<TaskConfig, PluginError> {
        TaskConfig::parse(json)
    }

    #[test]
    fn a_task_of_an_editor_becomes_the_command_that_does_the_same() {
        let task = r#"{"label":"audit","type":"process","command":"code","args":["chat","{promptPath}","${workspaceFolder}/x"],
            "options":{"cwd":"${workspaceFolder}","env":{"A":"1","B":"2"}},"env":{"B":"3"},"inherit":["VSCODE_IPC_HOOK_CLI"]}"#;
        let command = parse(task).unwrap().into_command();
        assert_eq!(command["command"], json!(["code", "chat", "{promptPath}", "{repoRoot}/x"]));
        assert_eq!((&command["cwd"], &command["home"]), (&json!("repo"), &json!("user")));
        assert_eq!(
            (&command["env"], &command["inherit"]),
            (&json!({"A": "1", "B": "3"}), &json!(["VSCODE_IPC_HOOK_CLI"]))
        );
    }

    #[test]
    fn a_list_is_program_and_arguments() {
        let command = parse(r#"{"command":["a","b"],"args":["c"],"home":"launch"}"#).unwrap().into_command();
        assert_eq!((&command["command"], &command["home"]), (&json!(["a", "b", "c"]), &json!("launch")));
    }

    #[test]
    fn variables_of_the_editor_are_refused_and_plain_braces_are_not() {
        for variable in ["${file}", "x${env:HOME}", "${config:a.b}", "${"] {
            let task = json!({"command": "p", "args": [variable]}).to_string();
            let Err(PluginError::InvalidConfiguration(text)) = parse(&task) else { panic!("{variable}") };
            assert!(text.contains("${workspaceFolder}"), "{text}");
        }
        assert!(parse(r#"{"command":"p","args":["${{x}}","{taskPath}","$x"]}"#).is_ok());
    }

    #[test]
    fn what_is_no_task_is_refused() {
        for json in [
            r#"{"command":"p","type":"shell"}"#,
            r#"{"command":7}"#,
            r#"{"command":"p","args":[{"value":"x","quoting":"strong"}]}"#,
            r#"{"command":"p","presentation":{}}"#,
            r#"{"command":"p","options":{"shell":{}}}"#,
            "{}",
            "",
        ] {
            assert!(matches!(parse(json), Err(PluginError::InvalidConfiguration(_))), "{json}");
        }
    }
}
