//! The plan as a set, parking and waivers.

use assize_core::id::Digest;
use assize_core::lens::Lens;

use super::{attempts, id, planned, record, slot, state, task, tasks};
use crate::{AttemptCost, Changes, StoreError, TaskState, Waiver};

#[test]
fn a_new_plan_is_a_set_difference_that_keeps_order_and_state() {
    let mut store = planned(&["a", "b", "c"]);
    store.ingest(&record("b", "fine")).unwrap();
    let changes = store.replace_base_tasks(&tasks(&["d", "c", "b", "b"]), 2).unwrap();
    assert_eq!(changes, Changes { added: 1, removed: 1, kept: 2 });
    let rows = store.tasks().unwrap();
    let names: Vec<&str> = rows.iter().map(|row| row.task.name.as_str()).collect();
    assert_eq!(names, ["unit:d:security", "unit:c:security", "unit:b:security"]);
    assert_eq!(rows[2].state, TaskState::Done);
}

#[test]
fn the_same_plan_again_writes_nothing() {
    let mut store = planned(&["a", "b"]);
    let before = super::dump(store.connection());
    let changes = store.replace_base_tasks(&tasks(&["a", "b"]), 2).unwrap();
    assert_eq!(changes, Changes { added: 0, removed: 0, kept: 2 });
    assert_eq!(super::dump(store.connection()), before);
}

#[test]
fn what_surrounds_a_task_follows_the_plan() {
    let mut store = planned(&["a"]);
    let mut riskier = task("a");
    riskier.risk = 90;
    store.replace_base_tasks(std::slice::from_ref(&riskier), 2).unwrap();
    assert_eq!(store.tasks().unwrap()[0].task, riskier);
}

#[test]
fn a_result_is_current_again_when_an_edit_is_taken_back() {
    let mut store = planned(&["a", "b"]);
    store.ingest(&record("a", "fine")).unwrap();
    store.replace_base_tasks(&tasks(&["a-edited", "b"]), 2).unwrap();
    assert_eq!(state(&store, "a"), None);
    assert!(store.results().unwrap().is_empty());
    assert_eq!(store.task(&id("a")).unwrap(), Some(task("a")), "superseded, not deleted");
    store.replace_base_tasks(&tasks(&["a", "b"]), 3).unwrap();
    assert_eq!(state(&store, "a"), Some(TaskState::Done));
    assert_eq!(store.results().unwrap(), [record("a", "fine")]);
}

#[test]
fn deepening_tasks_stand_behind_the_base_plan_and_outlive_its_replacement() {
    let mut store = planned(&["a"]);
    assert_eq!(store.add_tasks(&tasks(&["x", "y", "a"]), 2).unwrap(), 2, "a planned task is not added again");
    assert_eq!(store.add_tasks(&tasks(&["y", "z"]), 3).unwrap(), 1);
    store.replace_base_tasks(&tasks(&["b", "a"]), 4).unwrap();
    let order: Vec<_> = store.task_states().unwrap().into_iter().map(|(task, ..)| task).collect();
    assert_eq!(order, [id("b"), id("a"), id("x"), id("y"), id("z")]);
    assert_eq!(store.supersede_tasks(&[id("y"), id("nobody")], 5).unwrap(), 1);
    assert_eq!(state(&store, "y"), None);
    assert_eq!(store.add_tasks(&tasks(&["y"]), 6).unwrap(), 1, "it may come back");
}

#[test]
fn a_parked_task_is_not_leased_until_it_is_unparked_with_all_its_attempts() {
    let mut store = planned(&["a", "b"]);
    store.lease_slot(&slot("l1", &["a"])).unwrap();
    store.free_slot(&"l1".into(), "x", AttemptCost::Counted, 2).unwrap();
    assert_eq!(attempts(&store, "a"), 1);
    store.park_task(&id("a"), "no lane can take it", 3).unwrap();
    assert_eq!(state(&store, "a"), Some(TaskState::Parked { reason: "no lane can take it".to_owned() }));
    assert!(store.lease_slot(&slot("l2", &["a"])).is_err());
    store.replace_base_tasks(&tasks(&["b", "a"]), 4).unwrap();
    assert!(matches!(state(&store, "a"), Some(TaskState::Parked { .. })), "a new plan forgives nothing by itself");
    assert_eq!(store.unpark_all(5).unwrap(), 1);
    assert_eq!((state(&store, "a"), attempts(&store, "a")), (Some(TaskState::Pending), 0));
}

#[test]
fn only_pending_tasks_are_parked() {
    let mut store = planned(&["a"]);
    store.ingest(&record("a", "fine")).unwrap();
    assert!(matches!(store.park_task(&id("a"), "x", 2), Err(StoreError::TaskNotPending { .. })));
    assert!(matches!(store.park_task(&id("b"), "x", 2), Err(StoreError::UnknownTask { .. })));
}

#[test]
fn waivers_are_kept_by_pair() {
    let mut store = planned(&[]);
    let waiver = |path: &str, lens, reason: &str| Waiver {
        path: path.to_owned(),
        lens,
        digest: Some(Digest::of(b"content")),
        reason: reason.to_owned(),
        at_ms: 4,
    };
    store.waive(&waiver("b", Lens::Tests, "first")).unwrap();
    store.waive(&waiver("a", Lens::DataIntegrity, "other")).unwrap();
    store.waive(&waiver("b", Lens::Tests, "second")).unwrap();
    let expected = [waiver("a", Lens::DataIntegrity, "other"), waiver("b", Lens::Tests, "second")];
    assert_eq!(store.waivers().unwrap(), expected);
    assert!(store.unwaive("a", Lens::DataIntegrity, 5).unwrap());
    assert!(!store.unwaive("a", Lens::DataIntegrity, 5).unwrap());
    assert_eq!(store.waivers().unwrap(), expected[1..]);
}
