//! Builds the guests of `tests/guests` and admits them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use assize_sandbox::{CallContext, CallLogs, Limits, LogSink, Plugin, Sandbox, SandboxOptions};

/// Where the components are, after they were built. Cargo's own lock on the directory keeps other test runs out.
#[allow(clippy::disallowed_methods, reason = "the guests are built by the only tool that can")]
static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/guests/Cargo.toml");
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
    assert!(cargo.status().expect("cargo runs").success(), "the guests do not build");
    target.join("wasm32-wasip2/plugin/examples")
});

/// The component of one guest.
pub fn guest(name: &str) -> Vec<u8> {
    let path = BUILT.join(format!("{name}.wasm"));
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// A sandbox without a cache.
pub fn sandbox(limits: Limits) -> Sandbox {
    Sandbox::new(SandboxOptions { limits, ..SandboxOptions::default() }).expect("a sandbox")
}

/// The guest as a plugin under default limits.
pub fn plugin(name: &str) -> Plugin {
    plugin_under(name, Limits::default())
}

/// The guest as a plugin under these limits. The sandbox itself is gone when this returns.
pub fn plugin_under(name: &str, limits: Limits) -> Plugin {
    sandbox(limits).admit(&guest(name), name).unwrap_or_else(|error| panic!("{error}"))
}

/// Keeps what was logged.
#[derive(Default)]
pub struct Heard(Mutex<Vec<CallLogs>>);

impl LogSink for Heard {
    fn logged(&self, logs: CallLogs) {
        self.0.lock().expect("unpoisoned").push(logs);
    }
}

impl Heard {
    pub fn take(&self) -> Vec<CallLogs> {
        std::mem::take(&mut self.0.lock().expect("unpoisoned"))
    }
}

/// A call, and what is heard of it.
pub fn heard_call() -> (CallContext, Arc<Heard>) {
    let heard = Arc::new(Heard::default());
    (CallContext { logs: Some(heard.clone()), ..CallContext::default() }, heard)
}

/// A call that has so much time.
pub fn short_call(millis: u64) -> CallContext {
    CallContext { deadline: Some(Duration::from_millis(millis)), ..CallContext::default() }
}

/// Sections of a component: id and content.
pub fn sections(component: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut rest = &component[8..];
    let mut sections = Vec::new();
    while let [id, tail @ ..] = rest {
        let (mut size, mut shift, mut at) = (0_usize, 0, 0);
        loop {
            size |= usize::from(tail[at] & 0x7f) << shift;
            shift += 7;
            at += 1;
            if tail[at - 1] & 0x80 == 0 {
                break;
            }
        }
        sections.push((*id, tail[at..at + size].to_vec()));
        rest = &tail[at + size..];
    }
    sections
}

/// The component with another core module in it that is instantiated so many times.
pub fn with_instances(component: &[u8], module: &str, times: u8) -> Vec<u8> {
    let number = sections(component).iter().filter(|(id, _)| *id == 1).count();
    let module = wat::parse_str(module).expect("a module");
    assert!(number < 128 && module.len() < 128 && times < 40, "sizes of one byte");
    let mut bytes = component.to_vec();
    bytes.extend([1, module.len() as u8]);
    bytes.extend(module);
    bytes.extend([2, 1 + 3 * times, times]);
    for _ in 0..times {
        bytes.extend([0, number as u8, 0]);
    }
    bytes
}

/// The bytes with one text put for another of the same length, everywhere.
pub fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut bytes = bytes.to_vec();
    let places: Vec<usize> =
        (0..bytes.len() - from.len()).filter(|at| bytes[*at..].starts_with(from.as_bytes())).collect();
    assert!(!places.is_empty(), "`{from}` occurs");
    for at in places {
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    }
    bytes
}
