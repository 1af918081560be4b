//! What the facts and relations say of the repository as a whole.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::fact::{FileFacts, Relation};
use crate::inventory::Inventory;

use super::design::{self, DesignLead};
use super::flows::{self, Flow};
use super::graph::{self, Edge, Graph};
use super::risk::{self, FileRisk};
use super::signals;
use super::surfaces::{self, Surface};
use super::table::FileTable;
use super::testing;
use super::units::{self, Unit};

/// Units, edges, surfaces, flows, risks and leads of one inventory. The same input gives the same bytes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Structure {
    /// Paths of all auditable files, sorted by bytes; edges name files by their position here.
    pub files: Vec<String>,
    /// Units by id. Every file is in exactly one.
    pub units: Vec<Unit>,
    /// Edges by source, then target.
    pub edges: Vec<Edge>,
    /// Ways in, by path and line.
    pub surfaces: Vec<Surface>,
    /// Ways from a surface to something dangerous, by id; never more than files.
    pub flows: Vec<Flow>,
    /// Risk of every file, in the order of `files`.
    pub risks: Vec<FileRisk>,
    /// Leads of the design assessment: not findings.
    pub leads: Vec<DesignLead>,
}

impl Structure {
    /// Position of a path in `files`.
    pub fn index_of(&self, path: &str) -> Option<usize> {
        self.files.binary_search_by(|known| known.as_bytes().cmp(path.as_bytes())).ok()
    }

    /// Risk of a path; absent when the path is unknown.
    pub fn risk_of(&self, path: &str) -> Option<&FileRisk> {
        self.risks.get(self.index_of(path)?)
    }
}

/// Derives the structure. `churn` counts recent commits by path. Facts and relations of files that are not auditable are
/// passed over; the work grows with the sum of the inputs.
pub fn derive_structure(
    inventory: &Inventory,
    facts: &[FileFacts],
    relations: &[Relation],
    churn: &BTreeMap<String, u32>,
) -> Structure {
    let table = FileTable::of(inventory);
    let signals = signals::derive_signals(&table, facts);
    let edges = graph::derive_edges(&table, relations);
    let graph = Graph::of(table.len(), &edges);
    let units = units::derive_units(inventory, &table, &graph);
    let surfaces = surfaces::derive_surfaces(&table, &signals);
    let flows = flows::derive_flows(&table, &signals, &graph, &surfaces);
    let tested = testing::derive_tested(&table, &signals, &graph);
    let evidence = risk::RiskEvidence {
        table: &table,
        signals: &signals,
        surfaces: &surfaces,
        flows: &flows,
        fan_in: &graph.fan_in(&table),
        tested: &tested,
        churn,
    };
    let risks = risk::derive_risks(&evidence);
    let leads = design::derive_leads(&table, &graph, &surfaces);
    let files = table.rows.iter().map(|row| row.path.clone()).collect();
    Structure { files, units, edges, surfaces, flows, risks, leads }
}
