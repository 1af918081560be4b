//! The ledger shows every tampering, and refuses it where SQL can.

use assize_core::id::LaunchId;
use assize_core::plugin::Outcome;
use rusqlite::Connection;

use super::{end, id, planned, record, slot};
use crate::{Mode, Settlement, Store, Verified};

/// A store with a few entries.
fn worked() -> Store {
    let mut store = planned(&["a", "b"]);
    store.lease_slot(&slot("l1", &["a", "b"])).unwrap();
    store.start_launch(&LaunchId::new("l1"), 3).unwrap();
    let results = vec![record("a", "fine")];
    let end = end("l1", Outcome::Completed);
    store.settle(&Settlement { end, results, quarantine: Vec::new(), park: Vec::new() }).unwrap();
    store
}

/// Tampers with the triggers out of the way, as somebody with the file can.
fn tamper(conn: &Connection, statements: &str) {
    conn.execute_batch(
        "DROP TRIGGER ledger_refuses_update; DROP TRIGGER ledger_refuses_delete;
         DROP TRIGGER ledger_refuses_replacement; DROP TRIGGER ledger_keeps_its_head;",
    )
    .unwrap();
    conn.execute_batch(statements).unwrap();
}

#[test]
fn every_arrow_of_a_slot_has_one_entry_and_the_chain_holds() {
    let store = worked();
    let kinds: Vec<String> = store.ledger(1, 100).unwrap().into_iter().map(|entry| entry.kind).collect();
    let expected = [
        "tasks-planned",
        "slot-leased",
        "launch-started",
        "launch-concluded",
        "result-ingested",
        "task-requeued",
        "slot-settled",
    ];
    assert_eq!(kinds, expected);
    let head = store.ledger(7, 1).unwrap()[0].hash;
    assert_eq!(store.verify_ledger().unwrap(), Verified::Whole { entries: 7, head });
}

#[test]
fn a_change_of_any_column_is_found_at_its_entry() {
    for change in [
        "at_ms = at_ms + 1",
        "kind = 'slot-freed'",
        "subject = '{}'",
        "prev = zeroblob(32)",
        "hash = zeroblob(32)",
        "hash = zeroblob(3)",
        "seq = 30",
    ] {
        let store = worked();
        tamper(store.connection(), &format!("UPDATE ledger SET {change} WHERE seq = 3"));
        let Verified::Broken { seq, .. } = store.verify_ledger().unwrap() else { panic!("missed: {change}") };
        assert_eq!(seq, 3, "{change}");
    }
}

#[test]
fn a_missing_swapped_inserted_or_cut_entry_is_found() {
    let swap = "UPDATE ledger SET seq = 99 WHERE seq = 2; UPDATE ledger SET seq = 2 WHERE seq = 3;
         UPDATE ledger SET seq = 3 WHERE seq = 99;";
    for tampering in [
        "DELETE FROM ledger WHERE seq = 4",
        "DELETE FROM ledger WHERE seq = 1",
        "DELETE FROM ledger WHERE seq = 7",
        "DELETE FROM ledger WHERE seq > 3",
        "DELETE FROM ledger",
        swap,
        "INSERT INTO ledger SELECT 8, at_ms, kind, subject, hash, hash FROM ledger WHERE seq = 7",
        "INSERT INTO ledger SELECT 0, at_ms, kind, subject, prev, hash FROM ledger WHERE seq = 1",
        "DELETE FROM ledger_head",
        "UPDATE ledger_head SET entries = 6",
        "UPDATE ledger_head SET hash = zeroblob(32)",
    ] {
        let store = worked();
        tamper(store.connection(), tampering);
        assert!(matches!(store.verify_ledger().unwrap(), Verified::Broken { .. }), "missed: {tampering}");
    }
}

#[test]
fn sql_refuses_to_change_delete_or_replace_entries() {
    let store = worked();
    for statement in [
        "UPDATE ledger SET kind = 'x' WHERE seq = 1",
        "DELETE FROM ledger WHERE seq = 7",
        "INSERT OR REPLACE INTO ledger SELECT * FROM ledger WHERE seq = 2",
        "DELETE FROM ledger_head",
    ] {
        assert!(store.connection().execute_batch(statement).is_err(), "allowed: {statement}");
    }
    assert!(matches!(store.verify_ledger().unwrap(), Verified::Whole { entries: 7, .. }));
}

#[test]
fn entries_name_ids_but_no_words_of_people_or_reviewers() {
    let mut store = worked();
    store.park_task(&id("b"), "the secret reason", 9).unwrap();
    let all = format!("{:?}", store.ledger(0, 100).unwrap());
    assert!(all.contains(id("b").as_str()));
    for word in ["secret reason", "it ended", "fine", "src/a.rs", "unit:"] {
        assert!(!all.contains(word), "{word}");
    }
}

#[test]
fn a_store_whose_triggers_were_removed_is_not_opened() {
    let scratch = tempfile::tempdir().unwrap();
    drop(Store::open(scratch.path(), Mode::ReadWrite).unwrap());
    let raw = Connection::open(scratch.path().join("store.db")).unwrap();
    raw.execute_batch("DROP TRIGGER ledger_refuses_update").unwrap();
    drop(raw);
    for mode in [Mode::ReadWrite, Mode::ReadOnly] {
        let error = Store::open(scratch.path(), mode).err().unwrap();
        assert!(error.to_string().contains("altered"), "{error}");
    }
}
