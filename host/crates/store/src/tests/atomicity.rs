//! All or nothing: every operation is failed before each of its statements in turn, and killed there.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use assize_core::id::{Digest, LaunchId};
use assize_core::lens::Lens;
use assize_core::plugin::Outcome;
use serde_json::json;

use super::{dump, end, id, planned, record, slot, state, tasks};
use crate::error::{Fault, StoreError};
use crate::{AttemptCost, Mode, Quarantined, Settlement, Store, TaskState, Verified, Waiver};

/// Makes the statement with this number (from 0) fail; gives the count of those that were reached.
fn fail_at(store: &Store, at: usize) -> Arc<AtomicUsize> {
    let reached = Arc::new(AtomicUsize::new(0));
    let counter = reached.clone();
    store.interrupt(Some(Box::new(move |_| match counter.fetch_add(1, Ordering::Relaxed) {
        now if now == at => Err(Fault::Row("injected".to_owned())),
        _ => Ok(()),
    })));
    reached
}

/// Fails the operation at each statement; each time nothing may have changed. Then it succeeds.
fn fails_whole<T>(store: &mut Store, mut operation: impl FnMut(&mut Store) -> Result<T, StoreError>) -> T {
    let before = dump(store.connection());
    for at in 0.. {
        fail_at(store, at);
        let outcome = operation(store);
        store.interrupt(None);
        match outcome {
            Ok(done) => {
                assert!(at > 1, "the operation has statements to fail");
                assert_ne!(dump(store.connection()), before, "the operation changes something");
                assert!(matches!(store.verify_ledger().unwrap(), Verified::Whole { .. }));
                return done;
            }
            Err(_) => assert_eq!(dump(store.connection()), before, "statement {at} left something behind"),
        }
    }
    unreachable!()
}

fn settlement() -> Settlement {
    Settlement {
        end: end("l1", Outcome::Completed),
        results: vec![record("a", "fine"), record("b", "also fine")],
        quarantine: vec![Quarantined {
            task_name: "unit:c:security".to_owned(),
            errors: json!(["no coverage"]),
            raw: "{}".to_owned(),
        }],
        park: vec![(id("d"), "attempts spent".to_owned())],
    }
}

#[test]
fn every_operation_happens_as_a_whole_or_not_at_all() {
    let mut store = planned(&["a", "b", "c", "d", "gone"]);
    fails_whole(&mut store, |store| store.replace_base_tasks(&tasks(&["new", "a", "b", "c", "d"]), 2));
    fails_whole(&mut store, |store| store.add_tasks(&tasks(&["deeper", "deepest"]), 3));
    fails_whole(&mut store, |store| store.supersede_tasks(&[id("deepest"), id("deeper")], 3));
    fails_whole(&mut store, |store| store.lease_slot(&slot("l1", &["a", "b", "c", "d"])));
    fails_whole(&mut store, |store| store.renew_lease(&LaunchId::new("l1"), 2_000));
    fails_whole(&mut store, |store| store.start_launch(&LaunchId::new("l1"), 5));
    fails_whole(&mut store, |store| store.conclude_launch(&end("l1", Outcome::Completed)));
    let settled = fails_whole(&mut store, |store| store.settle(&settlement()));
    assert_eq!((settled.ingested, settled.requeued, settled.parked), (2, vec![id("c")], vec![id("d")]));
    fails_whole(&mut store, |store| store.unpark_all(7));
    fails_whole(&mut store, |store| store.reopen_tasks(&[id("a"), id("b")], 7));
    fails_whole(&mut store, |store| store.lease_slot(&slot("l2", &["a", "b"])));
    fails_whole(&mut store, |store| store.free_slot(&LaunchId::new("l2"), "holder gone", AttemptCost::Counted, 8));
    fails_whole(&mut store, |store| store.ingest_all(&[record("a", "again"), record("b", "again")]));
    fails_whole(&mut store, |store| store.park_task(&id("c"), "no lane", 9));
    let waiver =
        Waiver { path: "x".to_owned(), lens: Lens::Tests, digest: None, reason: "vendored".to_owned(), at_ms: 9 };
    fails_whole(&mut store, |store| store.waive(&waiver));
    fails_whole(&mut store, |store| store.unwaive("x", Lens::Tests, 9));
    let inputs = Digest::of(b"inputs");
    fails_whole(&mut store, |store| store.put_artifact("inventory", inputs, b"[1]", 9));
    fails_whole(&mut store, |store| store.put_artifact("inventory", inputs, b"[1,2]", 9));
    fails_whole(&mut store, |store| store.put_import("eslint", inputs, b"[]", 9));
    fails_whole(&mut store, |store| store.remove_import("eslint", 9));
    fails_whole(&mut store, |store| store.archive_audit(b"{}", 9));
    fails_whole(&mut store, |store| store.put_facts(&[(inputs, vec![1; 900]), (Digest::of(b"x"), vec![2])]));
    fails_whole(&mut store, |store| store.prune_facts(0));
    assert!(store.check_integrity().unwrap().is_empty());
}

/// Copies what a killed process would leave on disk: the database and its log, without the shared memory.
fn copy_remains(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in ["store.db", "store.db-wal"] {
        if from.join(name).exists() {
            fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }
}

#[test]
fn a_process_killed_between_two_statements_of_a_settlement_has_settled_all_of_it_or_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let live = scratch.path().join("live");
    let mut store = Store::open(&live, Mode::ReadWrite).unwrap();
    store.replace_base_tasks(&tasks(&["a", "b", "c", "d"]), 1).unwrap();
    store.lease_slot(&slot("l1", &["a", "b", "c", "d"])).unwrap();
    let before = dump(store.connection());
    let copies = scratch.path().to_owned();
    let (from, taken) = (live.clone(), Arc::new(AtomicUsize::new(0)));
    let counter = taken.clone();
    store.interrupt(Some(Box::new(move |_| {
        let at = counter.fetch_add(1, Ordering::Relaxed);
        copy_remains(&from, &copies.join(at.to_string()));
        Ok(())
    })));
    store.settle(&settlement()).unwrap();
    store.interrupt(None);
    let taken = taken.load(Ordering::Relaxed);
    assert!(taken > 20);
    for at in 0..taken {
        let killed = Store::open(&scratch.path().join(at.to_string()), Mode::ReadOnly).unwrap();
        assert_eq!(dump(killed.connection()), before, "killed before statement {at}");
    }
    let after = scratch.path().join("after");
    copy_remains(&live, &after);
    let killed = Store::open(&after, Mode::ReadOnly).unwrap();
    assert_eq!(dump(killed.connection()), dump(store.connection()), "killed after the return");
    assert_ne!(dump(killed.connection()), before);
}

/// What reviewers left in their run directories: it outlives the host.
type Written = BTreeMap<String, Vec<&'static str>>;

const NAMES: [&str; 3] = ["a", "b", "c"];

/// One host: recovers what an earlier one left, then works until nothing is pending or it is killed.
fn run_host(dir: &Path, host: usize, kill_at: Option<usize>, written: &mut Written) -> Result<usize, StoreError> {
    let mut store = Store::open(dir, Mode::ReadWrite)?;
    let reached = fail_at(&store, kill_at.unwrap_or(usize::MAX));
    store.replace_base_tasks(&tasks(&NAMES), 1)?;
    for lease in store.leases()? {
        let outcome = Outcome::Interrupted;
        settle(&mut store, lease.launch.as_str(), outcome, written)?;
    }
    let turn = Cell::new(0);
    loop {
        let mut pending = store.task_states()?;
        pending.retain(|(_, state, _)| *state == TaskState::Pending);
        let is_pending = |name: &&str| pending.iter().any(|(task, ..)| *task == id(name));
        let pending: Vec<_> = NAMES.into_iter().filter(is_pending).take(2).collect();
        if pending.is_empty() {
            return Ok(reached.load(Ordering::Relaxed));
        }
        let launch = format!("h{host}-{}", turn.replace(turn.get() + 1));
        store.lease_slot(&slot(&launch, &pending))?;
        store.start_launch(&LaunchId::new(&launch), 2)?;
        written.insert(launch.clone(), pending);
        settle(&mut store, &launch, Outcome::Completed, written)?;
    }
}

fn settle(store: &mut Store, launch: &str, outcome: Outcome, written: &Written) -> Result<(), StoreError> {
    let found = written.get(launch).into_iter().flatten();
    let results = found.map(|name| record(name, &format!("{name} is fine"))).collect();
    let settlement = Settlement { end: end(launch, outcome), results, quarantine: Vec::new(), park: Vec::new() };
    store.settle(&settlement).map(drop)
}

#[test]
fn a_host_killed_at_any_statement_loses_nothing_and_repeats_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let dir = |at: &str| -> PathBuf { scratch.path().join(at) };
    let statements = run_host(&dir("whole"), 1, None, &mut Written::new()).unwrap();
    assert!(statements > 60);
    // Every try starts from a copy of an empty store: making one is the slowest step of all, and not the one in question.
    let empty = dir("empty");
    drop(Store::open(&empty, Mode::ReadWrite).unwrap());
    for kill_at in 0..statements {
        let (dir, mut written) = (dir(&kill_at.to_string()), Written::new());
        copy_remains(&empty, &dir);
        let killed = run_host(&dir, 1, Some(kill_at), &mut written);
        assert!(killed.is_err(), "statement {kill_at} of {statements}");
        run_host(&dir, 2, None, &mut written).unwrap();
        let store = Store::open(&dir, Mode::ReadOnly).unwrap();
        let launched: Vec<_> = written.values().flatten().collect();
        for name in NAMES {
            assert_eq!(state(&store, name), Some(TaskState::Done), "{name} after a kill at {kill_at}");
            assert_eq!(store.result_history(&id(name)).unwrap().len(), 1, "{name} after a kill at {kill_at}");
            let times = launched.iter().filter(|launched| ***launched == name).count();
            assert_eq!(times, 1, "{name} was launched again after a kill at {kill_at}");
        }
        assert!(store.leases().unwrap().is_empty());
        assert!(matches!(store.verify_ledger().unwrap(), Verified::Whole { .. }));
    }
}
