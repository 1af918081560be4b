//! Launches replayed from data, and what a request says.

use assize_plugin_sdk::transcript::check_transcripts;
use assize_plugin_sdk::{SendRequest, Task, TaskFile, Value as Header};
use serde_json::json;

use super::*;

fn request(config: Value) -> LaunchRequest {
    let file = TaskFile { path: "a.rs".to_owned(), total_lines: 9, range: Some((1, 2)) };
    LaunchRequest {
        prompt: "PROMPT-TEXT".to_owned(),
        results_schema: r##"{"type":"array","items":{"$ref":"#/$defs/r"},"$defs":{"r":{"type":"object"}}}"##.to_owned(),
        tasks: vec![Task { files: vec![file], ..Task::default() }],
        read_paths: vec!["a.rs".to_owned()],
        timeout_ms: 9000,
        config: config.to_string(),
        ..LaunchRequest::default()
    }
}

fn sent(step: Result<Step, PluginError>) -> (SendRequest, Value) {
    let Ok(Step::Perform(Effect::SendRequest(effect))) = step else { panic!("{step:?}") };
    let body = serde_json::from_slice(&effect.body).expect("a body is JSON");
    (effect, body)
}

fn first(config: Value) -> (OpenAiLaunch, SendRequest, Value) {
    let mut launch = OpenAiLaunch::start(request(config)).expect("it starts");
    let (effect, body) = sent(launch.next(None));
    (launch, effect, body)
}

fn responded(status: u16, body: &Value) -> Option<Event> {
    Some(Event::Responded(Responded { status, body: body.to_string().into_bytes(), ..Responded::default() }))
}

fn done(step: Result<Step, PluginError>) -> Conclusion {
    let Ok(Step::Done(conclusion)) = step else { panic!("{step:?}") };
    conclusion
}

const LOCAL: &str = "http://127.0.0.1:8080/v1";

#[test]
fn launches_follow_their_transcripts() {
    assert_eq!(check_transcripts::<OpenAiLaunch>(include_str!("../../tests/transcripts.json")), Ok(125));
}

#[test]
fn openai_itself_is_asked_by_responses_and_keeps_nothing() {
    let (_, effect, body) = first(json!({}));
    assert_eq!((effect.method.as_str(), effect.url.as_str()), ("POST", "https://api.openai.com/v1/responses"));
    let key = Header::PrefixedSecret("Bearer ".to_owned(), "OPENAI_API_KEY".to_owned());
    assert!(effect.headers.contains(&("authorization".to_owned(), key)));
    assert_eq!((&body["model"], &body["store"], &body["stream"]), (&json!("gpt-5.1"), &json!(false), &json!(true)));
    assert_eq!(body["input"], json!([{"role": "user", "content": "PROMPT-TEXT"}]));
    assert_eq!(body["max_output_tokens"], 128_000);
    let format = &body["text"]["format"];
    assert_eq!((&format["type"], &format["strict"]), (&json!("json_schema"), &json!(false)));
    assert_eq!(format["schema"]["$defs"]["r"]["type"], "object");
    assert_eq!(body["tools"][0]["name"], "read_file");
}

#[test]
fn a_compatible_server_is_asked_by_chat() {
    let (_, effect, body) = first(json!({"base_url": LOCAL, "secret": false, "model": "m", "max_output_tokens": 50,
        "reasoning_effort": "low", "headers": {"x-title": "t"}, "query": {"api-version": "1"}}));
    assert_eq!(effect.url, format!("{LOCAL}/chat/completions?api-version=1"));
    assert!(effect.headers.iter().all(|(name, _)| name != "authorization"));
    assert!(effect.headers.contains(&("x-title".to_owned(), Header::literal("t"))));
    assert_eq!((&body["max_tokens"], &body["stream_options"]["include_usage"]), (&json!(50), &json!(true)));
    assert_eq!(body["reasoning_effort"], "low");
    assert_eq!(
        (&body["messages"][1]["role"], &body["messages"][1]["content"]),
        (&json!("user"), &json!("PROMPT-TEXT"))
    );
    assert_eq!(body["response_format"]["json_schema"]["schema"]["required"], json!(["results"]));
}

#[test]
fn another_header_carries_the_key_without_a_prefix() {
    let (_, effect, _) = first(json!({"base_url": "https://x.openai.azure.com/openai/v1", "model": "m",
        "api_key_header": "Api-Key", "secret": "AZURE_KEY"}));
    assert!(effect.headers.contains(&("api-key".to_owned(), Header::Secret("AZURE_KEY".to_owned()))));
    assert!(effect.headers.iter().all(|(name, _)| name != "authorization"));
}

#[test]
fn what_was_refused_is_not_asked_for_again_in_the_launch() {
    let (mut launch, _, _) = first(json!({"base_url": LOCAL, "model": "m"}));
    let no = |param: &str| responded(400, &json!({"error": {"message": "not supported", "param": param}}));
    let (_, body) = sent(launch.next(no("response_format")));
    assert_eq!(body["response_format"], json!({"type": "json_object"}));
    let (_, body) = sent(launch.next(no("response_format")));
    assert_eq!(body["response_format"], Value::Null);
    let (_, body) = sent(launch.next(no("tools")));
    assert_eq!((&body["tools"], &body["response_format"]), (&Value::Null, &Value::Null));
    assert!(!body["messages"][0]["content"].as_str().unwrap().contains("results"), "no object is asked for in words");
    let answer = json!({"choices": [{"message": {"content": "[]"}, "finish_reason": "stop"}]});
    let end = done(launch.next(responded(200, &answer)));
    assert_eq!((end.outcome, end.results.as_deref()), (Outcome::Completed, Some("[]")));
    assert_eq!(extra_value(&end.extra, "left-out"), Some("format format tools"));
    assert_eq!(end.usage.unwrap().requests, Some(4));
}

#[test]
fn what_was_read_goes_back_with_the_calls_that_asked_for_it() {
    let sources = || {
        let source = Source { path: "a.rs".to_owned(), text: "one\ntwo\n".to_owned(), truncated: false };
        Some(Event::Sources(vec![source]))
    };
    let arguments = r#"{"path":"a.rs","first_line":2}"#;

    let (mut launch, _, _) = first(json!({"base_url": LOCAL, "model": "m"}));
    let call = json!({"id": "c1", "type": "function", "function": {"name": "read_file", "arguments": arguments}});
    let said =
        json!({"choices": [{"message": {"content": "so", "tool_calls": [call]}, "finish_reason": "tool_calls"}]});
    assert!(matches!(launch.next(responded(200, &said)), Ok(Step::Perform(Effect::ReadSources(_)))));
    let (_, body) = sent(launch.next(sources()));
    let asked = json!({"role": "assistant", "content": "so", "tool_calls": [call]});
    let answer = json!({"role": "tool", "tool_call_id": "c1", "content": "2| two\n"});
    assert_eq!(body["messages"].as_array().unwrap()[2..], [asked, answer]);

    let (mut launch, _, _) = first(json!({"base_url": LOCAL, "model": "m", "api": "responses"}));
    let thought = json!({"type": "reasoning", "encrypted_content": "E"});
    let call = json!({"type": "function_call", "call_id": "c1", "name": "read_file", "arguments": arguments});
    let said = json!({"status": "completed", "output": [thought, call]});
    assert!(matches!(launch.next(responded(200, &said)), Ok(Step::Perform(Effect::ReadSources(_)))));
    let (_, body) = sent(launch.next(sources()));
    let answer = json!({"type": "function_call_output", "call_id": "c1", "output": "2| two\n"});
    assert_eq!(body["input"].as_array().unwrap()[1..], [thought, call, answer]);
}

#[test]
fn a_model_that_only_reads_is_told_to_answer_and_then_given_up() {
    for api in ["chat", "responses"] {
        let (mut launch, _, _) = first(json!({"base_url": LOCAL, "model": "m", "api": api}));
        let call = match api {
            "chat" => json!({"choices": [{"message": {"tool_calls": [{"id": "c", "type": "function",
                "function": {"name": "read_file", "arguments": "{\"path\":\"nowhere\"}"}}]}, "finish_reason": "tool_calls"}]}),
            _ => json!({"status": "completed", "output": [
                {"type": "function_call", "call_id": "c", "name": "read_file", "arguments": "{\"path\":\"nowhere\"}"}]}),
        };
        for round in 1..=ROUNDS {
            let (_, body) = sent(launch.next(responded(200, &call)));
            let choice = if round == ROUNDS { json!("none") } else { Value::Null };
            assert_eq!(body["tool_choice"], choice, "{api} {round}");
        }
        let end = done(launch.next(responded(200, &call)));
        assert_eq!(end.outcome, Outcome::NoResults, "{api}");
        assert_eq!(end.usage.unwrap().requests, Some(17));
    }
}

#[test]
fn a_budget_ends_the_reading_before_it_is_spent() {
    let mut request = request(json!({}));
    request.extra = vec![("budget-micro-usd".to_owned(), "30000".to_owned())];
    let mut launch = OpenAiLaunch::start(request).expect("it starts");
    sent(launch.next(None));
    let call = json!({"status": "completed", "usage": {"input_tokens": 10_000, "output_tokens": 100}, "output": [
        {"type": "function_call", "call_id": "c", "name": "read_file", "arguments": "{}"}]});
    let (_, body) = sent(launch.next(responded(200, &call)));
    assert_eq!(body["tool_choice"], "none");
}

#[test]
fn the_time_of_a_launch_is_shared_by_its_requests() {
    let (mut launch, effect, _) = first(json!({"base_url": LOCAL, "model": "m", "timeout_ms": 5000}));
    assert_eq!(effect.timeout_ms, 5000);
    let no = |at: u64| {
        let body = json!({"error": {"message": "x", "param": "response_format"}}).to_string().into_bytes();
        Some(Event::Responded(Responded { status: 400, body, received_at_ms: at, ..Responded::default() }))
    };
    let (effect, _) = sent(launch.next(no(1200)));
    assert_eq!(effect.timeout_ms, 3800);
    assert_eq!(done(launch.next(no(5000))).outcome, Outcome::TimedOut);
}

#[test]
fn no_message_carries_the_prompt_or_the_answer() {
    for (status, body) in [
        (200, json!({"choices": [{"message": {"content": "ANSWER-TEXT"}, "finish_reason": "length"}]})),
        (200, json!({"choices": [{"message": {"refusal": "ANSWER-TEXT"}, "finish_reason": "stop"}]})),
        (400, json!({"error": {"message": "no", "failed_generation": "ANSWER-TEXT"}})),
    ] {
        let (mut launch, _, _) = first(json!({"base_url": LOCAL, "model": "m"}));
        let end = done(launch.next(responded(status, &body)));
        let shown = format!("{} {:?}", end.message, end.evidence);
        assert!(!shown.contains("ANSWER-TEXT") && !shown.contains("PROMPT-TEXT"), "{shown}");
    }
}

#[test]
fn whatever_is_sent_by_default_is_requested_with_a_reason() {
    let description = OpenAiLaunch::describe();
    let (_, effect, _) = first(json!({}));
    for request in &description.requests {
        assert!(request.reason.ends_with('.'));
        assert!(effect.url.contains(&request.name) || format!("{:?}", effect.headers).contains(&request.name));
    }
    assert_eq!(description.requests.len(), 2);
    assert!(serde_json::from_str::<Value>(&description.config_schema).is_ok());
}

#[test]
fn the_table_of_models_can_be_read_and_every_entry_be_reached() {
    let models: Vec<ModelFacts> = serde_json::from_str(MODELS).expect("a list of facts");
    for facts in &models {
        let name = facts.pattern.replace('*', "-x");
        let found = find_model_facts(MODELS, &name).expect("a match");
        assert_eq!(found.pattern, facts.pattern, "an earlier entry hides it");
        assert!(facts.context_tokens > facts.output_tokens);
    }
}

#[test]
fn whatever_comes_back_ends_the_launch_or_asks_again() {
    let bodies: [&[u8]; 8] = [
        b"",
        b"null",
        b"[[[",
        b"data: null\n\ndata: 7\n\ndata: [DONE]\n\n",
        b"{\"choices\":7}",
        b"{\"output\":[7]}",
        b"\xff\xfe",
        b"\"x\"",
    ];
    for api in ["chat", "responses"] {
        for body in bodies {
            for status in [0, 100, 200, 302, 400, 404, 429, 500, 999] {
                let (mut launch, _, _) = first(json!({"base_url": LOCAL, "model": "m", "api": api}));
                let event = Event::Responded(Responded { status, body: body.to_vec(), ..Responded::default() });
                let end = done(launch.next(Some(event)));
                assert_ne!(end.outcome, Outcome::Completed, "{api} {status} {body:?}");
                assert!(!end.message.is_empty());
            }
        }
    }
}
