//! Templates: placeholders become pieces of one argument, without quotes, because no shell reads them.

use assize_plugin_sdk::{LaunchRequest, Piece, PluginError, extra_value};

/// The placeholders, in the order in which they are listed to people.
pub const PLACEHOLDERS: [&str; 15] = [
    "repoRoot",
    "runId",
    "obligationId",
    "promptPath",
    "taskPath",
    "pendingTasksPath",
    "resultPath",
    "resultsPath",
    "stdoutPath",
    "stderrPath",
    "workerCommandShell",
    "workerCommandJson",
    "uiMode",
    "timeoutMs",
    "model",
];

/// What the placeholders stand for in one launch.
#[derive(Clone, Debug)]
pub struct TemplateValues<'a> {
    /// The launch.
    pub request: &'a LaunchRequest,
    /// Model of the lane or of the configuration.
    pub model: Option<&'a str>,
}

/// The pieces of one template. Neighbouring literal text is one piece; an empty template is one empty literal.
///
/// # Errors
/// `invalid-configuration` for an unknown placeholder or a lone brace, with what to write instead; `unsupported` for a
/// value that the host does not give.
pub fn render_template(template: &str, values: &TemplateValues<'_>) -> Result<Vec<Piece>, PluginError> {
    let mut pieces = Vec::new();
    let mut text = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        let brace = &rest[at..at + 1];
        let after = &rest[at + 1..];
        if let Some(tail) = after.strip_prefix(brace) {
            text.push_str(brace);
            rest = tail;
            continue;
        }
        let (name, tail) = split_name(brace, after).ok_or_else(|| lone_brace(brace, template))?;
        match derive_value(name, values)? {
            Piece::Literal(value) => text.push_str(&value),
            place => {
                if !text.is_empty() {
                    pieces.push(Piece::Literal(std::mem::take(&mut text)));
                }
                pieces.push(place);
            }
        }
        rest = tail;
    }
    text.push_str(rest);
    if !text.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Literal(text));
    }
    Ok(pieces)
}

/// The program of a template: literal text, because what is started is granted by its name.
///
/// # Errors
/// `invalid-configuration` when it is empty or holds a placeholder.
pub fn render_program(template: &str, values: &TemplateValues<'_>) -> Result<String, PluginError> {
    let literal = template.replace("{{", "").replace("}}", "");
    if literal.contains(['{', '}']) {
        return Err(PluginError::InvalidConfiguration(format!(
            "the first element of `command` names the program and may hold no placeholder: `{template}`"
        )));
    }
    match render_template(template, values)?.as_slice() {
        [Piece::Literal(program)] if !program.trim().is_empty() => Ok(program.clone()),
        _ => Err(PluginError::InvalidConfiguration("the first element of `command` names no program".to_owned())),
    }
}

/// The name between braces and what follows them.
fn split_name<'t>(brace: &str, after: &'t str) -> Option<(&'t str, &'t str)> {
    if brace != "{" {
        return None;
    }
    let (name, tail) = after.split_once('}')?;
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (!name.is_empty() && name.chars().all(plain)).then_some((name, tail))
}

fn lone_brace(brace: &str, template: &str) -> PluginError {
    PluginError::InvalidConfiguration(format!(
        "a single `{brace}` in `{template}` belongs to no placeholder; write `{brace}{brace}` for the brace itself"
    ))
}

fn derive_value(name: &str, values: &TemplateValues<'_>) -> Result<Piece, PluginError> {
    let request = values.request;
    let place = |place: &str| Ok(Piece::Place(place.to_owned()));
    let literal = |text: &str| Ok(Piece::Literal(text.to_owned()));
    match name {
        "repoRoot" => place("repo"),
        "promptPath" => place("prompt-file"),
        "taskPath" => place("task-file"),
        "pendingTasksPath" => place("pending-tasks-file"),
        "resultPath" => place("result-file"),
        "resultsPath" => place("results-file"),
        "stdoutPath" => place("stdout-file"),
        "stderrPath" => place("stderr-file"),
        "runId" => literal(&request.run_id),
        "timeoutMs" => literal(&request.timeout_ms.to_string()),
        "model" => literal(values.model.unwrap_or_default()),
        "obligationId" => literal(extra_value(&request.extra, "obligation-id").unwrap_or_default()),
        "uiMode" => literal(extra_value(&request.extra, "ui-mode").unwrap_or("headless")),
        "workerCommandShell" => given(request, name, "worker-command-shell"),
        "workerCommandJson" => given(request, name, "worker-command-json"),
        _ => Err(PluginError::InvalidConfiguration(format!(
            "unknown placeholder `{{{name}}}`; known are {}",
            PLACEHOLDERS.map(|known| format!("{{{known}}}")).join(" ")
        ))),
    }
}

fn given(request: &LaunchRequest, name: &str, key: &str) -> Result<Piece, PluginError> {
    let value = extra_value(&request.extra, key).ok_or_else(|| {
        PluginError::Unsupported(format!("this host gives no `{key}`, which `{{{name}}}` stands for"))
    })?;
    Ok(Piece::Literal(value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> LaunchRequest {
        LaunchRequest {
            run_id: "run-1".into(),
            timeout_ms: 5000,
            extra: vec![
                ("worker-command-json".into(), r#"["assize","worker"]"#.into()),
                ("worker-command-shell".into(), "'assize' 'worker'".into()),
            ],
            ..LaunchRequest::default()
        }
    }

    fn render(template: &str) -> Result<Vec<Piece>, PluginError> {
        render_template(template, &TemplateValues { request: &request(), model: Some("m-1") })
    }

    fn literal(text: &str) -> Piece {
        Piece::Literal(text.into())
    }

    #[test]
    fn every_placeholder_has_a_value() {
        for name in PLACEHOLDERS {
            let pieces = render(&format!("{{{name}}}")).expect(name);
            assert_eq!(pieces.len(), 1, "{name}");
        }
    }

    #[test]
    fn values_stand_raw_inside_longer_arguments() {
        assert_eq!(render("--task={taskPath}").unwrap(), [literal("--task="), Piece::Place("task-file".into())]);
        assert_eq!(render("{runId}/{model}-{timeoutMs}").unwrap(), [literal("run-1/m-1-5000")]);
        assert_eq!(render("{workerCommandShell}").unwrap(), [literal("'assize' 'worker'")]);
        assert_eq!(render("{uiMode}{obligationId}").unwrap(), [literal("headless")]);
        assert_eq!(render("").unwrap(), [literal("")]);
        assert_eq!(render("ä{model}ü").unwrap(), [literal("äm-1ü")]);
    }

    #[test]
    fn doubled_braces_are_braces() {
        assert_eq!(
            render(r#"{{"p":"{promptPath}"}}"#).unwrap(),
            [literal(r#"{"p":""#), Piece::Place("prompt-file".into()), literal(r#""}"#),]
        );
        assert_eq!(render("{{taskPath}}").unwrap(), [literal("{taskPath}")]);
    }

    #[test]
    fn an_unknown_placeholder_is_named_and_the_known_ones_are_listed() {
        let Err(PluginError::InvalidConfiguration(text)) = render("x{taskFile}") else { panic!("refused") };
        assert!(text.contains("`{taskFile}`"));
        assert!(PLACEHOLDERS.iter().all(|name| text.contains(&format!("{{{name}}}"))));
    }

    #[test]
    fn a_lone_brace_is_refused_with_its_mend() {
        for template in ["{", "}", "{print $1}", "{}", r#"{"a":{"b":1}}"#, "{taskPath"] {
            let Err(PluginError::InvalidConfiguration(text)) = render(template) else { panic!("{template}") };
            assert!(text.contains("for the brace itself"), "{text}");
        }
    }

    #[test]
    fn the_program_is_literal() {
        let request = request();
        let values = TemplateValues { request: &request, model: None };
        assert_eq!(render_program("py{{3}}", &values).unwrap(), "py{3}");
        for template in ["{model}", "a{repoRoot}", "", " "] {
            assert!(
                matches!(render_program(template, &values), Err(PluginError::InvalidConfiguration(_))),
                "{template}"
            );
        }
    }

    #[test]
    fn a_worker_command_that_the_host_does_not_give_is_unsupported() {
        let bare = LaunchRequest::default();
        let rendered = render_template("{workerCommandJson}", &TemplateValues { request: &bare, model: None });
        assert!(matches!(rendered, Err(PluginError::Unsupported(_))));
    }
}
