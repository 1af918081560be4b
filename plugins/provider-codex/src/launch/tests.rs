//! Launches replayed from data, and what the program is given.

use assize_plugin_sdk::transcript::check_transcripts;
use assize_plugin_sdk::{Piece, RunProgram, Stdin, Value};

use super::*;

fn planned(config: &str, request: LaunchRequest) -> RunProgram {
    let request = LaunchRequest { config: config.to_owned(), ..request };
    let mut launch = CodexLaunch::start(request).expect("it starts");
    match launch.next(None) {
        Ok(Step::Perform(Effect::RunProgram(run))) => run,
        other => panic!("{other:?}"),
    }
}

/// The arguments in one line, the gateway's address as `<address>`.
fn shown(run: &RunProgram) -> String {
    let piece = |piece: &Piece| match piece {
        Piece::Literal(text) => text.clone(),
        Piece::GatewayAddress => "<address>".to_owned(),
        other => panic!("{other:?} in an argument"),
    };
    let args: Vec<String> = run.args.iter().map(|arg| arg.iter().map(piece).collect()).collect();
    args.join(" ")
}

#[test]
fn launches_follow_their_transcripts() {
    assert_eq!(check_transcripts::<CodexLaunch>(include_str!("../../tests/transcripts.json")), Ok(63));
}

#[test]
fn the_prompt_never_stands_in_an_argument() {
    let request = LaunchRequest { prompt: "PROMPT-TEXT".into(), ..LaunchRequest::default() };
    let run = planned("{}", request);
    assert!(!format!("{run:?}").contains("PROMPT-TEXT"));
    assert_eq!(run.stdin, Stdin::Prompt);
    assert!(shown(&run).ends_with(" -"), "the program reads its input");
}

#[test]
fn the_lane_s_model_wins_and_the_shorter_time_counts() {
    let request = LaunchRequest { model: Some("lane".into()), timeout_ms: 900, ..LaunchRequest::default() };
    let run = planned(r#"{"model":"config","timeout_ms":1000,"extra_args":["--color","never"]}"#, request);
    assert!(shown(&run).ends_with(" -m lane --color never -"), "{}", shown(&run));
    assert_eq!(run.timeout_ms, 900);
}

#[test]
fn no_credential_stands_in_an_argument_on_any_way() {
    for config in ["{}", r#"{"gateway":false}"#, r#"{"login":"user"}"#] {
        let run = planned(config, LaunchRequest::default());
        assert!(!run.args.iter().flatten().any(|piece| *piece == Piece::GatewayToken), "{config}");
    }
}

#[test]
fn the_service_s_version_is_said_once_wherever_it_was_written() {
    for (url, upstream, base) in [
        ("https://api.openai.com/v1/", "https://api.openai.com", "<address>/v1\""),
        ("https://h.example/openai", "https://h.example/openai", "<address>/v1\""),
        ("https://h.example/api/paas/v4", "https://h.example/api/paas", "<address>/v4\""),
        ("http://v1", "http://v1", "<address>/v1\""),
    ] {
        let run = planned(&format!(r#"{{"base_url":"{url}"}}"#), LaunchRequest::default());
        assert!(shown(&run).contains(&format!("base_url=\"{base}")), "{}", shown(&run));
        assert_eq!(run.gateway.expect("a gateway").upstream, upstream);
    }
}

#[test]
fn a_user_login_gets_the_user_s_home_and_no_table_key_or_gateway() {
    let run = planned(r#"{"login":"user","credential_store":"keyring"}"#, LaunchRequest::default());
    assert_eq!((run.home.as_str(), run.gateway.as_ref()), ("user", None));
    let args = shown(&run);
    assert!(!args.contains("model_provider") && args.contains("cli_auth_credentials_store=\"keyring\""), "{args}");
    assert!(!format!("{:?}", run.env).contains("API_KEY"));
}

#[test]
fn whatever_is_needed_is_requested_with_a_reason() {
    let description = CodexLaunch::describe();
    let asks = |kind: &str, name: &str| {
        let request = description.requests.iter().find(|r| r.kind == kind && r.name == name);
        assert!(request.expect(name).reason.ends_with('.'));
    };
    let run = planned("{}", LaunchRequest::default());
    let gateway = run.gateway.expect("a gateway");
    asks("program", &run.program);
    asks("host", gateway.upstream.trim_start_matches("https://"));
    asks("secret", &gateway.secret.expect("a secret"));
    for config in [r#"{"login":"user"}"#, r#"{"gateway":false}"#] {
        for (name, value) in planned(config, LaunchRequest::default()).env {
            if !matches!(value, Value::Text(_)) {
                asks("secret", &name);
            }
        }
    }
    assert!(serde_json::from_str::<serde_json::Value>(&description.config_schema).is_ok());
}

#[test]
fn the_facts_of_models_are_a_list_that_names_each_once() {
    let description = CodexLaunch::describe();
    let models = extra_value(&description.extra, "models").expect("models");
    let models: Vec<serde_json::Value> = serde_json::from_str(models).expect("a JSON list");
    let mut names: Vec<&str> = models.iter().map(|model| model["match"].as_str().expect("a name")).collect();
    assert!(names.len() > 3 && models.iter().all(|model| model["context_tokens"].as_u64() > Some(0)));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), models.len());
}

#[test]
fn a_prompt_that_the_program_would_refuse_is_not_sent() {
    let ends = |chars: usize| {
        let request = LaunchRequest { prompt: "ä".repeat(chars), ..LaunchRequest::default() };
        CodexLaunch::start(request).expect("it starts").next(None).expect("a step")
    };
    assert!(matches!(ends(PROMPT_CHARS), Step::Perform(_)));
    let Step::Done(conclusion) = ends(PROMPT_CHARS + 1) else { panic!("it ends at once") };
    assert_eq!(conclusion.outcome, Outcome::ContextExceeded);
}

#[test]
fn what_would_lift_read_only_is_refused() {
    for config in [
        r#"{"extra_args":["--dangerously-bypass-approvals-and-sandbox"]}"#,
        r#"{"extra_args":["--sandbox=danger-full-access"]}"#,
        r#"{"extra_args":["--sandbox","workspace-write"]}"#,
        r#"{"extra_args":["-sdanger-full-access"]}"#,
        r#"{"extra_args":["-c","sandbox_mode=\"danger-full-access\""]}"#,
        r#"{"extra_args":["--config=x=1"]}"#,
        r#"{"extra_args":["--"]}"#,
        r#"{"extra_args":["--json"]}"#,
        r#"{"program":" "}"#,
        r#"{"base_url":"https://h/\"},x={\""}"#,
        r#"{"base_url":"ftp://h"}"#,
        r#"{"base_url":"https://"}"#,
        r#"{"secret":"sk-0123"}"#,
        r#"{"reasoning_effort":"a\" b"}"#,
        r#"{"modle":"x"}"#,
    ] {
        let request = LaunchRequest { config: config.into(), ..LaunchRequest::default() };
        assert!(matches!(CodexLaunch::start(request), Err(PluginError::InvalidConfiguration(_))), "{config}");
    }
}
