//! Flows: short ways over real edges from a surface to files in which something dangerous is done.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::inventory::FileKind;
use crate::result::Severity;

use super::graph::Graph;
use super::risk::sink_points;
use super::signals::FileSignals;
use super::surfaces::Surface;
use super::table::FileTable;
use super::work;

/// Most files of a flow: what still fits one task with room for its neighbours.
pub const MAX_FLOW_FILES: usize = 12;
/// Farther than this from its surface, a sink says little about it.
const MAX_DEPTH: u8 = 6;
/// Bounds on what is looked at from one start, so that all starts together stay linear.
const MAX_VISITED: usize = 256;
const MAX_EDGES: usize = 1_024;
/// Edges that are less sure than this carry no flow.
const LEAST_EDGE_CONFIDENCE: f32 = 0.3;

/// The end of a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowSink {
    /// File.
    pub path: String,
    /// What is done there: a sink's name, or the rule of a severe finding.
    pub what: String,
}

/// Ways from one starting file to a few sinks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Flow {
    /// The starting file's path: one file starts one flow, so that there are never more flows than files.
    pub id: String,
    /// The surface that it starts from.
    pub surface: String,
    /// Where it ends.
    pub sinks: Vec<FlowSink>,
    /// All files on the way, the start first; from two to [`MAX_FLOW_FILES`].
    pub files: Vec<String>,
    /// Confidence of the surface times that of the edges on the surest way, 0 to 1.
    pub confidence: f32,
}

/// Finds at most one flow for each file that has a surface; sorted by id.
pub(super) fn derive_flows(
    table: &FileTable<'_>,
    signals: &[FileSignals<'_>],
    graph: &Graph<'_>,
    surfaces: &[Surface],
) -> Vec<Flow> {
    let ends: Vec<u32> = signals.iter().map(end_weight).collect();
    let mut search = Search::new(table.len());
    let mut flows = Vec::new();
    // Surfaces are sorted by path; the surest one of a file starts its flow.
    for of_file in surfaces.chunk_by(|a, b| a.path == b.path) {
        let surest = of_file.iter().reduce(|a, b| if b.confidence > a.confidence { b } else { a });
        let (Some(surface), Some(start)) = (surest, of_file.first().and_then(|first| table.find(&first.path))) else {
            continue;
        };
        let reached = search.run(start, table, graph);
        flows.extend(build_flow(surface, start, &reached, &search, &Ends { table, signals, weights: &ends }));
    }
    flows
}

/// How dangerous a file is as the end of a flow; 0 when it is none.
fn end_weight(signal: &FileSignals<'_>) -> u32 {
    let sinks: u32 = signal.sinks.keys().map(|sink| u32::from(sink_points(sink))).sum();
    let finding = match signal.worst_finding() {
        Some((Severity::Critical, _)) => 20,
        Some((Severity::High, _)) => 12,
        _ => 0,
    };
    sinks + finding
}

struct Ends<'a> {
    table: &'a FileTable<'a>,
    signals: &'a [FileSignals<'a>],
    weights: &'a [u32],
}

impl Ends<'_> {
    fn describe(&self, file: u32) -> FlowSink {
        let signal = &self.signals[file as usize];
        let sink = signal.sinks.keys().max_by_key(|sink| (sink_points(sink), std::cmp::Reverse(**sink)));
        let what = match (sink, signal.worst_finding()) {
            (Some(sink), _) => format!("sink/{sink}"),
            (None, Some((_, finding))) => finding.rule.clone(),
            (None, None) => String::new(),
        };
        FlowSink { path: self.table.path(file).to_owned(), what }
    }
}

/// A breadth-first search whose arrays are made once and told apart by stamps.
struct Search {
    stamp: Vec<u32>,
    parent: Vec<u32>,
    depth: Vec<u8>,
    confidence: Vec<f32>,
    round: u32,
}

impl Search {
    fn new(files: usize) -> Self {
        Self {
            stamp: vec![0; files],
            parent: vec![0; files],
            depth: vec![0; files],
            confidence: vec![0.0; files],
            round: 0,
        }
    }

    /// Files within reach, nearest first, the start not among them.
    fn run(&mut self, start: u32, table: &FileTable<'_>, graph: &Graph<'_>) -> Vec<u32> {
        self.round += 1;
        self.enter(start, start, 0, 1.0);
        let (mut reached, mut edges) = (Vec::new(), 0);
        let mut open = VecDeque::from([start]);
        while let Some(file) = open.pop_front() {
            let (depth, confidence) = (self.depth[file as usize], self.confidence[file as usize]);
            if depth == MAX_DEPTH {
                break;
            }
            for edge in graph.outgoing(file) {
                work::tick();
                edges += 1;
                if edges > MAX_EDGES || reached.len() >= MAX_VISITED {
                    return reached;
                }
                let passable = !edge.test && edge.confidence >= LEAST_EDGE_CONFIDENCE;
                let seen = self.stamp[edge.target as usize] == self.round;
                if passable && !seen && table.row(edge.target).kind != FileKind::Test {
                    self.enter(edge.target, file, depth + 1, confidence * edge.confidence);
                    reached.push(edge.target);
                    open.push_back(edge.target);
                }
            }
        }
        reached
    }

    fn enter(&mut self, file: u32, parent: u32, depth: u8, confidence: f32) {
        let at = file as usize;
        self.stamp[at] = self.round;
        self.parent[at] = parent;
        self.depth[at] = depth;
        self.confidence[at] = confidence;
    }

    /// The way back from a file that was reached: nearest to the start last.
    fn way_to(&self, mut file: u32) -> Vec<u32> {
        let mut way = Vec::new();
        while self.depth[file as usize] > 0 {
            way.push(file);
            file = self.parent[file as usize];
        }
        way
    }
}

fn build_flow(surface: &Surface, start: u32, reached: &[u32], search: &Search, ends: &Ends<'_>) -> Option<Flow> {
    let mut sinks: Vec<u32> = reached.iter().copied().filter(|file| ends.weights[*file as usize] > 0).collect();
    sinks.sort_by_key(|file| (std::cmp::Reverse(ends.weights[*file as usize]), search.depth[*file as usize], *file));
    let (mut files, mut kept, mut surest) = (vec![start], Vec::new(), 0.0f32);
    for sink in sinks {
        work::tick();
        if files.len() >= MAX_FLOW_FILES {
            break;
        }
        let way: Vec<u32> = search.way_to(sink).into_iter().filter(|file| !files.contains(file)).collect();
        if files.len() + way.len() <= MAX_FLOW_FILES {
            files.extend(way.into_iter().rev());
            surest = surest.max(search.confidence[sink as usize]);
            kept.push(ends.describe(sink));
        }
    }
    (files.len() > 1).then(|| Flow {
        id: surface.path.clone(),
        surface: surface.id.clone(),
        sinks: kept,
        files: files.into_iter().map(|file| ends.table.path(file).to_owned()).collect(),
        confidence: surface.confidence * surest,
    })
}
