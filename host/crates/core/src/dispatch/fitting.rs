//! What becomes of packets that no lane can take as they are: halves, parts, or a place in the report.

use std::collections::BTreeSet;

use super::command::Command;
use super::engine::Dispatch;
use super::event::PacketTask;
use super::queue::{Group, Waiting};
use crate::id::TaskId;

/// What the report says of a task that cannot be made small enough.
const TOO_LARGE: &str = "does not fit any lane: its files cannot be split further";

impl Dispatch {
    /// Puts a packet into the queue, unless no lane can take it as it is.
    pub(super) fn enqueue(&mut self, waiting: Waiting, commands: &mut Vec<Command>) {
        if waiting.tasks.is_empty() {
            return;
        }
        let fitting: Vec<usize> = (0..self.lanes.len()).filter(|at| self.lanes[*at].fits(waiting.tokens)).collect();
        let lanes: Vec<usize> = fitting.iter().copied().filter(|at| !waiting.refused_by.contains(at)).collect();
        let is_live = |at: &usize| !self.lanes[*at].is_closed();
        // Without any live lane the packet waits, so that the run ends with the cause of that.
        if lanes.iter().any(is_live) || !self.lanes.iter().any(|lane| !lane.is_closed()) {
            let group = Group { not_on: waiting.not_on, lanes };
            return self.queue.push(group, waiting);
        }
        if fitting.iter().any(is_live) {
            let reason = "refused: every lane that is left has refused it".to_owned();
            return commands.push(Command::Park { tasks: waiting.tasks, reason });
        }
        let live = self.lanes.iter().filter(|lane| !lane.is_closed());
        let most = live.filter_map(|lane| lane.most_prompt_tokens()).max().unwrap_or(0);
        self.cut(waiting, most, commands);
    }

    /// Halves a packet, or asks for the parts of its only task.
    pub(super) fn cut(&mut self, waiting: Waiting, most_tokens: u64, commands: &mut Vec<Command>) {
        if let [task] = waiting.tasks.as_slice() {
            if most_tokens == 0 || !self.split_asked.insert(task.clone()) {
                return commands.push(Command::Park { tasks: waiting.tasks, reason: TOO_LARGE.to_owned() });
            }
            self.splitting.insert(task.clone(), waiting.tokens);
            return commands.push(Command::Split { task: task.clone(), most_tokens });
        }
        let half = waiting.tasks.len().div_ceil(2);
        for tasks in waiting.tasks.chunks(half) {
            let part = self.part_of(&waiting, tasks.to_vec());
            self.enqueue(part, commands);
        }
    }

    /// A packet of some tasks of another one. Its estimate is at most that of the whole, because tasks share files.
    pub(super) fn part_of(&self, whole: &Waiting, tasks: Vec<TaskId>) -> Waiting {
        let sum =
            tasks.iter().filter_map(|task| self.tasks.get(task)).fold(0_u64, |sum, t| sum.saturating_add(t.tokens));
        // Estimates of single tasks may be missing; then every part counts as the whole.
        let tokens = if sum == 0 { whole.tokens } else { sum.min(whole.tokens) };
        Waiting { tasks, tokens, ..whole.clone() }
    }

    /// The answer to a split: parts stand in the place of the task.
    pub(super) fn replace(&mut self, task: &TaskId, parts: Vec<PacketTask>, commands: &mut Vec<Command>) {
        let Some(tokens) = self.splitting.remove(task) else { return };
        if parts.is_empty() {
            return commands.push(Command::Park { tasks: vec![task.clone()], reason: TOO_LARGE.to_owned() });
        }
        for part in parts {
            let part_tokens = part.tokens;
            let is_smaller = part_tokens < tokens;
            let tasks = vec![self.know(part)];
            if !is_smaller {
                commands.push(Command::Park { tasks, reason: TOO_LARGE.to_owned() });
                continue;
            }
            let (not_on, refused_by) = (None, BTreeSet::new());
            self.enqueue(Waiting { tasks, tokens: part_tokens, ran: true, not_on, refused_by }, commands);
        }
    }

    /// Finds other places for packets whose lanes have all closed.
    pub(super) fn rehome(&mut self, commands: &mut Vec<Command>) {
        if self.lanes.iter().all(|lane| lane.is_closed()) {
            return;
        }
        let lanes = &self.lanes;
        for waiting in self.queue.take_stranded(|at| !lanes[at].is_closed()) {
            self.enqueue(waiting, commands);
        }
    }
}
