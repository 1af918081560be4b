//! Launches replayed from data, and what the programs are given.

use assize_plugin_sdk::transcript::check_transcripts;
use assize_plugin_sdk::{Piece, RunProgram, Stdin, Value};

use super::*;

fn request(provider: &str, config: &str) -> LaunchRequest {
    let extra = vec![("provider".to_owned(), provider.to_owned())];
    LaunchRequest { config: config.to_owned(), extra, timeout_ms: 60_000, ..LaunchRequest::default() }
}

fn planned(request: LaunchRequest) -> RunProgram {
    let mut launch = GeminiLaunch::start(request).expect("it starts");
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
fn launches_of_gemini_follow_their_transcripts() {
    assert_eq!(check_transcripts::<GeminiLaunch>(include_str!("../../tests/gemini.json")), Ok(37));
}

#[test]
fn launches_of_qwen_follow_their_transcripts() {
    assert_eq!(check_transcripts::<GeminiLaunch>(include_str!("../../tests/qwen.json")), Ok(32));
}

#[test]
fn the_prompt_never_stands_in_an_argument_or_variable() {
    for provider in ["gemini", "qwen"] {
        let request = LaunchRequest { prompt: "PROMPT-TEXT".into(), ..request(provider, "{}") };
        let run = planned(request);
        assert!(!format!("{run:?}").contains("PROMPT-TEXT"));
        assert_eq!(run.stdin, Stdin::Prompt);
    }
}

#[test]
fn the_lane_s_model_wins_and_the_shorter_time_counts() {
    let config = r#"{"model":"config","timeout_ms":20000,"max_turns":7}"#;
    let run = planned(LaunchRequest { model: Some("lane".into()), ..request("qwen", config) });
    assert!(args(&run).contains(" -m lane "));
    assert!(args(&run).contains(" --max-wall-time 15s --max-session-turns 7 "), "{}", args(&run));
    assert_eq!(run.timeout_ms, 20_000);
    assert!(args(&planned(request("qwen", r#"{"timeout_ms":1}"#))).contains(" --max-wall-time 1s "));
}

#[test]
fn settings_keep_retries_updates_tools_and_context_files_away() {
    let run = planned(request("gemini", r#"{"max_turns":3}"#));
    let [file] = run.files.as_slice() else { panic!("{:?}", run.files) };
    assert_eq!(file.name, "home/.gemini/settings.json");
    let settings: serde_json::Value = serde_json::from_slice(&file.content).expect("it is JSON");
    assert_eq!(settings["general"]["maxAttempts"], 1);
    assert_eq!(settings["model"]["maxSessionTurns"], 3);
    assert_eq!(settings["advanced"]["ignoreLocalEnv"], true);
    assert_eq!(settings["security"]["auth"]["selectedType"], "gemini-api-key");
    assert!(settings["context"]["fileName"].as_str().is_some_and(|name| name.len() > 255));
    assert!(settings["tools"]["exclude"].as_array().is_some_and(|tools| tools.contains(&"run_shell_command".into())));
}

#[test]
fn a_user_login_gets_the_user_s_home_and_no_key_address_or_gateway() {
    let run = planned(request("gemini", r#"{"login":"user"}"#));
    assert_eq!((run.home.as_str(), &run.gateway, run.files.len()), ("user", &None, 0));
    assert_eq!(variable(&run, "GEMINI_API_KEY"), None);
    // An empty variable is there, so that a repository's `.env` cannot set it.
    assert_eq!(variable(&run, "GOOGLE_GEMINI_BASE_URL"), Some(&Value::literal("")));
    assert!(args(&run).contains(" -m gemini-2.5-flash "));
}

#[test]
fn the_version_of_an_address_stays_with_the_program() {
    for (url, upstream, suffix) in [
        ("https://a.example/v1", "https://a.example", "/v1"),
        ("https://a.example/api/v4/", "https://a.example/api", "/v4"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000", "/v1"),
        ("https://a.example/vendor", "https://a.example/vendor", "/v1"),
    ] {
        let run = planned(request("qwen", &format!(r#"{{"base_url":"{url}"}}"#)));
        assert_eq!(run.gateway.as_ref().map(|gateway| gateway.upstream.as_str()), Some(upstream));
        let wanted = Value::Text(vec![Piece::GatewayAddress, Piece::Literal(suffix.to_owned())]);
        assert_eq!(variable(&run, "OPENAI_BASE_URL"), Some(&wanted));
    }
}

#[test]
fn whatever_is_used_is_requested_with_a_reason() {
    let description = GeminiLaunch::describe();
    let asked = |kind: &str, name: &str| description.requests.iter().any(|r| r.kind == kind && r.name == name);
    assert!(description.requests.iter().all(|request| request.reason.ends_with('.')));
    for cli in Cli::ALL {
        let run = planned(request(cli.name(), r#"{"gateway":false}"#));
        assert!(asked("program", &run.program));
        assert!(asked("host", cli.upstream().split('/').nth(2).unwrap_or_default()));
        for (name, value) in &run.env {
            let secret = match value {
                Value::Inherit => name,
                Value::Secret(secret) => secret,
                _ => continue,
            };
            assert!(asked("secret", secret), "{secret}");
        }
        assert!([cli.secrets(true), cli.secrets(false)].concat().iter().all(|secret| asked("secret", secret)));
        assert!(description.serves.iter().any(|service| service.value == cli.name()));
    }
}

#[test]
fn a_prompt_that_the_program_would_cut_is_not_sent() {
    for provider in ["gemini", "qwen"] {
        let request = LaunchRequest { prompt: "x".repeat(PROMPT_BYTES + 1), ..request(provider, "{}") };
        let mut launch = GeminiLaunch::start(request).expect("it starts");
        let Ok(Step::Done(conclusion)) = launch.next(None) else { panic!("it ends at once") };
        assert_eq!(conclusion.outcome, Outcome::ContextExceeded);
    }
}

#[test]
fn hostile_output_ends_in_a_conclusion() {
    let deep = format!("{{\"type\":{}", "[".repeat(200_000)).into_bytes();
    for stdout in [deep, vec![0xff; 70_000], b"{\"type\":\"result\",\"status\":7,\"stats\":[],\"error\":3}".to_vec()] {
        for provider in ["gemini", "qwen"] {
            let mut launch = GeminiLaunch::start(request(provider, "{}")).expect("it starts");
            launch.next(None).expect("a step");
            let exited = Exited {
                stdout: stdout.clone(),
                stderr: stdout.clone(),
                wall_ms: u64::MAX,
                code: Some(1),
                ..Exited::default()
            };
            let Ok(Step::Done(conclusion)) = launch.next(Some(Event::Exited(exited))) else { panic!("it ends") };
            assert_eq!(conclusion.outcome, Outcome::Crashed);
            assert_eq!(conclusion.results, None);
        }
    }
}
