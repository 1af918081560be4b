//! The launch: one program, then its conclusion.

use assize_plugin_sdk::{
    Conclusion, Description, Effect, Event, Evidence, Exited, Launch, LaunchRequest, Outcome, PluginError, Request,
    Service, Step, conclude_failure, unexpected_event,
};

use crate::access::Access;
use crate::config::{CONFIG_SCHEMA, Config};
use crate::plan::plan_program;
use crate::stream::{Stream, read_stream};
use crate::verdict::{Verdict, judge_launch};

/// Bytes that the program takes from its standard input; it refuses more.
const PROMPT_BYTES: usize = 10 * 1024 * 1024;
/// Longest error sentence that is passed on as evidence, in characters.
const EVIDENCE_CHARS: usize = 4000;

/// Facts of models that age. A user's configuration comes before them.
const MODELS: &str = include_str!("../models.json");

/// Where the launch stands.
enum State {
    Planned,
    Running(Access),
    Ended,
}

/// One run of Claude Code.
pub struct ClaudeLaunch {
    state: State,
    config: Config,
    request: LaunchRequest,
}

impl Launch for ClaudeLaunch {
    fn describe() -> Description {
        let request = |kind: &str, name: &str, reason: &str| Request {
            kind: kind.to_owned(),
            name: name.to_owned(),
            reason: reason.to_owned(),
        };
        Description {
            name: "claude-code".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            summary: "Reviews with Claude Code, read-only and without a terminal".to_owned(),
            license: env!("CARGO_PKG_LICENSE").to_owned(),
            serves: vec![Service { kind: "provider".to_owned(), value: "claude-code".to_owned() }],
            config_schema: CONFIG_SCHEMA.to_owned(),
            requests: vec![
                request("program", "claude", "It is the reviewer that this plugin launches."),
                request("host", "api.anthropic.com", "The gateway forwards the program's requests to it."),
                request("secret", "ANTHROPIC_API_KEY", "The program pays for its requests with this key."),
                request("secret", "CLAUDE_CODE_OAUTH_TOKEN", "The program uses a subscription with this token."),
                request(
                    "secret",
                    "ANTHROPIC_BASE_URL",
                    "The program sends its requests to this address when it is set.",
                ),
            ],
            extra: [("reviewer", "agent"), ("width", "8"), ("models", MODELS)]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .to_vec(),
        }
    }

    fn start(request: LaunchRequest) -> Result<Self, PluginError> {
        let config = Config::parse(&request.config)?;
        Ok(Self { state: State::Planned, config, request })
    }

    fn next(&mut self, event: Option<Event>) -> Result<Step, PluginError> {
        match (std::mem::replace(&mut self.state, State::Ended), event) {
            (State::Planned, None) if self.request.prompt.len() > PROMPT_BYTES => {
                let message = "the prompt is larger than the 10 MB that claude reads; the packet is too large";
                Ok(Step::Done(Conclusion::new(Outcome::ContextExceeded, message)))
            }
            (State::Planned, None) => Ok(self.run(Access::first(&self.config))),
            (State::Running(_), Some(Event::Exited(exited))) => Ok(Step::Done(self.conclude(&exited))),
            (State::Running(access), Some(Event::Failed(failure))) => Ok(match access.after(&failure) {
                Some(next) => self.run(next),
                None => Step::Done(conclude_failure(&failure)),
            }),
            (State::Planned, event) => Err(unexpected_event(event.as_ref(), "the start")),
            (State::Running(_), event) => Err(unexpected_event(event.as_ref(), "exited")),
            (State::Ended, event) => Err(unexpected_event(event.as_ref(), "nothing after the end")),
        }
    }
}

impl ClaudeLaunch {
    fn run(&mut self, access: Access) -> Step {
        self.state = State::Running(access);
        Step::Perform(Effect::RunProgram(plan_program(&self.config, &self.request, access)))
    }

    fn conclude(&self, exited: &Exited) -> Conclusion {
        let stream = read_stream(&exited.stdout);
        let verdict = judge_launch(&stream, exited);
        let evidence = self.collect_evidence(&stream, &verdict, exited);
        let results = match &stream.ending {
            Some(ending) if verdict.answered => Some(ending.text.clone()),
            _ => None,
        };
        // A results file is the result channel too, should the tools have let it be written.
        let (outcome, message) = if results.is_none() && exited.results_written {
            (Outcome::Completed, format!("results were written to the results file; {}", verdict.message))
        } else {
            (verdict.outcome, verdict.message)
        };
        let extra = stream.version.map(|version| ("program-version".to_owned(), version)).into_iter().collect();
        Conclusion { outcome, results, usage: stream.usage, evidence, message, extra }
    }

    /// Events about limits come with success too; a retry or an error sentence counts only when the launch failed,
    /// because a limit that was waited out is over.
    fn collect_evidence(&self, stream: &Stream, verdict: &Verdict, exited: &Exited) -> Vec<Evidence> {
        let model = stream.model.clone().or_else(|| self.request.model.clone()).or_else(|| self.config.model.clone());
        let piece = |status: Option<u16>, text: &str| Evidence {
            provider: "claude-code".to_owned(),
            model: model.clone(),
            status,
            headers: Vec::new(),
            text: text.chars().take(EVIDENCE_CHARS).collect(),
            received_at_ms: self.request.now_ms.saturating_add(exited.wall_ms),
            extra: Vec::new(),
        };
        let mut evidence: Vec<Evidence> = stream.limit_events.iter().map(|event| piece(None, event)).collect();
        if verdict.answered {
            return evidence;
        }
        if let Some(error) = stream.api_error.as_ref().filter(|error| !error.event.is_empty()) {
            evidence.push(piece(error.status, &error.event));
        }
        if verdict.status.is_some() || !verdict.error_text.is_empty() {
            evidence.push(piece(verdict.status, &verdict.error_text));
        }
        evidence
    }
}

#[cfg(test)]
mod tests;
