//! `provider-command`: the user's template made into a program, and the program's end into an outcome.

use assize_core::grant::{Grant, GrantKind, needed_grants};
use assize_core::plugin::{Effect, EffectEvent, Exited, Failure, Outcome, Piece, Stdin, Value};

use crate::catalog::provider;
use crate::launches::{PROMPT, conclusion, ends, invalid_configuration, program, request};

const PLAIN: &str = r#"{"command": ["reviewer"]}"#;

fn literal(text: &str) -> Piece {
    Piece::Literal(text.to_owned())
}

fn place(name: &str) -> Piece {
    Piece::Place(name.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn placeholders_become_places_and_values_in_pieces() {
    let config = r#"{
        "command": ["reviewer", "{taskPath}", "--out={resultsPath}", "{repoRoot}/{runId}", "{{plain}}", "{promptPath}",
            "{pendingTasksPath}", "{resultPath}", "{stdoutPath}{stderrPath}", "it's {model} {timeoutMs}", "{workerCommandJson}"],
        "env": {"OUT": "{resultsPath}", "MODE": "{uiMode}"},
        "inherit": ["REVIEWER_KEY"], "model": "small", "stdin": "prompt", "cwd": "run-dir", "output_cap": 100}"#;
    let mut asked = request(config);
    asked.extra = vec![("worker-command-json".to_owned(), r#"["assize","x y"]"#.to_owned())];
    let (run, _) = program(provider("command"), asked).await;
    assert_eq!(run.program, "reviewer");
    assert_eq!(
        run.args,
        [
            vec![place("task-file")],
            vec![literal("--out="), place("results-file")],
            vec![place("repo"), literal("/launch-7")],
            vec![literal("{plain}")],
            vec![place("prompt-file")],
            vec![place("pending-tasks-file")],
            vec![place("result-file")],
            vec![place("stdout-file"), place("stderr-file")],
            vec![literal("it's small 9000")],
            vec![literal(r#"["assize","x y"]"#)],
        ]
    );
    let text = |piece| Value::Text(vec![piece]);
    assert_eq!(
        run.env,
        [
            ("MODE".to_owned(), text(literal("headless"))),
            ("OUT".to_owned(), text(place("results-file"))),
            ("REVIEWER_KEY".to_owned(), Value::Inherit),
        ]
    );
    assert_eq!((run.stdin.clone(), run.cwd.as_str(), run.output_cap), (Stdin::Prompt, "run-dir", 100));
    assert_eq!((run.timeout_ms, run.gateway.is_none(), run.files.len()), (9_000, true, 0));
    assert!(!format!("{run:?}").contains(PROMPT));
    let grant = |kind, name: &str| Grant { kind, name: name.to_owned() };
    assert_eq!(
        needed_grants(&Effect::RunProgram(run)),
        [grant(GrantKind::Program, "reviewer"), grant(GrantKind::Secret, "REVIEWER_KEY")]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_taken_from_the_environment_unless_it_was_named() {
    let (run, _) = program(provider("command"), request(PLAIN)).await;
    assert_eq!((run.env.len(), run.stdin, run.cwd.as_str(), run.home.as_str()), (0, Stdin::None, "repo", "launch"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_that_means_nothing_is_an_invalid_configuration() {
    for (config, words) in [
        (r#"{"command": ["reviewer", "{taskFile}"]}"#, "unknown placeholder `{taskFile}`; known are {repoRoot}"),
        (r#"{"command": ["reviewer"], "env": {"A": "{nobody}"}}"#, "unknown placeholder `{nobody}`"),
        (r#"{"command": ["reviewer", "{"]}"#, "write `{{` for the brace itself"),
        (r#"{"command": ["{model}"]}"#, "may hold no placeholder"),
        (r#"{"command": []}"#, "`command` is empty"),
        ("{}", "command"),
    ] {
        let said = invalid_configuration("command", config).await;
        assert!(said.contains(words), "{config}: {said}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ends_are_told_apart() {
    let exit = |code| Exited { code: Some(code), ..Exited::default() };
    let bytes = |text: &str| text.as_bytes().to_vec();
    for (exited, outcome) in [
        (Exited { results_written: true, ..exit(0) }, Outcome::Completed),
        (Exited { results_written: true, stderr: bytes("HTTP 429"), ..exit(3) }, Outcome::Completed),
        (Exited { results_written: true, timed_out: true, signal: Some(15), ..Exited::default() }, Outcome::Completed),
        (exit(0), Outcome::NoResults),
        (exit(1), Outcome::Crashed),
        (Exited { signal: Some(11), ..Exited::default() }, Outcome::Crashed),
        (Exited { signal: Some(9), timed_out: true, ..Exited::default() }, Outcome::TimedOut),
        (Exited { interrupted: true, ..exit(130) }, Outcome::Interrupted),
        (Exited { stderr: bytes("Error: 429 Too Many Requests\n"), ..exit(1) }, Outcome::RateLimited),
        (Exited { stderr: bytes("HTTP/1.1 401 Unauthorized\n"), ..exit(1) }, Outcome::Unauthenticated),
        (Exited { stderr: bytes("API Error: 529 busy\n"), ..exit(1) }, Outcome::Overloaded),
        (Exited { stdout: bytes("HTTP 429 is never handled in src/a.rs\n"), ..exit(1) }, Outcome::Crashed),
    ] {
        let shown = format!("{exited:?}");
        let end = ends("command", PLAIN, exited).await;
        assert_eq!(end.outcome, outcome, "{shown}");
        assert_eq!(end.results, None, "the results file is the only channel of its answers");
        assert!(!end.message.is_empty() && !end.message.contains('\n'), "{}", end.message);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_s_report_is_evidence_from_the_moment_of_the_end() {
    let stderr = b"reading src/a.rs\nError: 429 Too Many Requests\nretry after 30 seconds\n".to_vec();
    let end = ends("command", PLAIN, Exited { code: Some(1), stderr, wall_ms: 250, ..Exited::default() }).await;
    let [evidence] = &end.evidence[..] else { panic!("{:?}", end.evidence) };
    assert_eq!((evidence.provider.as_str(), evidence.status), ("command", Some(429)));
    assert_eq!(evidence.text, "Error: 429 Too Many Requests\nretry after 30 seconds");
    assert_eq!(evidence.received_at_ms, request(PLAIN).now_ms + 250);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_may_not_or_cannot_start_is_a_misconfiguration_in_the_host_s_words() {
    for kind in ["denied", "not-found"] {
        let (_, mut launch) = program(provider("command"), request(PLAIN)).await;
        let end = conclusion(&mut launch, EffectEvent::Failed(Failure::new(kind, "the host's words"))).await;
        assert_eq!((end.outcome, end.message.as_str()), (Outcome::Misconfigured, "the host's words"), "{kind}");
    }
}
