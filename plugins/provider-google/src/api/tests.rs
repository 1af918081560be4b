//! Launches replayed from data, and what else the service is given.

use assize_plugin_sdk::dialogue::Dialogue;
use assize_plugin_sdk::transcript::check_transcripts;
use assize_plugin_sdk::{Event, Launch, Step, matches_pattern};

use super::*;

#[test]
fn launches_follow_their_transcripts() {
    let json = include_str!("../../tests/transcripts.json");
    assert_eq!(check_transcripts::<Dialogue<GoogleApi>>(json), Ok(52));
}

#[test]
fn what_is_used_is_requested_with_a_reason() {
    let description = GoogleApi::describe();
    assert!(description.requests.iter().all(|request| request.reason.ends_with('.')));
    let config = Config::default();
    let wanted = |kind: &str, name: &str| description.requests.iter().any(|r| r.kind == kind && r.name == name);
    assert!(wanted("secret", &config.secret));
    assert!(wanted("host", config.base_url.trim_start_matches("https://")));
}

#[test]
fn the_schema_names_what_the_configuration_reads_and_nothing_else() {
    let schema: serde_json::Value = serde_json::from_str(CONFIG_SCHEMA).unwrap();
    assert_eq!(schema["additionalProperties"], false);
    let all = r#"{"base_url":"https://x.example","model":"m","max_output_tokens":1,"secret":"S","read_files":false,"timeout_ms":1}"#;
    let section: serde_json::Value = serde_json::from_str(all).unwrap();
    assert!(Config::parse(all).is_ok());
    assert!(schema["properties"].as_object().unwrap().keys().eq(section.as_object().unwrap().keys()));
}

#[test]
fn every_model_is_known_by_some_entry_and_none_is_hidden_by_an_earlier_one() {
    let list: Vec<serde_json::Value> = serde_json::from_str(MODELS).unwrap();
    let patterns: Vec<&str> = list.iter().map(|facts| facts["match"].as_str().unwrap()).collect();
    assert_eq!(patterns.last(), Some(&"*"));
    for (at, pattern) in patterns.iter().enumerate() {
        let name = pattern.replace('*', "-x");
        let first = patterns.iter().position(|earlier| matches_pattern(earlier, &name));
        assert_eq!(first, Some(at), "{pattern}");
    }
}

#[test]
fn a_hostile_stream_neither_panics_nor_grows_without_bound() {
    let part = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"name\":\"x\"}}]}}]}\n\n";
    let bodies = [
        part.repeat(5_000).into_bytes(),
        b"data: {\"candidates\":7}\n\ndata: 7\n\ndata: null\n\ndata: {\"candidates\":[{\"content\":{\"parts\":{\"a\":1}}}]}\n\n".to_vec(),
        b"data: {\"error\":{\"code\":-1,\"details\":[7,{\"violations\":[7]}]}}\n\n".to_vec(),
        b"data: {\"usageMetadata\":{\"promptTokenCount\":18446744073709551615,\"toolUsePromptTokenCount\":9}}\n\n".to_vec(),
        [b"data: ".to_vec(), b"[".repeat(100_000), b"\n\n".to_vec()].concat(),
        b"[".repeat(100_000),
        vec![0xff; 1_000],
    ];
    for body in bodies {
        let request = LaunchRequest { model: Some("m".into()), timeout_ms: 9, ..Default::default() };
        let mut launch: Dialogue<GoogleApi> = Dialogue::start(request).unwrap();
        launch.next(None).unwrap();
        let responded = Responded { status: 200, body, ..Responded::default() };
        let Ok(Step::Done(end)) = launch.next(Some(Event::Responded(responded))) else { panic!("it ends") };
        assert!(end.results.is_none());
    }
}
