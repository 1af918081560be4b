//! The predecessor beside us: its plan, on a copy of the repository, because it writes into what it audits.
#![allow(clippy::disallowed_methods, reason = "a benchmark reads where programs are")]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::call::{Call, Cost, measure};
use crate::subject::remove;

/// Where the program may lie in a checkout.
const ENTRIES: [&str; 2] = ["audit-code.mjs", "packages/audit-code/audit-code.mjs"];

/// Measures its plan: a provider that nobody answers for makes it stop when it has planned.
///
/// # Errors
/// When it is not there, cannot be started or fails.
pub fn measure_plan(checkout: &Path, root: &Path, copy: &Path) -> io::Result<Cost> {
    let entry = ENTRIES.iter().map(|entry| checkout.join(entry)).find(|entry| entry.exists());
    let entry = entry.ok_or_else(|| io::Error::other(format!("{} has no audit-code.mjs", checkout.display())))?;
    remove(copy)?;
    let (repository, home) = (copy.join("repository"), copy.join("home"));
    fs::create_dir_all(&home)?;
    copy_tree(root, &repository)?;
    let artifacts = repository.join(".audit-artifacts");
    fs::create_dir_all(&artifacts)?;
    fs::write(artifacts.join("session-config.json"), r#"{"provider":"local-subprocess"}"#)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let call = Call {
        program: PathBuf::from("/usr/bin/env"),
        args: vec!["node".into(), entry.into(), "--root".into(), repository.into()],
        env: vec![("PATH".to_owned(), path), ("HOME".to_owned(), home.into())],
        peak_file: Some(copy.join("peak")),
    };
    let cost = measure(1, |_| call.clone());
    remove(copy)?;
    cost
}

fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    let mut folders = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = folders.pop() {
        fs::create_dir_all(&to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            let target = to.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push((entry.path(), target));
            } else {
                fs::copy(entry.path(), target)?;
            }
        }
    }
    Ok(())
}
