//! The loop of a host: it tells its dispatcher what happened, writes its store and carries out what is wanted, as the real
//! one does, with a chance to die at every step.

use super::laws::RateNews;
use super::scenario::BEGIN_MS;
use super::store::{LaunchNumber, TaskStand};
use super::world::{Happening, World};
use crate::dispatch::{Command, Event, PacketTask};
use crate::id::TaskId;

/// Parts that a task is cut into at most.
const MOST_PARTS: u64 = 64;

/// What a dispatcher is told, and what goes with it.
pub(super) struct Told {
    pub(super) event: Event,
    /// What the store takes, where a launch has ended.
    pub(super) closing: Option<Closing>,
    /// The rate outcome of which the dispatcher hears.
    pub(super) rate: Option<RateNews>,
}

impl From<Event> for Told {
    fn from(event: Event) -> Self {
        Self { event, closing: None, rate: None }
    }
}

/// The end of a launch, as the store takes it.
pub(super) struct Closing {
    pub(super) launch: LaunchNumber,
    pub(super) tasks: Vec<TaskId>,
    pub(super) done: Vec<TaskId>,
    pub(super) counts: bool,
}

impl World<'_> {
    /// Tells a host's dispatcher what happened, inside one transaction on what all hosts share, and does what it wants.
    pub(super) fn tell(&mut self, host: usize, told: Told) {
        if self.dies(host) {
            return;
        }
        let Told { event, closing, rate } = told;
        let now_ms = self.now_ms;
        let engine = &mut self.hosts[host].engine;
        engine.absorb(&self.shared, now_ms);
        let mut commands = engine.handle(event, now_ms);
        self.shared = engine.share();
        if let Some(rate) = rate {
            self.laws.heard(&self.scenario.lanes[rate.lane].name, &rate, now_ms);
        }
        self.hosts[host].batch += 1;
        self.check_batch(host, &commands);
        if self.dies(host) {
            return;
        }
        if let Some(closing) = closing {
            let park = take_parks(&mut commands, &closing.tasks);
            self.ingest(host, closing.launch, &closing.done, &park, closing.counts);
        }
        for command in commands.into_iter().filter(|command| !matches!(command, Command::Note(_))) {
            if self.dies(host) {
                return;
            }
            self.carry_out(host, command);
        }
        self.count_idle(host);
    }

    fn count_idle(&mut self, host: usize) {
        let now_ms = self.now_ms;
        let host = &mut self.hosts[host];
        if let Some(since_ms) = host.idle_since_ms.take() {
            self.figures.idle_ms += now_ms - since_ms;
        }
        if host.live.is_empty() && host.is_unfinished() {
            host.idle_since_ms = Some(now_ms);
        }
    }

    /// What holds between a host and its dispatcher after everything that it was told.
    fn check_batch(&mut self, host: usize, commands: &[Command]) {
        let now_ms = self.now_ms;
        let launches = commands.iter().filter(|command| matches!(command, Command::Launch { .. })).count();
        let waits = commands.iter().filter(|command| matches!(command, Command::Wait { .. })).count();
        let ends = commands.iter().any(|command| matches!(command, Command::End(_)));
        let splits = commands.iter().filter(|command| matches!(command, Command::Split { .. })).count();
        let state = &self.hosts[host];
        let (known, expected) = (state.engine.in_flight(), state.live.len() + launches);
        let goes_on = ends || waits > 0 || splits + state.splitting > 0 || expected > 0;
        let laws = &mut self.laws;
        laws.check(known == expected, "the dispatcher knows what runs", now_ms, || format!("{known} for {expected}"));
        laws.check(goes_on, "a run never stands still", now_ms, || format!("host {host} waits for nothing"));
        laws.check(waits <= 1, "there is one instant to wait for", now_ms, || format!("{waits} of them"));
    }

    fn carry_out(&mut self, host: usize, command: Command) {
        let now_ms = self.now_ms;
        match command {
            Command::Launch { slot, lane, tasks, .. } => self.launch(host, slot, &lane, tasks),
            Command::AdmitRequest { slot, request } => self.admitted(host, slot, request),
            Command::RefuseRequest { slot, retry_after_ms, .. } => self.sent_back(host, slot, retry_after_ms),
            Command::Park { tasks, .. } => {
                for task in tasks {
                    self.check_stand(host, &task, &TaskStand::Pending, "a task ends once");
                    self.hosts[host].store.park(&task);
                }
            }
            Command::LaneClosed { lane, .. } => drop(self.hosts[host].closed.insert(lane)),
            Command::Split { task, most_tokens } => self.split(host, task, most_tokens),
            Command::Wait { until_ms } => {
                self.laws.check(until_ms > now_ms, "no wait lies in the past", now_ms, || format!("{until_ms}"));
                self.figures.waits += 1;
                let batch = self.hosts[host].batch;
                self.plan(until_ms.saturating_sub(now_ms).max(1), Happening::Wake { host, batch });
            }
            Command::End(end) => self.hosts[host].end = Some(end),
            Command::Note(_) => {}
        }
    }

    pub(super) fn check_stand(&mut self, host: usize, task: &TaskId, stand: &TaskStand, law: &'static str) {
        let found = self.hosts[host].store.rows.get(task).map(|row| row.stand.clone());
        let holds = found.as_ref() == Some(stand);
        self.laws.check(holds, law, self.now_ms, || format!("{task} is {found:?}"));
    }

    /// The store's transaction at the end of a launch.
    pub(super) fn ingest(&mut self, host: usize, launch: LaunchNumber, done: &[TaskId], park: &[TaskId], counts: bool) {
        for task in done {
            self.check_stand(host, task, &TaskStand::Leased(launch), "no result is ingested twice");
        }
        for task in park {
            self.check_stand(host, task, &TaskStand::Leased(launch), "a task ends once");
        }
        self.hosts[host].store.settle(launch, done, park, counts);
        self.note_work();
    }

    /// Something was brought to an end now.
    pub(super) fn note_work(&mut self) {
        self.figures.makespan_ms = self.now_ms - BEGIN_MS;
    }

    /// Cuts a task into parts of which each fits, as files are cut into ranges of lines.
    fn split(&mut self, host: usize, task: TaskId, most_tokens: u64) {
        self.check_stand(host, &task, &TaskStand::Pending, "a task ends once");
        self.hosts[host].splitting += 1;
        let tokens = self.hosts[host].store.rows.get(&task).map_or(0, |row| row.tokens);
        let count = tokens.div_ceil(most_tokens.max(1)).max(2);
        let part = tokens.div_ceil(count);
        let smallest = self.scenario.trace.smallest_part;
        let is_possible = count <= MOST_PARTS && part >= smallest && part < tokens;
        let id = |at: u64| TaskId::new(format!("{task}.{at}"));
        let parts: Vec<PacketTask> = (0..if is_possible { count } else { 0 })
            .map(|at| PacketTask { task: id(at), attempts: 0, tokens: part })
            .collect();
        if !parts.is_empty() {
            self.hosts[host].store.split(&task, &parts);
        }
        let life = self.hosts[host].life;
        self.plan(0, Happening::Split { host, life, task, parts });
    }
}

/// Takes out what is given up of the tasks of a launch, because it belongs to the launch's own transaction.
fn take_parks(commands: &mut Vec<Command>, own: &[TaskId]) -> Vec<TaskId> {
    let mut parked = Vec::new();
    commands.retain_mut(|command| {
        let Command::Park { tasks, .. } = command else { return true };
        let (mine, others): (Vec<TaskId>, Vec<TaskId>) = tasks.drain(..).partition(|task| own.contains(task));
        parked.extend(mine);
        *tasks = others;
        !tasks.is_empty()
    });
    parked
}
