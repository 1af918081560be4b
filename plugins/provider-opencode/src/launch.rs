//! The launch: one program, then its conclusion.

use assize_plugin_sdk::{
    Conclusion, Description, Effect, Event, Evidence, Exited, Failure, Launch, LaunchRequest, Outcome, PluginError,
    Request, Service, Step, Usage, conclude_failure, conclude_missing_secret, extra_value, unexpected_event,
};
use serde_json::Value;

use crate::access::Access;
use crate::config::{CONFIG_SCHEMA, Config};
use crate::models::read_models;
use crate::plan::{plan_model, plan_program};
use crate::stream::{Ending, Stream, read_stream};
use crate::verdict::{Verdict, judge_launch, mend_login};

/// Longest error sentence that is passed on as evidence, in characters.
const EVIDENCE_CHARS: usize = 4000;

/// Where the launch stands.
enum State {
    Planned,
    Running(Access),
    Ended,
}

/// One run of opencode.
pub struct OpencodeLaunch {
    state: State,
    config: Config,
    request: LaunchRequest,
}

impl Launch for OpencodeLaunch {
    fn describe() -> Description {
        let request = |(kind, name, reason): (&str, &str, &str)| Request {
            kind: kind.to_owned(),
            name: name.to_owned(),
            reason: reason.to_owned(),
        };
        let models = Value::Array(read_models().models).to_string();
        Description {
            name: "opencode".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            summary: "Reviews with opencode, read-only and without a terminal".to_owned(),
            license: env!("CARGO_PKG_LICENSE").to_owned(),
            serves: vec![Service { kind: "provider".to_owned(), value: "opencode".to_owned() }],
            config_schema: CONFIG_SCHEMA.to_owned(),
            requests: [
                ("program", "opencode", "It is the reviewer that this plugin launches."),
                ("host", "api.openai.com", "The gateway forwards the program's requests to it with protocol openai."),
                (
                    "host",
                    "api.anthropic.com",
                    "The gateway forwards the program's requests to it with protocol anthropic.",
                ),
                ("secret", "OPENAI_API_KEY", "The program's requests are paid with this key with protocol openai."),
                (
                    "secret",
                    "ANTHROPIC_API_KEY",
                    "The program's requests are paid with this key with protocol anthropic.",
                ),
            ]
            .map(request)
            .to_vec(),
            extra: [("reviewer", "agent"), ("width", "2"), ("snapshot", "needed"), ("models", &models)]
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
            (State::Planned, None) => Ok(self.run(Access::first(&self.config))),
            (State::Running(_), Some(Event::Exited(exited))) => Ok(Step::Done(self.conclude(&exited))),
            (State::Running(access), Some(Event::Failed(failure))) => Ok(match access.after(&failure) {
                Some(next) => self.run(next),
                None => Step::Done(self.conclude_failure(&failure)),
            }),
            (State::Planned, event) => Err(unexpected_event(event.as_ref(), "the start")),
            (State::Running(_), event) => Err(unexpected_event(event.as_ref(), "exited")),
            (State::Ended, event) => Err(unexpected_event(event.as_ref(), "nothing after the end")),
        }
    }
}

impl OpencodeLaunch {
    fn run(&mut self, access: Access) -> Step {
        self.state = State::Running(access);
        Step::Perform(Effect::RunProgram(plan_program(&self.config, &self.request, access)))
    }

    fn conclude_failure(&self, failure: &Failure) -> Conclusion {
        if failure.kind == "not-found" && extra_value(&failure.extra, "missing") == Some("secret") {
            return conclude_missing_secret(failure, &mend_login(&self.config));
        }
        conclude_failure(failure)
    }

    fn conclude(&self, exited: &Exited) -> Conclusion {
        let stream = read_stream(&exited.stdout);
        let verdict = judge_launch(&stream, exited, &self.config);
        let evidence = self.collect_evidence(&stream, &verdict, exited);
        let results = verdict.answered.then(|| stream.answer.clone());
        // A results file is the result channel too, should the tools have let it be written.
        let (outcome, message) = if results.is_none() && exited.results_written {
            (Outcome::Completed, format!("results were written to the results file; {}", verdict.message))
        } else {
            (verdict.outcome, verdict.message)
        };
        Conclusion { outcome, results, usage: self.tell_usage(stream), evidence, message, extra: Vec::new() }
    }

    /// The events name no model, so the one that was asked is told.
    fn tell_usage(&self, stream: Stream) -> Option<Usage> {
        stream.usage.map(|usage| Usage { model: plan_model(&self.config, &self.request), ..usage })
    }

    /// The response behind an error counts only when the launch failed, because a limit that was waited out is over.
    fn collect_evidence(&self, stream: &Stream, verdict: &Verdict, exited: &Exited) -> Vec<Evidence> {
        match &stream.ending {
            Some(Ending::Failed(refusal)) if !verdict.answered => vec![Evidence {
                provider: "opencode".to_owned(),
                model: plan_model(&self.config, &self.request),
                status: refusal.status,
                headers: refusal.headers.clone(),
                text: refusal.evidence.chars().take(EVIDENCE_CHARS).collect(),
                received_at_ms: self.request.now_ms.saturating_add(exited.wall_ms),
                extra: Vec::new(),
            }],
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests;
