//! Artifacts, imports, past audits, facts and values.

use assize_core::id::Digest;

use crate::{Mode, Store, StoreError};

fn bodies(store: &Store) -> i64 {
    store.connection().query_row("SELECT count(*) FROM bodies", [], |row| row.get(0)).unwrap()
}

#[test]
fn an_artifact_reads_back_with_what_it_was_made_from() {
    let mut store = Store::in_memory().unwrap();
    let (inputs, body) = (Digest::of(b"inputs"), br#"{"files":[1,2,3]}"#);
    let digest = store.put_artifact("inventory", inputs, body, 5).unwrap();
    let artifact = store.artifact("inventory").unwrap().unwrap();
    assert_eq!((artifact.inputs, artifact.digest, artifact.at_ms), (inputs, digest, 5));
    assert_eq!(artifact.body, body);
    assert_eq!(digest, Digest::of(body));
    assert!(store.artifact("units").unwrap().is_none());
}

#[test]
fn an_unchanged_artifact_writes_nothing_and_a_changed_one_leaves_no_old_body() {
    let mut store = Store::in_memory().unwrap();
    let inputs = Digest::of(b"inputs");
    store.put_artifact("inventory", inputs, b"[1]", 5).unwrap();
    let before = super::dump(store.connection());
    store.put_artifact("inventory", inputs, b"[1]", 6).unwrap();
    assert_eq!(super::dump(store.connection()), before);
    store.put_artifact("inventory", Digest::of(b"others"), b"[1]", 7).unwrap();
    assert_eq!(store.artifact_stamp("inventory").unwrap().unwrap().inputs, Digest::of(b"others"));
    assert_eq!(bodies(&store), 1);
    store.put_artifact("inventory", inputs, b"[2]", 8).unwrap();
    assert_eq!(bodies(&store), 1);
}

#[test]
fn a_body_that_others_share_stays() {
    let mut store = Store::in_memory().unwrap();
    let digest = Digest::of(b"file");
    store.put_import("eslint", digest, b"[]", 5).unwrap();
    store.put_artifact("graph", digest, b"[]", 5).unwrap();
    assert_eq!(store.archive_audit(b"[]", 5).unwrap(), 1);
    assert_eq!(store.archive_audit(b"{}", 6).unwrap(), 2);
    assert!(store.remove_import("eslint", 6).unwrap());
    assert!(!store.remove_import("eslint", 6).unwrap());
    store.put_artifact("graph", digest, b"[1]", 7).unwrap();
    let audits: Vec<_> = store.audits().unwrap().into_iter().map(|audit| (audit.number, audit.summary)).collect();
    assert_eq!(audits, [(1, b"[]".to_vec()), (2, b"{}".to_vec())]);
}

#[test]
fn importing_again_replaces_only_the_same_source() {
    let mut store = Store::in_memory().unwrap();
    let digest = Digest::of(b"file");
    store.put_import("eslint", digest, b"[1]", 5).unwrap();
    store.put_import("bandit", digest, b"[2]", 5).unwrap();
    store.put_import("eslint", digest, b"[3]", 6).unwrap();
    let imports: Vec<_> = store.imports().unwrap().into_iter().map(|import| (import.source, import.body)).collect();
    assert_eq!(imports, [("bandit".to_owned(), b"[2]".to_vec()), ("eslint".to_owned(), b"[3]".to_vec())]);
}

#[test]
fn a_body_that_is_not_what_was_recorded_is_damage() {
    for tampering in [
        "UPDATE bodies SET packed = x'00'",
        "UPDATE bodies SET length = 1",
        "UPDATE bodies SET packed = (SELECT packed FROM bodies WHERE length = 7)",
    ] {
        let mut store = Store::in_memory().unwrap();
        store.put_artifact("inventory", Digest::of(b"i"), b"[1,2,3,4,5]", 5).unwrap();
        store.put_artifact("units", Digest::of(b"i"), b"[1,2,3]", 5).unwrap();
        store.connection().execute_batch(tampering).unwrap();
        let error = store.artifact("inventory").unwrap_err();
        assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
    }
}

#[test]
fn facts_come_back_by_key_small_and_large() {
    let mut store = Store::in_memory().unwrap();
    let facts: Vec<_> = (0..2_000_usize)
        .map(|n| (Digest::of(&n.to_le_bytes()), format!("[{n}]").repeat(n % 400).into_bytes()))
        .collect();
    store.put_facts(&facts).unwrap();
    let mut keys: Vec<_> = facts.iter().map(|(key, _)| *key).collect();
    keys.push(Digest::of(b"unknown"));
    let found = store.facts(&keys).unwrap();
    assert_eq!(found.len(), facts.len());
    assert!(facts.iter().all(|(key, body)| found[key] == *body));
}

#[test]
fn damaged_facts_are_absent_not_an_error() {
    let mut store = Store::in_memory().unwrap();
    let key = Digest::of(b"k");
    for tampering in ["body = x'00'", "length = 5", "length = 9223372036854775807"] {
        store.put_facts(&[(key, vec![b'x'; 5_000])]).unwrap();
        store.connection().execute_batch(&format!("UPDATE facts SET {tampering}")).unwrap();
        assert!(store.facts(&[key]).unwrap().is_empty(), "{tampering}");
    }
}

#[test]
fn pruning_takes_the_oldest_first_and_what_was_asked_for_last() {
    let mut store = Store::in_memory().unwrap();
    let keys: Vec<_> = ["old", "middle", "new"].map(|name| Digest::of(name.as_bytes())).into();
    for key in &keys {
        store.put_facts(&[(*key, vec![0; 100])]).unwrap();
    }
    assert_eq!(store.prune_facts(300).unwrap(), 0);
    store.facts(&keys[..1]).unwrap();
    assert_eq!(store.prune_facts(200).unwrap(), 1);
    assert!(!store.facts(&keys).unwrap().contains_key(&keys[1]), "the middle one was the oldest unasked for");
    assert_eq!(store.prune_facts(0).unwrap(), 2);
}

#[test]
fn values_are_kept_across_openings() {
    let scratch = tempfile::tempdir().unwrap();
    let mut store = Store::open(scratch.path(), Mode::ReadWrite).unwrap();
    store.set_meta("run", "1").unwrap();
    store.set_meta("run", "2").unwrap();
    drop(store);
    let store = Store::open(scratch.path(), Mode::ReadOnly).unwrap();
    assert_eq!((store.meta("run").unwrap().as_deref(), store.meta("other").unwrap()), (Some("2"), None));
}
