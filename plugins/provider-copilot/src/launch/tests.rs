//! Launches replayed from data, and what the program is given.

use assize_plugin_sdk::transcript::check_transcripts;
use assize_plugin_sdk::{Piece, RunProgram, Stdin, Value};

use super::*;

fn planned(config: &str, request: LaunchRequest) -> RunProgram {
    let request = LaunchRequest { config: config.to_owned(), ..request };
    let mut launch = CopilotLaunch::start(request).expect("it starts");
    match launch.next(None) {
        Ok(Step::Perform(Effect::RunProgram(run))) => run,
        other => panic!("{other:?}"),
    }
}

fn args(run: &RunProgram) -> String {
    let arg = |arg: &Vec<Piece>| match arg.as_slice() {
        [Piece::Literal(text)] => text.clone(),
        other => panic!("{other:?}"),
    };
    run.args.iter().map(arg).collect::<Vec<_>>().join(" ")
}

fn variable<'r>(run: &'r RunProgram, name: &str) -> Option<&'r Value> {
    run.env.iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

#[test]
fn launches_follow_their_transcripts() {
    assert_eq!(check_transcripts::<CopilotLaunch>(include_str!("../../tests/transcripts.json")), Ok(39));
}

#[test]
fn the_prompt_never_stands_in_an_argument_or_variable() {
    let request = LaunchRequest { prompt: "PROMPT-TEXT".into(), ..LaunchRequest::default() };
    let run = planned("{}", request);
    assert!(!format!("{run:?}").contains("PROMPT-TEXT"));
    assert_eq!(run.stdin, Stdin::Prompt);
    assert!(!args(&run).contains(" -p"));
}

#[test]
fn the_lane_s_model_wins_and_the_shorter_time_counts() {
    let request = LaunchRequest { model: Some("lane".into()), timeout_ms: 900, ..LaunchRequest::default() };
    let run = planned(r#"{"model":"config","timeout_ms":1000,"extra_args":["--reasoning-effort","high"]}"#, request);
    assert!(args(&run).ends_with("--model lane --reasoning-effort high"), "{}", args(&run));
    assert_eq!(run.timeout_ms, 900);
}

#[test]
fn what_the_host_knows_of_the_model_s_size_is_told() {
    let extra = [("context-tokens", "200000"), ("output-tokens", "64000")];
    let extra = extra.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let run = planned("{}", LaunchRequest { extra, ..LaunchRequest::default() });
    assert_eq!(variable(&run, "COPILOT_PROVIDER_MAX_PROMPT_TOKENS"), Some(&Value::literal("136000")));
    assert_eq!(variable(&run, "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS"), Some(&Value::literal("64000")));
    let odd = vec![("context-tokens".to_owned(), "-1".to_owned()), ("output-tokens".to_owned(), "0".to_owned())];
    let run = planned("{}", LaunchRequest { extra: odd, ..LaunchRequest::default() });
    assert_eq!(variable(&run, "COPILOT_PROVIDER_MAX_PROMPT_TOKENS"), None);
    assert_eq!(variable(&run, "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS"), None);
}

#[test]
fn each_protocol_has_its_address_key_and_header() {
    for (config, upstream, suffix, header) in [
        ("{}", "https://api.openai.com", "/v1", "authorization"),
        (r#"{"protocol":"anthropic"}"#, "https://api.anthropic.com", "", "x-api-key"),
        (
            r#"{"protocol":"azure","base_url":"https://r.openai.azure.com/","model":"m"}"#,
            "https://r.openai.azure.com",
            "",
            "api-key",
        ),
        (r#"{"base_url":"https://a.example/api/v3","model":"m"}"#, "https://a.example/api", "/v3", "authorization"),
        (r#"{"base_url":"http://localhost:11434","model":"m"}"#, "http://localhost:11434", "/v1", "authorization"),
    ] {
        let run = planned(config, LaunchRequest::default());
        let gateway = run.gateway.as_ref().expect("a gateway");
        assert_eq!((gateway.upstream.as_str(), gateway.extra[0].1.as_str()), (upstream, header), "{config}");
        let mut pieces = vec![Piece::GatewayAddress];
        pieces.extend((!suffix.is_empty()).then(|| Piece::Literal(suffix.to_owned())));
        assert_eq!(variable(&run, "COPILOT_PROVIDER_BASE_URL"), Some(&Value::Text(pieces)), "{config}");
    }
}

#[test]
fn a_github_login_gets_the_user_s_home_and_no_service_of_its_own() {
    let run = planned(r#"{"login":"user"}"#, LaunchRequest::default());
    assert_eq!((run.home.as_str(), &run.gateway), ("user", &None));
    let names: Vec<&str> = run.env.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["COPILOT_GITHUB_TOKEN"]);
    assert!(!args(&run).contains("--model"));
}

#[test]
fn whatever_is_used_is_requested_with_a_reason() {
    let description = CopilotLaunch::describe();
    let asked = |kind: &str, name: &str| description.requests.iter().any(|r| r.kind == kind && r.name == name);
    assert!(description.requests.iter().all(|request| request.reason.ends_with('.')));
    for config in [
        r#"{"gateway":false}"#,
        r#"{"gateway":false,"protocol":"anthropic"}"#,
        r#"{"gateway":false,"protocol":"azure","base_url":"https://api.openai.com","model":"m"}"#,
        r#"{"login":"user"}"#,
    ] {
        let run = planned(config, LaunchRequest::default());
        assert!(asked("program", &run.program));
        for (name, value) in &run.env {
            match value {
                Value::Inherit => assert!(asked("secret", name), "{name}"),
                Value::Secret(secret) => assert!(asked("secret", secret), "{secret}"),
                Value::Text(pieces) if name == "COPILOT_PROVIDER_BASE_URL" => {
                    let [Piece::Literal(url)] = pieces.as_slice() else { panic!("{pieces:?}") };
                    assert!(asked("host", url.split('/').nth(2).unwrap_or_default()), "{url}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn hostile_output_ends_in_a_conclusion() {
    let deep = format!("{{\"type\":{}", "[".repeat(200_000)).into_bytes();
    for stdout in [deep, vec![0xff; 70_000], b"{\"type\":\"result\",\"exitCode\":\"x\",\"usage\":[]}".to_vec()] {
        let mut launch = CopilotLaunch::start(LaunchRequest::default()).expect("it starts");
        launch.next(None).expect("a step");
        let exited = Exited { stderr: stdout.clone(), stdout, wall_ms: u64::MAX, code: Some(1), ..Exited::default() };
        let Ok(Step::Done(conclusion)) = launch.next(Some(Event::Exited(exited))) else { panic!("it ends") };
        assert_eq!((conclusion.outcome, conclusion.results), (Outcome::Crashed, None));
    }
}
