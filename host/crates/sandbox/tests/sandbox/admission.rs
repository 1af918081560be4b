//! What is let in, and with what line the rest is refused.

use assize_core::plugin::PluginKind;
use assize_sandbox::{Limits, Refused};

use crate::guests::{guest, plugin, replaced, sandbox, with_instances};

fn refused(bytes: &[u8]) -> Refused {
    let refused = sandbox(Limits::default()).admit(bytes, "dir/x.wasm").expect_err("refused");
    let line = refused.to_string();
    assert!(line.starts_with("dir/x.wasm: "), "{line}");
    assert!(!line.contains('\n') && line.len() < 600, "{line}");
    refused
}

fn line(bytes: &[u8]) -> String {
    refused(bytes).to_string()
}

/// A component that imports and exports empty instances of these names.
fn component(imports: &[&str], exports: &[&str]) -> Vec<u8> {
    let imports: String = imports.iter().map(|name| format!("(import \"{name}\" (instance))")).collect();
    let exports: String = exports.iter().map(|name| format!("(export \"{name}\" (instance $i))")).collect();
    let text = format!("(component {imports} (component $c) (instance $i (instantiate $c)) {exports})");
    wat::parse_str(text).expect("a component")
}

const ANALYZER: [&str; 2] = ["assize:plugin/plugin@0.1.0", "assize:plugin/analyzer@0.1.0"];

#[test]
fn each_kind_is_admitted_with_its_description_and_digest() {
    for (name, kind) in [
        ("honest_analyzer", PluginKind::Analyzer),
        ("honest_provider", PluginKind::Provider),
        ("honest_rate_limit", PluginKind::RateLimit),
    ] {
        let plugin = plugin(name);
        assert_eq!((plugin.kind(), plugin.description().kind), (kind, kind));
        assert_eq!(plugin.name(), name.replace('_', "-"));
        assert_eq!(plugin.size(), guest(name).len() as u64);
        assert_eq!(plugin.digest_sha256().len(), 64);
    }
    let limits = plugin("honest_rate_limit");
    assert_eq!(limits.description().version, "1.2.3-rc.1+build");
    assert_eq!(limits.description().serving("provider").collect::<Vec<_>>(), ["honest"]);
    assert_eq!(limits.description().requests[0].name, "example.com");
    assert_eq!(limits.description().extra, [("a".to_owned(), "b".to_owned())]);
}

#[test]
fn the_digest_is_that_of_the_bytes() {
    use sha2::{Digest, Sha256};
    let digest: String = Sha256::digest(guest("trap")).iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(plugin("trap").digest_sha256(), digest);
}

#[test]
fn what_is_not_a_component_is_named() {
    assert!(matches!(refused(b""), Refused::Empty { .. }));
    assert!(line(b"#!/bin/sh\n").contains("not a component: it is text"));
    assert!(line(b"\x7fELF\x02\x01\x01\0").contains("not WebAssembly"));
    assert!(line(&wat::parse_str("(module)").expect("a module")).contains("a core module, not a component"));
    assert!(matches!(refused(b"\0asm"), Refused::Damaged { .. }));
}

#[test]
fn a_component_that_breaks_off_is_refused_wherever_it_does() {
    let whole = guest("honest_rate_limit");
    let sandbox = sandbox(Limits::default());
    for at in [9, 100, 1_000, whole.len() / 2, whole.len() - 1] {
        let refused = sandbox.admit(&whole[..at], "x").expect_err("refused");
        assert!(matches!(refused, Refused::Damaged { .. }), "{at}: {refused}");
    }
}

#[test]
fn a_component_of_valid_form_with_invalid_code_is_refused() {
    let mut bytes = component(&[], &ANALYZER);
    // A core module of unknown content.
    bytes.extend([1, 9, 0, b'a', b's', b'm', 1, 0, 0, 0, 99]);
    assert!(matches!(refused(&bytes), Refused::Compile { .. }), "{}", line(&bytes));
}

#[test]
fn imports_beyond_the_log_and_inert_wasi_are_refused_by_name() {
    for import in ["wasi:sockets/tcp@0.2.6", "wasi:http/outgoing-handler@0.2.0", "evil:host/exec@1.0.0"] {
        let bytes = component(&["wasi:io/error@0.2.6", import], &ANALYZER);
        match refused(&bytes) {
            Refused::Import { import: named, .. } => assert_eq!(named, import),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn another_generation_of_the_interface_is_named() {
    let bytes = replaced(&guest("honest_analyzer"), "@0.1.0", "@0.2.0");
    assert_eq!(line(&bytes), "dir/x.wasm: built for assize:plugin 0.2.0; this assize speaks 0.1.x");
}

#[test]
fn a_later_patch_version_is_served() {
    let bytes = replaced(&guest("honest_analyzer"), "@0.1.0", "@0.1.9");
    sandbox(Limits::default()).admit(&bytes, "x").expect("admitted");
}

#[test]
fn a_component_of_another_world_is_refused() {
    assert!(matches!(refused(&component(&[], &[])), Refused::WrongWorld { .. }));
    assert!(matches!(refused(&component(&[], &["wasi:cli/run@0.2.0"])), Refused::WrongWorld { .. }));
    assert!(matches!(refused(&component(&[], &ANALYZER[1..])), Refused::NoDescription { .. }));
    let two =
        component(&[], &["assize:plugin/plugin@0.1.0", "assize:plugin/analyzer@0.1.0", "assize:plugin/provider@0.1.0"]);
    assert!(matches!(refused(&two), Refused::ManyKinds { .. }));
}

#[test]
fn missing_functions_and_other_types_do_not_fit() {
    assert!(line(&component(&[], &ANALYZER)).contains("does not fit assize:plugin 0.1: "));
    let renamed = replaced(&guest("honest_rate_limit"), "retry-after-ms", "retry-after-mz");
    assert!(matches!(refused(&renamed), Refused::Mismatch { .. }), "{}", line(&renamed));
    // A function of the log that this host does not have.
    let unknown = replaced(&guest("flood_log"), "write", "wrote");
    assert!(matches!(refused(&unknown), Refused::Mismatch { .. }), "{}", line(&unknown));
}

#[test]
fn a_plugin_that_lies_about_its_kind_is_refused() {
    let line = line(&guest("lie_about_kind"));
    assert!(line.contains("bad description: kind says `provider`"), "{line}");
}

#[test]
fn a_component_that_is_too_large_is_not_looked_at() {
    let sandbox = sandbox(Limits { component_bytes: 100, ..Limits::default() });
    let refused = sandbox.admit(&guest("trap"), "x").expect_err("refused");
    assert!(matches!(refused, Refused::TooLarge { allowed: 100, .. }));
}

#[test]
fn too_many_instances_memories_and_tables_are_refused_by_their_limits() {
    let good = guest("honest_analyzer");
    let tables = format!("(module {})", "(table 0 funcref)".repeat(4));
    for (module, times, limit) in
        [("(module)", 20, "instances"), ("(module (memory 1))", 5, "memories"), (&tables, 5, "tables")]
    {
        let line = line(&with_instances(&good, module, times));
        assert!(line.contains(&format!("broke the limit `{limit}`")), "{line}");
    }
    sandbox(Limits::default()).admit(&with_instances(&good, "(module)", 2), "x").expect("still served");
}

#[test]
fn large_initial_memories_and_tables_are_refused_by_their_limits() {
    let good = guest("honest_analyzer");
    let memory = line(&with_instances(&good, "(module (memory 4096))", 1));
    assert!(memory.contains("broke the limit `memory`"), "{memory}");
    let table = line(&with_instances(&good, "(module (table 10000 funcref))", 1));
    assert!(table.contains("broke the limit `table-elements`"), "{table}");
}

/// No guest in Rust can name a table, so this one is put beside a good guest by hand.
#[test]
fn a_table_that_grows_without_end_is_stopped_by_its_limit() {
    let grow = "(module (table 0 funcref) (func $f
        (loop (br_if 0 (i32.ge_s (table.grow (ref.null func) (i32.const 999)) (i32.const 0))))) (start $f))";
    let line = line(&with_instances(&guest("honest_analyzer"), grow, 1));
    assert!(line.ends_with("broke the limit `table-elements` (10000 elements)"), "{line}");
    plugin("honest_analyzer");
}

#[test]
fn a_start_function_that_never_ends_is_stopped() {
    let sandbox = sandbox(Limits { rate_limit_time: std::time::Duration::from_millis(100), ..Limits::default() });
    let bytes = with_instances(&guest("honest_analyzer"), "(module (func $f (loop (br 0))) (start $f))", 1);
    let line = sandbox.admit(&bytes, "x").expect_err("refused").to_string();
    assert!(line.contains("broke the limit `time` (100 ms)"), "{line}");
}

#[tokio::test]
async fn admission_works_within_a_runtime() {
    plugin("honest_analyzer");
}
