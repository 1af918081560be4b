//! The dispatcher: which packet goes to which lane when, and what becomes of it afterwards.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::budget::{Budget, Reservation, Spent};
use super::command::{Command, End};
use super::event::{Event, Packet, PacketTask, RequestKey, SlotKey};
use super::lane::{Lane, LaneView, blocked};
use super::queue::{Queue, Waiting};
use super::requests::{Held, RequestQueues};
use super::spec::{LaneSpec, Limits};
use super::windows::{Taken, Windows};
use crate::id::TaskId;

/// The state of dispatching in one run.
#[derive(Debug)]
pub struct Dispatch {
    pub(super) lanes: Vec<Lane>,
    pub(super) limits: Limits,
    pub(super) windows: Windows,
    pub(super) budget: Budget,
    pub(super) queue: Queue,
    pub(super) requests: RequestQueues,
    pub(super) running: BTreeMap<SlotKey, Running>,
    pub(super) tasks: HashMap<TaskId, TaskState>,
    /// Tasks for whose parts the engine has asked, with the tokens that they have.
    pub(super) splitting: BTreeMap<TaskId, u64>,
    /// Tasks that were asked to be split once, whatever came of it.
    pub(super) split_asked: HashSet<TaskId>,
    /// Tasks that were handed to persons.
    pub(super) set_aside: usize,
    /// The earliest instant at which something fits that did not fit now.
    pub(super) wake_ms: Option<u64>,
    /// The budget that stopped the first packet, if one did.
    pub(super) short_of: Option<&'static str>,
    /// Windows that every request in flight draws on.
    windows_known: usize,
    next_slot: u64,
    draining: bool,
    ended: bool,
}

/// A packet that runs.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) waiting: Waiting,
    pub(super) lane: usize,
    /// Cooldowns that the lane had had when it began.
    pub(super) epoch: u64,
    /// When it began.
    pub(super) began_ms: u64,
    /// What was taken from the windows when it began.
    pub(super) taken: Taken,
    /// What is held of the budgets.
    pub(super) reservation: Reservation,
    /// Requests that were admitted and have not ended.
    pub(super) requests: BTreeMap<RequestKey, Held>,
}

/// What is known of a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct TaskState {
    pub(super) attempts: u32,
    pub(super) tokens: u64,
}

impl Dispatch {
    /// A dispatcher with lanes in the order in which they are preferred.
    pub fn new(lanes: Vec<LaneSpec>, limits: Limits) -> Self {
        let mut windows = Windows::default();
        windows.declare(lanes.iter());
        Self {
            lanes: lanes.into_iter().map(Lane::new).collect(),
            limits,
            windows,
            budget: Budget::new(limits),
            queue: Queue::default(),
            requests: RequestQueues::default(),
            running: BTreeMap::new(),
            tasks: HashMap::new(),
            splitting: BTreeMap::new(),
            split_asked: HashSet::new(),
            set_aside: 0,
            wake_ms: None,
            short_of: None,
            windows_known: 0,
            next_slot: 1,
            draining: false,
            ended: false,
        }
    }

    /// The same, for one of several hosts: `stagger`, from 0 to 1, is its own, so that hosts that are told the same instant by
    /// a service do not come back in step.
    pub fn staggered(mut self, stagger: f64) -> Self {
        let stagger = if stagger.is_finite() { stagger.clamp(0.0, 1.0) } else { 0.0 };
        self.lanes.iter_mut().for_each(|lane| lane.stagger = stagger);
        self
    }

    /// Takes one event and says what is to be done. `now_ms` is in milliseconds since the Unix epoch and never goes back.
    pub fn handle(&mut self, event: Event, now_ms: u64) -> Vec<Command> {
        let mut commands = Vec::new();
        (self.wake_ms, self.short_of) = (None, None);
        self.lanes.iter_mut().for_each(|lane| lane.refresh(now_ms));
        match event {
            Event::Ready(packets) => self.receive(packets, &mut commands),
            Event::Settled(settled) => self.settle(settled, now_ms, &mut commands),
            Event::RequestAsked(asked) => self.ask(asked, &mut commands),
            Event::RequestEnded(ended) => self.end_request(&ended, now_ms, &mut commands),
            Event::SplitInto { task, parts } => self.replace(&task, parts, &mut commands),
            Event::Woke => {}
            Event::Drain => self.draining = true,
        }
        if self.windows.0.len() != self.windows_known {
            self.windows_known = self.windows.0.len();
            self.draw_late(now_ms);
        }
        let held = self.admit_requests(now_ms, &mut commands);
        if self.may_start(now_ms) {
            self.admit(held, now_ms, &mut commands);
        }
        self.conclude(now_ms, &mut commands);
        commands
    }

    /// The lanes as they are now.
    pub fn lanes(&self) -> Vec<LaneView> {
        self.lanes.iter().enumerate().map(|(at, lane)| lane.view(self.requests.waiting(at))).collect()
    }

    /// Launches that run now.
    pub fn in_flight(&self) -> usize {
        self.running.len()
    }

    /// Launches that were started.
    pub fn launched(&self) -> u32 {
        self.budget.spent.launches
    }

    /// What was spent and what is reserved.
    pub fn spent(&self) -> Spent {
        self.budget.spent
    }

    fn receive(&mut self, packets: Vec<Packet>, commands: &mut Vec<Command>) {
        self.ended = false;
        for packet in packets {
            let tasks = packet.tasks.into_iter().map(|task| self.know(task)).collect();
            let not_on = packet.avoid.and_then(|name| self.lanes.iter().position(|lane| lane.spec.name == name));
            let refused_by = BTreeSet::new();
            self.enqueue(Waiting { tasks, tokens: packet.tokens, ran: false, not_on, refused_by }, commands);
        }
    }

    /// Remembers a task; what this run knows of its tries is newer than what it is told.
    pub(super) fn know(&mut self, task: PacketTask) -> TaskId {
        let state = TaskState { attempts: task.attempts, tokens: task.tokens };
        self.tasks.entry(task.task.clone()).or_insert(state);
        task.task
    }

    pub(super) fn next_slot(&mut self) -> SlotKey {
        let slot = SlotKey(self.next_slot);
        self.next_slot += 1;
        slot
    }

    /// Something fits at this instant; the earliest one is waited for.
    pub(super) fn wake_at(&mut self, at_ms: u64) {
        self.wake_ms = Some(self.wake_ms.map_or(at_ms, |known| known.min(at_ms)));
    }

    fn may_start(&self, now_ms: u64) -> bool {
        !self.draining && !self.deadline_is_past(now_ms) && !self.budget.launches_are_spent()
    }

    fn deadline_is_past(&self, now_ms: u64) -> bool {
        self.limits.deadline_ms.is_some_and(|deadline| now_ms >= deadline)
    }

    /// Says when to come back, or that it is over.
    fn conclude(&mut self, now_ms: u64, commands: &mut Vec<Command>) {
        // What would start only after the deadline is not waited for, unless a launch in flight needs it.
        let idle = self.running.is_empty();
        let too_late = |at: u64| self.limits.deadline_ms.is_some_and(|deadline| at >= deadline);
        let wake = self.wake_ms.filter(|at| !(idle && too_late(*at)));
        if let Some(until_ms) = wake {
            commands.push(Command::Wait { until_ms: until_ms.max(now_ms + 1) });
        }
        if !idle || self.ended || wake.is_some() || !self.splitting.is_empty() {
            return;
        }
        self.ended = true;
        commands.push(Command::End(self.end(now_ms)));
    }

    fn end(&self, now_ms: u64) -> End {
        if self.queue.is_empty() {
            return if self.set_aside > 0 { End::Waiting } else { End::Complete };
        }
        if self.draining {
            return End::Drained;
        }
        if self.budget.launches_are_spent() {
            return End::Budget("launches".to_owned());
        }
        match self.short_of {
            _ if self.deadline_is_past(now_ms) || self.wake_ms.is_some() => End::Deadline,
            Some(which) => End::Budget(which.to_owned()),
            None => blocked(&self.lanes),
        }
    }
}
