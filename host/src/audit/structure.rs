//! The structure: units, edges, surfaces, flows, risks and leads, made again when the inventory or an analyzer changes.

use std::collections::BTreeMap;

use assize_core::id::Digest;
use assize_core::plan::{Structure, derive_structure};
use serde::{Deserialize, Serialize};

use super::analysis::{AnalyzerProblem, Facts, analyzers_digest};
use super::inventory::Surveyed;
use super::open::load;
use super::{Audit, AuditError};
use crate::clock;
use crate::components::Catalog;
use crate::config::Settings;

/// Name of the artifact.
pub(super) const STRUCTURE: &str = "structure";
/// Version of the derivation: a change of it makes recorded structures stale.
const STRUCTURE_VERSION: &[u8] = b"1";

/// What is recorded.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StructureRecord {
    /// The structure.
    pub structure: Structure,
    /// What analyzers could not look at.
    pub problems: Vec<AnalyzerProblem>,
    /// What the survey got over: path and message.
    #[serde(default)]
    pub survey: Vec<(String, String)>,
}

impl Audit {
    /// The structure, from the store when it is current, and the facts where they had to be gathered for it.
    pub async fn refresh_structure(
        &mut self,
        surveyed: &Surveyed,
    ) -> Result<(StructureRecord, Option<Facts>), AuditError> {
        let inputs = structure_digest(&self.catalog, &self.settings, surveyed.digest);
        if let Some(record) = self.current(STRUCTURE, inputs)? {
            return Ok((record, None));
        }
        let mut facts = self.gather_facts(&surveyed.inventory).await?;
        let relations = self.relate(&surveyed.inventory, &mut facts).await;
        let structure = derive_structure(&surveyed.inventory, &facts.files, &relations, &BTreeMap::new());
        let record = StructureRecord {
            structure,
            problems: facts.problems.clone(),
            survey: surveyed.problems.iter().map(|p| (p.path.clone(), p.message.clone())).collect(),
        };
        let body = serde_json::to_vec(&record)
            .map_err(|error| AuditError::Record { name: STRUCTURE.to_owned(), message: error.to_string() })?;
        self.store.put_artifact(STRUCTURE, inputs, &body, clock::now_ms())?;
        Ok((record, Some(facts)))
    }
}

/// Digest of all that the structure is made from: the inventory, the analyzers and their configuration.
pub(super) fn structure_digest(catalog: &Catalog, settings: &Settings, inventory: Digest) -> Digest {
    let analyzers = analyzers_digest(catalog, settings);
    Digest::of_parts([STRUCTURE_VERSION, inventory.as_bytes(), analyzers.as_bytes()])
}

/// The structure as it was recorded last.
pub(super) fn recorded(store: &assize_store::Store) -> Result<StructureRecord, AuditError> {
    Ok(load(store, STRUCTURE)?.unwrap_or_default())
}
