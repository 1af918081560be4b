//! Tasks and the pairs that they hold.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::fact::FileFacts;
use crate::id::Digest;
use crate::inventory::{FileKind, Inventory};
use crate::lens::Lens;
use crate::plan::fixture::{definition, facts, import, inventory, needs, repository, route, row, sink};
use crate::plan::{Depth, Plan, PlanOptions, derive_structure, plan_changes, plan_tasks, split_task, work};
use crate::task::Priority;

fn plan(inventory: &Inventory, facts: &[FileFacts], options: &PlanOptions) -> Plan {
    let structure = derive_structure(inventory, facts, &[], &BTreeMap::new());
    plan_tasks(inventory, &structure, facts, options)
}

fn plan_repository(files: usize, options: &PlanOptions) -> Plan {
    let repository = repository(files);
    let structure = derive_structure(&repository.inventory, &repository.facts, &repository.relations, &BTreeMap::new());
    plan_tasks(&repository.inventory, &structure, &repository.facts, options)
}

#[test]
fn every_required_pair_is_in_exactly_one_task() {
    for depth in [Depth::Quick, Depth::Standard, Depth::Deep] {
        let plan = plan_repository(700, &PlanOptions { depth, ..PlanOptions::default() });
        let mut held: Vec<(&str, Lens)> = plan
            .tasks
            .iter()
            .flat_map(|task| task.files.iter().map(move |file| (file.path.as_str(), task.lens)))
            .collect();
        held.sort_unstable();
        let required: Vec<(&str, Lens)> = plan.required.iter().map(|pair| (pair.path.as_str(), pair.lens)).collect();
        assert_eq!(held, required, "{depth:?}");
        assert!(
            plan.tasks.iter().all(|task| task.files.len() <= 15 && task.lines() <= 3_000 && !task.files.is_empty())
        );
        let ids: HashSet<_> = plan.tasks.iter().map(|task| &task.id).collect();
        let names: HashSet<_> = plan.tasks.iter().map(|task| &task.name).collect();
        assert_eq!((ids.len(), names.len()), (plan.tasks.len(), plan.tasks.len()));
    }
}

#[test]
fn an_ordinary_repository_gets_about_one_task_a_file() {
    let plan = plan_repository(1_000, &PlanOptions::default());
    assert!((600..=1_500).contains(&plan.tasks.len()), "{} tasks for 1,000 files", plan.tasks.len());
    assert!(plan.tasks.iter().any(|task| task.pass_id.starts_with("flow-pass:") && task.files.len() > 1));
}

#[test]
fn ids_of_untouched_tasks_stay_and_those_of_touched_ones_change() {
    let repository = repository(400);
    let options = PlanOptions::default();
    let planned = |inventory: &Inventory| {
        let structure = derive_structure(inventory, &repository.facts, &repository.relations, &BTreeMap::new());
        plan_tasks(inventory, &structure, &repository.facts, &options).tasks
    };
    let before = planned(&repository.inventory);
    let mut edited = repository.inventory.clone();
    let path = edited.rows[42].path.clone();
    edited.rows[42].digest = Some(Digest::of(b"edited"));
    let after = planned(&edited);
    let changes = plan_changes(&before, &after);
    let touching = before.iter().filter(|task| task.files.iter().any(|file| file.path == path)).count();
    assert!(touching > 0);
    assert_eq!((changes.removed.len(), changes.added.len()), (touching, touching));
    assert_eq!(changes.kept.len(), before.len() - touching);
}

#[test]
fn a_file_that_grows_or_appears_moves_few_borders() {
    let rows: Vec<_> = (0..600).map(|at| row(&format!("d{}/f{at:04}.rs", at / 50), 120)).collect();
    let options = PlanOptions { depth: Depth::Quick, ..PlanOptions::default() };
    let before = plan(&inventory(rows.clone()), &[], &options).tasks;
    let mut grown = rows;
    grown[7].lines = Some(900);
    grown.push(row("d3/f0150b.rs", 100));
    let after = plan(&inventory(grown), &[], &options).tasks;
    let changes = plan_changes(&before, &after);
    assert!(changes.removed.len() <= 12, "{} of {} tasks changed", changes.removed.len(), before.len());
}

#[test]
fn names_that_meet_are_kept_apart_and_none_is_dropped() {
    let mut rows: Vec<_> = (0..40).map(|at| row(&format!("x/f{at}.rs"), 100)).collect();
    // The directory is called like a task of the other one.
    rows.extend((0..70).map(|at| row(&format!("flow:x/f{at:02}.rs"), 10)));
    rows.extend((0..5).map(|at| row(&format!("x:security/part-1/f{at}.rs"), 10)));
    let inventory = inventory(rows);
    let mut structure = derive_structure(&inventory, &[], &[], &BTreeMap::new());
    let twin = structure.units[0].id.clone();
    structure.units.iter_mut().for_each(|unit| unit.id = twin.clone());
    let plan = plan_tasks(&inventory, &structure, &[], &PlanOptions::default());
    let names: HashSet<_> = plan.tasks.iter().map(|task| &task.name).collect();
    assert_eq!(names.len(), plan.tasks.len());
    let security: usize =
        plan.tasks.iter().filter(|task| task.lens == Lens::Security).map(|task| task.files.len()).sum();
    assert_eq!(security, 115);
}

#[test]
fn a_long_file_is_split_so_that_every_line_is_seen() {
    let inventory = inventory(vec![row("long.rs", 10_000), row("short.rs", 10)]);
    let definitions = (0..200).map(|at| definition("f", at * 50 + 1, at * 50 + 48)).collect();
    let plan = plan(&inventory, &[facts("long.rs", definitions)], &PlanOptions::default());
    let mut ranges: Vec<_> = plan
        .tasks
        .iter()
        .filter(|task| task.lens == Lens::Correctness && task.files[0].path == "long.rs")
        .filter_map(|task| task.files[0].range)
        .collect();
    ranges.sort_unstable();
    assert!(ranges.len() >= 4);
    assert_eq!((ranges[0].first, ranges[ranges.len() - 1].last), (1, 10_000));
    for pair in ranges.windows(2) {
        assert_eq!(pair[0].last + 1 - pair[1].first, 20);
        assert_eq!(pair[0].last % 50, 0, "cut at {} and not before a definition", pair[0].last);
    }
    assert!(
        plan.tasks
            .iter()
            .filter(|task| task.files[0].range.is_some())
            .all(|task| task.tags.contains(&"large-file".to_owned()))
    );
}

#[test]
fn a_file_with_long_lines_is_split_by_bytes() {
    let mut wide = row("wide.rs", 2_000);
    wide.size = 600_000;
    let plan = plan(&inventory(vec![wide]), &[], &PlanOptions { depth: Depth::Quick, ..PlanOptions::default() });
    assert!(plan.tasks.len() >= 10);
    assert!(plan.tasks.iter().all(|task| crate::plan::estimate_tokens(task) <= 30_100));
}

#[test]
fn what_is_unknown_is_noted_and_not_planned() {
    let mut unknown = row("unknown.rs", 10);
    unknown.lines = None;
    let mut prose = row("readme.md", 10);
    prose.kind = FileKind::Doc;
    let plan = plan(&inventory(vec![unknown, prose]), &[], &PlanOptions::default());
    assert!(plan.tasks.is_empty() && plan.required.is_empty());
    assert_eq!(plan.notes.len(), 2);
}

#[test]
fn lenses_depth_and_scope_are_obeyed() {
    let scope: BTreeSet<String> = repository(80).inventory.rows.iter().step_by(3).map(|row| row.path.clone()).collect();
    let options = PlanOptions {
        lenses: Some(vec![Lens::Security, Lens::Tests]),
        depth: Depth::Deep,
        only: Some(scope.clone()),
        ..PlanOptions::default()
    };
    let plan = plan_repository(80, &options);
    assert!(!plan.tasks.is_empty());
    for task in &plan.tasks {
        assert!(matches!(task.lens, Lens::Security | Lens::Tests));
        assert!(task.files.iter().all(|file| scope.contains(&file.path)));
    }
    let quick = plan_repository(80, &PlanOptions { depth: Depth::Quick, ..PlanOptions::default() });
    assert!(quick.tasks.iter().all(|task| matches!(task.lens, Lens::Security | Lens::Correctness | Lens::Tests)));
}

#[test]
fn signals_ask_for_lenses_and_a_risky_flow_comes_first() {
    let inventory = inventory((0..6).map(|at| row(&format!("f{at}.rs"), 200)).collect());
    let facts = [
        facts("f0.rs", vec![route("/pay")]),
        facts("f1.rs", vec![sink("sql"), sink("subprocess")]),
        facts("f2.rs", vec![import("tokio::sync::Mutex"), import("tracing")]),
    ];
    let relations = [needs("f0.rs", "f1.rs")];
    let structure = derive_structure(&inventory, &facts, &relations, &BTreeMap::new());
    let plan = plan_tasks(&inventory, &structure, &facts, &PlanOptions::default());
    let requires = |path: &str, lens| plan.required.iter().any(|pair| pair.path == path && pair.lens == lens);
    assert!(requires("f1.rs", Lens::DataIntegrity) && requires("f2.rs", Lens::Concurrency));
    assert!(requires("f2.rs", Lens::Observability) && requires("f0.rs", Lens::Reliability));
    assert!(!requires("f4.rs", Lens::Concurrency) && !requires("f4.rs", Lens::DataIntegrity));
    assert!(plan.tasks[0].files.iter().any(|file| file.path == "f1.rs"));
    let flow: Vec<_> = plan.tasks.iter().filter(|task| task.unit.as_str() == "flow:f0.rs").collect();
    assert_eq!(flow.len(), 3);
    assert!(flow.iter().all(|task| task.priority == Priority::High && task.files.len() == 2));
    assert!(plan.tasks[0].rationale.contains("highest risk"));
    assert_eq!(plan.tasks.iter().filter(|task| task.lens == Lens::Architecture).count(), 1);
}

#[test]
fn a_task_that_does_not_fit_is_split_down_to_lines() {
    let inventory = inventory((0..3).map(|at| row(&format!("f{at}.rs"), 200)).collect());
    let plan = plan(&inventory, &[], &PlanOptions { depth: Depth::Quick, ..PlanOptions::default() });
    let parts = split_task(&plan.tasks[0]);
    assert_eq!(parts.iter().map(|part| part.files.len()).collect::<Vec<_>>(), [1, 2]);
    let ranges = split_task(&parts[0]);
    assert_eq!(ranges[0].files[0].range.map(|range| range.last), Some(100));
    assert_eq!(ranges[1].files[0].range.map(|range| (range.first, range.last)), Some((81, 200)));
    assert!(split_task(&split_task(&ranges[0])[0]).is_empty());
    assert_ne!(ranges[0].id, parts[0].id);
}

#[test]
fn the_work_of_planning_grows_with_the_input() {
    let steps = |files: usize| {
        let repository = repository(files);
        let structure =
            derive_structure(&repository.inventory, &repository.facts, &repository.relations, &BTreeMap::new());
        work::take();
        let plan = plan_tasks(&repository.inventory, &structure, &repository.facts, &PlanOptions::default());
        let tasks: Vec<_> = plan.tasks.iter().collect();
        crate::plan::plan_packets(&tasks, &crate::plan::PacketOptions::default());
        work::take()
    };
    let (small, large) = (steps(1_000), steps(10_000));
    assert!(large < small * 12, "{small} steps for 1,000 files, {large} for 10,000");
}
