//! The launch: requests until the model has answered, with files in between, and the conclusion.

use assize_plugin_sdk::{
    Conclusion, Description, Effect, Event, Failure, Launch, LaunchRequest, ModelFacts, Outcome, PluginError, Request,
    Responded, Service, Source, Step, conclude_failure, conclude_missing_secret, derive_one_line, extra_value,
    find_model_facts, unexpected_event,
};
use serde_json::Value;

use crate::chat::{read_chat, render_chat_answer};
use crate::config::{Api, CONFIG_SCHEMA, Config};
use crate::evidence::Seen;
use crate::features::{Features, may_be_a_part};
use crate::judge::{judge_error, lead};
use crate::plan::{Ask, choose_output_tokens, plan_request, render_rules, wrap_schema};
use crate::reading::{Budget, Reading};
use crate::reply::{Finish, Reply, strip_thoughts};
use crate::responses::{read_responses, render_responses_answer};
use crate::service_error::{ServiceError, read_error_body};
use crate::spend::Spend;

/// Facts of models that age. What the user configures comes before them.
const MODELS: &str = include_str!("../models.json");
/// Times that the model is given files before it must answer.
const ROUNDS: usize = 16;
/// Longest sentence of a service in a message, in characters.
const SENTENCE_CHARS: usize = 200;

/// Where the launch stands.
enum State {
    Planned,
    Asked,
    Reading(Reading),
    Ended,
}

/// One review by a model behind OpenAI's API or a compatible one.
pub struct OpenAiLaunch {
    state: State,
    config: Config,
    request: LaunchRequest,
    model: String,
    facts: Option<ModelFacts>,
    schema: Value,
    features: Features,
    /// What a service refused and was then not asked for.
    left_out: Vec<&'static str>,
    turns: Vec<Value>,
    rounds: usize,
    budget: Budget,
    spend: Spend,
    seen: Seen,
    answered_by: Option<String>,
    /// Milliseconds since the Unix epoch, as far as responses told.
    now_ms: u64,
}

impl Launch for OpenAiLaunch {
    fn describe() -> Description {
        let request = |kind: &str, name: &str, reason: &str| Request {
            kind: kind.to_owned(),
            name: name.to_owned(),
            reason: reason.to_owned(),
        };
        let extra = [("reviewer", "model"), ("contents", "prompt"), ("width", "3"), ("models", MODELS)];
        Description {
            name: "openai".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            summary: "Reviews with a model behind OpenAI's API or a compatible one".to_owned(),
            license: env!("CARGO_PKG_LICENSE").to_owned(),
            serves: vec![Service { kind: "provider".to_owned(), value: "openai".to_owned() }],
            config_schema: CONFIG_SCHEMA.to_owned(),
            requests: vec![
                request("host", "api.openai.com", "The source under review is sent there and answered."),
                request("secret", "OPENAI_API_KEY", "The requests are paid for with this key."),
            ],
            extra: extra.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec(),
        }
    }

    fn start(request: LaunchRequest) -> Result<Self, PluginError> {
        let config = Config::parse(&request.config)?;
        let model = config.choose_model(request.model.as_deref())?;
        Ok(Self {
            state: State::Planned,
            facts: find_model_facts(MODELS, &model),
            schema: wrap_schema(&request.results_schema),
            features: Features::of(&config, &request),
            left_out: Vec::new(),
            turns: Vec::new(),
            rounds: 0,
            budget: Budget::default(),
            spend: Spend::default(),
            seen: Seen::default(),
            answered_by: None,
            now_ms: request.now_ms,
            config,
            request,
            model,
        })
    }

    fn next(&mut self, event: Option<Event>) -> Result<Step, PluginError> {
        match (std::mem::replace(&mut self.state, State::Ended), event) {
            (State::Planned, None) => Ok(self.ask()),
            (State::Asked, Some(Event::Responded(responded))) => Ok(self.take_response(&responded)),
            (State::Asked, Some(Event::Failed(failure))) => Ok(self.conclude(judge_failure(&failure, &self.config))),
            (State::Reading(reading), Some(Event::Sources(sources))) => Ok(self.take_sources(reading, Ok(sources))),
            (State::Reading(reading), Some(Event::Failed(failure))) => Ok(self.take_missing_sources(reading, &failure)),
            (State::Planned, event) => Err(unexpected_event(event.as_ref(), "the start")),
            (State::Asked, event) => Err(unexpected_event(event.as_ref(), "responded")),
            (State::Reading(_), event) => Err(unexpected_event(event.as_ref(), "sources")),
            (State::Ended, event) => Err(unexpected_event(event.as_ref(), "nothing after the end")),
        }
    }
}

impl OpenAiLaunch {
    /// Asks with all that was said so far.
    fn ask(&mut self) -> Step {
        let whole = self.config.timeout_ms.map_or(self.request.timeout_ms, |ms| ms.min(self.request.timeout_ms));
        let left = whole.saturating_sub(self.now_ms.saturating_sub(self.request.now_ms));
        if left == 0 && self.spend.clone().into_usage(None).is_some() {
            return self.end(Outcome::TimedOut, format!("the model did not answer within {} s", whole / 1000));
        }
        let ask = Ask {
            features: self.features,
            model: &self.model,
            rules: &render_rules(self.features),
            prompt: &self.request.prompt,
            schema: &self.schema,
            turns: &self.turns,
            max_output_tokens: choose_output_tokens(&self.config, &self.request, self.facts.as_ref()),
            reasoning_effort: self.config.reasoning_effort.as_deref(),
            must_answer: self.must_answer(),
        };
        let effect = plan_request(&self.config, &ask, left);
        self.state = State::Asked;
        Step::Perform(Effect::SendRequest(effect))
    }

    /// Whether the model has read as much as it may.
    fn must_answer(&self) -> bool {
        let budget = extra_value(&self.request.extra, "budget-micro-usd").and_then(|text| text.parse().ok());
        self.rounds >= ROUNDS || (self.rounds > 0 && self.spend.nears(budget))
    }

    fn take_response(&mut self, responded: &Responded) -> Step {
        self.now_ms = self.now_ms.max(responded.received_at_ms);
        let failed = !(200..300).contains(&responded.status);
        let mut reply = match self.config.api() {
            _ if failed => Reply { error: Some(read_error_body(&responded.body)), ..Reply::default() },
            Api::Chat => read_chat(&responded.body),
            Api::Responses => read_responses(&responded.body),
        };
        let prices = self.facts.as_ref().filter(|_| self.config.is_openai());
        self.spend.add(reply.counted, prices);
        self.seen.note(responded, reply.error.as_ref(), &self.model);
        self.answered_by = reply.model.take().or_else(|| self.answered_by.take());
        match reply.error.take() {
            Some(error) => self.take_error(responded.status, &error),
            None => self.take_reply(reply, responded.body_dropped),
        }
    }

    /// A refusal of a part of the request is answered by asking for less; any other ends the launch.
    fn take_error(&mut self, status: u16, error: &ServiceError) -> Step {
        let outcome = judge_error(Some(status), error);
        let told = if (200..300).contains(&status) { error.status } else { Some(status) };
        let long_answer =
            error.says(&["max_tokens", "max_completion_tokens", "max_output_tokens", "in the completion"]);
        let partial = outcome == Outcome::Misconfigured || (outcome == Outcome::ContextExceeded && long_answer);
        if partial && told.is_some_and(may_be_a_part) {
            let has_effort = self.config.reasoning_effort.is_some();
            if let Some(part) = self.features.step_down(self.config.api(), error, has_effort) {
                self.left_out.push(part);
                return self.ask();
            }
        }
        let message = render_refusal(outcome, told, error, &self.config);
        self.end(outcome, message)
    }

    fn take_reply(&mut self, reply: Reply, dropped: u64) -> Step {
        if dropped > 0 {
            return self.end(Outcome::Crashed, format!("the response is {dropped} bytes larger than the host keeps"));
        }
        if reply.refused || reply.finish == Some(Finish::Filtered) {
            return self.end(Outcome::Refused, "the model or its filter refused the content of this packet".to_owned());
        }
        if reply.broken || !reply.complete {
            return self.end(Outcome::Crashed, "the response broke off or is no JSON of this API".to_owned());
        }
        let answer = strip_thoughts(&reply.text).trim().to_owned();
        let results = (!answer.is_empty()).then_some(answer);
        if reply.finish == Some(Finish::Length) {
            let message =
                "the answer was cut at its longest; the packet is too large, or `max_output_tokens` too small";
            return self.end_with(Outcome::ContextExceeded, message, results);
        }
        if !reply.calls.is_empty() && self.features.tools {
            return self.take_calls(reply);
        }
        match results {
            Some(results) => self.end_with(Outcome::Completed, "the model answered", Some(results)),
            None => self.end(Outcome::NoResults, "the model ended well but its answer is empty".to_owned()),
        }
    }

    fn take_calls(&mut self, reply: Reply) -> Step {
        if self.must_answer() {
            let message = format!("the model read files {} times and did not answer when told to", self.rounds);
            return self.end(Outcome::NoResults, message);
        }
        self.rounds += 1;
        self.turns.extend(reply.echo);
        let reading = Reading::of(&reply.calls, &self.request.read_paths);
        match reading.plan_effect() {
            Some(effect) => {
                self.state = State::Reading(reading);
                Step::Perform(Effect::ReadSources(effect))
            }
            None => self.take_sources(reading, Ok(Vec::new())),
        }
    }

    fn take_sources(&mut self, reading: Reading, sources: Result<Vec<Source>, String>) -> Step {
        let api = self.config.api();
        let answers = reading.answer(&sources, &mut self.budget);
        self.turns.extend(answers.iter().map(|(call, answer)| match api {
            Api::Chat => render_chat_answer(call, answer),
            Api::Responses => render_responses_answer(call, answer),
        }));
        self.ask()
    }

    /// A file that cannot be read is told to the model; only the end of the launch itself ends it.
    fn take_missing_sources(&mut self, reading: Reading, failure: &Failure) -> Step {
        match failure.kind.as_str() {
            "interrupted" | "timeout" => self.conclude(conclude_failure(failure)),
            _ => self.take_sources(reading, Err("the file cannot be read".to_owned())),
        }
    }

    fn end(&mut self, outcome: Outcome, message: String) -> Step {
        self.conclude(Conclusion::new(outcome, message))
    }

    fn end_with(&mut self, outcome: Outcome, message: &str, results: Option<String>) -> Step {
        self.conclude(Conclusion { results, ..Conclusion::new(outcome, message) })
    }

    /// Adds what the launch cost and saw, whatever became of it.
    fn conclude(&mut self, mut conclusion: Conclusion) -> Step {
        let model = self.answered_by.take().or_else(|| Some(self.model.clone()));
        conclusion.usage = std::mem::take(&mut self.spend).into_usage(model);
        conclusion.evidence = std::mem::take(&mut self.seen).into_evidence();
        if !self.left_out.is_empty() {
            conclusion.extra.push(("left-out".to_owned(), self.left_out.join(" ")));
        }
        Step::Done(conclusion)
    }
}

/// The conclusion of a request that got no response.
fn judge_failure(failure: &Failure, config: &Config) -> Conclusion {
    let missing = extra_value(&failure.extra, "missing");
    match (failure.kind.as_str(), missing, config.secret()) {
        ("not-found", Some("secret"), Some(secret)) => conclude_missing_secret(
            failure,
            &format!("there is no key: set {secret}, or write `secret = false` for a server without keys"),
        ),
        // Whoever cannot be reached now is asked again later; that costs the tasks no attempt.
        ("unreachable", ..) => Conclusion { outcome: Outcome::Overloaded, ..conclude_failure(failure) },
        ("tls", ..) => Conclusion { outcome: Outcome::Misconfigured, ..conclude_failure(failure) },
        ("too-large", ..) => Conclusion { outcome: Outcome::ContextExceeded, ..conclude_failure(failure) },
        _ => conclude_failure(failure),
    }
}

fn render_refusal(outcome: Outcome, status: Option<u16>, error: &ServiceError, config: &Config) -> String {
    let mut message = match (outcome, config.secret()) {
        (Outcome::Unauthenticated, Some(secret)) => format!("the service did not take the key in {secret}"),
        (Outcome::Unauthenticated, None) => "the service wants a key; name it with `secret`".to_owned(),
        (Outcome::Misconfigured, _) if status == Some(404) && error.message.is_empty() => {
            "nothing answers there; check `base_url` and `api`".to_owned()
        }
        _ => lead(outcome).to_owned(),
    };
    if let Some(status) = status {
        message.push_str(&format!(" (HTTP {status})"));
    }
    let said = derive_one_line(&error.message, SENTENCE_CHARS);
    if !said.is_empty() {
        message.push_str(": ");
        message.push_str(&said);
    }
    message
}

#[cfg(test)]
mod tests;
