//! One launch from its run directory to its checked answer. It settles nothing; it reports.

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use assize_core::dispatch::SlotKey;
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
use assize_survey::read_text;
use assize_wire::HttpClient;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::contract::{Checks, Contract, places, read_answer, worker_places};
use super::effects::Stage;
use super::metering::{LaunchMeter, Metered, Tally, Traffic};
use super::readers::Readers;
use crate::audit::LaunchSources;
use crate::clock;
use crate::components::RunLane;
use crate::config::Environment;
use crate::launch::{Cancel, Secrets, Snapshot};

/// What all launches of a run share.
pub(super) struct Shared {
    /// Root of the repository.
    pub root: PathBuf,
    /// The copy of it that programs work in; the repository itself where there is none.
    pub workplace: PathBuf,
    /// The same, to be put right after each program.
    pub snapshot: Option<Arc<Snapshot>>,
    /// Our own binary.
    pub exe: PathBuf,
    /// Where run directories are made.
    pub state_dir: StateDir,
    /// The environment.
    pub environment: Arc<Environment>,
    /// The way to the network.
    pub http: HttpClient,
    /// Secrets by name.
    pub secrets: Arc<Secrets>,
    /// The inventory.
    pub inventory: Inventory,
    /// Observations by path.
    pub observations: Arc<HashMap<String, Vec<Observation>>>,
    /// Files that an analyzer could not look at, with the reason.
    pub unanalyzed: Arc<HashMap<String, String>>,
    /// Milliseconds of one launch.
    pub timeout_ms: u64,
    /// When nothing may run any more, milliseconds since the Unix epoch.
    pub deadline_ms: Option<u64>,
    /// Whether paths that differ in case are the same file here.
    pub fold_case: bool,
}

/// One lane with what its launches share.
pub(super) struct LaneWork {
    /// The lane.
    pub lane: RunLane,
    /// Its readers of limits.
    pub readers: Arc<Readers>,
}

impl LaneWork {
    /// A lane made ready for launches.
    pub(super) fn of(lane: &RunLane) -> Arc<Self> {
        let readers = Arc::new(Readers::new(lane.readers.clone()));
        Arc::new(Self { lane: lane.clone(), readers })
    }
}

/// One launch that is to be made.
pub(super) struct Order {
    /// Launch.
    pub launch: LaunchId,
    /// Its slot.
    pub slot: SlotKey,
    /// Its lane.
    pub lane: Arc<LaneWork>,
    /// Its run directory, made when it is needed.
    pub run_dir: PathBuf,
    /// Tasks.
    pub tasks: Vec<Task>,
    /// Try.
    pub attempt: u32,
    /// What the prompt says beside the tasks.
    pub context: PromptContext,
    /// Requests that it may send; as many as it likes where nothing is said.
    pub most_requests: Option<u64>,
    /// What it may cost at most, in millionths of a US dollar.
    pub micro_usd: Option<u64>,
    /// Where its requests are admitted.
    pub driver: mpsc::UnboundedSender<Traffic>,
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
    /// Whether its tasks were handed to a person.
    pub handed_off: bool,
    /// What its program had changed in the copy of the repository; it was put right.
    pub copy_changes: Vec<String>,
}

/// Makes a launch.
pub(super) async fn launch(shared: Arc<Shared>, order: Order) -> LaunchReport {
    let started = Instant::now();
    let rows = rows_of(&shared.inventory, &order.tasks);
    let (request, stage) = prepare(&shared, &order, &rows);
    let (mut conclusion, stage) = drive(&order, request, stage).await;
    let wall_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    let tally = stage.meter.finish().await;
    let copy_changes = restore(&shared, &order.lane.lane, stage.exit.is_some()).await;
    let readings = read_limits(&order.lane, &conclusion.evidence, &shared.environment).await;
    conclusion.usage = price(tally.complete(conclusion.usage.take()), &order.lane.lane);
    let Stage { seen: kind, exit, handed_off, .. } = stage;
    judge(&shared, order, conclusion, Seen { rows, wall_ms, readings, kind, exit, handed_off, copy_changes })
}

/// Puts the copy right after a program has worked in it. Gives what was changed.
async fn restore(shared: &Shared, lane: &RunLane, started: bool) -> Vec<String> {
    let Some(copy) = shared.snapshot.clone().filter(|_| lane.snapshot && started) else { return Vec::new() };
    tokio::task::spawn_blocking(move || copy.restore()).await.unwrap_or_default()
}

/// Makes a launch without tasks that only asks something. Gives its conclusion and what passed through our hands.
pub(super) async fn launch_tiny(shared: &Shared, order: Order, question: &str) -> (Conclusion, Tally) {
    let (mut request, mut stage) = prepare(shared, &order, &HashMap::new());
    question.clone_into(&mut request.prompt);
    question.clone_into(&mut stage.prompt);
    let (mut conclusion, stage) = drive(&order, request, stage).await;
    let tally = stage.meter.finish().await;
    conclusion.usage = price(tally.complete(conclusion.usage.take()), &order.lane.lane);
    (conclusion, tally)
}

/// Completes a usage by what it costs at the lane's price, where nobody has said it.
fn price(usage: Option<Usage>, lane: &RunLane) -> Option<Usage> {
    let mut usage = usage?;
    let Some(price) = lane.spec.price else { return Some(usage) };
    if usage.cost_micro_usd.is_none() || lane.users_price {
        let cached_price = lane.cached_price.unwrap_or(price.input_micro_usd_per_million);
        let parts = [
            (usage.input_tokens, price.input_micro_usd_per_million),
            (usage.cached_input_tokens, cached_price),
            (usage.output_tokens, price.output_micro_usd_per_million),
        ];
        let cost = parts.into_iter().map(|(tokens, per_million)| cost_of(tokens.unwrap_or(0), per_million));
        usage.cost_micro_usd = Some(cost.fold(0, u64::saturating_add));
    }
    Some(usage)
}

fn cost_of(tokens: u64, per_million: u64) -> u64 {
    u64::try_from(u128::from(tokens) * u128::from(per_million) / 1_000_000).unwrap_or(u64::MAX)
}

/// What was seen of a launch beside its conclusion.
struct Seen {
    rows: HashMap<String, FileRow>,
    wall_ms: u64,
    readings: Vec<Reading>,
    kind: Option<ReviewerKind>,
    exit: Option<(Option<i32>, Option<i32>)>,
    handed_off: bool,
    copy_changes: Vec<String>,
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
            kind: seen.kind.unwrap_or(order.lane.lane.reviewer),
            lane: LaneId::new(order.lane.lane.name.clone()),
            model: conclusion.usage.as_ref().and_then(|usage| usage.model.clone()),
        },
        handed_off: seen.handed_off && checked.accepted.is_empty(),
        copy_changes: seen.copy_changes,
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

/// The text that stands in the prompt: of every file where the reviewer cannot read files itself, and of those that are not in
/// the copy in which its program works.
pub(super) fn file_contents(shared: &Shared, lane: &RunLane, tasks: &[Task]) -> Option<BTreeMap<String, String>> {
    let rows = rows_of(&shared.inventory, tasks);
    let is_left_out = |path: &str| shared.snapshot.as_ref().is_some_and(|copy| copy.left_out.contains(path));
    let wanted = |path: &str| lane.contents_in_prompt || (lane.snapshot && is_left_out(path));
    let texts: BTreeMap<String, String> = rows
        .values()
        .filter(|row| wanted(&row.path))
        // A file that has changed, or is no text, is found out when the answer is checked.
        .filter_map(|row| Some((row.path.clone(), read_text(&shared.root, row).ok()?.text)))
        .collect();
    (lane.contents_in_prompt || !texts.is_empty()).then_some(texts)
}

/// Words the request, and sets the stage for its effects.
fn prepare(shared: &Shared, order: &Order, rows: &HashMap<String, FileRow>) -> (LaunchRequest, Stage) {
    let lane = &order.lane.lane;
    let places = places(workplace(shared, lane), &order.run_dir);
    let tasks: Vec<&Task> = order.tasks.iter().collect();
    let prompt = render_prompt(&tasks, &order.context);
    let mut read_paths: Vec<String> = rows.keys().cloned().collect();
    read_paths.sort();
    let now_ms = clock::now_ms();
    let until_deadline = shared.deadline_ms.map_or(u64::MAX, |at| at.saturating_sub(now_ms).max(1));
    let timeout_ms = shared.timeout_ms.min(until_deadline);
    let checks = Checks { exe: &shared.exe, root: &shared.root, state_dir: shared.state_dir.path() };
    let worker = worker_places(&places, &order.launch, &checks, timeout_ms);
    let state = shared.state_dir.clone();
    let contract = Contract::new(state, order.launch.clone(), &places, &worker, &tasks, &read_paths, &prompt);
    let request = LaunchRequest {
        run_id: order.launch.to_string(),
        attempt: order.attempt,
        tasks: order.tasks.iter().map(launch_task).collect(),
        prompt: prompt.clone(),
        results_schema: RESULTS_SCHEMA.to_owned(),
        read_paths,
        model: lane.model.clone(),
        timeout_ms,
        estimated_input_tokens: estimate_input(&tasks, &prompt, lane.contents_in_prompt),
        config: lane.config.to_string(),
        now_ms,
        extra: request_extra(order, &worker.worker_command),
    };
    let metered = Metered {
        slot: order.slot,
        launch: order.launch.clone(),
        provider: lane.provider.clone(),
        model: lane.model.clone(),
        until_ms: now_ms.saturating_add(timeout_ms),
        most: order.most_requests,
    };
    let stage = Stage {
        plugin: lane.component.name().to_owned(),
        grants: lane.grants.clone(),
        root: shared.root.clone(),
        exe: shared.exe.clone(),
        environment: shared.environment.clone(),
        contract,
        places,
        prompt,
        rows: rows.clone(),
        observations: shared.observations.clone(),
        unanalyzed: shared.unanalyzed.clone(),
        deadline: Instant::now() + Duration::from_millis(timeout_ms),
        cancel: order.cancel.clone(),
        seen: None,
        exit: None,
        handed_off: false,
        http: shared.http.clone(),
        secrets: shared.secrets.clone(),
        meter: Arc::new(LaunchMeter::new(metered, order.lane.readers.clone(), order.driver.clone())),
    };
    (request, stage)
}

/// Where programs of a lane work.
fn workplace<'a>(shared: &'a Shared, lane: &RunLane) -> &'a Path {
    if lane.snapshot { &shared.workplace } else { &shared.root }
}

/// Tokens in of one launch, roughly: prompt, and what the reviewer reads of the files itself.
pub(super) fn estimate_input(tasks: &[&Task], prompt: &str, contents_in_prompt: bool) -> u64 {
    let read = if contents_in_prompt { 0 } else { tasks.iter().map(|task| estimate_tokens(task)).sum() };
    read + prompt.len() as u64 / 4
}

/// What the request says beside its fields.
fn request_extra(order: &Order, worker_command: &[String]) -> Vec<(String, String)> {
    let quoted = |word: &String| format!("'{}'", word.replace('\'', "'\\''"));
    let spec = &order.lane.lane.spec;
    let mut extra = vec![
        ("worker-command-json".to_owned(), serde_json::to_string(worker_command).unwrap_or_default()),
        ("worker-command-shell".to_owned(), worker_command.iter().map(quoted).collect::<Vec<_>>().join(" ")),
        ("obligation-id".to_owned(), "audit_tasks_completed".to_owned()),
        ("ui-mode".to_owned(), "headless".to_owned()),
        ("provider".to_owned(), order.lane.lane.provider.clone()),
        ("output-tokens".to_owned(), spec.output_tokens.to_string()),
    ];
    extra.extend(spec.context_tokens.map(|tokens| ("context-tokens".to_owned(), tokens.to_string())));
    extra.extend(order.micro_usd.map(|micro| ("budget-micro-usd".to_owned(), micro.to_string())));
    extra
}

/// Steps through the component until it concludes or fails.
async fn drive(order: &Order, request: LaunchRequest, mut stage: Stage) -> (Conclusion, Stage) {
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
    let mut launch = match order.lane.lane.component.plugin.start_launch(request, &call).await {
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

/// What the readers of limits make of the evidence.
async fn read_limits(lane: &LaneWork, evidence: &[Evidence], environment: &Environment) -> Vec<Reading> {
    let zone = clock::zone_name(environment.get("TZ"));
    let mut readings = Vec::new();
    for piece in evidence {
        let mut piece = piece.clone();
        if piece.provider.is_empty() {
            piece.provider.clone_from(&lane.lane.provider);
        }
        // Programs tell times of day in the zone of the machine.
        piece.extra.push(("time-zone".to_owned(), zone.clone()));
        readings.extend(lane.readers.read(&piece).await);
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
