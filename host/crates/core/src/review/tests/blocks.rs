//! How work is cut.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::sample::{Dice, finding, record};
use crate::result::{AffectedFile, Finding, Severity};
use crate::review::{
    BLOCK_FILES, BLOCK_FINDINGS, BlockRole, MergedFinding, VerificationState, WorkBlock, derive_blocks,
    derive_findings, merge_findings,
};

fn merged(findings: Vec<Finding>) -> Vec<MergedFinding> {
    merge_findings(derive_findings(&[], &[record("t", 1, findings)]))
}

fn unit_of(path: &str) -> Option<String> {
    path.split_once('/').map(|(unit, _)| unit.to_owned())
}

fn edge(from: &str, to: &str) -> (String, String) {
    (from.to_owned(), to.to_owned())
}

fn at(path: &str, line: u64) -> Finding {
    Finding { quote: None, ..finding(path, line, &format!("bug {path} {}", "x".repeat(line as usize % 50))) }
}

fn also(mut finding: Finding, paths: &[&str]) -> Finding {
    let place = |path: &&str| AffectedFile { path: (*path).into(), line_start: None, line_end: None, symbol: None };
    finding.affected_files.extend(paths.iter().map(place));
    finding
}

#[test]
fn findings_of_shared_files_belong_together() {
    let findings = merged(vec![at("u/a.rs", 1), at("u/a.rs", 20), also(at("u/b.rs", 3), &["u/a.rs"]), at("c.rs", 1)]);
    let blocks = derive_blocks(&findings, &[], &unit_of);
    assert_eq!(blocks.len(), 2);
    let big = blocks.iter().find(|b| b.finding_ids.len() == 3).expect("a block");
    assert_eq!(
        (&big.owned_files[..], &big.unit_ids[..]),
        (&["u/a.rs".to_owned(), "u/b.rs".to_owned()][..], &["u".to_owned()][..])
    );
    let small = blocks.iter().find(|b| b.finding_ids.len() == 1).expect("a block");
    assert_eq!(small.unit_ids, ["file:c.rs"]);
}

#[test]
fn files_that_need_each_other_join_inside_a_unit_and_wait_across_units() {
    let findings = merged(vec![at("u/a.rs", 1), at("u/b.rs", 1), at("v/c.rs", 1)]);
    let blocks = derive_blocks(&findings, &[edge("u/a.rs", "u/b.rs"), edge("u/a.rs", "v/c.rs")], &unit_of);
    assert_eq!(blocks.len(), 2);
    let user = blocks.iter().find(|b| b.owned_files.len() == 2).expect("a block");
    let used = blocks.iter().find(|b| b.owned_files == ["v/c.rs"]).expect("a block");
    assert_eq!(user.depends_on, std::slice::from_ref(&used.id));
    assert!(used.depends_on.is_empty());
}

#[test]
fn a_systemic_finding_coordinates_and_fuses_nothing() {
    let mut all = also(at("u/a.rs", 50), &["v/c.rs", "w/d.rs"]);
    all.systemic = Some(true);
    let findings = merged(vec![at("u/a.rs", 1), at("v/c.rs", 1), all]);
    let blocks = derive_blocks(&findings, &[], &unit_of);
    assert_eq!(blocks.len(), 3);
    let coordination = blocks.iter().find(|b| b.role == BlockRole::Coordination).expect("a block");
    assert_eq!((coordination.unit_ids.len(), &coordination.owned_files[..]), (3, &["w/d.rs".to_owned()][..]));
}

#[test]
fn refuted_findings_are_no_work() {
    let mut findings = merged(vec![at("a.rs", 1)]);
    let by = crate::review::Judge {
        task_name: "d".into(),
        reviewer: super::sample::reviewer(crate::result::ReviewerKind::Agent),
        launch: None,
    };
    findings[0].verification = VerificationState::Refuted { reason: "no".into(), by };
    assert!(derive_blocks(&findings, &[], &unit_of).is_empty());
}

#[test]
fn block_ids_follow_their_findings_and_nothing_else() {
    let blocks = |extra: bool| {
        let mut list = vec![at("a.rs", 1), at("b.rs", 1)];
        if extra {
            list.push(Finding { severity: Severity::Critical, ..at("0.rs", 1) });
        }
        derive_blocks(&merged(list), &[], &unit_of).into_iter().map(|b| b.id).collect::<BTreeSet<_>>()
    };
    assert!(blocks(false).is_subset(&blocks(true)));
}

fn is_acyclic(blocks: &[WorkBlock]) -> bool {
    let mut waiting: HashMap<&str, BTreeSet<&str>> =
        blocks.iter().map(|b| (b.id.as_str(), b.depends_on.iter().map(String::as_str).collect())).collect();
    while !waiting.is_empty() {
        let ready: Vec<&str> = waiting.iter().filter(|(_, needs)| needs.is_empty()).map(|(id, _)| *id).collect();
        if ready.is_empty() {
            return false;
        }
        for id in ready {
            waiting.remove(id);
            waiting.values_mut().for_each(|needs| {
                needs.remove(id);
            });
        }
    }
    true
}

#[test]
fn blocks_are_bounded_acyclic_and_hold_each_finding_once() {
    for seed in 1..300 {
        let mut dice = Dice::new(seed);
        let name = |dice: &mut Dice| format!("u{}/f{}.rs", dice.roll(3), dice.roll(20));
        let findings: Vec<Finding> = (0..dice.roll(120))
            .map(|n| {
                let mut finding = at(&name(&mut dice), 1 + n * 3);
                finding.title = format!("thing{n}");
                finding.severity = *dice.pick(&Severity::WORST_FIRST);
                finding.systemic = (dice.roll(15) == 0).then_some(true);
                let others: Vec<String> = (0..dice.roll(30) / 10 * 9).map(|_| name(&mut dice)).collect();
                also(finding, &others.iter().map(String::as_str).collect::<Vec<_>>())
            })
            .collect();
        let edges: Vec<_> = (0..40).map(|_| (name(&mut dice), name(&mut dice))).collect();
        let findings = merged(findings);
        let blocks = derive_blocks(&findings, &edges, &unit_of);
        assert!(is_acyclic(&blocks), "seed {seed}");
        let mut held: BTreeMap<&str, usize> = BTreeMap::new();
        let mut owned: BTreeSet<&str> = BTreeSet::new();
        for block in &blocks {
            assert!(block.finding_ids.len() <= BLOCK_FINDINGS && block.owned_files.len() <= BLOCK_FILES);
            block.finding_ids.iter().for_each(|id| *held.entry(id.as_str()).or_default() += 1);
            assert!(block.owned_files.iter().all(|file| owned.insert(file)), "seed {seed}: two owners");
        }
        assert_eq!(held.len(), findings.len(), "seed {seed}");
        assert!(held.values().all(|n| *n == 1), "seed {seed}");
    }
}

#[test]
fn a_long_chain_of_needs_is_walked_without_recursion() {
    let count = 20_000;
    let path = |n: usize| format!("u{n}/f.rs");
    let findings = merged((0..count).map(|n| Finding { title: format!("thing{n}"), ..at(&path(n), 1) }).collect());
    let edges: Vec<_> = (0..count).map(|n| (path(n), path((n + 1) % count))).collect();
    let blocks = derive_blocks(&findings, &edges, &unit_of);
    assert_eq!(blocks.iter().map(|b| b.depends_on.len()).sum::<usize>(), count - 1);
}
