//! Launches, step by step.

use assize_core::fact::{Observation, RuleFinding, Span};
use assize_core::plugin::{
    Effect, EffectEvent, Exited, Failure, LaunchFile, LaunchRequest, LaunchTask, Outcome, Piece, PluginError,
    Responded, Source, Stdin, Step, Value,
};
use assize_sandbox::{CallContext, CallError, LimitName, Limits};

use crate::guests::{plugin, plugin_under, short_call};

fn request() -> LaunchRequest {
    LaunchRequest {
        run_id: "run-1".to_owned(),
        attempt: 1,
        tasks: vec![LaunchTask {
            task_id: "task-1".to_owned(),
            unit_id: "unit-1".to_owned(),
            pass_id: "pass-1".to_owned(),
            lens: "security".to_owned(),
            files: vec![LaunchFile { path: "file-1".to_owned(), total_lines: 12, range: Some((3, 4)) }],
            tags: vec!["tag-1".to_owned()],
            extra: Vec::new(),
        }],
        prompt: "prompt-1".to_owned(),
        results_schema: "schema-1".to_owned(),
        read_paths: vec!["read-1".to_owned()],
        model: Some("model-1".to_owned()),
        timeout_ms: 99,
        estimated_input_tokens: 98,
        config: "{}".to_owned(),
        now_ms: 97,
        extra: vec![("extra-1".to_owned(), String::new())],
    }
}

fn failed(kind: &str) -> EffectEvent {
    EffectEvent::Failed(Failure::new(kind, "message-1"))
}

fn finding() -> RuleFinding {
    let word = String::new;
    RuleFinding {
        rule: "rule-1".to_owned(),
        title: word(),
        lens: word(),
        category: word(),
        severity: word(),
        confidence: word(),
        summary: word(),
        span: Span::default(),
        quote: word(),
        cwe: None,
        fix: None,
        extra: Vec::new(),
    }
}

#[tokio::test]
async fn every_effect_comes_out_and_every_event_goes_in() {
    let plugin = plugin("honest_provider");
    let mut launch = plugin.start_launch(request(), &CallContext::default()).await.expect("started");

    let Ok(Step::Perform(Effect::RunProgram(program))) = launch.next(None).await else { panic!("a program") };
    assert_eq!(program.args[0], [Piece::Literal("--at=".to_owned()), Piece::Place("repo".to_owned())]);
    assert_eq!(program.args[1], [Piece::GatewayToken]);
    let values: Vec<_> = program.env.iter().map(|(_, value)| value.clone()).collect();
    let expected = [
        Value::Text(vec![Piece::GatewayAddress]),
        Value::Secret("KEY".to_owned()),
        Value::PrefixedSecret("Bearer ".to_owned(), "KEY".to_owned()),
        Value::Inherit,
    ];
    assert_eq!(values, expected);
    assert_eq!((program.stdin, &program.files[0].content[..]), (Stdin::Bytes(vec![1, 2]), &[0, 255][..]));
    assert_eq!((program.output_cap, program.timeout_ms), (3, 99));
    assert_eq!(program.gateway.expect("a gateway").upstream, "https://x");

    let exited = Exited { code: Some(3), stdout: b"out".to_vec(), wall_ms: 96, ..Exited::default() };
    let Ok(Step::Perform(Effect::SendRequest(sent))) = launch.next(Some(EffectEvent::Exited(exited))).await else {
        panic!("a request")
    };
    assert_eq!((sent.method.as_str(), &sent.body[..], sent.event_stream), ("POST", &[7][..], true));

    let responded = EffectEvent::Responded(Responded {
        status: 418,
        headers: vec![("header-1".to_owned(), "value-1".to_owned())],
        body: vec![1],
        body_dropped: 95,
        received_at_ms: 94,
        extra: Vec::new(),
    });
    let Ok(Step::Perform(Effect::Analyze(analyze))) = launch.next(Some(responded)).await else { panic!("analyze") };
    assert_eq!((&analyze.paths[..], analyze.lens.as_deref()), (&["read-1".to_owned()][..], Some("security")));

    let seen = Observation {
        analyzer: "analyzer-1".to_owned(),
        path: "path-1".to_owned(),
        finding: finding(),
        extra: Vec::new(),
    };
    let step = launch.next(Some(EffectEvent::Analyzed(vec![seen]))).await;
    let Ok(Step::Perform(Effect::ReadSources(read))) = step else { panic!("sources") };
    assert_eq!(read.cap, 5);

    let source = Source { path: "source-1".to_owned(), text: "text-1".to_owned(), truncated: true };
    let step = launch.next(Some(EffectEvent::Sources(vec![source]))).await;
    assert_eq!(step, Ok(Step::Perform(Effect::HandOff("please".to_owned()))));
    assert_eq!(launch.next(Some(EffectEvent::HandedOff)).await, Ok(Step::Perform(Effect::Wait(6))));

    let Ok(Step::Done(end)) = launch.next(Some(failed("denied"))).await else { panic!("done") };
    assert_eq!(end.outcome, Outcome::QuotaExhausted);
    assert_eq!(end.usage.expect("usage").model.as_deref(), Some("model-1"));
    assert_eq!((end.evidence[0].status, end.evidence[0].received_at_ms), (Some(429), 97));
    let told = end.results.expect("results");
    for part in ["96", "418", "header-1", "95", "94", "analyzer-1", "path-1", "rule-1", "source-1", "text-1"] {
        assert!(told.contains(part), "{part} in {told}");
    }
    assert!(told.contains("HandedOff") && told.contains("denied") && told.contains("message-1"), "{told}");
    for part in [
        "run-1", "task-1", "unit-1", "pass-1", "file-1", "12", "(3, 4)", "tag-1", "prompt-1", "schema-1", "98",
        "extra-1",
    ] {
        assert!(end.message.contains(part), "{part} in {}", end.message);
    }

    let over = launch.next(Some(EffectEvent::Waited)).await.expect_err("over");
    assert_eq!(over.to_string(), "launch of plugin `honest-provider` is over: it has concluded");
}

#[tokio::test]
async fn a_launch_that_never_ends_runs_out_of_steps() {
    let plugin = plugin("endless_steps");
    let mut launch = plugin.start_launch(request(), &CallContext::default()).await.expect("started");
    for _ in 0..64 {
        launch.next(Some(EffectEvent::Waited)).await.expect("a step");
    }
    let error = launch.next(Some(EffectEvent::Waited)).await.expect_err("the limit");
    assert_eq!(error.limit(), Some(LimitName::Steps));
    assert_eq!(error.to_string(), "plugin `endless-steps` broke the limit `steps` (64 steps)");
    assert!(matches!(launch.next(None).await, Err(CallError::Over { .. })));
    let mut again = plugin.start_launch(request(), &CallContext::default()).await.expect("started");
    again.next(None).await.expect("the next launch is served");
}

#[tokio::test]
async fn after_a_trap_a_launch_is_over_and_the_next_is_served() {
    let plugin = plugin("endless_steps");
    let panics = LaunchRequest { prompt: "panic".to_owned(), ..request() };
    let mut launch = plugin.start_launch(panics, &CallContext::default()).await.expect("started");
    launch.next(None).await.expect("the first step");
    assert!(matches!(launch.next(None).await, Err(CallError::Trap { .. })));
    for _ in 0..3 {
        assert!(matches!(launch.next(None).await, Err(CallError::Over { .. })));
    }
    let mut again = plugin.start_launch(request(), &CallContext::default()).await.expect("started");
    again.next(None).await.expect("served");
}

#[tokio::test]
async fn each_step_has_its_own_time() {
    let plugin = plugin("endless_steps");
    let spins = LaunchRequest { prompt: "spin".to_owned(), ..request() };
    let mut launch = plugin.start_launch(spins, &short_call(300)).await.expect("started");
    launch.next(None).await.expect("the first step");
    tokio::time::sleep(std::time::Duration::from_millis(400)).await;
    let began = std::time::Instant::now();
    assert_eq!(launch.next(None).await.expect_err("spins").limit(), Some(LimitName::Time));
    assert!(began.elapsed().as_millis() >= 300, "the pause was not counted");
}

#[tokio::test]
async fn a_step_that_is_given_up_ends_the_launch() {
    let plugin = plugin("endless_steps");
    let spins = LaunchRequest { prompt: "spin".to_owned(), ..request() };
    let mut launch = plugin.start_launch(spins, &CallContext::default()).await.expect("started");
    launch.next(None).await.expect("the first step");
    let step = tokio::time::timeout(std::time::Duration::from_millis(50), launch.next(None)).await;
    assert!(step.is_err(), "it was given up");
    assert!(matches!(launch.next(None).await, Err(CallError::Over { .. })));
}

#[tokio::test]
async fn an_error_that_the_plugin_returns_is_its_own_and_ends_nothing() {
    let plugin = plugin("endless_steps");
    let error = plugin.start_launch(LaunchRequest { attempt: 2, ..request() }, &CallContext::default()).await;
    let CallError::Plugin { error, .. } = error.expect_err("refused") else { panic!("the plugin's error") };
    assert_eq!(error, PluginError::Unsupported("prompt-1".to_owned()));
    let refuses = LaunchRequest { prompt: "refuse".to_owned(), ..request() };
    let mut launch = plugin.start_launch(refuses, &CallContext::default()).await.expect("started");
    launch.next(None).await.expect("first");
    assert!(matches!(launch.next(None).await, Err(CallError::Plugin { .. })));
    launch.next(None).await.expect("third");
}

#[tokio::test]
async fn a_hoard_of_handles_is_stopped() {
    let plugin = plugin_under("hoard_handles", Limits { handles: 500, ..Limits::default() });
    let call = CallContext::default();
    let mut launch = plugin.start_launch(request(), &call).await.expect("started");
    let error = launch.next(None).await.expect_err("the limit");
    assert_eq!(error.to_string(), "plugin `hoard-handles` broke the limit `handles` (500 handles)");
    plugin.start_launch(request(), &call).await.expect("the next launch is served");
}
