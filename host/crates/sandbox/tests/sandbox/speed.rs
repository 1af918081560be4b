//! What calls cost. The bounds are far above what is seen, so that a busy machine passes; `--nocapture` shows the figures.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use assize_core::plugin::{EffectEvent, LaunchRequest};
use assize_sandbox::{CallContext, Limits, Sandbox, SandboxOptions};

use crate::guests::{guest, plugin, plugin_under};

#[tokio::test]
async fn ten_thousand_small_files_take_seconds() {
    let plugin = plugin("honest_analyzer");
    let call = CallContext::default();
    let began = Instant::now();
    for _ in 0..10_000 {
        plugin.inspect("a/b.rs", "rust", b"fn main() {}", "{}", &call).await.expect("facts");
    }
    let took = began.elapsed();
    println!("store, instance, inspect with 7 facts, drop: {:.1} us", took.as_secs_f64() * 100.0);
    assert!(took < Duration::from_secs(60), "{took:?}");
}

#[tokio::test]
async fn a_warm_step_takes_microseconds() {
    let plugin = plugin_under("endless_steps", Limits { steps: 20_000, ..Limits::default() });
    let request = LaunchRequest {
        run_id: String::new(),
        attempt: 1,
        tasks: Vec::new(),
        prompt: String::new(),
        results_schema: String::new(),
        read_paths: Vec::new(),
        model: None,
        timeout_ms: 0,
        estimated_input_tokens: 0,
        config: String::new(),
        now_ms: 0,
        extra: Vec::new(),
    };
    let mut launch = plugin.start_launch(request, &CallContext::default()).await.expect("started");
    let began = Instant::now();
    for _ in 0..10_000 {
        launch.next(Some(EffectEvent::Waited)).await.expect("a step");
    }
    let took = began.elapsed();
    println!("step of a launch: {:.1} us", took.as_secs_f64() * 100.0);
    assert!(took < Duration::from_secs(10), "{took:?}");
}

#[test]
fn a_warm_admission_takes_milliseconds() {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache/speed");
    if dir.exists() {
        fs::remove_dir_all(&dir).expect("removed");
    }
    let options = SandboxOptions { cache_dir: Some(dir), ..SandboxOptions::default() };
    let bytes = guest("honest_analyzer");
    let began = Instant::now();
    Sandbox::new(options.clone()).expect("a sandbox").admit(&bytes, "x").expect("admitted");
    let cold = began.elapsed();
    let sandbox = Sandbox::new(options).expect("a sandbox");
    let began = Instant::now();
    for _ in 0..20 {
        sandbox.admit(&bytes, "x").expect("admitted");
    }
    let warm = began.elapsed() / 20;
    println!("admission of {} bytes: cold {cold:?}, warm {warm:?}", bytes.len());
    assert!(warm < Duration::from_millis(50), "{warm:?}");
}
