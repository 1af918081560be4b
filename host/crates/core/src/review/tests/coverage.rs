//! What counts as reviewed.

use super::sample::{clean, record_over, reviewer, task};
use crate::lens::Lens;
use crate::result::{ResultRecord, ReviewerKind};
use crate::review::{Coverage, CoverageOptions, PairState, Waiver, derive_coverage};
use crate::task::{LineRange, Task};

fn pairs(paths: &[&str]) -> Vec<(String, Lens)> {
    paths.iter().map(|path| ((*path).to_owned(), Lens::Security)).collect()
}

fn cover(required: &[&str], tasks: &[Task], results: &[ResultRecord], waivers: &[Waiver]) -> Coverage {
    derive_coverage(&pairs(required), tasks, results, waivers, &CoverageOptions::default())
}

fn part(name: &str, first: u64, last: u64) -> Task {
    let mut task = task(name, Lens::Security, &["a.rs"]);
    task.files[0].range = Some(LineRange { first, last });
    task
}

#[test]
fn a_pair_is_reviewed_only_by_a_current_result() {
    let tasks = [task("t", Lens::Security, &["a.rs", "b.rs"])];
    let coverage = cover(&["b.rs", "a.rs", "c.rs"], &tasks, &[clean(&tasks[0], 1)], &[]);
    let states: Vec<bool> = coverage.pairs.iter().map(|p| matches!(p.state, PairState::Reviewed { .. })).collect();
    assert_eq!(states, [true, true, false]);
    assert!(!coverage.is_complete());
    assert_eq!((coverage.summary.reviewed, coverage.summary.missing, coverage.summary.files_reviewed), (2, 1, 2));

    let old = clean(&task("old", Lens::Security, &["c.rs"]), 1);
    assert_eq!(cover(&["c.rs"], &tasks, &[old], &[]).pairs[0].state, PairState::Stale);
    let other = clean(&task("old", Lens::Tests, &["c.rs"]), 1);
    assert_eq!(cover(&["c.rs"], &tasks, &[other], &[]).pairs[0].state, PairState::Missing);
}

#[test]
fn a_split_file_is_reviewed_when_all_its_parts_are() {
    let tasks = [part("1", 1, 60), part("2", 50, 100)];
    let results = [clean(&tasks[0], 1), clean(&tasks[1], 1)];
    assert_eq!(cover(&["a.rs"], &tasks, &results[..1], &[]).summary.reviewed, 0);
    assert_eq!(cover(&["a.rs"], &tasks, &results, &[]).summary.reviewed, 1);
    let gap = [part("1", 1, 40), part("2", 60, 100), part("3", 30, 70)];
    let results = [clean(&gap[0], 1), clean(&gap[1], 1)];
    assert_eq!(cover(&["a.rs"], &gap, &results, &[]).summary.reviewed, 0);
}

#[test]
fn deepening_adds_no_coverage_that_it_was_not_asked_for() {
    let mut asking = super::sample::asking("d", &[]);
    assert_eq!(cover(&["a.rs"], &[asking.clone()], &[clean(&asking, 1)], &[]).summary.reviewed, 0);
    if let Some(deepening) = &mut asking.deepening {
        deepening.trigger = "clean-high-risk".into();
    }
    assert_eq!(cover(&["a.rs"], &[asking.clone()], &[clean(&asking, 1)], &[]).summary.reviewed, 1);
    assert_eq!(cover(&["b.rs"], &[asking.clone()], &[clean(&asking, 1)], &[]).summary.reviewed, 0);
}

#[test]
fn what_reviewed_a_file_matters() {
    let tasks = [task("t", Lens::Security, &["a.rs"]), task("u", Lens::Security, &["a.rs", "b.rs"])];
    let mut by_rules = clean(&tasks[1], 1);
    by_rules.reviewer = reviewer(ReviewerKind::Rules);
    let results = [clean(&tasks[0], 1), by_rules];
    let coverage = cover(&["a.rs", "b.rs"], &tasks, &results, &[]);
    assert_eq!(coverage.summary.by_kind.get(&ReviewerKind::Agent), Some(&1));
    assert_eq!(coverage.summary.by_kind.get(&ReviewerKind::Rules), Some(&1));
    let PairState::Reviewed { by, .. } = &coverage.pairs[0].state else { panic!("not reviewed") };
    assert_eq!(by.iter().map(|r| r.kind).collect::<Vec<_>>(), [ReviewerKind::Agent, ReviewerKind::Rules]);
    let options = CoverageOptions { require: vec![ReviewerKind::Agent, ReviewerKind::Person] };
    let strict = derive_coverage(&pairs(&["a.rs", "b.rs"]), &tasks, &results, &[], &options);
    assert_eq!((strict.summary.reviewed, strict.summary.missing), (1, 1));
}

#[test]
fn a_waiver_needs_something_to_waive() {
    let tasks = [task("t", Lens::Security, &["a.rs"])];
    let waive = |path: Option<&str>, lens, task: Option<&str>| Waiver {
        path: path.map(str::to_owned),
        lens,
        task: task.map(Into::into),
        reason: "why".into(),
    };
    let state = |path: &str, waiver: Waiver| cover(&[path], &tasks, &[], &[waiver]).pairs[0].state.clone();
    let waived = PairState::Waived { reason: "why".into() };
    assert_eq!(state("a.rs", waive(Some("a.rs"), None, None)), waived);
    assert_eq!(state("src/x/a.rs", waive(Some("src/"), Some(Lens::Security), None)), waived);
    assert_eq!(state("a.rs", waive(None, Some(Lens::Security), None)), waived);
    assert_eq!(state("a.rs", waive(None, None, Some("t"))), waived);
    for other in [
        waive(None, None, None),
        waive(Some("b.rs"), None, None),
        waive(Some("a.rs"), Some(Lens::Tests), None),
        waive(None, None, Some("u")),
    ] {
        assert_eq!(state("a.rs", other), PairState::Missing);
    }
    let done = cover(&["a.rs"], &tasks, &[clean(&tasks[0], 1)], &[waive(Some("a.rs"), None, None)]);
    assert_eq!(done.summary.reviewed, 1);
}

#[test]
fn a_result_that_does_not_list_a_file_does_not_cover_it() {
    let tasks = [task("t", Lens::Security, &["a.rs", "b.rs"])];
    let result = record_over(&tasks[0], 1, &["a.rs".to_owned()], Vec::new());
    assert_eq!(cover(&["a.rs", "b.rs"], &tasks, &[result], &[]).summary.reviewed, 1);
}
