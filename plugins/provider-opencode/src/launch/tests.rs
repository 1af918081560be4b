//! Launches replayed from data, and what the program is given.

use assize_plugin_sdk::transcript::check_transcripts;
use assize_plugin_sdk::{Piece, RunProgram, Stdin, Value as Variable};

use super::*;

fn planned(config: &str, request: LaunchRequest) -> RunProgram {
    let request = LaunchRequest { config: config.to_owned(), ..request };
    let mut launch = OpencodeLaunch::start(request).expect("it starts");
    match launch.next(None) {
        Ok(Step::Perform(Effect::RunProgram(run))) => run,
        other => panic!("{other:?}"),
    }
}

fn args(run: &RunProgram) -> Vec<&str> {
    run.args
        .iter()
        .map(|arg| match arg.as_slice() {
            [Piece::Literal(text)] => text.as_str(),
            other => panic!("{other:?}"),
        })
        .collect()
}

/// The settings as the program reads them, with stand-ins for what the host puts in.
fn settings(run: &RunProgram) -> Value {
    let (_, value) = run.env.iter().find(|(name, _)| name == "OPENCODE_CONFIG_CONTENT").expect("settings");
    let Variable::Text(pieces) = value else { panic!("{value:?}") };
    let text: String = pieces
        .iter()
        .map(|piece| match piece {
            Piece::Literal(text) => text.as_str(),
            Piece::GatewayAddress => "http://127.0.0.1:9/T",
            Piece::GatewayToken => "TOKEN",
            Piece::Place(place) => panic!("{place}"),
        })
        .collect();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[test]
fn launches_follow_their_transcripts() {
    assert_eq!(check_transcripts::<OpencodeLaunch>(include_str!("../../tests/transcripts.json")), Ok(63));
}

#[test]
fn the_prompt_never_stands_in_an_argument_or_variable() {
    let request = LaunchRequest { prompt: "PROMPT-TEXT".into(), ..LaunchRequest::default() };
    let run = planned("{}", request);
    assert!(!format!("{run:?}").contains("PROMPT-TEXT"));
    assert_eq!(run.stdin, Stdin::Prompt);
}

#[test]
fn the_lane_s_model_wins_and_the_shorter_time_counts() {
    let request = LaunchRequest { model: Some("a/b".into()), timeout_ms: 900, ..LaunchRequest::default() };
    let run = planned(r#"{"model":"config","timeout_ms":1000,"extra_args":["--variant","high"]}"#, request);
    let expected = ["run", "--format", "json", "--title", "review", "-m", "assize/a/b", "--variant", "high"];
    assert_eq!(args(&run), expected);
    assert_eq!(run.timeout_ms, 900);
    assert!(settings(&run)["provider"]["assize"]["models"]["a/b"].is_object());
}

#[test]
fn a_model_that_looks_like_settings_stays_a_name() {
    let name = "x\"},\"permission\":{\"bash\":\"allow\"},\"y\":{\"";
    let request = LaunchRequest { model: Some(name.into()), ..LaunchRequest::default() };
    let settings = settings(&planned("{}", request));
    assert_eq!(settings["permission"]["bash"], "deny");
    assert!(settings["provider"]["assize"]["models"][name].is_object());
}

#[test]
fn the_program_may_read_and_nothing_else() {
    for config in ["{}", r#"{"gateway":false}"#, r#"{"login":"user"}"#] {
        let settings = settings(&planned(config, LaunchRequest::default()));
        let rules = settings["permission"].as_object().expect("rules");
        assert_eq!(rules.iter().next().map(|(name, rule)| (name.as_str(), rule)), Some(("*", &"deny".into())));
        let allowed: Vec<&str> =
            rules.iter().filter(|(_, rule)| *rule != "deny").map(|(name, _)| name.as_str()).collect();
        assert_eq!(allowed, ["read", "grep", "glob", "list"], "{config}");
        assert_eq!((&settings["share"], &settings["lsp"]), (&"disabled".into(), &false.into()));
    }
}

#[test]
fn the_gateway_stands_in_the_settings_and_the_key_does_not() {
    let run = planned(r#"{"protocol":"anthropic"}"#, LaunchRequest::default());
    let provider = settings(&run)["provider"]["assize"].clone();
    assert_eq!(provider["npm"], "@ai-sdk/anthropic");
    assert_eq!(provider["options"], serde_json::json!({"baseURL": "http://127.0.0.1:9/T/v1", "apiKey": "TOKEN"}));
    assert!(!format!("{:?}", run.env).contains("API_KEY"));
    let run = planned(r#"{"gateway":false}"#, LaunchRequest::default());
    let provider = settings(&run)["provider"]["assize"].clone();
    assert_eq!(provider["options"], serde_json::json!({"baseURL": "https://api.openai.com/v1"}));
    assert_eq!(provider["env"], serde_json::json!(["OPENAI_API_KEY"]));
}

#[test]
fn what_the_host_knows_of_the_model_is_told_to_the_program() {
    let extra = [("context-tokens", "1000"), ("output-tokens", "200")].map(|(n, v)| (n.to_owned(), v.to_owned()));
    let request = LaunchRequest { extra: extra.to_vec(), model: Some("m".into()), ..LaunchRequest::default() };
    let limit = settings(&planned("{}", request))["provider"]["assize"]["models"]["m"]["limit"].clone();
    assert_eq!(limit, serde_json::json!({"context": 1000, "output": 200}));
}

#[test]
fn the_service_s_version_is_said_once_wherever_it_was_written() {
    for (url, upstream, version) in [
        ("https://api.openai.com/v1/", "https://api.openai.com", "v1"),
        ("https://h.example/openai", "https://h.example/openai", "v1"),
        ("https://h.example/api/paas/v4", "https://h.example/api/paas", "v4"),
    ] {
        let run = planned(&format!(r#"{{"base_url":"{url}"}}"#), LaunchRequest::default());
        let base = settings(&run)["provider"]["assize"]["options"]["baseURL"].clone();
        assert_eq!(base, format!("http://127.0.0.1:9/T/{version}"));
        assert_eq!(run.gateway.expect("a gateway").upstream, upstream);
    }
}

#[test]
fn whatever_is_needed_is_requested_with_a_reason() {
    let description = OpencodeLaunch::describe();
    let asks = |kind: &str, name: &str| {
        let request = description.requests.iter().find(|r| r.kind == kind && r.name == name);
        assert!(request.expect(name).reason.ends_with('.'));
    };
    for config in ["{}", r#"{"protocol":"anthropic"}"#] {
        let run = planned(config, LaunchRequest::default());
        let gateway = run.gateway.expect("a gateway");
        asks("program", &run.program);
        asks("host", gateway.upstream.trim_start_matches("https://"));
        asks("secret", &gateway.secret.expect("a secret"));
    }
    assert!(serde_json::from_str::<Value>(&description.config_schema).is_ok());
    let models = extra_value(&description.extra, "models").expect("models");
    assert!(serde_json::from_str::<Vec<Value>>(models).expect("a list").len() > 3);
}

#[test]
fn what_would_lift_read_only_is_refused() {
    for config in [
        r#"{"extra_args":["--auto"]}"#,
        r#"{"extra_args":["--dangerously-skip-permissions"]}"#,
        r#"{"extra_args":["--dangerouslySkipPermissions"]}"#,
        r#"{"extra_args":["--auto=true"]}"#,
        r#"{"extra_args":["--no-format"]}"#,
        r#"{"extra_args":["--format.x=default"]}"#,
        r#"{"extra_args":["--agent","build"]}"#,
        r#"{"extra_args":["-s","ses_1"]}"#,
        r#"{"extra_args":["--"]}"#,
        r#"{"program":" "}"#,
        r#"{"base_url":"https://h/{env:HOME}"}"#,
        r#"{"base_url":"https://h/\""}"#,
        r#"{"secret":"sk-0123"}"#,
        r#"{"protocol":"gemini"}"#,
        r#"{"modle":"x"}"#,
    ] {
        let request = LaunchRequest { config: config.into(), ..LaunchRequest::default() };
        assert!(matches!(OpencodeLaunch::start(request), Err(PluginError::InvalidConfiguration(_))), "{config}");
    }
}
