//! The provider of `examples/provider-local`, built as its author would build it, audits against a model server.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "an author starts cargo")]

use std::path::{Path, PathBuf};
use std::process::Command;

use assize_loopback::LoopbackApi;
use assize_tests::{Machine, cache_dir};

/// Builds the example outside of the workspace, with the interface and nothing else of assize.
fn build() -> PathBuf {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/provider-local");
    let target = cache_dir().join("../examples");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(&example).args(["build", "--release", "--locked", "--target", "wasm32-wasip2", "--target-dir"]);
    // What cargo tells the tests of a workspace is not meant for another one.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CARGO_")) {
        if name != "CARGO_HOME" {
            cargo.env_remove(name);
        }
    }
    let output = cargo.arg(&target).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    target.join("wasm32-wasip2/release/provider_local.wasm")
}

#[test]
fn the_example_provider_audits_against_a_server_of_ones_own() {
    let component = build();
    let api = LoopbackApi::start(0).unwrap();
    let server = format!("{}/v1", api.scenario("ok-findings"));
    let address = api.url().trim_start_matches("http://").trim_end_matches('/').to_owned();
    let machine = Machine::new();
    machine.write("src/a.py", "import os\n\n\ndef go(value):\n    os.system(value)\n");
    machine.configure(&format!(
        "[providers.local]\nbase_url = \"{server}\"\nmodel = \"mine\"\n\n[network]\nprivate = [\"{address}\"]\n"
    ));
    let plugin = component.display().to_string();
    let run = ["run", "--json", "--no-deepening", "--provider", "local", "--plugin", &plugin];
    machine.assize(&run).run().exits(3).says(&format!("--grant local:host={address}"));
    let grant = format!("local:host={address}");
    let outcome = machine.assize(&[&run[..], &["--grant", &grant]].concat()).run().exits(0).json();
    assert_eq!(outcome["provider"], "local");
    assert_eq!(machine.status()["coverage"]["by_kind"].as_object().unwrap().keys().collect::<Vec<_>>(), ["model"]);
    assert!(api.requests().iter().all(|request| request.status == Some(200)));
}
