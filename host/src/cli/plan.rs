//! `assize plan`.

use std::collections::BTreeMap;

use serde_json::json;

use super::exit::ExitStatus;
use super::output::Output;
use super::run::runtime;
use crate::audit::{Audit, AuditError, Purpose};
use crate::config::{Environment, RunFlags, Settings};
use crate::driver::tell_problems;
use crate::reporters::RunEvent;

/// Flags of `assize plan`.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    flags: RunFlags,
}

/// Tasks that are listed to people.
const TASKS_SHOWN: usize = 40;

pub(super) fn run(args: &Args, output: &Output, environment: Environment) -> Result<ExitStatus, AuditError> {
    let settings = Settings::gather(&args.flags, environment)?;
    let runtime = runtime()?;
    runtime.block_on(async {
        let mut audit = Audit::open(settings, Purpose::Other)?;
        let mut reporter = output.reporter();
        let surveyed = audit.refresh_inventory()?;
        tell_problems(reporter.as_mut(), &surveyed);
        if surveyed.inventory.auditable().next().is_none() {
            // Why each entry was left out is exactly what is asked for here.
            let lines: Vec<String> =
                surveyed.inventory.rows.iter().map(|row| format!("  {}  {}", row.reason, row.path)).collect();
            output.outcome(&json!({"files": surveyed.inventory.rows, "units": [], "tasks": []}), &lines);
            output.problem(&AuditError::NothingToAudit(audit.settings.root.clone()));
            return Ok(ExitStatus::Usage);
        }
        let (record, mut facts) = audit.refresh_structure(&surveyed).await?;
        for problem in &record.problems {
            let text = format!("{} was not analyzed by {}: {}", problem.path, problem.analyzer, problem.message);
            reporter.report(&RunEvent::Warning(text));
        }
        let (plan, _) = audit.refresh_plan(&surveyed, &record, &mut facts).await?;
        let rows = audit.store.tasks()?;
        let base: Vec<_> = rows.iter().filter(|row| row.task.deepening.is_none()).collect();
        let mut left_out: BTreeMap<&str, u64> = BTreeMap::new();
        for row in surveyed.inventory.rows.iter().filter(|row| !row.is_auditable()) {
            *left_out.entry(&row.reason).or_default() += 1;
        }
        let auditable = surveyed.inventory.auditable().count();
        let mut lines = vec![format!(
            "{auditable} files in {} units, {} tasks for {} (file, lens) pairs",
            record.structure.units.len(),
            base.len(),
            plan.required.len()
        )];
        let reasons: Vec<String> = left_out.iter().map(|(reason, n)| format!("{reason} {n}")).collect();
        if !reasons.is_empty() {
            lines.push(format!("left out: {}", reasons.join(", ")));
        }
        lines.extend(base.iter().take(TASKS_SHOWN).map(|row| {
            let task = &row.task;
            format!(
                "  {:6} risk {:3}  {}  ({} files, {} lines)",
                format!("{:?}", task.priority).to_lowercase(),
                task.risk,
                task.name,
                task.files.len(),
                task.lines()
            )
        }));
        if base.len() > TASKS_SHOWN {
            lines.push(format!("  and {} more; --json lists them all", base.len() - TASKS_SHOWN));
        }
        let value = if output.is_json() {
            json!({
                "files": surveyed.inventory.rows,
                "units": record.structure.units,
                "edges": record.structure.edges.len(),
                "required": plan.required,
                "notes": plan.notes,
                "tasks": base.iter().map(|row| &row.task).collect::<Vec<_>>(),
            })
        } else {
            json!({})
        };
        output.outcome(&value, &lines);
        Ok(ExitStatus::Complete)
    })
}
