//! Decisions, splits and what waits for a person.

use assize_core::dispatch::Decision;
use assize_core::id::{LaunchId, TaskId};
use assize_core::task::LineRange;
use serde_json::json;

use super::{end, id, planned, record, slot, state, task};
use crate::{Admission, Settlement, TaskState};
use assize_core::plugin::Outcome;

fn admission(at_ms: u64, lane: &str, launch: Option<&str>) -> Admission {
    let decision = Decision {
        at_ms,
        slot: None,
        first_task: TaskId::new("t"),
        tasks: 1,
        lane: lane.to_owned(),
        admitted: launch.is_some(),
        reason: "because".to_owned(),
        windows: Vec::new(),
        binding: None,
        fits_at_ms: None,
    };
    Admission { launch: launch.map(LaunchId::new), decision }
}

#[test]
fn decisions_are_found_by_lane_and_by_launch() {
    let mut store = planned(&["a"]);
    let all = [admission(1, "one", None), admission(2, "two", Some("l1")), admission(3, "one", Some("l2"))];
    store.note_admissions(&all).unwrap();
    assert_eq!(store.admissions(None, 10).unwrap(), all);
    assert_eq!(store.admissions(Some("one"), 10).unwrap(), [all[0].clone(), all[2].clone()]);
    assert_eq!(store.admissions(Some("l1"), 10).unwrap(), [all[1].clone()]);
    assert_eq!(store.admissions(None, 1).unwrap(), [all[2].clone()], "the latest are kept in sight");
}

#[test]
fn parts_take_the_place_of_a_task_and_come_back_with_a_new_plan() {
    let mut store = planned(&["a", "b"]);
    let part = |first, last| {
        let mut part = task("a");
        part.id = TaskId::new(format!("part-{first}"));
        part.files[0].range = Some(LineRange { first, last });
        part
    };
    let parts = [part(1, 6), part(5, 10)];
    store.split_task(&id("a"), &parts, 3).unwrap();
    let names: Vec<String> = store.tasks().unwrap().into_iter().map(|row| row.task.id.to_string()).collect();
    assert_eq!(names, ["part-1".to_owned(), "part-5".to_owned(), id("b").to_string()]);
    assert_eq!(store.splits().unwrap()[&id("a")], parts);
    assert!(store.split_task(&TaskId::new("nobody"), &parts, 3).is_err());
}

#[test]
fn what_waits_for_a_person_is_known_until_it_is_answered() {
    let mut store = planned(&["a", "b"]);
    store.lease_slot(&slot("l1", &["a", "b"])).unwrap();
    let end = end("l1", Outcome::Interrupted);
    store.settle(&Settlement { end, results: vec![], quarantine: vec![], park: vec![] }).unwrap();
    assert!(store.waiting().unwrap().is_empty());
    let launch = LaunchId::new("l1");
    store.set_waiting(&launch, true, 9).unwrap();
    assert_eq!(store.waiting().unwrap(), [(launch.clone(), vec![id("a"), id("b")])]);
    store.ingest(&record("a", "seen")).unwrap();
    assert_eq!(state(&store, "a"), Some(TaskState::Done));
    assert_eq!(store.waiting().unwrap(), [(launch.clone(), vec![id("b")])]);
    store.set_waiting(&launch, false, 10).unwrap();
    assert!(store.waiting().unwrap().is_empty());
    assert!(!store.launch(&launch).unwrap().unwrap().waiting);
}

#[test]
fn what_left_the_machine_is_in_the_ledger() {
    let mut store = planned(&["a"]);
    store.note_request(&LaunchId::new("l1"), &json!({"host": "api.example", "request_bytes": 3}), 4).unwrap();
    let last = store.ledger(0, 1_000).unwrap().pop().unwrap();
    assert_eq!(last.kind, "request-sent");
    assert!(store.verify_ledger().is_ok());
}
