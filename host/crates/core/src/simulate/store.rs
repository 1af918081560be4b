//! A model of a host's store: what each transaction changes, what outlives a crash, and what a recovery sweeps.

use std::collections::BTreeMap;

use crate::dispatch::{Packet, PacketTask};
use crate::id::TaskId;

/// A launch of one host, over all its lives.
pub(super) type LaunchNumber = u64;

/// Where a task stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TaskStand {
    Pending,
    Leased(LaunchNumber),
    Done,
    Parked,
    /// Its parts stand in its place.
    Split,
}

/// A task's row.
#[derive(Clone, Debug)]
pub(super) struct TaskRow {
    pub(super) tokens: u64,
    pub(super) attempts: u32,
    pub(super) stand: TaskStand,
}

/// What is on disk.
#[derive(Clone, Debug, Default)]
pub(super) struct Store {
    pub(super) rows: BTreeMap<TaskId, TaskRow>,
    leases: BTreeMap<LaunchNumber, Vec<TaskId>>,
    /// Answers that launches have written, whether or not anybody has read them.
    answers: BTreeMap<LaunchNumber, Vec<TaskId>>,
    /// Times that a task's result was taken.
    pub(super) ingested: BTreeMap<TaskId, u32>,
}

impl Store {
    pub(super) fn add(&mut self, task: TaskId, tokens: u64) {
        self.rows.insert(task, TaskRow { tokens, attempts: 0, stand: TaskStand::Pending });
    }

    /// Leases tasks; gives those that are not free.
    pub(super) fn lease(&mut self, launch: LaunchNumber, tasks: &[TaskId]) -> Vec<TaskId> {
        let mut taken = Vec::new();
        for task in tasks {
            match self.rows.get_mut(task) {
                Some(row) if row.stand == TaskStand::Pending => row.stand = TaskStand::Leased(launch),
                _ => taken.push(task.clone()),
            }
        }
        self.leases.insert(launch, tasks.to_vec());
        taken
    }

    /// A launch writes its answer.
    pub(super) fn write_answer(&mut self, launch: LaunchNumber, tasks: Vec<TaskId>) {
        self.answers.insert(launch, tasks);
    }

    /// The answer of a launch, if it has written one.
    pub(super) fn answer(&self, launch: LaunchNumber) -> Vec<TaskId> {
        self.answers.get(&launch).cloned().unwrap_or_default()
    }

    /// The end of a launch: its results, its tries and what is given up, in one transaction.
    pub(super) fn settle(&mut self, launch: LaunchNumber, done: &[TaskId], park: &[TaskId], counts: bool) {
        for task in self.leases.remove(&launch).unwrap_or_default() {
            let Some(row) = self.rows.get_mut(&task) else { continue };
            if row.stand == TaskStand::Leased(launch) {
                row.stand = TaskStand::Pending;
                row.attempts += u32::from(counts && !done.contains(&task));
            }
        }
        for task in done {
            *self.ingested.entry(task.clone()).or_default() += 1;
            self.set(task, TaskStand::Done);
        }
        park.iter().for_each(|task| self.set(task, TaskStand::Parked));
    }

    pub(super) fn park(&mut self, task: &TaskId) {
        self.set(task, TaskStand::Parked);
    }

    /// Puts parts in the place of a task.
    pub(super) fn split(&mut self, task: &TaskId, parts: &[PacketTask]) {
        self.set(task, TaskStand::Split);
        parts.iter().for_each(|part| self.add(part.task.clone(), part.tokens));
    }

    fn set(&mut self, task: &TaskId, stand: TaskStand) {
        if let Some(row) = self.rows.get_mut(task) {
            row.stand = stand;
        }
    }

    /// What a host that died has left: launches whose slots are not free, in order.
    pub(super) fn left_behind(&self) -> Vec<LaunchNumber> {
        self.leases.keys().copied().collect()
    }

    /// What waits, in packets of so many tasks.
    pub(super) fn pending(&self, per_packet: u32) -> Vec<Packet> {
        let waits = |(task, row): (&TaskId, &TaskRow)| {
            let ready = PacketTask { task: task.clone(), attempts: row.attempts, tokens: row.tokens };
            (row.stand == TaskStand::Pending).then_some(ready)
        };
        let tasks: Vec<PacketTask> = self.rows.iter().filter_map(waits).collect();
        let packet = |tasks: &[PacketTask]| Packet {
            avoid: None,
            tokens: tasks.iter().fold(0, |sum: u64, task| sum.saturating_add(task.tokens)),
            tasks: tasks.to_vec(),
        };
        tasks.chunks(per_packet.max(1) as usize).map(packet).collect()
    }

    pub(super) fn count(&self, stand: &TaskStand) -> usize {
        self.rows.values().filter(|row| row.stand == *stand).count()
    }
}
