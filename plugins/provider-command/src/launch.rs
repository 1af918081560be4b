//! The launch: one program, then its conclusion.

use assize_plugin_sdk::{
    Conclusion, Description, Effect, Event, Evidence, Exited, Launch, LaunchRequest, Outcome, PluginError, RunProgram,
    Service, Stdin, Step, Value, conclude_failure, derive_one_line, unexpected_event,
};

use crate::channels::classify_channels;
use crate::config::{CONFIG_SCHEMA, Config, CwdChoice, HomeChoice, StdinChoice};
use crate::template::{TemplateValues, render_program, render_template};

/// Longest evidence that is passed on, in characters of its last lines.
const EVIDENCE_CHARS: usize = 4000;

/// Where the launch stands.
enum State {
    Planned(Box<RunProgram>),
    Running,
    Ended,
}

/// One run of the configured command.
pub struct CommandLaunch {
    state: State,
    model: Option<String>,
    now_ms: u64,
}

impl Launch for CommandLaunch {
    fn describe() -> Description {
        Description {
            name: "command".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            summary: "Runs a command of your own configuration on each packet of tasks".to_owned(),
            license: env!("CARGO_PKG_LICENSE").to_owned(),
            serves: vec![Service { kind: "provider".to_owned(), value: "command".to_owned() }],
            config_schema: CONFIG_SCHEMA.to_owned(),
            // The program is known from the configuration alone; the user who names it grants it.
            requests: Vec::new(),
            extra: [("reviewer", "agent"), ("width", "1")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
        }
    }

    fn start(request: LaunchRequest) -> Result<Self, PluginError> {
        let config = Config::parse(&request.config)?;
        let model = request.model.clone().or_else(|| config.model.clone());
        let program = plan_program(&config, &TemplateValues { request: &request, model: model.as_deref() })?;
        Ok(Self { state: State::Planned(Box::new(program)), model, now_ms: request.now_ms })
    }

    fn next(&mut self, event: Option<Event>) -> Result<Step, PluginError> {
        match (std::mem::replace(&mut self.state, State::Ended), event) {
            (State::Planned(program), None) => {
                self.state = State::Running;
                Ok(Step::Perform(Effect::RunProgram(*program)))
            }
            (State::Running, Some(Event::Exited(exited))) => Ok(Step::Done(self.conclude(&exited))),
            (State::Running, Some(Event::Failed(failure))) => Ok(Step::Done(conclude_failure(&failure))),
            (State::Planned(_), event) => Err(unexpected_event(event.as_ref(), "the start")),
            (State::Running, event) => Err(unexpected_event(event.as_ref(), "exited")),
            (State::Ended, event) => Err(unexpected_event(event.as_ref(), "nothing after the end")),
        }
    }
}

fn plan_program(config: &Config, values: &TemplateValues<'_>) -> Result<RunProgram, PluginError> {
    let Some((program, args)) = config.command.split_first() else {
        return Err(PluginError::InvalidConfiguration(
            "`command` is empty; its first element names the program".to_owned(),
        ));
    };
    let mut env = Vec::new();
    for (name, template) in &config.env {
        env.push((name.clone(), Value::Text(render_template(template, values)?)));
    }
    env.extend(config.inherit.iter().map(|name| (name.clone(), Value::Inherit)));
    Ok(RunProgram {
        program: render_program(program, values)?,
        args: args.iter().map(|arg| render_template(arg, values)).collect::<Result<_, _>>()?,
        env,
        files: Vec::new(),
        stdin: match config.stdin {
            StdinChoice::None => Stdin::None,
            StdinChoice::Prompt => Stdin::Prompt,
        },
        cwd: match config.cwd {
            CwdChoice::Repo => "repo",
            CwdChoice::RunDir => "run-dir",
        }
        .to_owned(),
        home: match config.home {
            HomeChoice::Launch => "launch",
            HomeChoice::User => "user",
        }
        .to_owned(),
        output_cap: config.output_cap,
        timeout_ms: values.request.timeout_ms,
        gateway: None,
        extra: Vec::new(),
    })
}

impl CommandLaunch {
    /// The results file first: a program that answered has answered, however it ended.
    fn conclude(&self, exited: &Exited) -> Conclusion {
        let ended = render_end(exited);
        if exited.results_written {
            return Conclusion::new(Outcome::Completed, format!("the program wrote results; it {ended}"));
        }
        if exited.interrupted {
            return Conclusion::new(Outcome::Interrupted, "the run was interrupted before the program wrote results");
        }
        if exited.timed_out {
            let seconds = exited.wall_ms / 1000;
            let message = format!("no results after {seconds} s: the program was ended at its deadline");
            return Conclusion::new(Outcome::TimedOut, message);
        }
        let refusal = classify_channels(&exited.stdout, &exited.stderr);
        let evidence = refusal.as_ref().map(|r| self.evidence(&r.text, r.status, exited)).into_iter().collect();
        let (outcome, message) = match refusal {
            _ if exited.code == Some(0) => (
                Outcome::NoResults,
                "the program exited with status 0 but wrote no results file; it must write {resultsPath}".to_owned(),
            ),
            Some(refusal) => {
                (refusal.outcome, format!("the program {ended}; it said: {}", derive_one_line(&refusal.report, 200)))
            }
            None => (Outcome::Crashed, format!("the program {ended} without results; see stderr in the run directory")),
        };
        Conclusion { evidence, ..Conclusion::new(outcome, message) }
    }

    fn evidence(&self, text: &str, status: Option<u16>, exited: &Exited) -> Evidence {
        let skip = text.chars().count().saturating_sub(EVIDENCE_CHARS);
        Evidence {
            provider: "command".to_owned(),
            model: self.model.clone(),
            status,
            headers: Vec::new(),
            text: text.chars().skip(skip).collect(),
            received_at_ms: self.now_ms.saturating_add(exited.wall_ms),
            extra: Vec::new(),
        }
    }
}

/// How the program ended, to stand after `it` or `the program`.
fn render_end(exited: &Exited) -> String {
    match (exited.timed_out, exited.interrupted, exited.code, exited.signal) {
        (true, ..) => "was ended at its deadline".to_owned(),
        (_, true, ..) => "was ended because the run was interrupted".to_owned(),
        (_, _, Some(code), _) => format!("exited with status {code}"),
        (_, _, None, Some(signal)) => format!("was ended by signal {signal}"),
        (_, _, None, None) => "ended without a status".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assize_plugin_sdk::transcript::check_transcripts;

    #[test]
    fn launches_follow_their_transcripts() {
        assert_eq!(check_transcripts::<CommandLaunch>(include_str!("../tests/transcripts.json")), Ok(18));
    }

    #[test]
    fn no_message_carries_an_argument_or_the_prompt() {
        let request = LaunchRequest {
            prompt: "PROMPT-TEXT".into(),
            config: r#"{"command":["prog","ARGUMENT-TEXT"]}"#.into(),
            ..LaunchRequest::default()
        };
        for code in [0, 1] {
            let mut launch = CommandLaunch::start(request.clone()).expect("it starts");
            launch.next(None).expect("a step");
            let step =
                launch.next(Some(Event::Exited(Exited { code: Some(code), ..Exited::default() }))).expect("the end");
            let shown = format!("{step:?}");
            assert!(!shown.contains("ARGUMENT-TEXT") && !shown.contains("PROMPT-TEXT"), "{shown}");
        }
    }

    #[test]
    fn the_description_requests_nothing_and_its_schema_is_json() {
        let description = CommandLaunch::describe();
        assert!(description.requests.is_empty());
        assert!(serde_json::from_str::<serde_json::Value>(&description.config_schema).is_ok());
    }
}
