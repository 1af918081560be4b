//! `provider-claude-code`: the exact program that is started, and what recorded streams of it mean.

use assize_core::grant::{Grants, check_effect};
use assize_core::plugin::{Effect, Exited, Outcome, Piece, RunProgram, Stdin, Usage, Value};

use crate::catalog::{call, catalog, provider};
use crate::launches::{PROMPT, ends, inherited, invalid_configuration, program, request};

async fn planned(config: &str) -> RunProgram {
    program(provider("claude-code"), request(config)).await.0
}

fn args(run: &RunProgram) -> String {
    let word = |arg: &Vec<Piece>| match &arg[..] {
        [Piece::Literal(text)] => text.clone(),
        other => panic!("{other:?}"),
    };
    run.args.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// All that the program is told: without a terminal, a stream of events, reading tools only, no server and no setting
/// that the repository brings, no session left behind.
const FLAGS: &str = "-p --output-format stream-json --verbose --tools Read,Grep,Glob --strict-mcp-config \
    --no-session-persistence --setting-sources user";

#[tokio::test(flavor = "multi_thread")]
async fn claude_is_started_with_these_flags_and_the_prompt_on_its_input() {
    let run = planned("{}").await;
    assert_eq!((run.program.as_str(), args(&run).as_str()), ("claude", FLAGS));
    assert_eq!((run.stdin.clone(), run.cwd.as_str(), run.home.as_str()), (Stdin::Prompt, "repo", "launch"));
    assert_eq!((run.timeout_ms, run.files.len(), run.gateway.is_some()), (9_000, 0, true));
    assert!(!format!("{run:?}").contains(PROMPT), "arguments are seen by every user of the machine");
}

#[tokio::test(flavor = "multi_thread")]
async fn configuration_adds_flags_and_never_takes_one_away() {
    let config = r#"{"model": "opus", "max_turns": 9, "max_budget_usd": 1.5, "tools": ["Read"],
        "extra_args": ["--effort", "high"], "timeout_ms": 100}"#;
    let run = planned(config).await;
    let more = " --model opus --max-turns 9 --max-budget-usd 1.5 --effort high";
    assert_eq!(args(&run), FLAGS.replace("Read,Grep,Glob", "Read") + more);
    assert_eq!(run.timeout_ms, 100);
    for config in [
        r#"{"extra_args": ["--dangerously-skip-permissions"]}"#,
        r#"{"extra_args": ["--permission-mode=bypassPermissions"]}"#,
        r#"{"extra_args": ["--setting-sources", "project"]}"#,
        r#"{"tools": ["Read", "Bash"]}"#,
        r#"{"tools": ["Write"]}"#,
    ] {
        invalid_configuration("claude-code", config).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_the_variables_that_it_requests_are_inherited() {
    let run = planned(r#"{"gateway": false}"#).await;
    let requests = &provider("claude-code").description().requests;
    let secrets: Vec<&str> = requests.iter().filter(|r| r.kind == "secret").map(|r| r.name.as_str()).collect();
    let mut inherited_here = inherited(&run);
    inherited_here.sort_unstable_by_key(|name| secrets.iter().position(|secret| secret == name));
    assert_eq!(inherited_here, secrets);
    assert_eq!(secrets, ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_BASE_URL"]);
    let fixed: Vec<String> = run
        .env
        .iter()
        .filter_map(|(name, value)| match value {
            Value::Text(pieces) if pieces.len() == 1 => Some(format!("{name}={:?}", pieces[0])),
            Value::Inherit => None,
            other => panic!("{name}: {other:?}"),
        })
        .collect();
    assert!(fixed.contains(&r#"CLAUDE_CODE_MAX_RETRIES=Literal("0")"#.to_owned()), "{fixed:?}");
    let user = planned(r#"{"login": "user", "gateway": false}"#).await;
    assert_eq!((user.home.as_str(), inherited(&user)), ("user", vec!["ANTHROPIC_BASE_URL"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn its_own_grants_allow_what_it_asks_for_and_no_other_program() {
    let component = catalog().provider("claude-code").unwrap();
    let effect = Effect::RunProgram(planned("{}").await);
    assert_eq!(check_effect("claude-code", &effect, &component.grants), Ok(()));
    assert!(check_effect("claude-code", &effect, &Grants::none()).is_err());
    let other = Effect::RunProgram(planned(r#"{"program": "claude-2"}"#).await);
    let denied = check_effect("claude-code", &other, &component.grants).unwrap_err();
    assert!(denied.to_string().contains("--grant claude-code:program=claude-2"), "{denied}");
}

const INIT: &str = r#"{"type":"system","subtype":"init","cwd":"/r","session_id":"3f","tools":["Glob","Grep","Read"],"mcp_servers":[],"model":"claude-opus-5-5","apiKeySource":"ANTHROPIC_API_KEY","claude_code_version":"2.1.332"}"#;

fn exited(code: i32, lines: &[&str]) -> Exited {
    let stdout = [&[INIT], lines].concat().join("\n").into_bytes();
    Exited { code: Some(code), stdout, wall_ms: 400, ..Exited::default() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_ends_well_is_an_answer_with_its_cost() {
    let said = [
        r#"{"type":"assistant","message":{"role":"assistant","model":"claude-opus-5-5","content":[{"type":"text","text":"[]"}],"usage":{"input_tokens":1234,"output_tokens":1}},"session_id":"3f","request_id":"req_1"}"#,
        r#"{"duration_api_ms":105,"stop_reason":"end_turn","session_id":"3f","total_cost_usd":0.005196,"usage":{"input_tokens":1234,"cache_creation_input_tokens":0,"cache_read_input_tokens":1000,"output_tokens":3},"modelUsage":{"claude-opus-5-5":{"inputTokens":1234,"outputTokens":3}},"permission_denials":[],"terminal_reason":"completed","is_error":false,"num_turns":1,"subtype":"success","api_error_status":null,"result":"```json\n[]\n```","type":"result","duration_ms":567}"#,
    ];
    let end = ends("claude-code", "{}", exited(0, &said)).await;
    assert_eq!((end.outcome, end.results.as_deref()), (Outcome::Completed, Some("```json\n[]\n```")));
    let usage = Usage {
        input_tokens: Some(1234),
        output_tokens: Some(3),
        cached_input_tokens: Some(1000),
        cost_micro_usd: Some(5196),
        model: Some("claude-opus-5-5".to_owned()),
        requests: Some(1),
        extra: Vec::new(),
    };
    assert_eq!(end.usage, Some(usage));
    assert_eq!(end.evidence, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_429_is_a_rate_limit_and_the_reader_finds_the_wait_that_claude_named() {
    let said = [
        r#"{"type":"system","subtype":"api_retry","attempt":1,"max_retries":10,"retry_delay_ms":31494,"error_status":429,"error":"rate_limit","session_id":"3f"}"#,
        r#"{"type":"assistant","is_api_error_message":true,"error":"rate_limit","message":{"model":"<synthetic>","content":[]},"session_id":"3f"}"#,
        r#"{"terminal_reason":"api_error","is_error":true,"num_turns":1,"subtype":"success","api_error_status":429,"api_error_type":"rate_limit_error","result":"API Error: Request rejected (429) · slow down","type":"result"}"#,
    ];
    let end = ends("claude-code", "{}", exited(1, &said)).await;
    assert_eq!((end.outcome, end.results), (Outcome::RateLimited, None));
    assert!(end.message.contains("429"), "{}", end.message);
    let reader = &catalog().rate_limits("claude-code")[0].plugin;
    let mut waits = Vec::new();
    for evidence in &end.evidence {
        assert_eq!(evidence.received_at_ms, call().now_ms + 400);
        let reading = reader.read_limits(evidence, &call()).await.unwrap().unwrap();
        assert!(reading.throttled, "{evidence:?}");
        waits.extend(reading.retry_after_ms);
    }
    assert_eq!(waits, [31_494]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_401_is_a_missing_login_and_no_limit() {
    let said = [
        r#"{"type":"assistant","is_api_error_message":true,"error":"authentication_failed","message":{"model":"<synthetic>","content":[]},"session_id":"3f"}"#,
        r#"{"terminal_reason":"api_error","is_error":true,"num_turns":1,"subtype":"success","api_error_status":401,"api_error_type":"authentication_error","result":"Invalid API key · Fix external API key","type":"result"}"#,
    ];
    let end = ends("claude-code", "{}", exited(1, &said)).await;
    assert_eq!((end.outcome, end.results), (Outcome::Unauthenticated, None));
    assert!(end.message.contains("ANTHROPIC_API_KEY"), "{}", end.message);
    let reader = &catalog().rate_limits("claude-code")[0].plugin;
    for evidence in &end.evidence {
        assert_eq!(reader.read_limits(evidence, &call()).await.unwrap(), None, "{evidence:?}");
    }
}
