//! The life of a slot, and results by content.

use assize_core::id::{LaunchId, TaskId};
use assize_core::plugin::Outcome;
use assize_core::result::ReviewerKind;
use serde_json::json;

use super::{attempts, end, holder, id, planned, record, slot, state, tasks};
use crate::{AttemptCost, Ingested, LaunchState, Quarantined, Settlement, StoreError, TaskState};

fn settlement(launch: &str) -> Settlement {
    let end = end(launch, Outcome::Completed);
    Settlement { end, results: Vec::new(), quarantine: Vec::new(), park: Vec::new() }
}

#[test]
fn a_task_is_leased_to_one_launch_at_a_time() {
    let mut store = planned(&["a", "b"]);
    store.lease_slot(&slot("l1", &["a"])).unwrap();
    let error = store.lease_slot(&slot("l2", &["b", "a"])).unwrap_err();
    assert!(matches!(error, StoreError::TaskNotPending { task, .. } if task == id("a")));
    assert_eq!(state(&store, "b"), Some(TaskState::Pending), "the refused slot holds nothing");
    assert!(store.launch(&LaunchId::new("l2")).unwrap().is_none());
    let again = store.lease_slot(&slot("l1", &["b"])).unwrap_err();
    assert!(matches!(again, StoreError::LaunchExists { .. }));
    let mut foreign = slot("l3", &[]);
    foreign.tasks.push(TaskId::new("nobody"));
    assert!(matches!(store.lease_slot(&foreign).unwrap_err(), StoreError::UnknownTask { .. }));
}

#[test]
fn a_launch_id_that_is_no_plain_name_is_refused() {
    let mut store = planned(&["a"]);
    for bad in ["", ".", "..", "../x", "a/b", "a\\b", "a b", ".hidden", "\u{e9}", &"x".repeat(121)] {
        let error = store.lease_slot(&slot(bad, &["a"])).unwrap_err();
        assert!(matches!(error, StoreError::BadLaunchId { .. }), "{bad}");
    }
}

#[test]
fn recovery_sees_who_held_what() {
    let mut store = planned(&["a", "b", "c"]);
    store.lease_slot(&slot("l1", &["b", "a"])).unwrap();
    store.lease_slot(&slot("l2", &["c"])).unwrap();
    store.start_launch(&LaunchId::new("l2"), 5).unwrap();
    store.conclude_launch(&end("l2", Outcome::Crashed)).unwrap();
    store.renew_lease(&LaunchId::new("l1"), 9_000).unwrap();
    let leases = store.leases().unwrap();
    assert_eq!(leases.len(), 2, "a launch that was not settled still has its tasks");
    assert_eq!(leases[0].tasks, [id("b"), id("a")]);
    assert_eq!((&leases[0].holder, leases[0].until_ms), (&holder(), 9_000));
    assert_eq!(leases[1].state, LaunchState::Concluded);
}

#[test]
fn a_settlement_forgets_no_task() {
    let mut store = planned(&["a", "b", "c"]);
    store.lease_slot(&slot("l1", &["a", "b", "c"])).unwrap();
    let results = vec![record("a", "fine")];
    let park = vec![(id("b"), "attempts spent".to_owned())];
    let settled = store.settle(&Settlement { results, park, ..settlement("l1") }).unwrap();
    assert_eq!(settled.requeued, [id("c")]);
    assert_eq!(state(&store, "a"), Some(TaskState::Done));
    assert_eq!(state(&store, "b"), Some(TaskState::Parked { reason: "attempts spent".to_owned() }));
    assert_eq!(state(&store, "c"), Some(TaskState::Pending));
    assert_eq!(attempts(&store, "c"), 1);
    assert!(store.leases().unwrap().is_empty());
    let row = store.launch(&LaunchId::new("l1")).unwrap().unwrap();
    assert_eq!((row.state, row.outcome, row.exit_code), (LaunchState::Settled, Some(Outcome::Completed), Some(0)));
    assert_eq!(row.usage.unwrap().input_tokens, Some(12));
    assert_eq!(row.tasks, [id("a"), id("b"), id("c")]);
}

#[test]
fn a_launch_that_was_no_fair_try_costs_no_attempt() {
    let mut store = planned(&["a"]);
    store.lease_slot(&slot("l1", &["a"])).unwrap();
    let mut missing = settlement("l1");
    missing.end.attempt = AttemptCost::Uncounted;
    store.settle(&missing).unwrap();
    store.lease_slot(&slot("l2", &["a"])).unwrap();
    store.free_slot(&LaunchId::new("l2"), "host died", AttemptCost::Uncounted, 8).unwrap();
    assert_eq!((attempts(&store, "a"), state(&store, "a")), (0, Some(TaskState::Pending)));
}

#[test]
fn a_slot_ends_once() {
    let mut store = planned(&["a", "b"]);
    store.lease_slot(&slot("l1", &["a"])).unwrap();
    store.settle(&settlement("l1")).unwrap();
    store.lease_slot(&slot("l2", &["a"])).unwrap();
    let late = Settlement { results: vec![record("a", "late")], ..settlement("l1") };
    assert!(matches!(store.settle(&late).unwrap_err(), StoreError::WrongLaunchState { .. }));
    assert!(store.free_slot(&LaunchId::new("l1"), "x", AttemptCost::Counted, 9).is_err());
    assert!(store.renew_lease(&LaunchId::new("l1"), 9).is_err());
    assert!(store.start_launch(&LaunchId::new("l1"), 9).is_err());
    assert!(store.conclude_launch(&end("l1", Outcome::Crashed)).is_err());
    assert_eq!(state(&store, "a"), Some(TaskState::Leased), "the second launch still has it");
    assert!(matches!(store.settle(&settlement("l9")).unwrap_err(), StoreError::UnknownLaunch { .. }));
}

#[test]
fn a_conclusion_that_was_recorded_is_not_overwritten_by_recovery() {
    let mut store = planned(&["a"]);
    store.lease_slot(&slot("l1", &["a"])).unwrap();
    store.conclude_launch(&end("l1", Outcome::RateLimited)).unwrap();
    let mut recovered = settlement("l1");
    recovered.end.outcome = Outcome::Interrupted;
    store.settle(&recovered).unwrap();
    assert_eq!(store.launches().unwrap()[0].outcome, Some(Outcome::RateLimited));
}

#[test]
fn a_launch_cannot_park_a_task_of_another() {
    let mut store = planned(&["a", "b"]);
    store.lease_slot(&slot("l1", &["a"])).unwrap();
    store.lease_slot(&slot("l2", &["b"])).unwrap();
    let stray = Settlement { park: vec![(id("b"), "no".to_owned())], ..settlement("l1") };
    assert!(matches!(store.settle(&stray).unwrap_err(), StoreError::TaskNotOfLaunch { .. }));
    assert_eq!(state(&store, "b"), Some(TaskState::Leased));
}

#[test]
fn ingesting_a_result_again_changes_nothing() {
    let mut store = planned(&["a"]);
    assert_eq!(store.ingest(&record("a", "fine")).unwrap(), Ingested::New);
    let before = super::dump(store.connection());
    assert_eq!(store.ingest(&record("a", "fine")).unwrap(), Ingested::Already);
    assert_eq!(super::dump(store.connection()), before);
    let mut foreign = record("a", "fine");
    foreign.task = TaskId::new("nobody");
    assert!(matches!(store.ingest(&foreign).unwrap_err(), StoreError::UnknownTask { .. }));
}

#[test]
fn a_task_keeps_every_result_and_the_latest_is_current() {
    let mut store = planned(&["a", "b"]);
    store.ingest(&record("a", "first")).unwrap();
    store.ingest(&record("a", "second")).unwrap();
    store.ingest(&record("a", "first")).unwrap();
    assert_eq!(store.results().unwrap(), [record("a", "second")]);
    assert_eq!(store.results_of(&[id("b"), id("a")]).unwrap(), [record("a", "second")]);
    assert_eq!(store.result_history(&id("a")).unwrap().len(), 2);
}

#[test]
fn the_same_answer_of_another_kind_of_reviewer_is_a_result_of_its_own() {
    let mut store = planned(&["a"]);
    let mut rules = record("a", "nothing found");
    rules.reviewer.kind = ReviewerKind::Rules;
    store.ingest(&rules).unwrap();
    store.reopen_tasks(&[id("a")], 8).unwrap();
    assert_eq!(store.ingest(&record("a", "nothing found")).unwrap(), Ingested::New);
    let kinds: Vec<ReviewerKind> = store.results().unwrap().iter().map(|record| record.reviewer.kind).collect();
    assert_eq!(kinds, [ReviewerKind::Rules, ReviewerKind::Agent], "each kind's latest result is current");
}

#[test]
fn a_reopened_task_that_gets_the_same_answer_is_done() {
    let mut store = planned(&["a"]);
    store.ingest(&record("a", "fine")).unwrap();
    assert_eq!(store.reopen_tasks(&[id("a")], 8).unwrap(), 1);
    assert_eq!(state(&store, "a"), Some(TaskState::Pending));
    assert_eq!(store.ingest(&record("a", "fine")).unwrap(), Ingested::Already);
    assert_eq!(state(&store, "a"), Some(TaskState::Done));
}

#[test]
fn a_result_that_arrives_beside_a_launch_is_not_undone_by_its_requeue() {
    let mut store = planned(&["a"]);
    store.lease_slot(&slot("l1", &["a"])).unwrap();
    store.ingest(&record("a", "by hand")).unwrap();
    assert!(store.settle(&settlement("l1")).unwrap().requeued.is_empty());
    assert_eq!(state(&store, "a"), Some(TaskState::Done));
}

#[test]
fn a_bad_answer_is_kept_apart_and_cut_at_a_character() {
    let mut store = planned(&["a"]);
    store.lease_slot(&slot("l1", &["a"])).unwrap();
    let raw = format!("x{}", "\u{e9}".repeat(40_000));
    let bad = Quarantined { task_name: "unit:a:security".to_owned(), errors: json!(["span"]), raw: raw.clone() };
    store.settle(&Settlement { quarantine: vec![bad], ..settlement("l1") }).unwrap();
    let kept = &store.quarantine().unwrap()[0];
    assert_eq!(kept.launch, Some(LaunchId::new("l1")));
    assert_eq!(kept.raw_bytes, raw.len() as u64);
    assert!(kept.answer.raw.len() < raw.len() && raw.starts_with(&kept.answer.raw));
}

#[test]
fn waves_are_rows_that_slots_open() {
    let mut store = planned(&["a", "b"]);
    store.lease_slot(&slot("l1", &["a"])).unwrap();
    let mut later = slot("l2", &["b"]);
    later.at_ms = 50;
    store.lease_slot(&later).unwrap();
    assert_eq!(store.waves().unwrap(), [(1, 5)]);
    let rows: Vec<_> = store.launches().unwrap().into_iter().map(|row| (row.wave, row.leased_ms)).collect();
    assert_eq!(rows, [(1, 5), (1, 50)]);
}

#[test]
fn a_slot_in_flight_survives_a_new_plan() {
    let mut store = planned(&["a", "b"]);
    store.lease_slot(&slot("l1", &["a", "b"])).unwrap();
    store.replace_base_tasks(&tasks(&["b"]), 6).unwrap();
    assert_eq!(state(&store, "b"), Some(TaskState::Leased));
    store.replace_base_tasks(&tasks(&["b", "a"]), 7).unwrap();
    assert_eq!(state(&store, "a"), Some(TaskState::Leased), "the launch still has it");
    store.replace_base_tasks(&tasks(&["b"]), 8).unwrap();
    let results = vec![record("a", "fine"), record("b", "fine")];
    let settled = store.settle(&Settlement { results, ..settlement("l1") }).unwrap();
    assert_eq!((settled.ingested, settled.requeued.len()), (2, 0));
    store.replace_base_tasks(&tasks(&["a", "b"]), 9).unwrap();
    assert_eq!(state(&store, "a"), Some(TaskState::Done));
}
