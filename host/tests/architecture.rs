//! Keeps the invariants of `ARCHITECTURE.md` that the compiler cannot.
#![allow(clippy::unwrap_used, reason = "a test that cannot read the sources has failed")]

use std::fs;
use std::path::{Path, PathBuf};

fn host() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Rust files below a folder, with their text.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                if path.file_name().is_none_or(|name| name != "target") {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path, text));
            }
        }
    }
    assert!(!found.is_empty(), "no sources in {}", folder.display());
    found
}

/// The part of a file before its tests, without comments.
fn code(text: &str) -> String {
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    text[..end].lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

fn is_test_file(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str() == "tests")
        || path.file_stem().is_some_and(|stem| stem == "fixture" || stem.to_string_lossy().ends_with("tests"))
}

fn assert_absent(folder: &str, words: &[&str]) {
    for (path, text) in sources(&host().join(folder)) {
        if is_test_file(&path) {
            continue;
        }
        let code = code(&text);
        for word in words {
            assert!(!code.contains(word), "{} has {word}, which ARCHITECTURE.md keeps out of {folder}", path.display());
        }
    }
}

fn dependencies(manifest: &str) -> Vec<String> {
    let text = fs::read_to_string(host().join(manifest)).unwrap();
    let (_, rest) = text.split_once("[dependencies]").unwrap();
    let section = rest.split("\n[").next().unwrap();
    section
        .lines()
        .filter_map(|line| Some(line.split(['.', ' ', '=']).next()?.to_owned()))
        .filter(|name| !name.is_empty())
        .collect()
}

#[test]
fn core_is_pure() {
    let outside = [
        "std::fs",
        "std::process",
        "std::net",
        "std::env",
        "SystemTime",
        "Instant::",
        "tokio::",
        "wasmtime::",
        "rusqlite::",
    ];
    assert_absent("crates/core/src", &outside);
    let allowed = ["blake3", "serde", "serde_json", "thiserror"];
    for name in dependencies("crates/core/Cargo.toml") {
        assert!(allowed.contains(&name.as_str()), "core must not depend on {name}");
    }
}

#[test]
fn arrows_go_one_way() {
    for name in ["survey", "store", "sandbox", "wire"] {
        for dependency in dependencies(&format!("crates/{name}/Cargo.toml")) {
            let ours = dependency.starts_with("assize");
            assert!(!ours || dependency == "assize-core", "{name} must not see {dependency}");
        }
    }
}

#[test]
fn the_store_alone_speaks_sql() {
    for manifest in [
        "Cargo.toml",
        "crates/core/Cargo.toml",
        "crates/survey/Cargo.toml",
        "crates/sandbox/Cargo.toml",
        "crates/wire/Cargo.toml",
    ] {
        assert!(!dependencies(manifest).contains(&"rusqlite".to_owned()), "{manifest} must not use SQLite");
    }
}

#[test]
fn programs_are_started_in_one_folder() {
    for folder in ["src/audit", "src/cli", "src/components", "src/config", "src/driver", "src/reporters", "crates"] {
        assert_absent(folder, &["process::Command", "Command::new("]);
    }
}

#[test]
fn the_clock_and_the_environment_are_read_in_one_file_each() {
    for folder in ["src/audit", "src/cli", "src/components", "src/driver", "src/launch", "src/reporters", "crates"] {
        assert_absent(folder, &["SystemTime::now", "env::var(", "env::var_os(", "env::vars"]);
    }
}

#[test]
fn unsafe_code_stands_at_one_place() {
    let mut places = Vec::new();
    for folder in ["src", "crates"] {
        for (path, text) in sources(&host().join(folder)) {
            if code(&text).contains("unsafe {") {
                places.push(path);
            }
        }
    }
    assert_eq!(places.len(), 1, "{places:?}");
    assert!(places[0].ends_with("crates/sandbox/src/cache.rs"), "{places:?}");
}

#[test]
fn every_file_says_what_it_is_and_stays_small() {
    let workspace = host().parent().unwrap().to_owned();
    for folder in ["host", "plugins", "tests"] {
        for (path, text) in sources(&workspace.join(folder)) {
            assert!(text.starts_with("//!"), "{} does not open with a module doc", path.display());
            let lines = text.lines().count();
            assert!(lines <= 600, "{} has {lines} lines; split it", path.display());
        }
    }
}

#[test]
fn the_map_names_every_folder() {
    let map = fs::read_to_string(host().join("ARCHITECTURE.md")).unwrap();
    for folder in ["src", "crates"] {
        for entry in fs::read_dir(host().join(folder)).unwrap() {
            let entry = entry.unwrap();
            if entry.path().is_dir() {
                let name = format!("`{folder}/{}`", entry.file_name().to_string_lossy());
                assert!(map.contains(&name), "ARCHITECTURE.md does not name {name}");
            }
        }
    }
}

#[test]
fn every_dependency_has_its_reason() {
    let manifest = fs::read_to_string(host().parent().unwrap().join("Cargo.toml")).unwrap();
    let (_, rest) = manifest.split_once("[workspace.dependencies]").unwrap();
    for line in rest.split("\n[").next().unwrap().lines() {
        if line.contains(" = ") && !line.contains("path =") {
            assert!(line.contains("  # ") || line.contains(" # "), "no reason beside: {line}");
        }
    }
}
