//! Relations as edges between numbered files, with adjacency in both directions.

use serde::{Deserialize, Serialize};

use crate::fact::{Relation, Span};
use crate::inventory::FileKind;
use crate::task::Task;

use super::structure::Structure;
use super::table::{FileTable, number};
use super::work;

/// One file needs another; all relations between the two in one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Edge {
    /// File that needs: position in the structure's `files`.
    pub source: u32,
    /// File that is needed: position in the structure's `files`.
    pub target: u32,
    /// Kind of the most confident relation: `import`, `call`, …
    pub kind: String,
    /// Highest confidence, 0 to 1.
    pub confidence: f32,
    /// How many relations there are.
    pub relations: u32,
    /// Evidence of the most confident relation in the source file.
    pub span: Span,
    /// Whether it only says that one file tests the other.
    pub test: bool,
}

/// Merges relations between known files; unknown files, self-references and odd confidences are no reason to fail.
pub(super) fn derive_edges(table: &FileTable<'_>, relations: &[Relation]) -> Vec<Edge> {
    let mut found: Vec<(u32, u32, &Relation)> = relations
        .iter()
        .inspect(|_| work::tick())
        .filter_map(|relation| Some((table.find(&relation.source)?, table.find(&relation.target)?, relation)))
        .filter(|(source, target, _)| source != target)
        .collect();
    // The strongest relation of a pair comes first and names it; ties are settled by what can be seen.
    found.sort_by(|a, b| {
        let strength = |relation: &Relation| (is_test(relation), std::cmp::Reverse(thousandths(relation.confidence)));
        (a.0, a.1, strength(a.2), a.2.span, &a.2.kind).cmp(&(b.0, b.1, strength(b.2), b.2.span, &b.2.kind))
    });
    let mut edges: Vec<Edge> = Vec::with_capacity(found.len());
    for (source, target, relation) in found {
        match edges.last_mut() {
            Some(last) if (last.source, last.target) == (source, target) => last.relations += 1,
            _ => edges.push(Edge {
                source,
                target,
                kind: relation.kind.clone(),
                confidence: f32::from(thousandths(relation.confidence)) / 1_000.0,
                relations: 1,
                span: relation.span,
                test: is_test(relation),
            }),
        }
    }
    edges
}

fn is_test(relation: &Relation) -> bool {
    relation.kind == "test-of"
}

/// Confidence as an integer that can be ordered; what is not a number is no confidence.
fn thousandths(confidence: f32) -> u16 {
    if confidence.is_nan() { 0 } else { (confidence.clamp(0.0, 1.0) * 1_000.0) as u16 }
}

/// Adjacency over the edges, in two arrays a direction.
pub(super) struct Graph<'e> {
    edges: &'e [Edge],
    outgoing: Lists,
    incoming: Lists,
}

impl<'e> Graph<'e> {
    /// Adjacency of `files` files.
    pub(super) fn of(files: usize, edges: &'e [Edge]) -> Self {
        Self {
            edges,
            outgoing: Lists::of(files, edges, |edge| edge.source),
            incoming: Lists::of(files, edges, |edge| edge.target),
        }
    }

    /// Edges that leave the file, in path order of their targets.
    pub(super) fn outgoing(&self, file: u32) -> impl Iterator<Item = &'e Edge> {
        self.outgoing.of_file(file).iter().map(|at| &self.edges[*at as usize])
    }

    /// Edges that reach the file, in path order of their sources.
    pub(super) fn incoming(&self, file: u32) -> impl Iterator<Item = &'e Edge> {
        self.incoming.of_file(file).iter().map(|at| &self.edges[*at as usize])
    }

    /// How many edges leave the file.
    pub(super) fn out_degree(&self, file: u32) -> usize {
        self.outgoing.of_file(file).len()
    }

    /// The `at`-th edge that leaves the file.
    pub(super) fn out_edge(&self, file: u32, at: usize) -> Option<&'e Edge> {
        self.outgoing.of_file(file).get(at).map(|edge| &self.edges[*edge as usize])
    }

    /// How many files of the program, tests left out, need each file.
    pub(super) fn fan_in(&self, table: &FileTable<'_>) -> Vec<u32> {
        let mut fan_in = vec![0u32; table.len()];
        for edge in self.edges {
            work::tick();
            if !edge.test && table.row(edge.source).kind != FileKind::Test {
                fan_in[edge.target as usize] += 1;
            }
        }
        fan_in
    }
}

/// Edge numbers by file: `starts[f]..starts[f + 1]` of `edges`.
struct Lists {
    starts: Vec<u32>,
    edges: Vec<u32>,
}

impl Lists {
    fn of(files: usize, edges: &[Edge], end: impl Fn(&Edge) -> u32) -> Self {
        let inside = |edge: &Edge| (edge.source as usize) < files && (edge.target as usize) < files;
        let mut starts = vec![0u32; files + 1];
        for edge in edges.iter().filter(|edge| inside(edge)) {
            work::tick();
            starts[end(edge) as usize + 1] += 1;
        }
        for file in 0..files {
            starts[file + 1] += starts[file];
        }
        let mut next = starts.clone();
        let mut numbers = vec![0u32; starts[files] as usize];
        for (at, edge) in edges.iter().enumerate().filter(|(_, edge)| inside(edge)) {
            let slot = &mut next[end(edge) as usize];
            numbers[*slot as usize] = number(at);
            *slot += 1;
        }
        Self { starts, edges: numbers }
    }

    fn of_file(&self, file: u32) -> &[u32] {
        let file = file as usize;
        match (self.starts.get(file), self.starts.get(file + 1)) {
            (Some(from), Some(to)) => &self.edges[*from as usize..*to as usize],
            _ => &[],
        }
    }
}

/// An edge that touches a file under review, by paths.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NearEdge {
    /// File that needs.
    pub source: String,
    /// File that is needed.
    pub target: String,
    /// Kind of relation.
    pub kind: String,
}

/// A structure's edges, ready to be asked for what lies around a few files. Made once for many packets.
pub struct Neighbourhood<'s> {
    structure: &'s Structure,
    graph: Graph<'s>,
}

impl<'s> Neighbourhood<'s> {
    /// Indexes the edges of the structure.
    pub fn of(structure: &'s Structure) -> Self {
        Self { structure, graph: Graph::of(structure.files.len(), &structure.edges) }
    }

    /// At most `limit` edges that touch files of the tasks, those between two of them first, then by path.
    pub fn edges_near(&self, tasks: &[&Task], limit: usize) -> Vec<NearEdge> {
        let mut inside: Vec<u32> = tasks
            .iter()
            .flat_map(|task| &task.files)
            .filter_map(|file| self.structure.index_of(&file.path))
            .map(number)
            .collect();
        inside.sort_unstable();
        inside.dedup();
        let mut near: Vec<(bool, u32, u32, &str)> = Vec::new();
        for &file in &inside {
            // A hub's edges would drown the rest; a few from each side tell as much.
            for edge in self.graph.outgoing(file).take(limit).chain(self.graph.incoming(file).take(limit)) {
                let outside =
                    inside.binary_search(&edge.source).is_err() || inside.binary_search(&edge.target).is_err();
                near.push((outside, edge.source, edge.target, &edge.kind));
            }
        }
        near.sort_unstable();
        near.dedup();
        let path = |file: u32| self.structure.files.get(file as usize).cloned().unwrap_or_default();
        near.into_iter()
            .take(limit)
            .map(|(_, source, target, kind)| NearEdge {
                source: path(source),
                target: path(target),
                kind: kind.to_owned(),
            })
            .collect()
    }
}
