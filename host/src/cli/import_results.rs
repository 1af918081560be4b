//! `assize import-results`.

use std::path::{Path, PathBuf};

use assize_core::id::{LaneId, TaskId};
use assize_core::result::{ResultRecord, Reviewer, ReviewerKind};
use assize_core::review::{CheckOptions, Checked, check_answer, result_digest};
use assize_core::task::Task;
use assize_store::{Ingested, Mode, Store};
use clap::ValueEnum;
use serde_json::json;

use super::exit::ExitStatus;
use super::output::Output;
use crate::audit::{Audit, AuditError, LaunchSources, Purpose, recorded_inventory};
use crate::clock;
use crate::config::{Environment, RunFlags, Settings};

/// Flags of `assize import-results`.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// File of results, or a directory of such files (*.json)
    file: PathBuf,
    #[command(flatten)]
    flags: RunFlags,
    /// Who reviewed
    #[arg(long, value_enum, default_value_t = By::Imported)]
    by: By,
    /// Only check; nothing is ingested
    #[arg(long)]
    dry_run: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum By {
    /// Unknown, or another tool
    Imported,
    /// A person
    Person,
    /// A model
    Model,
    /// An agent
    Agent,
}

impl By {
    fn kind(self) -> ReviewerKind {
        match self {
            By::Imported => ReviewerKind::Imported,
            By::Person => ReviewerKind::Person,
            By::Model => ReviewerKind::Model,
            By::Agent => ReviewerKind::Agent,
        }
    }
}

/// Largest file that is read, in bytes.
const LARGEST: u64 = 64 << 20;

pub(super) fn run(args: &Args, output: &Output, environment: Environment) -> Result<ExitStatus, AuditError> {
    let settings = Settings::gather(&args.flags, environment)?;
    let files = files_of(&args.file)?;
    if args.dry_run {
        let store = Store::open(&settings.state_dir, Mode::ReadOnly)?;
        return import(&files, &settings, Target::Check(&store), args.by, output);
    }
    let mut audit = Audit::open(settings.clone(), Purpose::Other)?;
    import(&files, &settings, Target::Ingest(&mut audit.store), args.by, output)
}

/// Where results go.
enum Target<'a> {
    Check(&'a Store),
    Ingest(&'a mut Store),
}

impl Target<'_> {
    fn store(&self) -> &Store {
        match self {
            Target::Check(store) => store,
            Target::Ingest(store) => store,
        }
    }
}

fn import(
    files: &[PathBuf],
    settings: &Settings,
    mut target: Target<'_>,
    by: By,
    output: &Output,
) -> Result<ExitStatus, AuditError> {
    let tasks: Vec<Task> = target.store().tasks()?.into_iter().map(|row| row.task).collect();
    if tasks.is_empty() {
        return Err(AuditError::NotFound("the audit has no tasks yet; plan it with: assize plan".to_owned()));
    }
    let inventory = recorded_inventory(target.store())?;
    let (mut new, mut already, mut refused) = (0, 0, Vec::new());
    for file in files {
        let text = read(file)?;
        let checked = check(&text, &tasks, &inventory, settings);
        refused.extend(problems(file, &checked));
        let records: Vec<ResultRecord> = checked.accepted.into_iter().map(|accepted| record(accepted, by)).collect();
        match &mut target {
            Target::Check(_) => new += records.len(),
            Target::Ingest(store) => {
                for ingested in store.ingest_all(&records)? {
                    match ingested {
                        Ingested::New => new += 1,
                        Ingested::Already => already += 1,
                    }
                }
            }
        }
    }
    let verb = if matches!(target, Target::Check(_)) { "would be ingested" } else { "ingested" };
    let mut lines = vec![format!("{new} results {verb}, {already} were there already, {} problems", refused.len())];
    lines.extend(refused.iter().map(|line| format!("  {line}")));
    output.outcome(&json!({"ingested": new, "already": already, "problems": refused}), &lines);
    Ok(if refused.is_empty() { ExitStatus::Complete } else { ExitStatus::Incomplete })
}

fn record(accepted: assize_core::review::Accepted, by: By) -> ResultRecord {
    ResultRecord {
        digest: result_digest(&accepted.result),
        task: accepted.task,
        result: accepted.result,
        reviewer: Reviewer { kind: by.kind(), lane: LaneId::new("import"), model: None },
        launch: None,
        at_ms: clock::now_ms(),
    }
}

/// Checks against the tasks that the text names; only their files are read.
fn check(text: &str, tasks: &[Task], inventory: &assize_core::inventory::Inventory, settings: &Settings) -> Checked {
    let named: Vec<&Task> = tasks.iter().filter(|task| text.contains(&json_text(&task.name))).collect();
    let asked = if named.is_empty() { tasks.iter().collect() } else { named };
    let rows = asked.iter().flat_map(|task| &task.files).filter_map(|file| inventory.row(&file.path));
    let sources = LaunchSources::read(&settings.root, rows);
    let changed: Vec<TaskId> = asked
        .iter()
        .filter(|task| task.files.iter().any(|file| sources.changed.contains(&file.path)))
        .map(|task| task.id.clone())
        .collect();
    let mut checked = check_answer(text, &asked, &sources, CheckOptions::default());
    let stale: Vec<String> = checked
        .accepted
        .iter()
        .filter(|accepted| changed.contains(&accepted.task))
        .map(|accepted| accepted.result.task_id.clone())
        .collect();
    checked.accepted.retain(|accepted| !changed.contains(&accepted.task));
    for name in stale {
        let message =
            format!("task {name}: its files have changed since it was planned; run assize plan and review again");
        checked.problems.push(assize_core::review::Problem::new("source-changed", "", message));
    }
    checked
}

/// A name as it stands inside a JSON text.
fn json_text(name: &str) -> String {
    let quoted = serde_json::Value::from(name).to_string();
    quoted.trim_matches('"').to_owned()
}

fn problems(file: &Path, checked: &Checked) -> Vec<String> {
    let mut lines = Vec::new();
    for problem in &checked.problems {
        lines.push(format!("{}: {}: {}", file.display(), problem.code, problem.message));
    }
    for rejected in &checked.rejected {
        let task = rejected.task_name.as_deref().unwrap_or("a result without a task");
        for problem in &rejected.errors {
            lines.push(format!("{}: {task}: {} {}: {}", file.display(), problem.code, problem.place, problem.message));
        }
    }
    lines
}

fn files_of(path: &Path) -> Result<Vec<PathBuf>, AuditError> {
    let wrong = |source| AuditError::File { operation: "read", path: path.to_owned(), source };
    if !std::fs::metadata(path).map_err(wrong)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut files = Vec::new();
    for entry in std::fs::read_dir(path).map_err(wrong)? {
        let file = entry.map_err(wrong)?.path();
        if file.extension().is_some_and(|extension| extension == "json") && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        return Err(AuditError::NotFound(format!("there is no *.json file in {}", path.display())));
    }
    Ok(files)
}

fn read(file: &Path) -> Result<String, AuditError> {
    let wrong = |source| AuditError::File { operation: "read", path: file.to_owned(), source };
    let size = std::fs::metadata(file).map_err(wrong)?.len();
    if size > LARGEST {
        let message = format!("{} has {size} bytes; at most {LARGEST} are read", file.display());
        return Err(AuditError::NotFound(message));
    }
    Ok(String::from_utf8_lossy(&std::fs::read(file).map_err(wrong)?).into_owned())
}
