//! What an audit leaves in the tree: its own state and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use assize_tests::Machine;

use crate::audited::{audit, put, with_key};

/// What is remembered of an entry: kind and mode, size, modification and change time, inode.
type Trace = (u32, u64, (i64, i64), (i64, i64), u64);

/// Every entry below a directory, git's own too, but for the audit's state. The root's own times change with `.assize`.
pub(crate) fn listing(root: &Path) -> BTreeMap<PathBuf, Trace> {
    let mut all = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let path = entry.path();
            if path == root.join(".assize") {
                continue;
            }
            let meta = fs::symlink_metadata(&path).unwrap();
            let times = ((meta.mtime(), meta.mtime_nsec()), (meta.ctime(), meta.ctime_nsec()));
            all.insert(path.clone(), (meta.mode(), meta.len(), times.0, times.1, meta.ino()));
            if meta.is_dir() {
                folders.push(path);
            }
        }
    }
    all
}

#[test]
fn nothing_but_the_state_directory_is_written_by_any_command() {
    let machine = Machine::with_files(30);
    put(&machine, "key.py", with_key());
    std::os::unix::fs::symlink("key.py", machine.repo().join("link.py")).unwrap();
    let before = listing(machine.repo());
    audit(&machine);
    for words in
        [&["status"][..], &["next"], &["report"], &["explain", "key.py"], &["ledger", "show"], &["ledger", "verify"]]
    {
        machine.assize(words).run().exits(0);
    }
    assert_eq!(listing(machine.repo()), before);
    // The user's own folders hold nothing either but the cache that was named, and the user's key.
    for folder in ["home", "config", "data"] {
        let left: Vec<PathBuf> = listing(&machine.at(folder)).into_keys().filter(|path| path.is_file()).collect();
        let others: Vec<&PathBuf> = left.iter().filter(|path| !path.ends_with("assize/key")).collect();
        assert!(others.is_empty(), "{others:?}");
    }
    machine.assize(&["clean"]).run().exits(0);
    assert_eq!(listing(machine.repo()), before);
    assert!(!machine.repo().join(".assize").exists());
}

#[test]
fn a_state_directory_within_the_tree_is_not_audited_itself() {
    let machine = Machine::new();
    put(&machine, "key.py", with_key());
    let state = machine.repo().join("tools/audit state");
    let flags = ["--state-dir", state.to_str().unwrap()];
    let first = crate::audited::audit_with(&machine, &flags);
    let second = crate::audited::audit_with(&machine, &flags);
    assert_eq!(second.outcome["launches"], 0);
    assert_eq!(first.auditable(), ["key.py"]);
    assert_eq!(second.auditable(), ["key.py"]);
    second.is("tools/audit state/", "excluded", "own-output");
    assert!(!machine.repo().join(".assize").exists());
}
