//! Builds the built-in components from `plugins/` and writes the table that embeds them in the binary.
//!
//! A nested cargo builds them in a target directory of its own: the same one would wait for the lock that the outer
//! cargo holds. The environment is cleaned, because flags that are meant for the host's linker break the guests'.

#![allow(clippy::disallowed_methods, reason = "a build script starts cargo and reads what cargo tells it")]

use std::env;
use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const TARGET: &str = "wasm32-wasip2";

fn main() {
    if let Err(error) = build() {
        println!("cargo::error={error}");
    }
}

fn build() -> Result<(), Box<dyn Error>> {
    let manifest_dir = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let workspace = manifest_dir.parent().ok_or("the host package has no workspace beside it")?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for watched in ["plugins", "wit", "Cargo.lock", "Cargo.toml"] {
        println!("cargo::rerun-if-changed={}", workspace.join(watched).display());
    }
    let plugins = built_in_plugins(&workspace.join("plugins"))?;
    require_target()?;
    let target_dir = out.join("plugins");
    compile(workspace, &target_dir, &plugins)?;

    let mut table = String::from("pub(crate) static BUILT_IN: &[(&str, &[u8])] = &[\n");
    for name in &plugins {
        let file = target_dir.join(TARGET).join("plugin").join(format!("{}.wasm", name.replace('-', "_")));
        let copied = out.join(format!("{name}.wasm"));
        fs::copy(&file, &copied).map_err(|e| format!("cannot take the component {}: {e}", file.display()))?;
        writeln!(table, "    ({name:?}, include_bytes!({:?})),", copied.display().to_string())?;
    }
    table.push_str("];\n");
    fs::write(out.join("built_in.rs"), table)?;
    Ok(())
}

/// Every directory of `plugins/` whose name begins with the kind of a plugin.
fn built_in_plugins(dir: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(|e| format!("cannot list {}: {e}", dir.display()))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if ["provider-", "ratelimit-", "analyzer-"].iter().any(|kind| name.starts_with(kind)) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return Err("there is no built-in component to embed under plugins/".into());
    }
    names.sort();
    Ok(names)
}

/// Where rustup does not install targets by itself, the compiler's own message does not say what to do.
fn require_target() -> Result<(), Box<dyn Error>> {
    let rustc = env::var("RUSTC").unwrap_or_else(|_| "rustc".to_owned());
    let printed = Command::new(rustc).args(["--print", "target-libdir", "--target", TARGET]).output()?;
    let dir = String::from_utf8_lossy(&printed.stdout).trim().to_owned();
    if Path::new(&dir).is_dir() {
        return Ok(());
    }
    Err(format!("the target {TARGET} is missing; run: rustup target add {TARGET}").into())
}

fn compile(workspace: &Path, target_dir: &Path, plugins: &[String]) -> Result<(), Box<dyn Error>> {
    let cargo = env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.current_dir(workspace).args(["build", "--locked", "--profile", "plugin", "--target", TARGET, "--lib"]);
    command.arg("--target-dir").arg(target_dir);
    for plugin in plugins {
        command.args(["-p", plugin]);
    }
    let meant_for_the_host = |name: &str| {
        name.ends_with("RUSTFLAGS")
            || name == "RUSTC_WRAPPER"
            || name == "RUSTC_WORKSPACE_WRAPPER"
            || name == "CARGO_BUILD_TARGET"
            || name == "CARGO_TARGET_DIR"
            || name.starts_with("CARGO_PROFILE_")
    };
    for (name, _) in env::vars_os().filter(|(name, _)| meant_for_the_host(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    let output = command.output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let tail: Vec<&str> = said.lines().rev().take(30).collect();
    for line in tail.iter().rev() {
        println!("cargo::warning={line}");
    }
    Err("the built-in components did not compile; the warnings above are the compiler's".into())
}
