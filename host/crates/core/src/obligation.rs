//! Obligations: what an audit owes, in order, each derived from the state of the store and never stored.

use serde::Serialize;

/// What is known of a recorded artifact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Freshness {
    /// It was never made.
    Missing,
    /// It was made from something else than what holds now.
    Stale,
    /// It is what would be made now.
    Current,
}

/// The state of an audit, as far as obligations depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditView {
    /// The recorded inventory against the repository.
    pub inventory: Freshness,
    /// Files that can be audited.
    pub auditable: usize,
    /// The recorded structure against the inventory and the analyzers.
    pub structure: Freshness,
    /// The plan against the structure, lenses and options.
    pub plan: Freshness,
    /// Tasks that wait or run.
    pub open_tasks: usize,
    /// Tasks that were given up.
    pub parked_tasks: usize,
    /// Tasks of the plan.
    pub tasks: usize,
    /// Required pairs that are neither reviewed nor waived.
    pub uncovered: usize,
    /// The report against the results.
    pub report: Freshness,
}

/// Where an obligation stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "state", content = "reason", rename_all = "kebab-case")]
pub enum ObligationState {
    /// It holds.
    Satisfied,
    /// It was never met.
    Missing,
    /// It was met once.
    Stale,
    /// It is not asked for in this audit.
    NotAsked,
    /// It waits for the one before it.
    Waiting(String),
    /// It cannot be met until a person acts.
    Blocked(String),
}

/// One obligation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Obligation {
    /// Its name.
    pub id: &'static str,
    /// Where it stands.
    #[serde(flatten)]
    pub state: ObligationState,
    /// Who meets it.
    pub executor: &'static str,
}

/// All obligations in their order.
pub fn derive_obligations(view: &AuditView) -> Vec<Obligation> {
    let inventory = of_freshness(view.inventory);
    let surveyed = inventory == ObligationState::Satisfied;
    let disposition = match (surveyed, view.auditable) {
        (false, _) => waiting_for("inventory"),
        (true, 0) => ObligationState::Blocked("no file can be audited".to_owned()),
        (true, _) => ObligationState::Satisfied,
    };
    let after = |before: &ObligationState, name: &str, own: ObligationState| match before {
        ObligationState::Satisfied => own,
        _ => waiting_for(name),
    };
    let structure = after(&disposition, "disposition", of_freshness(view.structure));
    let planning = after(&structure, "structure", of_freshness(view.plan));
    let tasks = after(&planning, "planning", tasks_state(view));
    let synthesis = match &tasks {
        ObligationState::Satisfied | ObligationState::Blocked(_) => of_freshness(view.report),
        _ => waiting_for("tasks_completed"),
    };
    let one = |id, executor, state| Obligation { id, state, executor };
    vec![
        one("inventory", "survey", inventory),
        one("disposition", "survey", disposition),
        one("auto_fixes", "repository tools", ObligationState::NotAsked),
        one("syntax", "repository tools", ObligationState::NotAsked),
        one("structure", "analyzers", structure.clone()),
        one("graph_enrichment", "analyzers", structure.clone()),
        one("design_assessment", "planner", structure),
        one("design_review", "provider", ObligationState::NotAsked),
        one("planning", "planner", planning),
        one("tasks_completed", "provider", tasks),
        one("runtime_validation", "repository tools", ObligationState::NotAsked),
        one("synthesis", "synthesis", synthesis),
        one("narrative", "provider", ObligationState::NotAsked),
    ]
}

/// The first obligation that can be met now, or the first that is blocked.
pub fn next_obligation(obligations: &[Obligation]) -> Option<&Obligation> {
    let actionable = |o: &&Obligation| matches!(o.state, ObligationState::Missing | ObligationState::Stale);
    let blocked = |o: &&Obligation| matches!(o.state, ObligationState::Blocked(_));
    obligations.iter().find(actionable).or_else(|| obligations.iter().find(blocked))
}

fn of_freshness(freshness: Freshness) -> ObligationState {
    match freshness {
        Freshness::Missing => ObligationState::Missing,
        Freshness::Stale => ObligationState::Stale,
        Freshness::Current => ObligationState::Satisfied,
    }
}

fn waiting_for(name: &str) -> ObligationState {
    ObligationState::Waiting(format!("waits for {name}"))
}

fn tasks_state(view: &AuditView) -> ObligationState {
    if view.open_tasks > 0 {
        return ObligationState::Missing;
    }
    if view.parked_tasks > 0 {
        return ObligationState::Blocked(format!("{} of {} tasks are parked", view.parked_tasks, view.tasks));
    }
    if view.uncovered > 0 {
        return ObligationState::Blocked(format!("{} required pairs have no review that counts", view.uncovered));
    }
    ObligationState::Satisfied
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done() -> AuditView {
        AuditView {
            inventory: Freshness::Current,
            auditable: 3,
            structure: Freshness::Current,
            plan: Freshness::Current,
            open_tasks: 0,
            parked_tasks: 0,
            tasks: 5,
            uncovered: 0,
            report: Freshness::Current,
        }
    }

    fn next(view: &AuditView) -> Option<&'static str> {
        next_obligation(&derive_obligations(view)).map(|o| o.id)
    }

    #[test]
    fn the_first_thing_that_is_owed_comes_next() {
        assert_eq!(next(&done()), None);
        assert_eq!(next(&AuditView { inventory: Freshness::Missing, ..done() }), Some("inventory"));
        assert_eq!(next(&AuditView { structure: Freshness::Stale, ..done() }), Some("structure"));
        assert_eq!(next(&AuditView { open_tasks: 1, report: Freshness::Stale, ..done() }), Some("tasks_completed"));
        assert_eq!(next(&AuditView { report: Freshness::Missing, ..done() }), Some("synthesis"));
    }

    #[test]
    fn parked_work_does_not_keep_the_report_from_being_written_and_is_not_called_done() {
        let view = AuditView { parked_tasks: 2, report: Freshness::Missing, ..done() };
        assert_eq!(next(&view), Some("synthesis"));
        assert_eq!(next(&AuditView { report: Freshness::Current, ..view }), Some("tasks_completed"));
    }

    #[test]
    fn a_repository_without_auditable_files_is_blocked_not_complete() {
        assert_eq!(next(&AuditView { auditable: 0, ..done() }), Some("disposition"));
    }
}
