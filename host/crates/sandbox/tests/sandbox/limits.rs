//! Every limit against a guest that breaks it. Each test ends with the next call being served.

use std::time::{Duration, Instant};

use assize_sandbox::{CallContext, CallError, LimitName, Limits, LogLevel, Plugin};

use crate::guests::{heard_call, plugin, plugin_under, short_call};

async fn broken(plugin: &Plugin, config: &str, call: &CallContext) -> CallError {
    let error = plugin.inspect("a", "", b"x", config, call).await.expect_err("it breaks its limit");
    plugin.inspect("a", "", b"", config, call).await.expect("the next call is served");
    error
}

#[tokio::test]
async fn a_guest_that_spins_is_stopped_at_its_deadline() {
    let limits = Limits { analyzer_time: Duration::from_millis(200), ..Limits::default() };
    let plugin = plugin_under("spin", limits);
    let began = Instant::now();
    let error = broken(&plugin, "{}", &CallContext::default()).await;
    assert_eq!(error.to_string(), "plugin `spin` broke the limit `time` (200 ms)");
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(200) && took < Duration::from_secs(2), "{took:?}");
}

#[tokio::test]
async fn a_promise_of_endless_time_is_no_overflow() {
    let call = CallContext { deadline: Some(Duration::MAX), ..CallContext::default() };
    plugin("spin").inspect("a", "", b"", "{}", &call).await.expect("served");
}

#[tokio::test]
async fn a_guest_that_spins_lets_other_tasks_run() {
    let plugin = plugin("spin");
    let mut ticks = 0_u32;
    let call = short_call(300);
    tokio::select! {
        biased;
        _ = plugin.inspect("a", "", b"x", "{}", &call) => {}
        () = async {
            loop {
                tokio::time::sleep(Duration::from_millis(5)).await;
                ticks += 1;
            }
        } => {}
    }
    assert!(ticks >= 3, "{ticks} ticks on the same thread");
}

#[tokio::test]
async fn a_guest_that_sleeps_is_stopped_at_its_deadline() {
    let began = Instant::now();
    let error = broken(&plugin("sleep"), "{}", &short_call(200)).await;
    assert_eq!(error.limit(), Some(LimitName::Time));
    assert!(began.elapsed() < Duration::from_secs(2));
}

#[tokio::test]
async fn a_guest_that_eats_memory_is_stopped_by_name() {
    let plugin = plugin_under("eat_memory", Limits { memory_bytes: 16 << 20, ..Limits::default() });
    let error = broken(&plugin, "{}", &CallContext::default()).await;
    assert_eq!(error.to_string(), "plugin `eat-memory` broke the limit `memory` (16777216 bytes)");
}

#[tokio::test]
async fn a_guest_that_returns_too_much_is_stopped_by_name() {
    let plugin = plugin("return_too_much");
    let error = broken(&plugin, "33", &CallContext::default()).await;
    assert_eq!(error.to_string(), "plugin `return-too-much` broke the limit `output` (33554432 bytes)");
    let within = plugin.inspect("a", "", b"x", "31", &CallContext::default()).await;
    assert!(matches!(within, Err(CallError::Plugin { .. })), "31 MiB pass");
}

#[tokio::test]
async fn a_log_line_that_is_too_much_is_stopped_by_name() {
    let plugin = plugin_under("flood_log", Limits { output_bytes: 1 << 20, ..Limits::default() });
    let error = broken(&plugin, "2000000", &CallContext::default()).await;
    assert_eq!(error.limit(), Some(LimitName::Output));
}

#[tokio::test]
async fn a_flood_of_log_lines_is_cut_and_counted_and_the_call_answers() {
    let (call, heard) = heard_call();
    let plugin = plugin("flood_log");
    for _ in 0..2 {
        plugin.inspect("a", "", b"x", "{}", &call).await.expect("it answers");
        let logs = heard.take().remove(0);
        assert_eq!(logs.lines.len() as u64 + logs.dropped_lines, 10_000);
        let kept: usize = logs.lines.iter().map(|line| line.message.len()).sum();
        assert!(kept > 32 << 10 && kept <= 64 << 10, "{kept}");
        assert!(logs.dropped_bytes > 900_000);
    }
}

#[tokio::test]
async fn a_flood_of_output_is_cut_and_counted_and_the_call_answers() {
    let (call, heard) = heard_call();
    plugin("flood_stderr").inspect("a", "", b"x", "{}", &call).await.expect("it answers");
    let logs = heard.take().remove(0);
    assert_eq!(logs.lines[0].message, "a line of standard output");
    assert_eq!((logs.lines[0].level, logs.lines[1].level), (LogLevel::Info, LogLevel::Warn));
    assert!(logs.lines[1].message.starts_with("line 0 of standard error"), "{:?}", logs.lines[1]);
    assert!(logs.dropped_bytes > 50_000 && logs.lines.len() < 2_000, "{}", logs.dropped_bytes);
}

#[tokio::test]
async fn a_panic_is_a_trap_and_its_text_is_in_the_logs() {
    let (call, heard) = heard_call();
    let error = broken(&plugin("trap"), "{}", &call).await;
    assert_eq!(error.to_string(), "plugin `trap` trapped: wasm trap: wasm `unreachable` instruction executed");
    let text: Vec<String> = heard.take().remove(0).lines.into_iter().map(|line| line.message).collect();
    assert!(text.join("\n").contains("cannot go on at a"), "{text:?}");
}

#[tokio::test]
async fn a_stack_that_runs_out_is_a_trap() {
    let error = broken(&plugin("recurse"), "{}", &CallContext::default()).await;
    assert!(matches!(error, CallError::Trap { .. }), "{error}");
}

#[tokio::test]
async fn an_exit_is_a_trap() {
    let error = broken(&plugin("exit"), "{}", &CallContext::default()).await;
    assert_eq!(error.to_string(), "plugin `exit` trapped: it exited with status 1");
}
