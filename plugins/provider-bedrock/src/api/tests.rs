//! Launches replayed from data, and what else the service is given.

use assize_plugin_sdk::dialogue::Dialogue;
use assize_plugin_sdk::transcript::check_transcripts;
use assize_plugin_sdk::{Event, Launch, Step, matches_pattern};

use super::*;

#[test]
fn launches_follow_their_transcripts() {
    let json = include_str!("../../tests/transcripts.json");
    assert_eq!(check_transcripts::<Dialogue<BedrockApi>>(json), Ok(46));
}

#[test]
fn every_model_is_known_by_some_entry_and_none_is_hidden_by_an_earlier_one() {
    let list: Vec<serde_json::Value> = serde_json::from_str(MODELS).unwrap();
    let patterns: Vec<&str> = list.iter().map(|facts| facts["match"].as_str().unwrap()).collect();
    assert_eq!(patterns.last(), Some(&"*"));
    for (at, pattern) in patterns.iter().enumerate() {
        let name = pattern.replace('*', "x");
        let first = patterns.iter().position(|earlier| matches_pattern(earlier, &name));
        assert_eq!(first, Some(at), "{pattern}");
    }
}

#[test]
fn what_is_used_is_requested_with_a_reason() {
    let description = BedrockApi::describe();
    assert!(description.requests.iter().all(|request| request.reason.ends_with('.')));
    let config = Config::parse(r#"{"region":"us-east-1"}"#).unwrap();
    let address = config.address();
    let host = address.trim_start_matches("https://");
    assert!(description.requests.iter().any(|request| request.kind == "host" && request.name == host));
    assert_eq!(description.requests.iter().filter(|request| request.kind == "secret").count(), 3);
}

#[test]
fn the_schema_names_what_the_configuration_reads_and_nothing_else() {
    let schema: serde_json::Value = serde_json::from_str(CONFIG_SCHEMA).unwrap();
    assert_eq!(schema["additionalProperties"], false);
    let all = r#"{"region":"r","base_url":"https://x.example","model":"m","max_output_tokens":1,"read_files":false,"timeout_ms":1}"#;
    let section: serde_json::Value = serde_json::from_str(all).unwrap();
    assert!(Config::parse(all).is_ok());
    assert!(schema["properties"].as_object().unwrap().keys().eq(section.as_object().unwrap().keys()));
}

#[test]
fn a_hostile_document_neither_panics_nor_answers() {
    let bodies = [
        r#"{"stopReason":"tool_use","output":{"message":{"content":{"a":1}}}}"#.as_bytes().to_vec(),
        br#"{"stopReason":"end_turn","output":{"message":{"content":[7,"x",{"text":7},null]}}}"#.to_vec(),
        br#"{"stopReason":"end_turn","usage":{"inputTokens":18446744073709551615,"cacheWriteInputTokens":9}}"#.to_vec(),
        b"[".repeat(100_000),
        vec![0xff; 1_000],
    ];
    for body in bodies {
        let request = LaunchRequest {
            config: r#"{"region":"r"}"#.into(),
            model: Some("m".into()),
            timeout_ms: 9,
            ..Default::default()
        };
        let mut launch: Dialogue<BedrockApi> = Dialogue::start(request).unwrap();
        launch.next(None).unwrap();
        let responded = Responded { status: 200, body, ..Responded::default() };
        let Ok(Step::Done(end)) = launch.next(Some(Event::Responded(responded))) else { panic!("it ends") };
        assert!(end.results.is_none());
    }
}
