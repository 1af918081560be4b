//! The shared state of lanes: two runs see each other, and damage costs nothing but memory.

use assize_core::dispatch::{Dimension, Dispatch, LaneSpec, Limits, SharedState, WindowSpec};

use crate::{QuotaStore, Usage};

/// The state of a lane with one window, as an engine makes it.
fn state() -> SharedState {
    let window = WindowSpec { dimension: Dimension::Requests, limit: 10, period_ms: 60_000, ..window() };
    let lane = LaneSpec {
        name: "lane".to_owned(),
        account: "account".to_owned(),
        windows: vec![window],
        ..LaneSpec::default()
    };
    let mut engine = Dispatch::new(vec![lane], Limits { workers: 1, attempts: 1, ..Limits::default() });
    engine.absorb(&SharedState::default(), 1_000);
    engine.share()
}

fn window() -> WindowSpec {
    WindowSpec { dimension: Dimension::Tokens, limit: 1, period_ms: 1, scope: assize_core::dispatch::Scope::Account }
}

#[test]
fn two_runs_see_what_the_other_did() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("deep/quota.db");
    let (mut one, aside) = QuotaStore::open(&path).unwrap();
    assert_eq!(aside, None);
    let (mut two, _) = QuotaStore::open(&path).unwrap();
    let made = state();
    assert!(!made.windows.is_empty() && !made.lanes.is_empty());
    one.transact(|before| {
        assert_eq!(*before, SharedState::default());
        (made.clone(), ())
    })
    .unwrap();
    two.transact(|before| {
        assert_eq!(*before, made);
        (before.clone(), ())
    })
    .unwrap();
    one.transact(|before| {
        assert_eq!(*before, made);
        (before.clone(), ())
    })
    .unwrap();
    two.reset(Some("account")).unwrap();
    one.transact(|before| {
        assert!(before.windows.is_empty() && !before.lanes.is_empty());
        (before.clone(), ())
    })
    .unwrap();
    two.reset(None).unwrap();
    assert_eq!(one.state().unwrap(), SharedState::default());
}

#[test]
fn a_damaged_or_foreign_file_is_set_aside_and_the_lanes_start_cold() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("quota.db");
    for content in ["not a database at all, but long enough to be read as one ....................................", ""]
    {
        std::fs::write(&path, content).unwrap();
        let (store, aside) = QuotaStore::open(&path).unwrap();
        assert_eq!(store.state().unwrap(), SharedState::default());
        match content {
            "" => assert_eq!(aside, None),
            _ => assert_eq!(std::fs::read_to_string(aside.unwrap()).unwrap(), content),
        }
    }
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    drop(conn);
    let (_, aside) = QuotaStore::open(&path).unwrap();
    assert!(aside.is_some(), "another version is not guessed at");
}

#[test]
fn usage_adds_up_by_account_and_day() {
    let mut store = QuotaStore::in_memory().unwrap();
    let usage = Usage {
        account: "a".to_owned(),
        day: 5,
        launches: 1,
        requests: 2,
        input_tokens: 30,
        output_tokens: 4,
        micro_usd: 5,
    };
    store.add_usage(&usage).unwrap();
    store.add_usage(&usage).unwrap();
    store.add_usage(&Usage { day: 4, ..usage.clone() }).unwrap();
    let since = store.usage_since(5).unwrap();
    assert_eq!(since, [Usage { launches: 2, requests: 4, input_tokens: 60, output_tokens: 8, micro_usd: 10, ..usage }]);
}
