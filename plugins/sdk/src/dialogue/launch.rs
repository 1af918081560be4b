//! The launch of a provider that talks to a model: ask, let it read, ask again, conclude.

use serde_json::Value;

use crate::conclude::{conclude_failure, conclude_missing_secret, unexpected_event};
use crate::describe::{Description, PluginError};
use crate::effect::{Effect, ReadSources};
use crate::event::{Event, Failure, Responded, Source};
use crate::launch::{Conclusion, Evidence, Launch, LaunchRequest, Outcome, Step, Usage, extra_value};
use crate::models::Tokens;

use super::answer::{Brief, SUBMIT_RESULTS, join_submissions, unwrap_results};
use super::api::{Ending, ModelApi, Refusal, Reply, Round};
use super::evidence::derive_evidence;
use super::reading::{Asked, FILE_BYTES, Reading};
use super::verdict::render_refusal;

/// Where the launch stands.
enum State {
    Planned,
    Asking,
    /// The calls that wait for files, and what the model said with them.
    Reading(Asked, Value),
    Ended,
}

/// A launch that talks to a model. No request is sent again because it failed: that is the dispatcher's business, which
/// knows the limits. Only an optional feature that the service refuses is left out at once.
pub struct Dialogue<A> {
    api: A,
    brief: Brief,
    deadline_ms: u64,
    /// The last moment that is known.
    now_ms: u64,
    budget_micro_usd: Option<u64>,
    state: State,
    rounds: Vec<Round>,
    reading: Reading,
    /// Answers that were submitted by the tool.
    submissions: Vec<String>,
    /// Text of an answer that is not at its end.
    text: String,
    spent: Spent,
    evidence: Vec<Evidence>,
}

/// What the launch cost so far.
#[derive(Default)]
struct Spent {
    requests: u32,
    told: bool,
    tokens: Tokens,
    cache_writes: u64,
    model: Option<String>,
}

impl<A: ModelApi> Launch for Dialogue<A> {
    fn describe() -> Description {
        A::describe()
    }

    fn start(request: LaunchRequest) -> Result<Self, PluginError> {
        let api = A::start(&request)?;
        let settings = api.settings();
        let timeout_ms = settings.timeout_ms.map_or(request.timeout_ms, |ms| ms.min(request.timeout_ms));
        let number = |name: &str| extra_value(&request.extra, name).and_then(|text| text.parse::<u64>().ok());
        let context =
            number("context-tokens").or_else(|| settings.facts.as_ref().and_then(|facts| facts.context_tokens));
        Ok(Self {
            brief: Brief::of(&request),
            deadline_ms: request.now_ms.saturating_add(timeout_ms),
            now_ms: request.now_ms,
            budget_micro_usd: number("budget-micro-usd"),
            state: State::Planned,
            rounds: Vec::new(),
            reading: Reading::new(&request.read_paths, context),
            submissions: Vec::new(),
            text: String::new(),
            spent: Spent::default(),
            evidence: Vec::new(),
            api,
        })
    }

    fn next(&mut self, event: Option<Event>) -> Result<Step, PluginError> {
        match (std::mem::replace(&mut self.state, State::Ended), event) {
            (State::Planned, None) => Ok(self.ask()),
            (State::Asking, Some(Event::Responded(responded))) => Ok(self.receive(&responded)),
            (State::Asking, Some(Event::Failed(failure))) => Ok(self.fail(&failure)),
            (State::Reading(asked, said), Some(Event::Sources(sources))) => Ok(self.go_on(asked, said, &sources)),
            (State::Reading(_, _), Some(Event::Failed(failure))) if ends_launch(&failure) => Ok(self.fail(&failure)),
            // A file that cannot be read is the model's to know, and no reason to lose the review.
            (State::Reading(asked, said), Some(Event::Failed(_))) => Ok(self.go_on(asked, said, &[])),
            (State::Planned, event) => Err(unexpected_event(event.as_ref(), "the start")),
            (State::Asking, event) => Err(unexpected_event(event.as_ref(), "responded")),
            (State::Reading(_, _), event) => Err(unexpected_event(event.as_ref(), "sources")),
            (State::Ended, event) => Err(unexpected_event(event.as_ref(), "nothing after the end")),
        }
    }
}

impl<A: ModelApi> Dialogue<A> {
    fn ask(&mut self) -> Step {
        let left = self.deadline_ms.saturating_sub(self.now_ms);
        if left == 0 {
            return self.done(Outcome::TimedOut, "the time of the launch was over before the model had answered");
        }
        let mut request = self.api.plan_request(&self.brief, &self.rounds);
        request.timeout_ms = request.timeout_ms.min(left);
        self.state = State::Asking;
        Step::Perform(Effect::SendRequest(request))
    }

    fn receive(&mut self, responded: &Responded) -> Step {
        let mut reply = self.api.read_reply(responded);
        self.now_ms = self.now_ms.max(responded.received_at_ms);
        self.spent.add(&reply);
        self.evidence.extend(derive_evidence(responded, &reply, self.api.settings()));
        let ending = std::mem::take(&mut reply.ending);
        if responded.body_dropped > 0 && !matches!(ending, Ending::Refused(_)) {
            let message = format!("the response was too large; {} bytes of it were dropped", responded.body_dropped);
            return self.done(Outcome::Crashed, &message);
        }
        match ending {
            Ending::Complete => self.take_calls(reply),
            Ending::Paused => {
                self.text.push_str(&reply.text);
                self.next_round(Round { said: reply.said, answers: Vec::new() })
            }
            Ending::Cut => {
                self.take_answer(&reply);
                self.done(
                    Outcome::ContextExceeded,
                    "the answer was cut at the model's limit; the packet is too large, or max_output_tokens too small",
                )
            }
            Ending::Declined(why) => {
                let message = format!("{} refused the content of this packet: {why}", self.api.settings().provider);
                self.done(Outcome::Refused, &message)
            }
            Ending::Broken(why) => self.done(Outcome::Crashed, &why),
            Ending::Refused(refusal) => self.take_refusal(&refusal),
        }
    }

    fn take_refusal(&mut self, refusal: &Refusal) -> Step {
        if self.api.step_down(refusal) {
            // What was refused for a feature's sake is over with the feature and says nothing of limits.
            self.evidence.pop();
            return self.ask();
        }
        let message = render_refusal(refusal, self.api.settings());
        self.done(refusal.outcome, &message)
    }

    /// Serves the model's calls, or ends with its answer when it makes none that want one.
    fn take_calls(&mut self, mut reply: Reply) -> Step {
        self.take_answer(&reply);
        let wants_more = reply.calls.iter().any(|call| call.name != SUBMIT_RESULTS);
        if !wants_more {
            return self.conclude_answer();
        }
        // What was said before a call is not the answer.
        self.text.clear();
        let asked = self.reading.judge(std::mem::take(&mut reply.calls));
        let paths = asked.paths();
        if paths.is_empty() {
            return self.go_on(asked, reply.said, &[]);
        }
        self.state = State::Reading(asked, reply.said);
        Step::Perform(Effect::ReadSources(ReadSources { paths, cap: FILE_BYTES, extra: Vec::new() }))
    }

    fn take_answer(&mut self, reply: &Reply) {
        self.text.push_str(&reply.text);
        let submitted = reply.calls.iter().filter(|call| call.name == SUBMIT_RESULTS);
        self.submissions.extend(submitted.map(|call| call.input.clone()));
    }

    fn go_on(&mut self, asked: Asked, said: Value, sources: &[Source]) -> Step {
        let answers = self.reading.answer(asked, sources);
        self.next_round(Round { said, answers })
    }

    fn next_round(&mut self, round: Round) -> Step {
        if !self.reading.take_round() {
            return self.done(Outcome::NoResults, "the model kept asking for files and did not answer");
        }
        let spent = self.cost();
        if let (Some(budget), Some(spent)) = (self.budget_micro_usd, spent)
            && spent >= budget
        {
            return self.done(Outcome::NoResults, "the budget of the launch was spent before the model had answered");
        }
        self.rounds.push(round);
        self.ask()
    }

    fn conclude_answer(&mut self) -> Step {
        let provider = self.api.settings().provider;
        if self.answer().is_none() {
            return self.done(Outcome::NoResults, &format!("{provider} ended well but its answer is empty"));
        }
        self.done(Outcome::Completed, &format!("{provider} answered"))
    }

    /// A submission is the answer; without one the text is.
    fn answer(&self) -> Option<String> {
        let answer = match self.submissions.is_empty() {
            false => join_submissions(&self.submissions),
            true => unwrap_results(&self.text),
        };
        (!answer.trim().is_empty()).then_some(answer)
    }

    fn fail(&mut self, failure: &Failure) -> Step {
        let missing = extra_value(&failure.extra, "missing");
        if failure.kind == "not-found" && missing == Some("secret") {
            let settings = self.api.settings();
            let mend = format!("there is no credential for {}; {}", settings.provider, settings.credential);
            let Conclusion { outcome, message, .. } = conclude_missing_secret(failure, &mend);
            return self.done(outcome, &message);
        }
        let Conclusion { outcome, message, .. } = conclude_failure(failure);
        self.done(outcome, &message)
    }

    fn done(&mut self, outcome: Outcome, message: &str) -> Step {
        self.state = State::Ended;
        let has_answer = matches!(outcome, Outcome::Completed | Outcome::ContextExceeded);
        Step::Done(Conclusion {
            outcome,
            results: has_answer.then(|| self.answer()).flatten(),
            usage: self.usage(),
            evidence: std::mem::take(&mut self.evidence),
            message: message.to_owned(),
            extra: Vec::new(),
        })
    }

    fn usage(&self) -> Option<Usage> {
        let spent = &self.spent;
        let told = |count: u64| spent.told.then_some(count);
        (spent.requests > 0).then(|| Usage {
            input_tokens: told(spent.tokens.input),
            output_tokens: told(spent.tokens.output),
            cached_input_tokens: told(spent.tokens.cached_input),
            cost_micro_usd: self.cost().filter(|_| spent.told),
            // A service that does not say who answered answered with what was asked.
            model: spent.model.clone().or_else(|| spent.told.then(|| self.api.settings().model.clone())),
            requests: Some(spent.requests),
            extra: Vec::new(),
        })
    }

    fn cost(&self) -> Option<u64> {
        let Spent { tokens, cache_writes, .. } = &self.spent;
        let input = tokens.input.saturating_add(cache_writes.div_ceil(4));
        self.api.settings().facts.as_ref()?.derive_cost(Tokens { input, ..*tokens })
    }
}

impl Spent {
    fn add(&mut self, reply: &Reply) {
        self.requests = self.requests.saturating_add(1);
        self.told |= reply.tokens != Tokens::default();
        self.tokens.input = self.tokens.input.saturating_add(reply.tokens.input);
        self.tokens.cached_input = self.tokens.cached_input.saturating_add(reply.tokens.cached_input);
        self.tokens.output = self.tokens.output.saturating_add(reply.tokens.output);
        self.cache_writes = self.cache_writes.saturating_add(reply.cache_writes);
        if reply.model.is_some() {
            self.model.clone_from(&reply.model);
        }
    }
}

fn ends_launch(failure: &Failure) -> bool {
    matches!(failure.kind.as_str(), "interrupted" | "timeout")
}

#[cfg(test)]
mod tests;
