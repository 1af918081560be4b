//! The plan: tasks in the store, and which (file, lens) pairs they are to cover.

use std::collections::HashMap;

use assize_core::id::{Digest, TaskId};
use assize_core::lens::Lens;
use assize_core::plan::{PlanOptions, plan_tasks};
use assize_core::task::Task;
use assize_store::Changes;
use serde::{Deserialize, Serialize};

use super::analysis::Facts;
use super::inventory::Surveyed;
use super::obligations::{plan_options, text_versions};
use super::open::load;
use super::structure::{StructureRecord, structure_digest};
use super::{Audit, AuditError};
use crate::clock;

/// Name of the artifact.
pub(super) const PLAN: &str = "plan";
/// Version of the planning rules: a change of it plans again, and tasks whose content is the same keep their results.
const PLAN_VERSION: &[u8] = b"1";

/// What is recorded beside the tasks.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PlanRecord {
    /// Required pairs with the reason for each.
    pub required: Vec<(String, Lens, String)>,
    /// Remarks of planning.
    pub notes: Vec<String>,
    /// Base tasks.
    pub tasks: usize,
}

impl PlanRecord {
    /// The pairs without their reasons.
    pub fn pairs(&self) -> Vec<(String, Lens)> {
        self.required.iter().map(|(path, lens, _)| (path.clone(), *lens)).collect()
    }
}

impl Audit {
    /// Whether the recorded plan is the one that would be made now.
    pub fn plan_is_current(&self, surveyed: &Surveyed) -> Result<bool, AuditError> {
        let options = plan_options(&self.settings);
        let inputs = plan_digest(&options, structure_digest(&self.catalog, &self.settings, surveyed.digest));
        Ok(self.store.artifact_stamp(PLAN)?.is_some_and(|stamp| stamp.inputs == inputs))
    }

    /// The plan, made again when anything that it depends on has changed. `None` beside it says that it was current.
    pub async fn refresh_plan(
        &mut self,
        surveyed: &Surveyed,
        record: &StructureRecord,
        facts: &mut Option<Facts>,
    ) -> Result<(PlanRecord, Option<Changes>), AuditError> {
        let options = plan_options(&self.settings);
        let inputs = plan_digest(&options, structure_digest(&self.catalog, &self.settings, surveyed.digest));
        if let Some(plan) = self.current(PLAN, inputs)? {
            return Ok((plan, None));
        }
        if facts.is_none() {
            *facts = Some(self.gather_facts(&surveyed.inventory).await?);
        }
        let files = facts.as_ref().map(|facts| &facts.files[..]).unwrap_or_default();
        let plan = plan_tasks(&surveyed.inventory, &record.structure, files, &options);
        let tasks = put_parts_in_place(plan.tasks, &self.store.splits()?);
        let changes = self.store.replace_base_tasks(&tasks, clock::now_ms())?;
        let required = plan.required.into_iter().map(|pair| (pair.path, pair.lens, pair.reason)).collect();
        let record = PlanRecord { required, notes: plan.notes, tasks: tasks.len() };
        let body = serde_json::to_vec(&record)
            .map_err(|error| AuditError::Record { name: PLAN.to_owned(), message: error.to_string() })?;
        self.store.put_artifact(PLAN, inputs, &body, clock::now_ms())?;
        Ok((record, Some(changes)))
    }
}

/// Tasks that were found to be too large for every lane stay cut as they were: their parts may be done already.
fn put_parts_in_place(tasks: Vec<Task>, splits: &HashMap<TaskId, Vec<Task>>) -> Vec<Task> {
    let mut placed = Vec::with_capacity(tasks.len());
    let mut open: Vec<Task> = tasks.into_iter().rev().collect();
    while let Some(task) = open.pop() {
        match splits.get(&task.id) {
            // A part never has the id of its whole, so that this ends.
            Some(parts) => open.extend(parts.iter().rev().filter(|part| part.id != task.id).cloned()),
            None => placed.push(task),
        }
    }
    placed
}

/// Digest of all that the plan is made from.
pub(super) fn plan_digest(options: &PlanOptions, structure: Digest) -> Digest {
    let options = serde_json::to_vec(options).unwrap_or_default();
    Digest::of_parts([PLAN_VERSION, structure.as_bytes(), &options, &text_versions()])
}

/// The plan as it was recorded last.
pub(super) fn recorded(store: &assize_store::Store) -> Result<PlanRecord, AuditError> {
    Ok(load(store, PLAN)?.unwrap_or_default())
}
