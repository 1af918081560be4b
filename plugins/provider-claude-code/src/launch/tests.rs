//! Launches replayed from data, and what the program is given.

use assize_plugin_sdk::transcript::check_transcripts;
use assize_plugin_sdk::{Piece, RunProgram, Value};

use super::*;

fn planned(config: &str, request: LaunchRequest) -> RunProgram {
    let request = LaunchRequest { config: config.to_owned(), ..request };
    let mut launch = ClaudeLaunch::start(request).expect("it starts");
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

#[test]
fn launches_follow_their_transcripts() {
    assert_eq!(check_transcripts::<ClaudeLaunch>(include_str!("../../tests/transcripts.json")), Ok(47));
}

#[test]
fn the_prompt_never_stands_in_an_argument() {
    let request = LaunchRequest { prompt: "PROMPT-TEXT".into(), ..LaunchRequest::default() };
    let run = planned("{}", request);
    assert!(!format!("{run:?}").contains("PROMPT-TEXT"));
    assert_eq!(run.stdin, assize_plugin_sdk::Stdin::Prompt);
}

#[test]
fn the_lane_s_model_wins_and_the_shorter_time_counts() {
    let request = LaunchRequest { model: Some("lane".into()), timeout_ms: 900, ..LaunchRequest::default() };
    let run = planned(
        r#"{"model":"config","max_turns":3,"max_budget_usd":0.5,"timeout_ms":1000,"extra_args":["--effort","high"]}"#,
        request,
    );
    let shown = args(&run).join(" ");
    assert!(shown.ends_with("--model lane --max-turns 3 --max-budget-usd 0.5 --effort high"), "{shown}");
    assert_eq!(run.timeout_ms, 900);
}

#[test]
fn a_user_login_gets_the_user_s_home_and_no_key() {
    let run = planned(r#"{"login":"user"}"#, LaunchRequest::default());
    assert_eq!(run.home, "user");
    assert!(!format!("{:?}", run.env).contains("API_KEY") && !format!("{:?}", run.env).contains("TOKEN\""));
    assert_eq!(run.gateway.expect("a gateway").secret, None);
}

#[test]
fn whatever_is_inherited_is_requested_with_a_reason() {
    let description = ClaudeLaunch::describe();
    let run = planned(r#"{"gateway":false}"#, LaunchRequest::default());
    assert_eq!(run.env.iter().filter(|(_, value)| *value == Value::Inherit).count(), 3);
    for (name, _) in run.env.iter().filter(|(_, value)| *value == Value::Inherit) {
        let request = description.requests.iter().find(|r| r.kind == "secret" && r.name == *name).expect(name);
        assert!(request.reason.ends_with('.'));
    }
    assert!(description.requests.iter().any(|r| r.kind == "program" && r.name == run.program));
    assert!(serde_json::from_str::<serde_json::Value>(&description.config_schema).is_ok());
}

#[test]
fn the_gateway_s_upstream_and_secret_are_requested() {
    let description = ClaudeLaunch::describe();
    let gateway = planned("{}", LaunchRequest::default()).gateway.expect("a gateway");
    let host = gateway.upstream.trim_start_matches("https://");
    let asks = |kind: &str, name: &str| description.requests.iter().any(|r| r.kind == kind && r.name == name);
    assert!(asks("host", host) && asks("secret", &gateway.secret.expect("a secret")));
}

#[test]
fn the_facts_of_models_are_a_list_that_names_each_once() {
    let description = ClaudeLaunch::describe();
    let models = assize_plugin_sdk::extra_value(&description.extra, "models").expect("models");
    let models: Vec<serde_json::Value> = serde_json::from_str(models).expect("a JSON list");
    let mut names: Vec<&str> = models.iter().map(|model| model["match"].as_str().expect("a name")).collect();
    assert!(names.len() > 3 && models.iter().all(|model| model["context_tokens"].as_u64() > Some(0)));
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), models.len());
}

#[test]
fn a_prompt_that_the_program_would_refuse_is_not_sent() {
    let request = LaunchRequest { prompt: "x".repeat(PROMPT_BYTES + 1), ..LaunchRequest::default() };
    let mut launch = ClaudeLaunch::start(request).expect("it starts");
    let Ok(Step::Done(conclusion)) = launch.next(None) else { panic!("it ends at once") };
    assert_eq!(conclusion.outcome, Outcome::ContextExceeded);
}

#[test]
fn what_would_lift_read_only_is_refused() {
    for config in [
        r#"{"extra_args":["--dangerously-skip-permissions"]}"#,
        r#"{"extra_args":["--output-format=text"]}"#,
        r#"{"extra_args":["--permission-mode","bypassPermissions"]}"#,
        r#"{"tools":["Read","Bash"]}"#,
        r#"{"tools":["Bash(git log:*)"]}"#,
        r#"{"tools":["Read,Write"]}"#,
        r#"{"program":" "}"#,
        r#"{"max_budget_usd":0}"#,
        r#"{"base_url":"api.anthropic.com"}"#,
        r#"{"base_url":"https://a b"}"#,
        r#"{"base_url":"https://user@host"}"#,
        r#"{"modle":"x"}"#,
    ] {
        let request = LaunchRequest { config: config.into(), ..LaunchRequest::default() };
        assert!(matches!(ClaudeLaunch::start(request), Err(PluginError::InvalidConfiguration(_))), "{config}");
    }
}
