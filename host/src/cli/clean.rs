//! `assize clean`.

use assize_store::plan_clean;
use serde_json::json;

use super::exit::ExitStatus;
use super::output::Output;
use crate::audit::AuditError;
use crate::config::{Environment, PlaceFlags, Settings};

/// Flags of `assize clean`.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceFlags,
    /// Only list what would be removed
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &Args, output: &Output, environment: Environment) -> Result<ExitStatus, AuditError> {
    let settings = Settings::gather(&args.place.alone(), environment)?;
    let dir = &settings.state_dir;
    if !dir.exists() {
        output.outcome(&json!({"removed": []}), &[format!("there is nothing in {}", dir.display())]);
        return Ok(ExitStatus::Complete);
    }
    let plan = plan_clean(dir)?;
    let text = |path: &std::path::PathBuf| path.display().to_string();
    let listed: Vec<String> = plan.remove.iter().map(|item| text(&item.path)).collect();
    let left: Vec<String> = plan.left.iter().map(text).collect();
    let verb = if args.dry_run { "would remove" } else { "removed" };
    if !args.dry_run {
        plan.apply()?;
    }
    let mut lines: Vec<String> = vec![format!("{verb} {} files and folders of {}", listed.len(), dir.display())];
    if args.dry_run {
        lines.extend(listed.iter().map(|path| format!("  {path}")));
    }
    lines.extend(left.iter().map(|path| format!("  left alone, not ours: {path}")));
    output.outcome(&json!({"removed": listed, "left": left, "dry_run": args.dry_run}), &lines);
    Ok(ExitStatus::Complete)
}
