//! One launch from its run directory to its checked answer. It settles nothing; it reports.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use assize_core::fact::Observation;
use assize_core::id::{LaneId, LaunchId, TaskId};
use assize_core::inventory::{FileRow, Inventory};
use assize_core::plan::{PromptContext, RESULTS_SCHEMA, estimate_tokens, render_prompt};
use assize_core::plugin::{
    Conclusion, EffectEvent, Evidence, LaunchFile, LaunchRequest, LaunchTask, Outcome, Reading, Step, Usage,
};
use assize_core::result::{Reviewer, ReviewerKind};
use assize_core::review::{CheckOptions, Checked, check_answer};
use assize_core::task::Task;
use assize_sandbox::{CallContext, CallError};
use assize_store::StateDir;
use tokio::time::Instant;

use super::contract::{Contract, places, read_answer, worker_places};
use super::effects::Stage;
use crate::audit::LaunchSources;
use crate::clock;
use crate::components::{Chosen, Component};
use crate::config::Environment;
use crate::launch::Cancel;

/// What all launches of a run share.
pub(super) struct Shared {
    /// Root of the repository.
    pub root: PathBuf,
    /// Our own binary.
    pub exe: PathBuf,
    /// Where run directories are made.
    pub state_dir: StateDir,
    /// The environment.
    pub environment: Arc<Environment>,
    /// The provider.
    pub chosen: Chosen,
    /// Its rate-limit reader.
    pub rate_limits: Option<Component>,
    /// The inventory.
    pub inventory: Inventory,
    /// Observations by path.
    pub observations: Arc<HashMap<String, Vec<Observation>>>,
    /// Files that an analyzer could not look at, with the reason.
    pub unanalyzed: Arc<HashMap<String, String>>,
    /// Model that was asked for.
    pub model: Option<String>,
    /// Milliseconds of one launch.
    pub timeout_ms: u64,
    /// Whether paths that differ in case are the same file here.
    pub fold_case: bool,
}

/// One launch that is to be made.
pub(super) struct Order {
    /// Launch.
    pub launch: LaunchId,
    /// Its run directory, made when it is needed.
    pub run_dir: PathBuf,
    /// Tasks.
    pub tasks: Vec<Task>,
    /// Try.
    pub attempt: u32,
    /// What the prompt says beside the tasks.
    pub context: PromptContext,
    /// Ends it early.
    pub cancel: Cancel,
}

/// What a launch came to.
pub(super) struct LaunchReport {
    /// Launch.
    pub launch: LaunchId,
    /// What it was, after the answer was looked at: a valid result counts whatever the provider said.
    pub outcome: Outcome,
    /// One line.
    pub message: String,
    /// Cost.
    pub usage: Option<Usage>,
    /// Milliseconds.
    pub wall_ms: u64,
    /// Exit code and signal of its last program.
    pub exit: (Option<i32>, Option<i32>),
    /// The answer, checked.
    pub checked: Checked,
    /// The answer's text, for the quarantine when it holds nothing.
    pub raw: String,
    /// Tasks whose files changed under the reviewer.
    pub changed: Vec<TaskId>,
    /// What was read of limits.
    pub readings: Vec<Reading>,
    /// Who.
    pub reviewer: Reviewer,
}

/// Makes a launch.
pub(super) async fn launch(shared: Arc<Shared>, order: Order) -> LaunchReport {
    let started = Instant::now();
    let rows = rows_of(&shared.inventory, &order.tasks);
    let (request, stage) = prepare(&shared, &order, &rows);
    let (conclusion, stage) = drive(&shared, &order, request, stage).await;
    let wall_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let readings = read_limits(&shared, &conclusion.evidence).await;
    judge(&shared, order, conclusion, Seen { rows, wall_ms, readings, kind: stage.seen, exit: stage.exit })
}

/// What was seen of a launch beside its conclusion.
struct Seen {
    rows: HashMap<String, FileRow>,
    wall_ms: u64,
    readings: Vec<Reading>,
    kind: Option<ReviewerKind>,
    exit: Option<(Option<i32>, Option<i32>)>,
}

/// Result first: the results file, then the conclusion's results, whatever the status was.
fn judge(shared: &Shared, order: Order, conclusion: Conclusion, seen: Seen) -> LaunchReport {
    let file = places(&shared.root, &order.run_dir).results_file;
    let written = read_answer(&file);
    let answer = match (&written, &conclusion.results) {
        (Some(Ok(text)), _) => Some(text.clone()),
        (_, Some(text)) => {
            // Kept as a file too, where the launch has a directory: people can open it, and a later host can sweep it.
            if order.run_dir.is_dir() {
                keep_answer(&file, text);
            }
            Some(text.clone())
        }
        _ => None,
    };
    let sources = LaunchSources::read(&shared.root, seen.rows.values());
    let tasks: Vec<&Task> = order.tasks.iter().collect();
    let changed: Vec<TaskId> = tasks
        .iter()
        .filter(|task| task.files.iter().any(|file| sources.changed.contains(&file.path)))
        .map(|task| task.id.clone())
        .collect();
    let mut checked = match &answer {
        Some(text) => {
            let options = CheckOptions { fold_case: shared.fold_case, ..CheckOptions::default() };
            check_answer(text, &tasks, &sources, options)
        }
        None => Checked { missing: tasks.iter().map(|task| task.id.clone()).collect(), ..Checked::default() },
    };
    checked.accepted.retain(|accepted| !changed.contains(&accepted.task));
    let (outcome, message) = verdict(&conclusion, &checked, answer.is_some(), written);
    LaunchReport {
        launch: order.launch,
        outcome,
        message,
        wall_ms: seen.wall_ms,
        exit: seen.exit.unwrap_or_default(),
        raw: answer.unwrap_or_default(),
        changed,
        readings: seen.readings,
        reviewer: Reviewer {
            kind: seen.kind.unwrap_or(ReviewerKind::Rules),
            lane: LaneId::new(shared.chosen.name.clone()),
            model: conclusion.usage.as_ref().and_then(|usage| usage.model.clone()),
        },
        usage: conclusion.usage,
        checked,
    }
}

/// Writes the answer as a new file. What the reviewer left at its name goes first: it may be a link to somewhere else.
/// That it cannot be written costs nothing but the file; the answer itself is at hand.
fn keep_answer(file: &Path, text: &str) {
    let _ = std::fs::remove_file(file);
    if let Ok(mut made) = std::fs::OpenOptions::new().write(true).create_new(true).open(file) {
        let _ = made.write_all(text.as_bytes());
    }
}

/// What the launch was, now that its answer is known.
fn verdict(
    conclusion: &Conclusion,
    checked: &Checked,
    answered: bool,
    written: Option<Result<String, String>>,
) -> (Outcome, String) {
    if !checked.accepted.is_empty() {
        let refused = checked.rejected.len();
        let problem = checked.rejected.first().and_then(|rejected| rejected.errors.first());
        let message = match (refused, problem) {
            (0, _) if checked.missing.is_empty() => String::new(),
            (0, _) => format!("{} tasks were not answered", checked.missing.len()),
            (_, Some(problem)) => format!("{refused} results were refused, the first because {}", problem.message),
            (_, None) => format!("{refused} results were refused"),
        };
        return (Outcome::Completed, message);
    }
    let first = checked.problems.first().or_else(|| checked.rejected.first().and_then(|r| r.errors.first()));
    match (conclusion.outcome, first) {
        (Outcome::Completed | Outcome::NoResults, Some(problem)) => {
            (Outcome::NoResults, format!("no result could be used: {}", problem.message))
        }
        (Outcome::Completed, None) if !answered => {
            let why = written.and_then(Result::err).unwrap_or_else(|| "it ended well but left no results".to_owned());
            (Outcome::NoResults, why)
        }
        (Outcome::Completed, None) => (Outcome::NoResults, "the answer holds no result for its tasks".to_owned()),
        (outcome, _) => (outcome, conclusion.message.clone()),
    }
}

/// Rows of all files of the tasks.
pub(super) fn rows_of(inventory: &Inventory, tasks: &[Task]) -> HashMap<String, FileRow> {
    tasks
        .iter()
        .flat_map(|task| &task.files)
        .filter_map(|file| {
            let mut row = inventory.row(&file.path)?.clone();
            // The plan's digest is the one that the answer must rest on.
            row.digest = Some(file.digest);
            Some((file.path.clone(), row))
        })
        .collect()
}

/// Words the request, and sets the stage for its effects.
fn prepare(shared: &Shared, order: &Order, rows: &HashMap<String, FileRow>) -> (LaunchRequest, Stage) {
    let places = places(&shared.root, &order.run_dir);
    let tasks: Vec<&Task> = order.tasks.iter().collect();
    let prompt = render_prompt(&tasks, &order.context);
    let mut read_paths: Vec<String> = rows.keys().cloned().collect();
    read_paths.sort();
    let worker = worker_places(&places, &order.launch, &shared.exe, shared.timeout_ms);
    let state = shared.state_dir.clone();
    let contract = Contract::new(state, order.launch.clone(), &places, &worker, &tasks, &read_paths, &prompt);
    let shell: Vec<String> =
        worker.worker_command.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
    let json = serde_json::to_string(&worker.worker_command).unwrap_or_default();
    let request = LaunchRequest {
        run_id: order.launch.to_string(),
        attempt: order.attempt,
        tasks: order.tasks.iter().map(launch_task).collect(),
        prompt: prompt.clone(),
        results_schema: RESULTS_SCHEMA.to_owned(),
        read_paths,
        model: shared.model.clone(),
        timeout_ms: shared.timeout_ms,
        estimated_input_tokens: order.tasks.iter().map(estimate_tokens).sum::<u64>() + prompt.len() as u64 / 4,
        config: shared.chosen.config.to_string(),
        now_ms: clock::now_ms(),
        extra: vec![
            ("worker-command-json".to_owned(), json),
            ("worker-command-shell".to_owned(), shell.join(" ")),
            ("obligation-id".to_owned(), "audit_tasks_completed".to_owned()),
            ("ui-mode".to_owned(), "headless".to_owned()),
        ],
    };
    let stage = Stage {
        plugin: shared.chosen.component.name().to_owned(),
        grants: shared.chosen.grants.clone(),
        root: shared.root.clone(),
        exe: shared.exe.clone(),
        environment: shared.environment.clone(),
        contract,
        places,
        prompt,
        rows: rows.clone(),
        observations: shared.observations.clone(),
        unanalyzed: shared.unanalyzed.clone(),
        deadline: Instant::now() + Duration::from_millis(shared.timeout_ms),
        cancel: order.cancel.clone(),
        seen: None,
        exit: None,
    };
    (request, stage)
}

/// Steps through the component until it concludes or fails.
async fn drive(shared: &Shared, order: &Order, request: LaunchRequest, mut stage: Stage) -> (Conclusion, Stage) {
    let seed = *blake3::hash(order.launch.as_str().as_bytes()).as_bytes();
    let call = CallContext { now_ms: request.now_ms, seed, ..CallContext::default() };
    let failed = |error: CallError| {
        let outcome = match &error {
            CallError::Plugin { error: assize_core::plugin::PluginError::InvalidConfiguration(_), .. } => {
                Outcome::Misconfigured
            }
            _ => Outcome::Crashed,
        };
        conclude(outcome, error.to_string())
    };
    let mut launch = match shared.chosen.component.plugin.start_launch(request, &call).await {
        Ok(launch) => launch,
        Err(error) => return (failed(error), stage),
    };
    let mut event: Option<EffectEvent> = None;
    loop {
        match launch.next(event.take()).await {
            Ok(Step::Perform(effect)) => event = Some(stage.perform(effect).await),
            Ok(Step::Done(conclusion)) => return (conclusion, stage),
            Err(error) => return (failed(error), stage),
        }
    }
}

/// What the rate-limit reader makes of the evidence. A reader that fails costs its reading only.
async fn read_limits(shared: &Shared, evidence: &[Evidence]) -> Vec<Reading> {
    let Some(component) = &shared.rate_limits else { return Vec::new() };
    let mut readings = Vec::new();
    for piece in evidence {
        let mut piece = piece.clone();
        if piece.received_at_ms == 0 {
            piece.received_at_ms = clock::now_ms();
        }
        if piece.provider.is_empty() {
            piece.provider.clone_from(&shared.chosen.name);
        }
        let call = CallContext { now_ms: piece.received_at_ms, ..CallContext::default() };
        if let Ok(Some(reading)) = component.plugin.read_limits(&piece, &call).await {
            readings.push(reading);
        }
    }
    readings
}

fn launch_task(task: &Task) -> LaunchTask {
    LaunchTask {
        task_id: task.name.clone(),
        unit_id: task.unit.to_string(),
        pass_id: task.pass_id.clone(),
        lens: task.lens.as_str().to_owned(),
        files: task
            .files
            .iter()
            .map(|file| LaunchFile {
                path: file.path.clone(),
                total_lines: file.total_lines,
                range: file.range.map(|range| (range.first, range.last)),
            })
            .collect(),
        tags: task.tags.clone(),
        extra: Vec::new(),
    }
}

fn conclude(outcome: Outcome, message: String) -> Conclusion {
    Conclusion { outcome, results: None, usage: None, evidence: Vec::new(), message, extra: Vec::new() }
}

/// Errors of an earlier try, by task name, for the prompt of the next.
pub(super) type EarlierErrors = BTreeMap<String, Vec<String>>;
