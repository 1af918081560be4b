//! Re-planning as a set difference: what is new, what is gone, and what stays valid in flight.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::TaskId;
use crate::task::Task;

/// The difference between two plans, by content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanChanges {
    /// In the new plan only.
    pub added: BTreeSet<TaskId>,
    /// In the old plan only.
    pub removed: BTreeSet<TaskId>,
    /// In both; their results and slots stay valid, though their names may differ.
    pub kept: BTreeSet<TaskId>,
}

/// Compares two plans by the ids of their tasks.
pub fn plan_changes(old: &[Task], new: &[Task]) -> PlanChanges {
    let ids = |tasks: &[Task]| tasks.iter().map(|task| task.id.clone()).collect::<BTreeSet<_>>();
    let (old, new) = (ids(old), ids(new));
    PlanChanges {
        added: new.difference(&old).cloned().collect(),
        removed: old.difference(&new).cloned().collect(),
        kept: old.intersection(&new).cloned().collect(),
    }
}
