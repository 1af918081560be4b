//! An instance that serves many files: what one file does to it is not suffered by the next.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex};

use assize_sandbox::{CallContext, CallError, CallLogs, LimitName, Limits, LogSink, Plugin, Sandbox, SandboxOptions};

/// Where the hostile guests are, after they were built. Cargo's own lock on the directory keeps other test runs out.
#[allow(clippy::disallowed_methods, reason = "the guests are built by the only tool that can")]
static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/guests/Cargo.toml");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("guests");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--locked", "--quiet", "--examples", "--target", "wasm32-wasip2", "--profile", "plugin"]);
    cargo.arg("--manifest-path").arg(package).arg("--target-dir").arg(&target);
    // What is meant for the host, such as linker flags, must not reach the guests.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let keep = ["CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN"].contains(&text.as_ref());
        if !keep && (text.starts_with("CARGO") || text.starts_with("RUST")) {
            cargo.env_remove(&name);
        }
    }
    assert!(cargo.status().unwrap().success(), "the guests do not build");
    target.join("wasm32-wasip2/plugin/examples")
});

fn guest(name: &str, limits: Limits) -> Plugin {
    let bytes = fs::read(BUILT.join(format!("{name}.wasm"))).unwrap();
    let sandbox = Sandbox::new(SandboxOptions { limits, ..SandboxOptions::default() }).unwrap();
    sandbox.admit(&bytes, name).unwrap()
}

#[derive(Default)]
struct Heard(Mutex<Vec<CallLogs>>);

impl LogSink for Heard {
    fn logged(&self, logs: CallLogs) {
        self.0.lock().unwrap().push(logs);
    }
}

impl Heard {
    /// How often the text was said since it was last asked.
    fn times(&self, text: &str) -> usize {
        let logs = std::mem::take(&mut *self.0.lock().unwrap());
        logs.iter().flat_map(|logs| &logs.lines).filter(|line| line.message.contains(text)).count()
    }
}

/// The guest panics at every file that is not empty, and says so on its standard error each time.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_traps_in_a_used_instance_is_tried_once_more_alone() {
    let heard = Arc::new(Heard::default());
    let call = CallContext { logs: Some(heard.clone()), ..CallContext::default() };
    let mut inspector = guest("trap", Limits::default()).inspector("{}", &call).unwrap();
    let mut tries = Vec::new();
    for (path, content) in [("first", &b"x"[..]), ("empty", b""), ("second", b"x"), ("third", b"x"), ("empty", b"")] {
        let result = inspector.inspect(path, "", content).await;
        match content {
            b"" => assert_eq!(result, Ok(Vec::new()), "a new instance serves what comes after a trap"),
            _ => assert!(matches!(result, Err(CallError::Trap { .. })), "{path}: {result:?}"),
        }
        tries.push(heard.times(&format!("cannot go on at {path}")));
    }
    // A file that is the first of its instance has been alone already.
    assert_eq!(tries, [1, 0, 2, 1, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_breaks_a_limit_costs_the_files_around_it_nothing() {
    let limits = Limits { memory_bytes: 16 << 20, ..Limits::default() };
    let mut inspector = guest("eat_memory", limits).inspector("{}", &CallContext::default()).unwrap();
    for round in 0..3 {
        assert_eq!(inspector.inspect("empty", "", b"").await, Ok(Vec::new()), "round {round}");
        let error = inspector.inspect("greedy", "", b"x").await.unwrap_err();
        assert_eq!(error.limit(), Some(LimitName::Memory), "{error}");
    }
    assert_eq!(inspector.inspect("empty", "", b"").await, Ok(Vec::new()));
}
