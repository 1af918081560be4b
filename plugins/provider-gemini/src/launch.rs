//! The launch: one program, by the route that the host can give it, then its conclusion.

use assize_plugin_sdk::{
    Conclusion, Description, Effect, Event, Evidence, Exited, Failure, Launch, LaunchRequest, Outcome, PluginError,
    Request, Service, Step, conclude_failure, conclude_missing_secret, extra_value, unexpected_event,
};

use crate::cli::Cli;
use crate::config::{CONFIG_SCHEMA, Config, Login};
use crate::models::derive_models;
use crate::plan::{Key, Route, choose_model, plan_program};
use crate::told::{read_gemini, read_qwen};
use crate::verdict::{Asked, Verdict, judge_launch};

/// Bytes that the programs take from their standard input. What is beyond they cut off, and end with success.
const PROMPT_BYTES: usize = 8 * 1024 * 1024;
/// Longest error sentence that is passed on as evidence, in characters.
const EVIDENCE_CHARS: usize = 4000;

/// Where the launch stands.
enum State {
    Planned,
    Running(Route),
    Ended,
}

/// One run of Gemini CLI or Qwen Code.
pub struct GeminiLaunch {
    state: State,
    cli: Cli,
    config: Config,
    request: LaunchRequest,
}

impl Launch for GeminiLaunch {
    fn describe() -> Description {
        let request = |(kind, name, reason): &(&str, &str, &str)| Request {
            kind: (*kind).to_owned(),
            name: (*name).to_owned(),
            reason: (*reason).to_owned(),
        };
        Description {
            name: "gemini".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            summary: "Reviews with Gemini CLI or Qwen Code, read-only and without a terminal".to_owned(),
            license: env!("CARGO_PKG_LICENSE").to_owned(),
            serves: Cli::ALL.map(|cli| Service { kind: "provider".to_owned(), value: cli.name().to_owned() }).to_vec(),
            config_schema: CONFIG_SCHEMA.to_owned(),
            requests: REQUESTS.iter().map(request).collect(),
            extra: vec![
                ("reviewer".to_owned(), "agent".to_owned()),
                ("width".to_owned(), "4".to_owned()),
                ("snapshot".to_owned(), "needed".to_owned()),
                ("models".to_owned(), derive_models()),
            ],
        }
    }

    fn start(request: LaunchRequest) -> Result<Self, PluginError> {
        let cli = Cli::chosen(&request)?;
        let config = Config::parse(&request.config, cli)?;
        if request.model.as_ref().is_some_and(|model| model.starts_with('-')) {
            let text = "the model's name starts with `-`, so that the program would take it for an option";
            return Err(PluginError::InvalidConfiguration(text.to_owned()));
        }
        Ok(Self { state: State::Planned, cli, config, request })
    }

    fn next(&mut self, event: Option<Event>) -> Result<Step, PluginError> {
        match (std::mem::replace(&mut self.state, State::Ended), event) {
            (State::Planned, None) if self.request.prompt.len() > PROMPT_BYTES => {
                let message = format!(
                    "the prompt is larger than the 8 MiB that {} reads; the packet is too large",
                    self.cli.name()
                );
                Ok(Step::Done(Conclusion::new(Outcome::ContextExceeded, message)))
            }
            (State::Planned, None) => Ok(self.run(self.first_route())),
            (State::Running(_), Some(Event::Exited(exited))) => Ok(Step::Done(self.conclude(&exited))),
            (State::Running(route), Some(Event::Failed(failure))) => Ok(self.fall_back(&route, &failure)),
            (State::Planned, event) => Err(unexpected_event(event.as_ref(), "the start")),
            (State::Running(_), event) => Err(unexpected_event(event.as_ref(), "exited")),
            (State::Ended, event) => Err(unexpected_event(event.as_ref(), "nothing after the end")),
        }
    }
}

/// What the component wishes to be granted: kind, name and reason.
const REQUESTS: [(&str, &str, &str); 9] = [
    ("program", "gemini", "It is the reviewer that this plugin launches as gemini."),
    ("program", "qwen", "It is the reviewer that this plugin launches as qwen."),
    ("host", "generativelanguage.googleapis.com", "Gemini CLI asks its models here."),
    ("host", "dashscope-intl.aliyuncs.com", "Qwen Code asks its models here unless a base_url is configured."),
    ("secret", "GEMINI_API_KEY", "Requests of Gemini CLI are paid with this key."),
    ("secret", "GOOGLE_API_KEY", "Requests of Gemini CLI are paid with this key where the other is not set."),
    ("secret", "GOOGLE_GEMINI_BASE_URL", "Requests of Gemini CLI go to this address when it is set."),
    ("secret", "DASHSCOPE_API_KEY", "Requests of Qwen Code are paid with this key."),
    ("secret", "OPENAI_API_KEY", "Requests of Qwen Code to a configured base_url are paid with this key."),
];

impl GeminiLaunch {
    fn run(&mut self, route: Route) -> Step {
        let program = plan_program(self.cli, &self.config, &self.request, &route);
        self.state = State::Running(route);
        Step::Perform(Effect::RunProgram(program))
    }

    fn first_route(&self) -> Route {
        match self.config.login {
            Login::User => Route { key: Key::UserLogin, gateway: false },
            Login::Key => Route {
                key: Key::Secret(self.config.secrets(self.cli).into_iter().next().unwrap_or_default()),
                gateway: self.config.gateway,
            },
        }
    }

    /// A key that is not there leaves the next one to try; a host without gateways leaves the program its key.
    fn fall_back(&mut self, route: &Route, failure: &Failure) -> Step {
        if failure.kind == "unsupported" && route.gateway {
            return self.run(Route { gateway: false, ..route.clone() });
        }
        let missing = extra_value(&failure.extra, "missing") == Some("secret");
        let Key::Secret(tried) = &route.key else { return Step::Done(conclude_failure(failure)) };
        if failure.kind != "not-found" || !missing {
            return Step::Done(conclude_failure(failure));
        }
        let secrets = self.config.secrets(self.cli);
        match secrets.iter().skip_while(|name| *name != tried).nth(1) {
            Some(next) => self.run(Route { key: Key::Secret(next.clone()), ..route.clone() }),
            None if self.config.may_be_keyless(self.cli) => self.run(Route { key: Key::Keyless, ..route.clone() }),
            None => {
                let (name, other) = (self.cli.name(), self.cli.other_login());
                let message = format!("{name} has no key; set {}{other}", secrets.join(" or "));
                Step::Done(conclude_missing_secret(failure, &message))
            }
        }
    }

    fn conclude(&self, exited: &Exited) -> Conclusion {
        let told = match self.cli {
            Cli::Gemini => read_gemini(exited),
            Cli::Qwen => read_qwen(exited),
        };
        let verdict = judge_launch(Asked { cli: self.cli, config: &self.config }, &told, exited);
        let evidence = self.collect_evidence(&verdict, exited);
        let results = verdict.answered.then(|| told.answer.clone());
        // A results file is the result channel too, should the tools have let it be written.
        let (outcome, message) = if results.is_none() && exited.results_written {
            (Outcome::Completed, format!("results were written to the results file; {}", verdict.message))
        } else {
            (verdict.outcome, verdict.message)
        };
        let extra = told.version.map(|version| ("program-version".to_owned(), version)).into_iter().collect();
        Conclusion { outcome, results, usage: told.usage, evidence, message, extra }
    }

    fn collect_evidence(&self, verdict: &Verdict, exited: &Exited) -> Vec<Evidence> {
        let asked = choose_model(self.cli, &self.config, &self.request);
        let piece = |(status, text): &(Option<u16>, String)| Evidence {
            provider: self.cli.name().to_owned(),
            model: Some(asked.clone()),
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
