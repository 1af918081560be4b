//! The ledger: what was changed behind the program's back shows.

use std::path::PathBuf;

use assize_tests::Machine;
use rusqlite::Connection;

fn audited() -> (Machine, PathBuf) {
    let machine = Machine::with_files(6);
    machine.assize(&["run"]).run().exits(0);
    let store = machine.repo().join(".assize/store.db");
    (machine, store)
}

/// Changes the store as somebody with a database tool would: the guards of the tables are no secret.
fn tamper(store: &PathBuf, statement: &str) {
    let base = Connection::open(store).unwrap();
    let guards: Vec<(String, String)> = base
        .prepare("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'")
        .unwrap()
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    for (name, _) in &guards {
        base.execute_batch(&format!("DROP TRIGGER \"{name}\"")).unwrap();
    }
    base.execute_batch(statement).unwrap();
    // The guards are put back, so that nothing but the entries tells of it.
    for (_, statement) in &guards {
        base.execute_batch(statement).unwrap();
    }
}

#[test]
fn every_change_of_the_ledger_is_told_with_its_place() {
    for (statement, place) in [
        ("UPDATE ledger SET subject = replace(subject, '{', '{ ') WHERE seq = 3", "entry 3"),
        ("UPDATE ledger SET at_ms = at_ms + 1 WHERE seq = 2", "entry 2"),
        ("UPDATE ledger SET kind = 'nothing' WHERE seq = 1", "entry 1"),
        ("DELETE FROM ledger WHERE seq = 4", "entry 4"),
        ("DELETE FROM ledger WHERE seq = (SELECT max(seq) FROM ledger)", "head"),
        ("DELETE FROM ledger", "head"),
        ("DELETE FROM ledger_head", "head"),
        ("UPDATE ledger SET hash = zeroblob(32) WHERE seq = 2", "entry 2"),
    ] {
        let (machine, store) = audited();
        machine.assize(&["ledger", "verify"]).run().exits(0);
        tamper(&store, statement);
        let end = machine.assize(&["ledger", "verify"]).run();
        assert_eq!(end.code, Some(5), "{statement}: {}{}", end.stdout, end.stderr);
        assert!(end.stdout.contains(place), "{statement}: {}", end.stdout);
        let value = machine.assize(&["ledger", "verify", "--json"]).run().exits(5).json();
        assert_eq!(value["whole"], false, "{statement}");
    }
}

#[test]
fn entries_are_shown_in_order_and_in_parts() {
    let (machine, _) = audited();
    let seqs = |args: &[&str]| {
        let shown = machine.assize(&[&["ledger", "show", "--json"], args].concat()).run().exits(0).json();
        shown.as_array().unwrap().iter().map(|entry| entry["seq"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    let all = seqs(&[]);
    assert_eq!(all, (1..=all.len() as u64).collect::<Vec<_>>());
    assert_eq!(seqs(&["--from", "3", "--limit", "2"]), [3, 4]);
    assert!(seqs(&["--from", "1000000"]).is_empty());
    let text = machine.assize(&["ledger", "show"]).run().exits(0).stdout;
    assert_eq!(text.lines().count(), all.len());
}

#[test]
fn the_guards_of_the_ledger_stop_a_careless_hand() {
    let (machine, store) = audited();
    let base = Connection::open(&store).unwrap();
    for statement in ["UPDATE ledger SET kind = 'x' WHERE seq = 1", "DELETE FROM ledger WHERE seq = 1"] {
        let error = base.execute_batch(statement).unwrap_err().to_string();
        assert!(error.contains("append-only"), "{error}");
    }
    drop(base);
    machine.assize(&["ledger", "verify"]).run().exits(0);
}
