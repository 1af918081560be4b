//! The one `select!`: ends of launches, their requests, timers and interrupts in one order, and the commands of the engine
//! carried out.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use assize_core::dispatch::{
    Command, End, Event, Limits, Packet as ReadyPacket, PacketTask, RequestKey, SlotKey, Spent,
};
use assize_core::id::{LaneId, LaunchId, TaskId};
use assize_core::plan::{
    Neighbourhood, PacketOptions, PromptContext, Structure, derive_packet_id, estimate_tokens, plan_packets, split_task,
};
use assize_core::result::{ReviewerKind, Severity};
use assize_core::review::Problem;
use assize_core::task::Task;
use assize_store::{Admission, NewSlot, TaskRow, TaskState};
use assize_wire::Verdict;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use super::launching::{EarlierErrors, LaneWork, LaunchReport, Order, Shared, file_contents, launch};
use super::metering::{Traffic, ledger_form};
use super::settling::{count_findings, settled_event, settlement};
use super::sharing::Engine;
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
/// Tokens of a prompt beside the files: rules, lenses, tasks and the form of the answer.
const FRAME_TOKENS: u64 = 3_000;
/// A run that can start nothing for longer does not sit idle, unless it was given a deadline to wait until.
const MOST_IDLE_MS: u64 = 60 * 60_000;
/// Waits that are shorter are not told.
const WAIT_TOLD_MS: u64 = 1_000;

/// A run's dispatching.
pub(super) struct Dispatcher<'a> {
    audit: &'a mut Audit,
    reporter: &'a mut dyn Reporter,
    interrupts: &'a mut UnboundedReceiver<()>,
    cancel: CancelSource,
    engine: Engine,
    shared: Arc<Shared>,
    lanes: BTreeMap<String, Arc<LaneWork>>,
    near: Neighbourhood<'a>,
    tasks: HashMap<TaskId, Task>,
    errors: HashMap<TaskId, Vec<String>>,
    slots: HashMap<SlotKey, Slot>,
    running: JoinSet<(SlotKey, LaunchReport)>,
    traffic: UnboundedReceiver<Traffic>,
    to_driver: UnboundedSender<Traffic>,
    held: HashMap<(SlotKey, RequestKey), oneshot::Sender<Verdict>>,
    /// Launches of which it was told that their gateway refuses something.
    refused: HashSet<LaunchId>,
    wave: u64,
    interrupted: u32,
    progress: Progress,
    told_wait_ms: u64,
    /// Whether a file changed under a reviewer, so that the repository must be surveyed again.
    pub(super) sources_changed: bool,
    /// When something could be started again, where that is too far away to wait for.
    pub(super) idle_until_ms: Option<u64>,
}

/// A slot that runs.
struct Slot {
    launch: LaunchId,
    lane: Arc<LaneWork>,
    tasks: Vec<TaskId>,
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
    pub(super) lanes: Vec<Arc<LaneWork>>,
    pub(super) limits: Limits,
    pub(super) structure: &'a Structure,
}

impl<'a> Dispatcher<'a> {
    pub(super) fn new(parts: Parts<'a>) -> Result<Self, AuditError> {
        let mut findings: BTreeMap<Severity, usize> = BTreeMap::new();
        for record in parts.audit.store.results()? {
            count_findings(&mut findings, &record);
        }
        let wave = parts.audit.store.waves()?.iter().map(|(wave, _)| *wave).max().unwrap_or(0);
        let lanes: Vec<_> = parts.lanes.iter().map(|work| work.lane.clone()).collect();
        let (engine, note) = Engine::open(&lanes, parts.limits, &parts.shared.environment)?;
        if let Some(note) = note {
            parts.reporter.report(&RunEvent::Warning(note));
        }
        let (to_driver, traffic) = unbounded_channel();
        Ok(Self {
            engine,
            lanes: parts.lanes.into_iter().map(|work| (work.lane.name.clone(), work)).collect(),
            tasks: HashMap::new(),
            errors: HashMap::new(),
            slots: HashMap::new(),
            running: JoinSet::new(),
            traffic,
            to_driver,
            held: HashMap::new(),
            refused: HashSet::new(),
            wave,
            interrupted: 0,
            progress: Progress { done: 0, total: 0, done_here: 0, began_ms: clock::now_ms(), findings },
            told_wait_ms: 0,
            sources_changed: false,
            idle_until_ms: None,
            audit: parts.audit,
            reporter: parts.reporter,
            interrupts: parts.interrupts,
            cancel: parts.cancel,
            shared: parts.shared,
            near: Neighbourhood::of(parts.structure),
        })
    }

    /// Dispatches every pending task of these rows until nothing runs and nothing can be started.
    pub(super) async fn run(&mut self, rows: &[&TaskRow]) -> Result<End, AuditError> {
        let pending: Vec<&TaskRow> = rows.iter().copied().filter(|row| row.state == TaskState::Pending).collect();
        self.progress.total = rows.len();
        self.progress.done = rows.iter().filter(|row| row.state == TaskState::Done).count();
        self.reporter.report(&RunEvent::Work { total: self.progress.total, done: self.progress.done });
        let ready = ready_packets(&pending);
        self.tasks.extend(pending.iter().map(|row| (row.task.id.clone(), row.task.clone())));
        let before = self.mark_checkout();
        let mut state = self.feed(Event::Ready(ready))?;
        while state.end.is_none() {
            state = match self.next_event(state.wake_ms).await? {
                Happened::Engine(event) => self.feed(event)?,
                Happened::Launched(slot, report) => self.settle(slot, *report)?,
                Happened::Traffic(traffic) => self.pass(traffic, state)?,
            };
        }
        self.compare_checkout(before);
        Ok(state.end.unwrap_or(End::Complete))
    }

    /// The state of the audited files before programs are let at them. Rules start none, so nothing is marked for them.
    fn mark_checkout(&self) -> Option<Checkout> {
        let starts_programs = self.lanes.values().any(|work| work.lane.reviewer == ReviewerKind::Agent);
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
            self.warn(format!("{path} {what} while reviewers ran; they must not write there"));
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
                self.warn(text.to_owned());
                self.cancel.raise(urgency);
                Ok(Happened::Engine(Event::Drain))
            }
            // Before the ends of launches: what a launch has drawn is known before its slot is settled.
            Some(traffic) = self.traffic.recv() => Ok(Happened::Traffic(traffic)),
            Some(ended) = self.running.join_next(), if !self.running.is_empty() => match ended {
                Ok((slot, report)) => Ok(Happened::Launched(slot, Box::new(report))),
                // Its lease stays, and the next run frees it.
                Err(error) => Err(AuditError::Fault(format!("a launch was lost: {error}"))),
            },
            () = wake => Ok(Happened::Engine(Event::Woke)),
        }
    }

    /// Takes what a launch tells while it runs. A message that changes nothing leaves `state` as it is.
    fn pass(&mut self, traffic: Traffic, state: Next) -> Result<Next, AuditError> {
        match traffic {
            Traffic::Asked(asked, reply) => {
                self.held.insert((asked.slot, asked.request), reply);
                self.feed(Event::RequestAsked(asked))
            }
            Traffic::Ended(ended, seen) => {
                self.held.remove(&(ended.slot, ended.request));
                if let Some((launch, seen)) = seen {
                    self.audit.store.note_request(&launch, &ledger_form(&seen), clock::now_ms())?;
                }
                self.feed(Event::RequestEnded(*ended))
            }
            Traffic::Refused(launch, refusal) => {
                // A program that tries again and again has said it once.
                if self.refused.insert(launch.clone()) {
                    let (reason, status) = (refusal.reason, refusal.status);
                    self.warn(format!("the gateway of launch {launch} refuses what it sends ({reason}, {status})"));
                }
                Ok(state)
            }
        }
    }

    /// Hands one event to the engine and carries out what it wants, splits included.
    fn feed(&mut self, event: Event) -> Result<Next, AuditError> {
        let commands = self.engine.handle(event, clock::now_ms())?;
        self.carry_out(commands)
    }

    /// Carries out commands; gives when to wake, or how it ended.
    fn carry_out(&mut self, commands: Vec<Command>) -> Result<Next, AuditError> {
        let mut next = Next::default();
        let mut new_wave = true;
        let mut notes = Vec::new();
        let mut left = VecDeque::from(commands);
        while let Some(command) = left.pop_front() {
            match command {
                Command::Launch { slot, lane, tasks, attempt, micro_usd } => {
                    self.wave += u64::from(std::mem::take(&mut new_wave));
                    self.start(Start { slot, lane, tasks, attempt, micro_usd })?;
                }
                Command::AdmitRequest { slot, request } => self.answer((slot, request), Verdict::Go(request.0)),
                Command::RefuseRequest { slot, request, retry_after_ms } => {
                    let message = "the limits of this lane leave no room before the launch's deadline".to_owned();
                    self.answer((slot, request), Verdict::Refuse { retry_after_ms, message });
                }
                Command::Park { tasks, reason } => self.park(&tasks, &reason)?,
                Command::LaneClosed { lane, reason } => {
                    self.warn(format!("lane {lane} is closed for this run: {reason}"));
                }
                Command::Split { task, most_tokens } => {
                    let parts = self.split(&task, most_tokens)?;
                    // What was to be done at the old instant is decided anew.
                    next.wake_ms = None;
                    left.extend(self.engine.handle(Event::SplitInto { task, parts }, clock::now_ms())?);
                }
                Command::Wait { until_ms } => next.wake_ms = Some(until_ms),
                Command::Note(decision) => {
                    let launch = decision.slot.and_then(|slot| self.slots.get(&slot)).map(|slot| slot.launch.clone());
                    let by_rules =
                        self.lanes.get(&decision.lane).is_some_and(|w| w.lane.reviewer == ReviewerKind::Rules);
                    if !by_rules {
                        notes.push(Admission { launch, decision });
                    }
                }
                Command::End(end) => next.end = Some(end),
            }
        }
        self.audit.store.note_admissions(&notes)?;
        let idle = next.end.is_none() && self.engine.in_flight() == 0 && self.shared.deadline_ms.is_none();
        let far = next.wake_ms.filter(|at| at.saturating_sub(clock::now_ms()) > MOST_IDLE_MS);
        if let (true, Some(until_ms)) = (idle, far) {
            self.idle_until_ms = Some(until_ms);
            next.end = Some(End::Deadline);
        }
        self.tell_wait(&next);
        Ok(next)
    }

    fn answer(&mut self, request: (SlotKey, RequestKey), verdict: Verdict) {
        if let Some(reply) = self.held.remove(&request) {
            // Whoever asked may be gone; then its place has been given back already.
            let _ = reply.send(verdict);
        }
    }

    fn tell_wait(&mut self, next: &Next) {
        let (Some(until_ms), None) = (next.wake_ms, &next.end) else { return };
        let far = until_ms.saturating_sub(clock::now_ms()) >= WAIT_TOLD_MS;
        if far && self.engine.in_flight() == 0 && until_ms.abs_diff(self.told_wait_ms) >= WAIT_TOLD_MS {
            self.told_wait_ms = until_ms;
            let until = clock::rfc3339(until_ms);
            self.reporter.report(&RunEvent::Waiting { until, lanes: self.engine.lanes() });
        }
    }

    fn start(&mut self, start: Start) -> Result<(), AuditError> {
        let Start { slot, lane, tasks: ids, attempt, micro_usd } = start;
        let Some(work) = self.lanes.get(&lane).cloned() else {
            return Err(AuditError::Fault(format!("the engine named the lane {lane}, which there is not")));
        };
        let now_ms = clock::now_ms();
        let launch_id = LaunchId::new(format!("{}-{:05}", clock::stamp(now_ms), slot.0));
        let tasks: Vec<Task> = ids.iter().filter_map(|id| self.tasks.get(id).cloned()).collect();
        let refs: Vec<&Task> = tasks.iter().collect();
        let store = &mut self.audit.store;
        store.lease_slot(&NewSlot {
            launch: launch_id.clone(),
            wave: self.wave,
            packet: derive_packet_id(&ids),
            tasks: ids.clone(),
            lane: LaneId::new(lane),
            reviewer: work.lane.reviewer,
            model: work.lane.model.clone(),
            attempt,
            holder: self.audit.holder.clone(),
            until_ms: now_ms + self.shared.timeout_ms + LEASE_MARGIN_MS,
            at_ms: now_ms,
        })?;
        store.start_launch(&launch_id, now_ms)?;
        let run_dir = match store.dir() {
            Some(dir) => dir.run_dir(&launch_id)?,
            None => return Err(AuditError::Fault("the store has no directory for launches".to_owned())),
        };
        let errors: EarlierErrors =
            tasks.iter().filter_map(|task| Some((task.name.clone(), self.errors.get(&task.id)?.clone()))).collect();
        let context = PromptContext {
            repository: self.shared.inventory.name.clone(),
            edges: self.near.edges_near(&refs, EDGES_SHOWN),
            contents: file_contents(&self.shared, &work.lane, &tasks),
            errors,
            results_path: None,
        };
        self.slots.insert(slot, Slot { launch: launch_id.clone(), lane: work.clone(), tasks: ids });
        let order = Order {
            launch: launch_id,
            slot,
            lane: work,
            run_dir,
            tasks,
            attempt,
            context,
            most_requests: None,
            micro_usd,
            driver: self.to_driver.clone(),
            cancel: self.cancel.subscribe(),
        };
        let shared = self.shared.clone();
        self.running.spawn(async move { (slot, launch(shared, order).await) });
        Ok(())
    }

    /// The end of a launch: the engine decides, one transaction records, and what comes next is started.
    fn settle(&mut self, slot: SlotKey, report: LaunchReport) -> Result<Next, AuditError> {
        let now_ms = clock::now_ms();
        let Some(ended) = self.slots.remove(&slot) else {
            return Err(AuditError::Fault(format!("a launch ended twice: {}", report.launch)));
        };
        self.remember_errors(&report);
        self.sources_changed |= !report.changed.is_empty();
        if let Some(first) = report.copy_changes.first() {
            let (launch, paths) = (&report.launch, report.copy_changes.len());
            self.warn(format!(
                "launch {launch} changed {paths} paths of the copy, {first} for one; they were put right"
            ));
        }
        self.held.retain(|(of, _), _| *of != slot);
        let event = settled_event(slot, &report, &ended.tasks);
        let mut commands = self.engine.handle(Event::Settled(event), now_ms)?;
        let park = take_parks(&mut commands, &ended.tasks);
        let settlement = settlement(&report, park, &self.tasks, now_ms);
        self.audit.store.settle(&settlement)?;
        if report.handed_off {
            self.audit.store.set_waiting(&report.launch, true, now_ms)?;
        }
        self.engine.add_usage(&ended.lane.lane.spec.account, report.usage.as_ref(), now_ms)?;
        self.progress.done += settlement.results.len();
        self.progress.done_here += settlement.results.len();
        settlement.results.iter().for_each(|record| count_findings(&mut self.progress.findings, record));
        for (task, reason) in &settlement.park {
            self.tell_parked(task, reason);
        }
        self.tell(&ended.lane.lane.name, &report);
        self.carry_out(commands)
    }

    /// Gives up tasks that no launch has.
    fn park(&mut self, tasks: &[TaskId], reason: &str) -> Result<(), AuditError> {
        for task in tasks {
            self.audit.store.park_task(task, reason, clock::now_ms())?;
            self.tell_parked(task, reason);
        }
        Ok(())
    }

    /// Cuts a task into parts of which each fits; none when it cannot be made smaller.
    fn split(&mut self, task: &TaskId, most_tokens: u64) -> Result<Vec<PacketTask>, AuditError> {
        let Some(whole) = self.tasks.get(task) else { return Ok(Vec::new()) };
        let mut open = split_task(whole);
        let mut parts = Vec::new();
        while let Some(part) = open.pop() {
            let halves = if prompt_tokens(&part) > most_tokens { split_task(&part) } else { Vec::new() };
            if halves.is_empty() { parts.push(part) } else { open.extend(halves) }
        }
        if parts.is_empty() || parts.iter().any(|part| prompt_tokens(part) > most_tokens) {
            return Ok(Vec::new());
        }
        parts.reverse();
        self.audit.store.split_task(task, &parts, clock::now_ms())?;
        self.progress.total += parts.len() - 1;
        self.tasks.extend(parts.iter().map(|part| (part.id.clone(), part.clone())));
        let ready = |part: &Task| PacketTask { task: part.id.clone(), attempts: 0, tokens: prompt_tokens(part) };
        Ok(parts.iter().map(ready).collect())
    }

    fn tell_parked(&mut self, task: &TaskId, reason: &str) {
        let name = self.tasks.get(task).map_or(task.as_str(), |task| task.name.as_str());
        let text = format!("task {name} is parked: {reason}");
        self.warn(text);
    }

    fn tell(&mut self, lane: &str, report: &LaunchReport) {
        let progress = &self.progress;
        let left = progress.total.saturating_sub(progress.done) as u64;
        let elapsed = clock::now_ms().saturating_sub(progress.began_ms);
        let eta_ms = (progress.done_here > 0 && left > 0).then(|| elapsed * left / progress.done_here as u64);
        self.reporter.report(&RunEvent::Launched {
            lane: lane.to_owned(),
            outcome: if report.handed_off { "handed off" } else { report.outcome.as_str() },
            message: report.message.clone(),
            done: progress.done,
            total: progress.total,
            findings: progress.findings.clone(),
            lanes: self.engine.lanes(),
            eta_ms,
        });
    }

    fn warn(&mut self, text: String) {
        self.reporter.report(&RunEvent::Warning(text));
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

    /// What was spent.
    pub(super) fn spent(&self) -> Spent {
        self.engine.spent()
    }

    /// The store, between two runs of the dispatcher.
    pub(super) fn audit(&mut self) -> &mut Audit {
        self.audit
    }
}

/// A launch that is to be started.
struct Start {
    slot: SlotKey,
    lane: String,
    tasks: Vec<TaskId>,
    attempt: u32,
    micro_usd: Option<u64>,
}

/// What woke the driver.
enum Happened {
    Engine(Event),
    Launched(SlotKey, Box<LaunchReport>),
    Traffic(Traffic),
}

/// What follows from commands.
#[derive(Default)]
struct Next {
    wake_ms: Option<u64>,
    end: Option<End>,
}

/// Packets of these tasks, with what the engine reckons by.
fn ready_packets(pending: &[&TaskRow]) -> Vec<ReadyPacket> {
    let rows: HashMap<&TaskId, &TaskRow> = pending.iter().map(|row| (&row.task.id, *row)).collect();
    let tasks: Vec<&Task> = pending.iter().map(|row| &row.task).collect();
    let ready = |id: &TaskId| {
        let row = rows.get(id)?;
        Some(PacketTask { task: id.clone(), attempts: row.attempts, tokens: prompt_tokens(&row.task) })
    };
    plan_packets(&tasks, &PacketOptions::default())
        .iter()
        .map(|packet| ReadyPacket {
            avoid: packet.tasks.iter().find_map(|id| rows.get(id)?.task.deepening.as_ref()?.source_lane.clone()),
            tasks: packet.tasks.iter().filter_map(ready).collect(),
            tokens: packet.estimated_tokens.saturating_add(FRAME_TOKENS),
        })
        .collect()
}

/// Tokens of a prompt with this task alone; numbers before its lines cost about a quarter more.
fn prompt_tokens(task: &Task) -> u64 {
    let content = estimate_tokens(task);
    content.saturating_add(content / 4).saturating_add(FRAME_TOKENS)
}

/// Takes out the commands that give up tasks of one launch: that belongs to its settlement.
fn take_parks(commands: &mut Vec<Command>, own: &[TaskId]) -> Vec<(TaskId, String)> {
    let mut parks = Vec::new();
    commands.retain_mut(|command| {
        let Command::Park { tasks, reason } = command else { return true };
        let (mine, others): (Vec<TaskId>, Vec<TaskId>) = tasks.drain(..).partition(|task| own.contains(task));
        parks.extend(mine.into_iter().map(|task| (task, reason.clone())));
        *tasks = others;
        !tasks.is_empty()
    });
    parks
}
