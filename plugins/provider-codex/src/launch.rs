//! The launch: one program, then its conclusion.

use assize_plugin_sdk::{
    Conclusion, Description, Effect, Event, Evidence, Exited, Failure, Launch, LaunchRequest, Outcome, PluginError,
    Request, Service, Step, Usage, conclude_failure, conclude_missing_secret, extra_value, unexpected_event,
};

use crate::access::Access;
use crate::config::{CONFIG_SCHEMA, Config};
use crate::headers::read_responses;
use crate::plan::plan_program;
use crate::stream::{Stream, read_stream};
use crate::verdict::{Verdict, judge_launch, mend_login};

/// Characters that the program takes from its standard input; it refuses more.
const PROMPT_CHARS: usize = 1024 * 1024;
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

/// One run of Codex.
pub struct CodexLaunch {
    state: State,
    config: Config,
    request: LaunchRequest,
}

impl Launch for CodexLaunch {
    fn describe() -> Description {
        let request = |kind: &str, name: &str, reason: &str| Request {
            kind: kind.to_owned(),
            name: name.to_owned(),
            reason: reason.to_owned(),
        };
        Description {
            name: "codex".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            summary: "Reviews with Codex, read-only and without a terminal".to_owned(),
            license: env!("CARGO_PKG_LICENSE").to_owned(),
            serves: vec![Service { kind: "provider".to_owned(), value: "codex".to_owned() }],
            config_schema: CONFIG_SCHEMA.to_owned(),
            requests: vec![
                request("program", "codex", "It is the reviewer that this plugin launches."),
                request("host", "api.openai.com", "The gateway forwards the program's requests to it."),
                request("secret", "OPENAI_API_KEY", "The program's requests are paid with this key."),
                request("secret", "CODEX_HOME", "With the user's login the program finds it where this variable says."),
            ],
            extra: [("reviewer", "agent"), ("width", "4"), ("models", MODELS)]
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
            (State::Planned, None) if self.request.prompt.chars().nth(PROMPT_CHARS).is_some() => {
                let message =
                    "the prompt is longer than the 1048576 characters that codex reads; the packet is too large";
                Ok(Step::Done(Conclusion::new(Outcome::ContextExceeded, message)))
            }
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

impl CodexLaunch {
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
        let evidence = self.collect_evidence(&verdict, exited);
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
        stream.usage.map(|usage| Usage { model: self.model(), ..usage })
    }

    fn model(&self) -> Option<String> {
        self.request.model.clone().or_else(|| self.config.model.clone())
    }

    /// Headers tell limits with success too; a sentence counts only when the launch failed, because a limit that was waited
    /// out is over.
    fn collect_evidence(&self, verdict: &Verdict, exited: &Exited) -> Vec<Evidence> {
        let piece = |status: Option<u16>, headers: Vec<(String, String)>, text: &str| Evidence {
            provider: "codex".to_owned(),
            model: self.model(),
            status,
            headers,
            text: text.chars().take(EVIDENCE_CHARS).collect(),
            received_at_ms: self.request.now_ms.saturating_add(exited.wall_ms),
            extra: Vec::new(),
        };
        let mut evidence: Vec<Evidence> = read_responses(&exited.stderr)
            .into_iter()
            .map(|response| piece(Some(response.status), response.headers, ""))
            .collect();
        if !verdict.answered && (verdict.status.is_some() || !verdict.error_text.is_empty()) {
            evidence.push(piece(verdict.status, Vec::new(), &verdict.error_text));
        }
        evidence
    }
}

#[cfg(test)]
mod tests;
