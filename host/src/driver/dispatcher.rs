//! The one `select!`: ends of launches, timers and interrupts in one order, and the commands of the engine carried out.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use assize_core::dispatch::{Command, Dispatch, End, Event, LaneSpec, Limits, Settled, SlotKey, costs_an_attempt};
use assize_core::id::{LaneId, LaunchId, TaskId};
use assize_core::plan::{Neighbourhood, PacketOptions, PromptContext, Structure, derive_packet_id, plan_packets};
use assize_core::result::{ResultRecord, Severity};
use assize_core::review::{Problem, result_digest};
use assize_core::task::Task;
use assize_store::{AttemptCost, LaunchEnd, NewSlot, Quarantined, Settlement, TaskRow, TaskState};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;

use super::launching::{EarlierErrors, LaunchReport, Order, Shared, launch};
use crate::audit::{Audit, AuditError};
use crate::clock;
use crate::launch::{CancelSource, ChangeKind, Checkout, Urgency};
use crate::reporters::{Reporter, RunEvent};

/// Edges around a packet that its prompt shows.
const EDGES_SHOWN: usize = 12;
/// Changes of the repository that are told one by one.
const CHANGES_SHOWN: usize = 10;
/// What a lease outlives its launch's own limit by.
const LEASE_MARGIN_MS: u64 = 60_000;
/// Errors of an earlier answer that a prompt repeats for one task.
const ERRORS_SHOWN: usize = 8;

/// A run's dispatching.
pub(super) struct Dispatcher<'a> {
    audit: &'a mut Audit,
    reporter: &'a mut dyn Reporter,
    interrupts: &'a mut UnboundedReceiver<()>,
    cancel: CancelSource,
    engine: Dispatch,
    shared: Arc<Shared>,
    near: Neighbourhood<'a>,
    tasks: HashMap<TaskId, Task>,
    errors: HashMap<TaskId, Vec<String>>,
    launches: HashMap<SlotKey, LaunchId>,
    running: JoinSet<(SlotKey, LaunchReport)>,
    wave: u64,
    interrupted: u32,
    progress: Progress,
    /// Whether a file changed under a reviewer, so that the repository must be surveyed again.
    pub(super) sources_changed: bool,
}

/// What progress is told from.
struct Progress {
    done: usize,
    total: usize,
    done_here: usize,
    began_ms: u64,
    findings: BTreeMap<Severity, usize>,
}

/// What a dispatcher is made of.
pub(super) struct Parts<'a> {
    pub(super) audit: &'a mut Audit,
    pub(super) reporter: &'a mut dyn Reporter,
    pub(super) interrupts: &'a mut UnboundedReceiver<()>,
    pub(super) cancel: CancelSource,
    pub(super) shared: Arc<Shared>,
    pub(super) structure: &'a Structure,
}

impl<'a> Dispatcher<'a> {
    pub(super) fn new(parts: Parts<'a>) -> Result<Self, AuditError> {
        let settings = &parts.audit.settings;
        let chosen = &parts.shared.chosen;
        let width = settings.workers.unwrap_or(chosen.width);
        let lane = LaneSpec { name: chosen.name.clone(), width, widest: width };
        let limits = Limits { workers: width, attempts: settings.attempts, launches: settings.max_launches };
        let mut findings: BTreeMap<Severity, usize> = BTreeMap::new();
        for record in parts.audit.store.results()? {
            count_findings(&mut findings, &record);
        }
        let wave = parts.audit.store.waves()?.iter().map(|(wave, _)| *wave).max().unwrap_or(0);
        Ok(Self {
            engine: Dispatch::new(vec![lane], limits),
            tasks: HashMap::new(),
            errors: HashMap::new(),
            launches: HashMap::new(),
            running: JoinSet::new(),
            wave,
            interrupted: 0,
            progress: Progress { done: 0, total: 0, done_here: 0, began_ms: clock::now_ms(), findings },
            sources_changed: false,
            audit: parts.audit,
            reporter: parts.reporter,
            interrupts: parts.interrupts,
            cancel: parts.cancel,
            shared: parts.shared,
            near: Neighbourhood::of(parts.structure),
        })
    }

    /// Dispatches every pending task of these rows until nothing runs and nothing can be started.
    pub(super) async fn run(&mut self, rows: &[TaskRow]) -> Result<End, AuditError> {
        let pending: Vec<&TaskRow> = rows.iter().filter(|row| row.state == TaskState::Pending).collect();
        self.progress.total = rows.len();
        self.progress.done = rows.iter().filter(|row| row.state == TaskState::Done).count();
        self.reporter.report(&RunEvent::Work { total: self.progress.total, done: self.progress.done });
        let attempts: HashMap<&TaskId, u32> = pending.iter().map(|row| (&row.task.id, row.attempts)).collect();
        let tasks: Vec<&Task> = pending.iter().map(|row| &row.task).collect();
        let packets = plan_packets(&tasks, &PacketOptions::default());
        let ready = packets
            .iter()
            .map(|packet| packet.tasks.iter().map(|id| (id.clone(), attempts.get(id).copied().unwrap_or(0))).collect());
        let ready: Vec<Vec<(TaskId, u32)>> = ready.collect();
        self.tasks.extend(pending.iter().map(|row| (row.task.id.clone(), row.task.clone())));
        let before = self.mark_checkout();
        let commands = self.engine.handle(Event::Ready(ready), clock::now_ms());
        let mut state = self.carry_out(commands)?;
        while state.end.is_none() {
            let event = self.next_event(state.wake_ms).await?;
            state = match event {
                Happened::Engine(event) => {
                    let commands = self.engine.handle(event, clock::now_ms());
                    self.carry_out(commands)?
                }
                Happened::Launched(slot, report) => self.settle(slot, *report)?,
            };
        }
        self.compare_checkout(before);
        Ok(state.end.unwrap_or(End::Complete))
    }

    /// The state of the audited files before programs are let at them. Rules start none, so nothing is marked for them.
    fn mark_checkout(&self) -> Option<Checkout> {
        let starts_programs = self.shared.chosen.name != "rules";
        let paths = || self.shared.inventory.auditable().map(|row| row.path.as_str());
        starts_programs.then(|| Checkout::mark(&self.shared.root, paths()))
    }

    /// Says what was changed in the repository meanwhile: by a reviewer, who must not, or by somebody else.
    fn compare_checkout(&mut self, before: Option<Checkout>) {
        let Some(before) = before else { return };
        let changes = before.changes(&before.mark_again(&self.shared.root));
        self.sources_changed |= !changes.is_empty();
        for change in changes.iter().take(CHANGES_SHOWN) {
            let what = match change.kind {
                ChangeKind::Created => "was created",
                ChangeKind::Removed => "was removed",
                ChangeKind::Changed => "was changed",
                ChangeKind::Entries => "has other entries",
            };
            let path = if change.path.is_empty() { "the repository's root" } else { &change.path };
            self.reporter
                .report(&RunEvent::Warning(format!("{path} {what} while reviewers ran; they must not write there")));
        }
    }

    async fn next_event(&mut self, wake_ms: Option<u64>) -> Result<Happened, AuditError> {
        let pause = wake_ms.map(|at| Duration::from_millis(at.saturating_sub(clock::now_ms())));
        let wake = async {
            match pause {
                Some(pause) => tokio::time::sleep(pause).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(()) = self.interrupts.recv() => {
                self.interrupted += 1;
                let (urgency, text) = match self.interrupted {
                    1 => (Urgency::Soft, "interrupted: nothing new is started, running launches get 10 s; again to end them now"),
                    _ => (Urgency::Hard, "interrupted again: running launches are ended now"),
                };
                self.reporter.report(&RunEvent::Warning(text.to_owned()));
                self.cancel.raise(urgency);
                Ok(Happened::Engine(Event::Drain))
            }
            Some(ended) = self.running.join_next(), if !self.running.is_empty() => match ended {
                Ok((slot, report)) => Ok(Happened::Launched(slot, Box::new(report))),
                // A launch that panicked is a fault of ours; its lease stays and the next run frees it.
                Err(error) => Err(AuditError::NotFound(format!("a launch was lost: {error}"))),
            },
            () = wake => Ok(Happened::Engine(Event::Woke)),
        }
    }

    /// Carries out commands; gives when to wake, or how it ended.
    fn carry_out(&mut self, commands: Vec<Command>) -> Result<Next, AuditError> {
        let mut next = Next::default();
        let mut new_wave = true;
        for command in commands {
            match command {
                Command::Launch { slot, lane, tasks, attempt } => {
                    self.wave += u64::from(std::mem::take(&mut new_wave));
                    self.start(slot, &lane, &tasks, attempt)?;
                }
                // Parking belongs to the settlement that caused it, and is done there.
                Command::Park { .. } => {}
                Command::LaneClosed { lane, reason } => {
                    self.reporter.report(&RunEvent::Warning(format!("lane {lane} is closed for this run: {reason}")));
                }
                Command::Wait { until_ms } => {
                    next.wake_ms = Some(until_ms);
                    let until = clock::rfc3339(until_ms);
                    self.reporter.report(&RunEvent::Waiting { until, lanes: self.engine.lanes() });
                }
                Command::End(end) => next.end = Some(end),
            }
        }
        Ok(next)
    }

    fn start(&mut self, slot: SlotKey, lane: &str, ids: &[TaskId], attempt: u32) -> Result<(), AuditError> {
        let now_ms = clock::now_ms();
        let launch_id = LaunchId::new(format!("{}-{:05}", clock::stamp(now_ms), slot.0));
        let tasks: Vec<Task> = ids.iter().filter_map(|id| self.tasks.get(id).cloned()).collect();
        let refs: Vec<&Task> = tasks.iter().collect();
        let store = &mut self.audit.store;
        store.lease_slot(&NewSlot {
            launch: launch_id.clone(),
            wave: self.wave,
            packet: derive_packet_id(ids),
            tasks: ids.to_vec(),
            lane: LaneId::new(lane),
            attempt,
            holder: self.audit.holder.clone(),
            until_ms: now_ms + self.shared.timeout_ms + LEASE_MARGIN_MS,
            at_ms: now_ms,
        })?;
        store.start_launch(&launch_id, now_ms)?;
        let run_dir = match store.dir() {
            Some(dir) => dir.run_dir(&launch_id)?,
            None => return Err(AuditError::NotFound("the store has no directory for launches".to_owned())),
        };
        let errors: EarlierErrors =
            tasks.iter().filter_map(|task| Some((task.name.clone(), self.errors.get(&task.id)?.clone()))).collect();
        let context = PromptContext {
            repository: self.shared.inventory.name.clone(),
            edges: self.near.edges_near(&refs, EDGES_SHOWN),
            contents: None,
            errors,
            results_path: None,
        };
        self.launches.insert(slot, launch_id.clone());
        let order = Order { launch: launch_id, run_dir, tasks, attempt, context, cancel: self.cancel.subscribe() };
        let shared = self.shared.clone();
        self.running.spawn(async move { (slot, launch(shared, order).await) });
        Ok(())
    }

    /// The end of a launch: the engine decides, one transaction records, and what comes next is started.
    fn settle(&mut self, slot: SlotKey, report: LaunchReport) -> Result<Next, AuditError> {
        let now_ms = clock::now_ms();
        self.remember_errors(&report);
        self.sources_changed |= !report.changed.is_empty();
        let event = Event::Settled(Settled {
            slot,
            outcome: report.outcome,
            message: report.message.clone(),
            done: report.checked.accepted.iter().map(|accepted| accepted.task.clone()).collect(),
            dropped: report.changed.clone(),
            readings: report.readings.clone(),
            jitter: jitter(&report.launch),
        });
        let commands = self.engine.handle(event, now_ms);
        let park = commands.iter().filter_map(|command| match command {
            Command::Park { tasks, reason } => Some(tasks.iter().map(move |task| (task.clone(), reason.clone()))),
            _ => None,
        });
        let settlement = settlement(&report, park.flatten().collect(), &self.tasks, now_ms);
        self.audit.store.settle(&settlement)?;
        self.launches.remove(&slot);
        self.progress.done += settlement.results.len();
        self.progress.done_here += settlement.results.len();
        settlement.results.iter().for_each(|record| count_findings(&mut self.progress.findings, record));
        for (task, reason) in &settlement.park {
            let name = self.tasks.get(task).map_or(task.as_str(), |task| task.name.as_str());
            self.reporter.report(&RunEvent::Warning(format!("task {name} is parked: {reason}")));
        }
        self.tell(&report);
        self.carry_out(commands)
    }

    fn tell(&mut self, report: &LaunchReport) {
        let progress = &self.progress;
        let left = progress.total.saturating_sub(progress.done) as u64;
        let elapsed = clock::now_ms().saturating_sub(progress.began_ms);
        let eta_ms = (progress.done_here > 0 && left > 0).then(|| elapsed * left / progress.done_here as u64);
        self.reporter.report(&RunEvent::Launched {
            lane: self.shared.chosen.name.clone(),
            outcome: report.outcome.as_str(),
            message: report.message.clone(),
            done: progress.done,
            total: progress.total,
            findings: progress.findings.clone(),
            lanes: self.engine.lanes(),
            eta_ms,
        });
    }

    /// What was wrong is told to the reviewer that is asked again.
    fn remember_errors(&mut self, report: &LaunchReport) {
        let lines = |problems: &[Problem]| -> Vec<String> {
            problems.iter().take(ERRORS_SHOWN).map(|p| format!("{} {}: {}", p.code, p.place, p.message)).collect()
        };
        for rejected in &report.checked.rejected {
            if let Some(task) = &rejected.task {
                self.errors.insert(task.clone(), lines(&rejected.errors));
            }
        }
        if !report.checked.problems.is_empty() {
            for task in &report.checked.missing {
                self.errors.insert(task.clone(), lines(&report.checked.problems));
            }
        }
    }

    /// Whether a person asked to stop.
    pub(super) fn was_interrupted(&self) -> bool {
        self.interrupted > 0
    }

    /// Launches that were started.
    pub(super) fn launched(&self) -> u32 {
        self.engine.launched()
    }

    /// The store, between two runs of the dispatcher.
    pub(super) fn audit(&mut self) -> &mut Audit {
        self.audit
    }
}

/// What woke the driver.
enum Happened {
    Engine(Event),
    Launched(SlotKey, Box<LaunchReport>),
}

/// What follows from commands.
#[derive(Default)]
struct Next {
    wake_ms: Option<u64>,
    end: Option<End>,
}

/// Everything that the end of a launch changes in the store.
pub(super) fn settlement(
    report: &LaunchReport,
    park: Vec<(TaskId, String)>,
    tasks: &HashMap<TaskId, Task>,
    at_ms: u64,
) -> Settlement {
    let results = report.checked.accepted.iter().map(|accepted| ResultRecord {
        task: accepted.task.clone(),
        digest: result_digest(&accepted.result),
        result: accepted.result.clone(),
        reviewer: report.reviewer.clone(),
        launch: Some(report.launch.clone()),
        at_ms,
    });
    let name_of = |task: &TaskId| tasks.get(task).map_or_else(|| task.to_string(), |task| task.name.clone());
    let mut quarantine: Vec<Quarantined> = report
        .checked
        .rejected
        .iter()
        .map(|rejected| Quarantined {
            task_name: rejected.task.as_ref().map(&name_of).or_else(|| rejected.task_name.clone()).unwrap_or_default(),
            errors: serde_json::to_value(&rejected.errors).unwrap_or_default(),
            raw: rejected.raw.clone(),
        })
        .collect();
    if !report.checked.problems.is_empty() {
        quarantine.push(Quarantined {
            task_name: report.checked.missing.first().map(&name_of).unwrap_or_default(),
            errors: serde_json::to_value(&report.checked.problems).unwrap_or_default(),
            raw: report.raw.clone(),
        });
    }
    let attempt = if costs_an_attempt(report.outcome) { AttemptCost::Counted } else { AttemptCost::Uncounted };
    Settlement {
        end: LaunchEnd {
            launch: report.launch.clone(),
            outcome: report.outcome,
            message: report.message.clone(),
            usage: report.usage.clone(),
            wall_ms: report.wall_ms,
            exit_code: report.exit.0,
            exit_signal: report.exit.1,
            attempt,
            at_ms,
        },
        results: results.collect(),
        quarantine,
        park,
    }
}

fn count_findings(findings: &mut BTreeMap<Severity, usize>, record: &ResultRecord) {
    for finding in &record.result.findings {
        *findings.entry(finding.severity).or_default() += 1;
    }
}

/// From the launch's id, so that a run can be told again exactly.
fn jitter(launch: &LaunchId) -> f64 {
    f64::from(blake3::hash(launch.as_str().as_bytes()).as_bytes()[0]) / 255.0
}
