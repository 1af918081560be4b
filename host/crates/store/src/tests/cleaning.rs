//! Cleaning takes what the store made, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use assize_core::id::LaunchId;

use super::{holder, slot, tasks};
use crate::{CleanPlan, Mode, Store, StoreError, StoreLock, plan_clean};

/// A store with a launch, its run directory, a report and a cache.
fn used(dir: &Path) -> Store {
    let mut store = Store::open(dir, Mode::ReadWrite).unwrap();
    store.replace_base_tasks(&tasks(&["a"]), 1).unwrap();
    store.lease_slot(&slot("l1", &["a"])).unwrap();
    let run = store.dir().unwrap().make_run_dir(&LaunchId::new("l1")).unwrap();
    fs::create_dir(run.join("home")).unwrap();
    fs::write(run.join("home/stdout"), "x").unwrap();
    store.publish(Path::new("report/audit-report.md"), b"# Report").unwrap();
    store.publish(Path::new("report/html/index.html"), b"<html>").unwrap();
    let cache = store.make_cache_dir().unwrap();
    fs::write(cache.join("module"), "x").unwrap();
    StoreLock::acquire(dir, &holder()).unwrap();
    store
}

fn names(paths: &[PathBuf]) -> Vec<&str> {
    paths.iter().map(|path| path.to_str().unwrap()).collect()
}

fn planned(dir: &Path) -> CleanPlan {
    plan_clean(dir).unwrap()
}

#[test]
fn a_store_alone_goes_with_its_directory() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join(".assize");
    drop(used(&dir));
    let plan = planned(&dir);
    let going: Vec<_> = plan.remove.iter().map(|item| item.path.clone()).collect();
    let expected = [
        ".gitignore",
        "cache",
        "lock",
        "report/audit-report.md",
        "report/html/index.html",
        "runs/l1",
        "store.db",
        "store.db-shm",
        "store.db-wal",
    ];
    assert_eq!(names(&going), expected);
    assert!(plan.left.is_empty());
    assert!(dir.join("runs/l1/home/stdout").exists(), "a plan does nothing");
    let cleaned = plan.apply().unwrap();
    assert!(cleaned.dir_removed && cleaned.left.is_empty());
    assert!(!dir.exists());
}

#[test]
fn what_a_killed_host_left_goes_too() {
    let scratch = tempfile::tempdir().unwrap();
    let live = scratch.path().join("live");
    let store = used(&live);
    let dir = scratch.path().join("killed");
    fs::create_dir_all(dir.join("report")).unwrap();
    for name in ["store.db", "store.db-wal"] {
        fs::copy(live.join(name), dir.join(name)).unwrap();
    }
    drop(store);
    fs::write(dir.join("report/.audit-report.md.77-0.partial"), "# Rep").unwrap();
    assert!(planned(&dir).apply().unwrap().dir_removed);
    assert!(!dir.exists());
}

#[test]
fn foreign_files_stay_and_are_named() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path();
    drop(used(dir));
    fs::write(dir.join("notes.txt"), "mine").unwrap();
    fs::create_dir(dir.join("runs/mine")).unwrap();
    fs::write(dir.join("report/own.md"), "mine").unwrap();
    fs::write(dir.join("report/.own.md.1-1.partial"), "mine").unwrap();
    fs::write(dir.join(".gitignore"), "*\n!notes.txt\n").unwrap();
    fs::write(dir.join("lock"), "a lock of another program").unwrap();
    let plan = planned(dir);
    let left = [".gitignore", "lock", "notes.txt", "report/.own.md.1-1.partial", "report/own.md", "runs/mine"];
    assert_eq!(names(&plan.left), left);
    let cleaned = plan.apply().unwrap();
    assert!(!cleaned.dir_removed && !dir.join("store.db").exists() && !dir.join("runs/l1").exists());
    assert_eq!(fs::read_to_string(dir.join("lock")).unwrap(), "a lock of another program");
    for kept in ["notes.txt", "report/own.md", "runs/mine", ".gitignore"] {
        assert!(dir.join(kept).exists(), "{kept}");
    }
}

#[test]
fn a_directory_that_is_no_store_loses_nothing_whatever_its_names() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path();
    fs::create_dir_all(dir.join("runs/l1")).unwrap();
    fs::create_dir(dir.join("cache")).unwrap();
    for name in ["store.db", "store.db-wal", "lock", ".gitignore"] {
        fs::write(dir.join(name), "*\n").unwrap();
    }
    let plan = planned(dir);
    assert!(plan.remove.is_empty());
    plan.apply().unwrap();
    assert_eq!(fs::read_dir(dir).unwrap().count(), 6);
    assert!(matches!(plan_clean(&dir.join("none")), Err(StoreError::Missing { .. })));
}

#[test]
fn a_damaged_store_goes_but_not_what_it_can_no_longer_name() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path();
    drop(used(dir));
    let mut bytes = fs::read(dir.join("store.db")).unwrap();
    bytes[100..].fill(0x5a);
    fs::write(dir.join("store.db"), bytes).unwrap();
    let plan = planned(dir);
    assert_eq!(names(&plan.left), ["cache", "report", "runs"]);
    plan.apply().unwrap();
    assert!(!dir.join("store.db").exists() && dir.join("runs/l1").exists());
}

#[test]
fn what_the_database_was_made_to_name_outside_stays() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = scratch.path().join("s");
    let store = used(&dir);
    fs::write(scratch.path().join("precious"), "x").unwrap();
    fs::create_dir(dir.join("tree")).unwrap();
    let absolute = scratch.path().join("precious");
    let statements = format!(
        "INSERT INTO made VALUES ('../precious', 0), ('{}', 0), ('report/../../precious', 0), ('tree', 1), ('..', 1);
         UPDATE launches SET launch = launch; INSERT INTO launches SELECT '../..', state, wave, packet, lane, attempt,
         holder_pid, holder_started, holder_host, lease_until_ms, leased_ms, started_ms, ended_ms, outcome, message,
         usage, wall_ms, exit_code, exit_signal, counted, freed_reason, reviewer, model, waiting FROM launches",
        absolute.display()
    );
    store.connection().execute_batch(&statements).unwrap();
    drop(store);
    let cleaned = planned(&dir).apply().unwrap();
    assert_eq!(names(&cleaned.left), ["tree"]);
    assert!(absolute.exists());
}

#[test]
fn nothing_goes_while_a_run_lives() {
    let scratch = tempfile::tempdir().unwrap();
    let _store = used(scratch.path());
    let _lock = StoreLock::acquire(scratch.path(), &holder()).unwrap();
    let error = planned(scratch.path()).apply().unwrap_err();
    assert!(matches!(error, StoreError::InUse { pid: Some(4242) }), "{error}");
    assert!(scratch.path().join("store.db").exists());
}

#[test]
fn files_are_published_under_report_only() {
    let scratch = tempfile::tempdir().unwrap();
    let mut store = Store::open(scratch.path(), Mode::ReadWrite).unwrap();
    for bad in ["report", "x.md", "../report/x", "report/../x", "/report/x", "runs/l1/x"] {
        assert!(matches!(store.publish(Path::new(bad), b"x"), Err(StoreError::NotOurs { .. })), "{bad}");
    }
    assert!(Store::in_memory().unwrap().publish(Path::new("report/x"), b"x").is_err());
}

#[cfg(unix)]
#[test]
fn symbolic_links_are_neither_followed_nor_removed() {
    use std::os::unix::fs::symlink;
    let scratch = tempfile::tempdir().unwrap();
    let (dir, outside) = (scratch.path().join("s"), scratch.path().join("outside"));
    fs::create_dir_all(outside.join("html")).unwrap();
    for name in ["audit-report.md", "html/index.html"] {
        fs::write(outside.join(name), "precious").unwrap();
    }
    let store = used(&dir);
    // A link inside a run directory goes as a link; one in place of a directory of ours stays.
    symlink(&outside, dir.join("runs/l1/home/link")).unwrap();
    fs::remove_dir_all(dir.join("report")).unwrap();
    symlink(&outside, dir.join("report")).unwrap();
    fs::remove_dir_all(dir.join("cache")).unwrap();
    symlink(&outside, dir.join("cache")).unwrap();
    let mut store = store;
    assert!(store.publish(Path::new("report/audit-report.md"), b"x").is_err());
    assert!(store.make_cache_dir().is_err());
    drop(store);
    let plan = planned(&dir);
    assert_eq!(names(&plan.left), ["cache", "report"]);
    plan.apply().unwrap();
    assert!(!dir.join("runs").exists() && dir.join("report").is_symlink() && dir.join("cache").is_symlink());
    for name in ["audit-report.md", "html/index.html"] {
        assert_eq!(fs::read_to_string(outside.join(name)).unwrap(), "precious");
    }
    // And a plan that was made before a link came does not follow it either.
    let late = scratch.path().join("late");
    drop(used(&late));
    let plan = planned(&late);
    fs::remove_dir_all(late.join("report")).unwrap();
    symlink(&outside, late.join("report")).unwrap();
    plan.apply().unwrap();
    assert_eq!(fs::read_to_string(outside.join("audit-report.md")).unwrap(), "precious");
}
