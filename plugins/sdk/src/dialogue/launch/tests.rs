//! The dialogue with a service that says what a test puts into the body: a reply as JSON.

use serde_json::{Value, json};

use super::*;
use crate::dialogue::{Call, Settings};
use crate::{ModelFacts, SendRequest};

/// A service whose responses are written in the terms of the dialogue.
struct Scripted {
    settings: Settings,
    optional: bool,
}

impl ModelApi for Scripted {
    fn describe() -> Description {
        Description {
            name: "scripted".to_owned(),
            version: "0.0.0".to_owned(),
            summary: String::new(),
            license: String::new(),
            serves: Vec::new(),
            config_schema: "{}".to_owned(),
            requests: Vec::new(),
            extra: Vec::new(),
        }
    }

    fn start(_: &LaunchRequest) -> Result<Self, PluginError> {
        let facts = ModelFacts {
            input_usd_per_million: Some(4.0),
            output_usd_per_million: Some(10.0),
            ..ModelFacts::default()
        };
        let settings = Settings {
            provider: "scripted",
            model: "m".to_owned(),
            facts: Some(facts),
            credential: "set KEY".to_owned(),
            timeout_ms: Some(5_000),
        };
        Ok(Self { settings, optional: true })
    }

    fn settings(&self) -> &Settings {
        &self.settings
    }

    fn plan_request(&self, _: &Brief, rounds: &[Round]) -> SendRequest {
        let told: Vec<Vec<&str>> =
            rounds.iter().map(|round| round.answers.iter().map(|answer| answer.text.as_str()).collect()).collect();
        SendRequest {
            method: "POST".to_owned(),
            url: "https://s.example".to_owned(),
            headers: Vec::new(),
            body: json!({"told": told, "optional": self.optional}).to_string().into_bytes(),
            timeout_ms: 9_000,
            event_stream: false,
            extra: Vec::new(),
        }
    }

    fn read_reply(&self, responded: &Responded) -> Reply {
        let value: Value = serde_json::from_slice(&responded.body).unwrap();
        let word = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
        let ending = match word("ending").as_str() {
            "paused" => Ending::Paused,
            "cut" => Ending::Cut,
            "declined" => Ending::Declined("why".to_owned()),
            "refused" => Ending::Refused(Refusal {
                status: responded.status,
                outcome: Outcome::Misconfigured,
                text: "no".to_owned(),
                evidence: String::new(),
            }),
            _ => Ending::Complete,
        };
        let calls = value["calls"].as_array().into_iter().flatten();
        let call = |call: &Value| Call {
            id: String::new(),
            name: call[0].as_str().unwrap().to_owned(),
            input: call[1].as_str().map_or_else(|| call[1].to_string(), str::to_owned),
        };
        Reply {
            ending,
            text: word("text"),
            calls: calls.map(call).collect(),
            tokens: Tokens { input: 10, cached_input: 0, output: 1 },
            cache_writes: 4,
            ..Reply::default()
        }
    }

    fn step_down(&mut self, _: &Refusal) -> bool {
        std::mem::take(&mut self.optional)
    }
}

fn launch() -> Dialogue<Scripted> {
    let request = LaunchRequest {
        read_paths: vec!["a.rs".to_owned()],
        timeout_ms: 60_000,
        now_ms: 1_000,
        ..LaunchRequest::default()
    };
    Dialogue::start(request).unwrap()
}

fn respond(launch: &mut Dialogue<Scripted>, at_ms: u64, body: Value) -> Step {
    let body = body.to_string().into_bytes();
    let responded = Responded { status: 200, body, received_at_ms: at_ms, ..Responded::default() };
    launch.next(Some(Event::Responded(responded))).unwrap()
}

fn sent(step: Step) -> (Value, u64) {
    let Step::Perform(Effect::SendRequest(request)) = step else { panic!("{step:?}") };
    (serde_json::from_slice(&request.body).unwrap(), request.timeout_ms)
}

fn done(step: Step) -> Conclusion {
    let Step::Done(conclusion) = step else { panic!("{step:?}") };
    conclusion
}

fn sources(launch: &mut Dialogue<Scripted>, text: &str) -> Step {
    let source = Source { path: "a.rs".to_owned(), text: text.to_owned(), truncated: false };
    launch.next(Some(Event::Sources(vec![source]))).unwrap()
}

#[test]
fn files_are_read_between_requests_and_all_of_it_is_summed() {
    let mut launch = launch();
    assert_eq!(sent(launch.next(None).unwrap()).1, 5_000);
    let read = json!({"text": "let me see", "calls": [["read_file", {"path": "a.rs"}], ["read_file", {"path": "/b"}]]});
    let step = respond(&mut launch, 2_000, read);
    let Step::Perform(Effect::ReadSources(wish)) = step else { panic!("{step:?}") };
    assert_eq!(wish.paths, ["a.rs"]);
    let (body, left) = sent(sources(&mut launch, "x\n"));
    assert_eq!(body["told"][0][0], "lines 1 to 1 of 1\n1| x\n");
    assert!(body["told"][0][1].as_str().unwrap().contains("not among the files"));
    assert_eq!(left, 4_000, "the time that is left is told");
    let end = done(respond(&mut launch, 3_000, json!({"text": "[1]"})));
    assert_eq!((end.outcome, end.results.as_deref()), (Outcome::Completed, Some("[1]")));
    let usage = end.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens, usage.requests), (Some(20), Some(2), Some(2)));
    assert_eq!(usage.cost_micro_usd, Some((20 + 2) * 4 + 2 * 10), "writing a cache costs a quarter more");
}

#[test]
fn what_was_submitted_early_is_part_of_the_answer() {
    let mut launch = launch();
    launch.next(None).unwrap();
    let both = json!({"calls": [["submit_results", {"results": [1]}], ["read_file", {"path": "a.rs"}]]});
    respond(&mut launch, 0, both);
    let (body, _) = sent(sources(&mut launch, "x"));
    assert_eq!(body["told"][0][0], "noted");
    let end = done(respond(&mut launch, 0, json!({"text": "done", "calls": [["submit_results", {"results": [2]}]]})));
    assert_eq!(end.results.as_deref(), Some("[1,2]"));
}

#[test]
fn a_file_that_the_host_could_not_read_is_told_to_the_model() {
    let mut launch = launch();
    launch.next(None).unwrap();
    respond(&mut launch, 0, json!({"calls": [["read_file", {"path": "a.rs"}]]}));
    let failure = Failure { kind: "not-found".to_owned(), ..Failure::default() };
    let (body, _) = sent(launch.next(Some(Event::Failed(failure))).unwrap());
    assert_eq!(body["told"][0][0], "the file could not be read");
    respond(&mut launch, 0, json!({"calls": [["read_file", {"path": "a.rs"}]]}));
    let failure = Failure { kind: "interrupted".to_owned(), ..Failure::default() };
    assert_eq!(done(launch.next(Some(Event::Failed(failure))).unwrap()).outcome, Outcome::Interrupted);
}

#[test]
fn a_model_that_only_reads_is_stopped_after_it_was_told_so() {
    let mut launch = launch();
    launch.next(None).unwrap();
    let (mut requests, mut last) = (1, Value::Null);
    let end = loop {
        match respond(&mut launch, 0, json!({"calls": [["read_file", {"path": "a.rs"}]]})) {
            Step::Done(end) => break end,
            Step::Perform(Effect::ReadSources(_)) => last = sent(sources(&mut launch, "x")).0,
            step => last = sent(step).0,
        }
        requests += 1;
    };
    assert_eq!((end.outcome, requests), (Outcome::NoResults, 18));
    assert!(last["told"][16][0].as_str().unwrap().contains("give the answer now"));
    assert_eq!(end.usage.unwrap().requests, Some(18));
}

#[test]
fn a_call_of_no_tool_is_answered_without_reading() {
    let mut launch = launch();
    launch.next(None).unwrap();
    let (body, _) = sent(respond(&mut launch, 0, json!({"calls": [["run", {}]]})));
    assert_eq!(body["told"][0][0], "there is no such tool");
}

#[test]
fn a_pause_is_gone_over_and_its_text_kept() {
    let mut launch = launch();
    launch.next(None).unwrap();
    sent(respond(&mut launch, 0, json!({"ending": "paused", "text": "[1,"})));
    assert_eq!(done(respond(&mut launch, 0, json!({"text": "2]"}))).results.as_deref(), Some("[1,2]"));
}

#[test]
fn a_pause_without_end_ends() {
    let mut launch = launch();
    launch.next(None).unwrap();
    let ended = (0..100).any(|_| matches!(respond(&mut launch, 0, json!({"ending": "paused"})), Step::Done(_)));
    assert!(ended);
}

#[test]
fn an_answer_that_was_cut_is_kept() {
    let mut launch = launch();
    launch.next(None).unwrap();
    let end = done(respond(&mut launch, 0, json!({"ending": "cut", "calls": [["submit_results", "{\"results\":[{"]]})));
    assert_eq!((end.outcome, end.results.as_deref()), (Outcome::ContextExceeded, Some("{\"results\":[{")));
}

#[test]
fn a_feature_is_left_out_once_and_then_the_refusal_stands() {
    let mut launch = launch();
    assert_eq!(sent(launch.next(None).unwrap()).0["optional"], true);
    assert_eq!(sent(respond(&mut launch, 0, json!({"ending": "refused"}))).0["optional"], false);
    let end = done(respond(&mut launch, 0, json!({"ending": "refused"})));
    assert_eq!((end.outcome, end.evidence.len()), (Outcome::Misconfigured, 1));
}

#[test]
fn no_request_is_sent_after_the_time_or_the_money_is_gone() {
    let mut late = launch();
    late.next(None).unwrap();
    assert_eq!(done(respond(&mut late, 6_000, json!({"ending": "paused"}))).outcome, Outcome::TimedOut);
    let request = LaunchRequest {
        timeout_ms: 9,
        extra: vec![("budget-micro-usd".to_owned(), "50".to_owned())],
        ..LaunchRequest::default()
    };
    let mut poor: Dialogue<Scripted> = Dialogue::start(request).unwrap();
    poor.next(None).unwrap();
    let end = done(respond(&mut poor, 0, json!({"ending": "paused"})));
    assert_eq!(end.outcome, Outcome::NoResults);
    assert!(end.message.contains("budget"));
}

#[test]
fn bytes_that_were_dropped_are_no_answer() {
    let mut launch = launch();
    launch.next(None).unwrap();
    let body = json!({"text": "[]"}).to_string().into_bytes();
    let responded = Responded { status: 200, body, body_dropped: 7, ..Responded::default() };
    let end = done(launch.next(Some(Event::Responded(responded))).unwrap());
    assert_eq!((end.outcome, end.results), (Outcome::Crashed, None));
}

#[test]
fn a_missing_secret_says_what_to_set() {
    let mut launch = launch();
    launch.next(None).unwrap();
    let extra = vec![("missing".to_owned(), "secret".to_owned())];
    let failure = Failure { kind: "not-found".to_owned(), message: String::new(), extra };
    let end = done(launch.next(Some(Event::Failed(failure))).unwrap());
    assert_eq!((end.outcome, end.usage), (Outcome::Unauthenticated, None));
    assert!(end.message.contains("set KEY"));
}

#[test]
fn an_event_that_answers_nothing_is_an_error() {
    let mut launch = launch();
    assert!(launch.next(Some(Event::Waited)).is_err());
    let mut launch = self::launch();
    launch.next(None).unwrap();
    assert!(launch.next(Some(Event::Sources(Vec::new()))).is_err());
    assert!(launch.next(None).is_err());
}
