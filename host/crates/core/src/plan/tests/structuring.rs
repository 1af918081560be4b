//! Units, flows, risks and leads.

use std::collections::{BTreeMap, BTreeSet};

use crate::fact::Relation;
use crate::plan::fixture::{facts, inventory, manifest, needs, repository, route, row, sink};
use crate::plan::{
    LeadKind, MAX_FLOW_FILES, MAX_UNIT_FILES, MAX_UNIT_LINES, Structure, UnitKind, derive_structure, work,
};

fn structure_of(rows: Vec<crate::inventory::FileRow>, relations: &[Relation]) -> Structure {
    derive_structure(&inventory(rows), &[], relations, &BTreeMap::new())
}

#[test]
fn every_file_is_in_exactly_one_bounded_unit() {
    let mut rows: Vec<_> = (0..500).map(|at| row(&format!("flat/file{at:03}.rs"), 100)).collect();
    rows.extend((0..90).map(|at| row(&format!("app/d{}/f{at}.rs", at % 30), 50)));
    rows.push(row("huge.rs", 50_000));
    rows.push(manifest("app/Cargo.toml"));
    let structure = structure_of(rows, &[]);
    let mut paths: Vec<&str> = structure.units.iter().flat_map(|unit| &unit.files).map(String::as_str).collect();
    paths.sort_unstable();
    assert_eq!(paths, structure.files);
    for unit in &structure.units {
        let alone = unit.files.len() == 1;
        assert!(unit.files.len() <= MAX_UNIT_FILES && (alone || unit.lines <= MAX_UNIT_LINES), "{}", unit.id);
    }
    let ids: BTreeSet<_> = structure.units.iter().map(|unit| &unit.id).collect();
    assert_eq!(ids.len(), structure.units.len());
}

#[test]
fn packages_come_before_directories_and_keep_their_ids() {
    let mut rows = vec![manifest("a/Cargo.toml"), manifest("a/inner/package.json"), row("top.rs", 9)];
    rows.extend((0..10).map(|at| row(&format!("a/src/f{at}.rs"), 10)));
    rows.extend((0..10).map(|at| row(&format!("a/inner/f{at}.rs"), 10)));
    let before = structure_of(rows.clone(), &[]);
    let ids: Vec<_> = before.units.iter().map(|unit| (unit.id.as_str(), unit.kind)).collect();
    let expected = [(".", UnitKind::Directory), ("a", UnitKind::Package), ("a/inner", UnitKind::Package)];
    assert_eq!(ids, expected);
    rows.push(row("a/src/another.rs", 10));
    let after = structure_of(rows, &[]);
    assert!(before.units.iter().all(|unit| after.units.iter().any(|other| other.id == unit.id)));
}

#[test]
fn a_flow_goes_from_a_route_to_a_sink() {
    let inventory = inventory(["api", "service", "db", "other"].map(|name| row(&format!("{name}.rs"), 50)).to_vec());
    let facts = [facts("api.rs", vec![route("/users")]), facts("db.rs", vec![sink("sql")])];
    let relations = [needs("api.rs", "service.rs"), needs("service.rs", "db.rs"), needs("db.rs", "api.rs")];
    let structure = derive_structure(&inventory, &facts, &relations, &BTreeMap::new());
    assert_eq!(structure.flows.len(), 1);
    let flow = &structure.flows[0];
    assert_eq!(flow.files, ["api.rs", "service.rs", "db.rs"]);
    assert_eq!((flow.sinks[0].path.as_str(), flow.sinks[0].what.as_str()), ("db.rs", "sink/sql"));
    assert!(flow.confidence > 0.7 && flow.confidence < 0.75);
    assert_eq!(structure.surfaces[0].span.start_line, 3);
}

#[test]
fn risk_is_the_sum_of_its_signals_and_orders_files() {
    let repository = repository(500);
    let churn = BTreeMap::from([(repository.inventory.rows[3].path.clone(), 200)]);
    let structure = derive_structure(&repository.inventory, &repository.facts, &repository.relations, &churn);
    for risk in &structure.risks {
        let sum: u32 = risk.signals.iter().map(|signal| u32::from(signal.points)).sum();
        assert_eq!(sum, u32::from(risk.score), "{}", risk.path);
    }
    let scores: BTreeSet<u8> = structure.risks.iter().map(|risk| risk.score).collect();
    assert!(scores.len() > 10 && scores.iter().all(|score| *score < 100), "{scores:?}");
    assert!(structure.flows.iter().all(|flow| (2..=MAX_FLOW_FILES).contains(&flow.files.len())));
    assert!(!structure.flows.is_empty() && structure.flows.len() <= structure.files.len());
}

#[test]
fn a_cycle_as_long_as_the_repository_is_found_without_recursion() {
    let names: Vec<String> = (0..100_000).map(|at| format!("f{at:06}.rs")).collect();
    let rows = names.iter().map(|name| row(name, 1)).collect();
    let mut chain: Vec<Relation> = names.windows(2).map(|pair| needs(&pair[0], &pair[1])).collect();
    let cycles = |structure: &Structure| structure.leads.iter().filter(|lead| lead.kind == LeadKind::Cycle).count();
    let inventory = inventory(rows);
    let open = derive_structure(&inventory, &[], &chain, &BTreeMap::new());
    assert_eq!(cycles(&open), 0);
    chain.push(needs(&names[99_999], &names[0]));
    let closed = derive_structure(&inventory, &[], &chain, &BTreeMap::new());
    assert_eq!(cycles(&closed), 1);
    assert!(closed.leads[0].title.starts_with("100000 files"));
    assert!(!closed.leads[0].evidence.is_empty());
}

#[test]
fn hubs_and_orphans_are_leads_with_evidence() {
    let mut rows: Vec<_> = (0..60).map(|at| row(&format!("f{at:02}.rs"), 20)).collect();
    rows.push(row("hub.rs", 20));
    rows.push(row("lonely.rs", 20));
    let relations: Vec<_> = (0..60)
        .map(|at| format!("f{at:02}.rs"))
        .flat_map(|name| {
            if name.as_str() < "f30" {
                [needs(&name, "hub.rs"), needs("hub.rs", "hub.rs")]
            } else {
                [needs("hub.rs", &name), needs("x", "y")]
            }
        })
        .collect();
    let structure = structure_of(rows, &relations);
    let of = |kind| {
        structure.leads.iter().filter(|lead| lead.kind == kind).map(|lead| lead.files.clone()).collect::<Vec<_>>()
    };
    assert_eq!(of(LeadKind::Hub), [["hub.rs"]]);
    assert_eq!(of(LeadKind::Orphan), [["lonely.rs"]]);
    assert!(structure.leads.iter().all(|lead| !lead.evidence.is_empty()));
}

#[test]
fn the_same_repository_gives_the_same_bytes_in_whatever_order_facts_come() {
    let repository = repository(300);
    let churn = BTreeMap::new();
    let once = derive_structure(&repository.inventory, &repository.facts, &repository.relations, &churn);
    let (mut facts, mut relations) = (repository.facts.clone(), repository.relations.clone());
    facts.reverse();
    relations.reverse();
    let again = derive_structure(&repository.inventory, &facts, &relations, &churn);
    assert_eq!(serde_json::to_string(&once).ok(), serde_json::to_string(&again).ok());
}

#[test]
fn strange_relations_and_facts_do_no_harm() {
    let mut odd = needs("a.rs", "b.rs");
    odd.confidence = f32::NAN;
    let relations = [odd, needs("a.rs", "a.rs"), needs("nowhere", "a.rs"), needs("a.rs", "../../etc/passwd")];
    let inventory = inventory(vec![row("a.rs", 10), row("b.rs", 10), row("b.rs", 10)]);
    let facts = [facts("nowhere", vec![sink("sql")])];
    let structure = derive_structure(&inventory, &facts, &relations, &BTreeMap::new());
    assert_eq!(structure.edges.len(), 1);
    assert_eq!(structure.edges[0].confidence, 0.0);
    assert_eq!(structure.files.len(), 2);
}

#[test]
fn the_work_of_structure_grows_with_the_input() {
    let steps = |files: usize| {
        let repository = repository(files);
        work::take();
        derive_structure(&repository.inventory, &repository.facts, &repository.relations, &BTreeMap::new());
        work::take()
    };
    // Below a few thousand files, searches end at the repository's edge and not at their bounds.
    let (small, large) = (steps(4_000), steps(16_000));
    assert!(large * 10 < small * 46, "{small} steps for 4,000 files, {large} for 16,000");
}
