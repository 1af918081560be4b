//! The launch: one program, by the route that the host can give it, then its conclusion.

use assize_plugin_sdk::{
    Conclusion, Description, Effect, Event, Evidence, Exited, Failure, Launch, LaunchRequest, Outcome, PluginError,
    Request, Service, Step, conclude_failure, conclude_missing_secret, extra_value, unexpected_event,
};

use crate::config::{CONFIG_SCHEMA, Config, Login};
use crate::models::derive_models;
use crate::plan::{Key, Route, choose_model, plan_program};
use crate::stream::{Stream, read_stream};
use crate::verdict::{Verdict, judge_launch};

/// Longest error sentence that is passed on as evidence, in characters.
const EVIDENCE_CHARS: usize = 4000;

/// Where the launch stands.
enum State {
    Planned,
    Running(Route),
    Ended,
}

/// One run of GitHub Copilot CLI.
pub struct CopilotLaunch {
    state: State,
    config: Config,
    request: LaunchRequest,
}

/// What the component wishes to be granted: kind, name and reason.
const REQUESTS: [(&str, &str, &str); 7] = [
    ("program", "copilot", "It is the reviewer that this plugin launches."),
    ("host", "api.openai.com", "The program asks its models here unless another service is configured."),
    ("host", "api.anthropic.com", "The program asks its models here with protocol = anthropic."),
    ("secret", "OPENAI_API_KEY", "Requests are paid with this key."),
    ("secret", "ANTHROPIC_API_KEY", "Requests with protocol = anthropic are paid with this key."),
    ("secret", "AZURE_OPENAI_API_KEY", "Requests with protocol = azure are paid with this key."),
    ("secret", "COPILOT_GITHUB_TOKEN", "With login = user the program uses this GitHub token where it is set."),
];

impl Launch for CopilotLaunch {
    fn describe() -> Description {
        let request = |(kind, name, reason): &(&str, &str, &str)| Request {
            kind: (*kind).to_owned(),
            name: (*name).to_owned(),
            reason: (*reason).to_owned(),
        };
        Description {
            name: "copilot".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            summary: "Reviews with GitHub Copilot CLI, read-only and without a terminal".to_owned(),
            license: env!("CARGO_PKG_LICENSE").to_owned(),
            serves: vec![Service { kind: "provider".to_owned(), value: "copilot".to_owned() }],
            config_schema: CONFIG_SCHEMA.to_owned(),
            requests: REQUESTS.iter().map(request).collect(),
            extra: vec![
                ("reviewer".to_owned(), "agent".to_owned()),
                ("width".to_owned(), "4".to_owned()),
                ("models".to_owned(), derive_models()),
            ],
        }
    }

    fn start(request: LaunchRequest) -> Result<Self, PluginError> {
        let config = Config::parse(&request.config)?;
        match choose_model(&config, &request) {
            Some(model) if model.starts_with('-') => Err(PluginError::InvalidConfiguration(
                "the model's name starts with `-`, so that the program would take it for an option".to_owned(),
            )),
            None if config.login == Login::Key => {
                Err(PluginError::InvalidConfiguration("`model` is missing; a service of your own needs one".to_owned()))
            }
            _ => Ok(Self { state: State::Planned, config, request }),
        }
    }

    fn next(&mut self, event: Option<Event>) -> Result<Step, PluginError> {
        match (std::mem::replace(&mut self.state, State::Ended), event) {
            (State::Planned, None) => Ok(self.run(self.first_route())),
            (State::Running(_), Some(Event::Exited(exited))) => Ok(Step::Done(self.conclude(&exited))),
            (State::Running(route), Some(Event::Failed(failure))) => Ok(self.fall_back(route, &failure)),
            (State::Planned, event) => Err(unexpected_event(event.as_ref(), "the start")),
            (State::Running(_), event) => Err(unexpected_event(event.as_ref(), "exited")),
            (State::Ended, event) => Err(unexpected_event(event.as_ref(), "nothing after the end")),
        }
    }
}

impl CopilotLaunch {
    fn run(&mut self, route: Route) -> Step {
        let program = plan_program(&self.config, &self.request, route);
        self.state = State::Running(route);
        Step::Perform(Effect::RunProgram(program))
    }

    fn first_route(&self) -> Route {
        match self.config.login {
            Login::User => Route { key: Key::UserLogin, gateway: false },
            Login::Key => Route { key: Key::Secret, gateway: self.config.gateway },
        }
    }

    /// A host without gateways leaves the program its key; a service on this machine mostly wants none.
    fn fall_back(&mut self, route: Route, failure: &Failure) -> Step {
        let missing = failure.kind == "not-found" && extra_value(&failure.extra, "missing") == Some("secret");
        match route.key {
            _ if failure.kind == "unsupported" && route.gateway => self.run(Route { gateway: false, ..route }),
            Key::Secret if missing && self.config.may_be_keyless() => self.run(Route { key: Key::Keyless, ..route }),
            Key::Secret if missing => {
                let message =
                    format!("copilot has no key; set {}, or log in and use login = \"user\"", self.config.secret());
                Step::Done(conclude_missing_secret(failure, &message))
            }
            _ => Step::Done(conclude_failure(failure)),
        }
    }

    fn conclude(&self, exited: &Exited) -> Conclusion {
        let stream = read_stream(&exited.stdout);
        let verdict = judge_launch(&self.config, &stream, exited);
        let evidence = self.collect_evidence(&stream, &verdict, exited);
        let results = verdict.answered.then(|| stream.answer.clone());
        // A results file is the result channel too, should the tools have let it be written.
        let (outcome, message) = if results.is_none() && exited.results_written {
            (Outcome::Completed, format!("results were written to the results file; {}", verdict.message))
        } else {
            (verdict.outcome, verdict.message)
        };
        Conclusion { outcome, results, usage: stream.usage(), evidence, message, extra: Vec::new() }
    }

    fn collect_evidence(&self, stream: &Stream, verdict: &Verdict, exited: &Exited) -> Vec<Evidence> {
        let asked = choose_model(&self.config, &self.request).or_else(|| stream.model.clone());
        let piece = |(status, text): &(Option<u16>, String)| Evidence {
            provider: "copilot".to_owned(),
            model: asked.clone(),
            status: *status,
            headers: Vec::new(),
            text: text.chars().take(EVIDENCE_CHARS).collect(),
            received_at_ms: self.request.now_ms.saturating_add(exited.wall_ms),
            extra: Vec::new(),
        };
        verdict.evidence.iter().map(piece).collect()
    }
}

#[cfg(test)]
mod tests;
