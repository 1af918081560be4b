//! The design assessment: cycles, hubs and orphans as leads with evidence, for a reviewer to judge.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::inventory::FileKind;

use super::graph::{Edge, Graph};
use super::surfaces::Surface;
use super::table::{FileTable, number};
use super::work;

/// Edges that are less sure than this make no cycle.
const LEAST_CONFIDENCE: f32 = 0.5;
/// A hub is needed by and needs at least this many files: a change anywhere reaches it, and it reaches everywhere.
const HUB_IN: usize = 15;
const HUB_OUT: usize = 10;
/// Bounds on what is listed; the title tells the whole number.
const MAX_FILES: usize = 20;
const MAX_EVIDENCE: usize = 5;
const MAX_HUBS: usize = 20;
const MAX_ORPHANS: usize = 50;

/// What kind of lead it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LeadKind {
    /// Files that need each other in a ring.
    Cycle,
    /// A file that many need and that needs many.
    Hub,
    /// A file that nothing needs and that needs nothing.
    Orphan,
}

/// A place that a lead rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeadEvidence {
    /// File.
    pub path: String,
    /// Line, from 1.
    pub line: u32,
    /// What is there.
    pub text: String,
}

/// Something about the design that is worth a look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DesignLead {
    /// What kind.
    pub kind: LeadKind,
    /// One line.
    pub title: String,
    /// Files, sorted; the first of them where there are many.
    pub files: Vec<String>,
    /// At least one place.
    pub evidence: Vec<LeadEvidence>,
}

/// Cycles, then hubs, then orphans, each by path.
pub(super) fn derive_leads(table: &FileTable<'_>, graph: &Graph<'_>, surfaces: &[Surface]) -> Vec<DesignLead> {
    let mut leads: Vec<DesignLead> =
        strong_components(table.len(), graph).iter().map(|files| cycle_lead(files, table, graph)).collect();
    leads.extend(hub_leads(table, graph));
    leads.extend(orphan_leads(table, graph, surfaces));
    leads
}

/// A module that names its parts, and files of one package, are a whole by construction: such edges make no ring.
fn counts(edge: &Edge) -> bool {
    !edge.test && edge.confidence >= LEAST_CONFIDENCE && !matches!(edge.kind.as_str(), "module" | "package")
}

const UNSEEN: u32 = u32::MAX;

/// Tarjan's strongly connected components of two or more files, by their first file. The path is kept in a vector, not on the
/// call stack, so that a chain of any length can be followed.
pub(super) fn strong_components(files: usize, graph: &Graph<'_>) -> Vec<Vec<u32>> {
    let mut order = vec![UNSEEN; files];
    let mut low = vec![0u32; files];
    let mut on_stack = vec![false; files];
    let (mut stack, mut found, mut next) = (Vec::new(), Vec::new(), 0u32);
    for root in 0..number(files) {
        if order[root as usize] != UNSEEN {
            continue;
        }
        let mut path: Vec<(u32, usize)> = vec![(root, 0)];
        while let Some((file, at)) = path.last_mut() {
            work::tick();
            let here = *file as usize;
            if *at == 0 {
                order[here] = next;
                low[here] = next;
                next += 1;
                stack.push(*file);
                on_stack[here] = true;
            }
            let step = graph.out_edge(*file, *at);
            *at += 1;
            match step {
                Some(edge) if !counts(edge) => {}
                Some(edge) if order[edge.target as usize] == UNSEEN => path.push((edge.target, 0)),
                Some(edge) if on_stack[edge.target as usize] => {
                    low[here] = low[here].min(order[edge.target as usize]);
                }
                Some(_) => {}
                None => {
                    let done = *file;
                    path.pop();
                    if let Some((parent, _)) = path.last() {
                        low[*parent as usize] = low[*parent as usize].min(low[here]);
                    }
                    if low[here] == order[here] {
                        take_component(done, &mut stack, &mut on_stack, &mut found);
                    }
                }
            }
        }
    }
    found.sort();
    found
}

fn take_component(root: u32, stack: &mut Vec<u32>, on_stack: &mut [bool], found: &mut Vec<Vec<u32>>) {
    let mut component = Vec::new();
    while let Some(file) = stack.pop() {
        on_stack[file as usize] = false;
        component.push(file);
        if file == root {
            break;
        }
    }
    if component.len() > 1 {
        component.sort_unstable();
        found.push(component);
    }
}

fn evidence_of(edge: &Edge, table: &FileTable<'_>) -> LeadEvidence {
    LeadEvidence {
        path: table.path(edge.source).to_owned(),
        line: edge.span.start_line.max(1),
        text: format!("{} of {}", edge.kind, table.path(edge.target)),
    }
}

fn paths_of(files: &[u32], table: &FileTable<'_>) -> Vec<String> {
    files.iter().take(MAX_FILES).map(|file| table.path(*file).to_owned()).collect()
}

fn cycle_lead(files: &[u32], table: &FileTable<'_>, graph: &Graph<'_>) -> DesignLead {
    let members: HashSet<u32> = files.iter().copied().collect();
    let evidence = files
        .iter()
        .flat_map(|file| graph.outgoing(*file))
        .inspect(|_| work::tick())
        .filter(|edge| counts(edge) && members.contains(&edge.target))
        .take(MAX_EVIDENCE)
        .map(|edge| evidence_of(edge, table))
        .collect();
    let title = format!("{} files need each other in a cycle", files.len());
    DesignLead { kind: LeadKind::Cycle, title, files: paths_of(files, table), evidence }
}

fn hub_leads(table: &FileTable<'_>, graph: &Graph<'_>) -> Vec<DesignLead> {
    let mut hubs: Vec<(usize, usize, u32)> = table
        .numbers()
        .filter(|file| table.row(*file).kind != FileKind::Test)
        .map(|file| (graph.incoming(file).filter(|edge| counts(edge)).count(), graph.out_degree(file), file))
        .filter(|(incoming, outgoing, _)| *incoming >= HUB_IN && *outgoing >= HUB_OUT)
        .collect();
    hubs.sort_by_key(|(incoming, outgoing, file)| (std::cmp::Reverse(incoming * outgoing), *file));
    hubs.truncate(MAX_HUBS);
    hubs.sort_by_key(|hub| hub.2);
    hubs.into_iter()
        .map(|(incoming, outgoing, file)| DesignLead {
            kind: LeadKind::Hub,
            title: format!("{incoming} files need it and it needs {outgoing}"),
            files: paths_of(&[file], table),
            evidence: graph.outgoing(file).take(MAX_EVIDENCE).map(|edge| evidence_of(edge, table)).collect(),
        })
        .collect()
}

/// Only in languages whose imports are understood here: where most files have no edge, the absence of one says nothing.
fn orphan_leads(table: &FileTable<'_>, graph: &Graph<'_>, surfaces: &[Surface]) -> Vec<DesignLead> {
    let alone = |file: u32| graph.out_degree(file) == 0 && graph.incoming(file).next().is_none();
    let mut by_language: HashMap<&str, (usize, usize)> = HashMap::new();
    let sources = || table.numbers().filter(|file| table.row(*file).kind == FileKind::Source);
    for file in sources() {
        let (all, orphans) = by_language.entry(&table.row(file).language).or_default();
        *all += 1;
        *orphans += usize::from(alone(file));
    }
    let entries: HashSet<&str> = surfaces.iter().map(|surface| surface.path.as_str()).collect();
    sources()
        .filter(|file| alone(*file) && !entries.contains(table.path(*file)))
        .filter(|file| by_language.get(table.row(*file).language.as_str()).is_some_and(|(all, none)| none * 4 <= *all))
        .take(MAX_ORPHANS)
        .map(|file| DesignLead {
            kind: LeadKind::Orphan,
            title: "no file needs it and it needs none".to_owned(),
            files: paths_of(&[file], table),
            evidence: vec![LeadEvidence {
                path: table.path(file).to_owned(),
                line: 1,
                text: format!("{} lines without an edge", table.row(file).lines.unwrap_or(0)),
            }],
        })
        .collect()
}
