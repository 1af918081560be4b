//! The dispatcher: which packet goes to which lane when, and what becomes of it afterwards.

use std::collections::{BTreeMap, HashMap};

use serde::Serialize;

use super::lane::{Lane, LaneState, LaneView};
use crate::id::TaskId;
use crate::plugin::{Outcome, Reading};

/// A slot of this run, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct SlotKey(pub u64);

/// A lane as it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneSpec {
    /// Name.
    pub name: String,
    /// Launches at once to begin with.
    pub width: u32,
    /// Launches at once at most.
    pub widest: u32,
}

/// What one run may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Launches at once over all lanes.
    pub workers: u32,
    /// Tries of a task before it is parked.
    pub attempts: u32,
    /// Launches of the run; absent means no limit.
    pub launches: Option<u32>,
}

/// What has happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Packets are to be reviewed. Each is a list of tasks with the attempts that were made before.
    Ready(Vec<Vec<(TaskId, u32)>>),
    /// A launch has ended and was settled.
    Settled(Settled),
    /// The instant of `Command::Wait` has come.
    Woke,
    /// Nothing more is to be started.
    Drain,
}

/// The end of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// Slot.
    pub slot: SlotKey,
    /// What the provider said.
    pub outcome: Outcome,
    /// One line for people.
    pub message: String,
    /// Tasks with an accepted result.
    pub done: Vec<TaskId>,
    /// Tasks that must not be tried again in this run, such as those whose files have changed under the reviewer.
    pub dropped: Vec<TaskId>,
    /// What was read of the lane's limits.
    pub readings: Vec<Reading>,
    /// From 0 to 1, for cooldowns without a hint.
    pub jitter: f64,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Lease the slot and launch it.
    Launch {
        /// Slot.
        slot: SlotKey,
        /// Lane.
        lane: String,
        /// Tasks, as in the packet.
        tasks: Vec<TaskId>,
        /// From 1: the highest among the tasks.
        attempt: u32,
    },
    /// These tasks are given up.
    Park {
        /// Tasks.
        tasks: Vec<TaskId>,
        /// Why, for the report.
        reason: String,
    },
    /// A lane takes nothing more in this run.
    LaneClosed {
        /// Lane.
        lane: String,
        /// Why.
        reason: String,
    },
    /// Come back with `Event::Woke` at this instant, or earlier with another event.
    Wait {
        /// Milliseconds since the Unix epoch.
        until_ms: u64,
    },
    /// Nothing runs and nothing can be started.
    End(End),
}

/// How dispatching ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// Every task is done or parked.
    Complete,
    /// No lane can take what is left; one line a cause.
    Blocked(Vec<String>),
    /// The launch budget is spent.
    Budget,
    /// It was asked to stop.
    Drained,
}

/// A packet that waits.
#[derive(Clone, Debug)]
struct Waiting {
    tasks: Vec<TaskId>,
    /// Lane that failed it last; another one is better.
    not_on: Option<String>,
}

/// A packet that runs.
#[derive(Clone, Debug)]
struct Running {
    tasks: Vec<TaskId>,
    lane: usize,
}

/// The state of dispatching in one run.
#[derive(Debug)]
pub struct Dispatch {
    lanes: Vec<Lane>,
    limits: Limits,
    /// By order of arrival; a packet that comes back keeps its place before what never ran.
    queue: BTreeMap<(u8, u64), Waiting>,
    running: BTreeMap<SlotKey, Running>,
    attempts: HashMap<TaskId, u32>,
    launched: u32,
    next_slot: u64,
    next_place: u64,
    draining: bool,
    ended: bool,
}

impl Dispatch {
    /// A dispatcher with lanes in the order in which they are preferred.
    pub fn new(lanes: Vec<LaneSpec>, limits: Limits) -> Self {
        Self {
            lanes: lanes.into_iter().map(|lane| Lane::new(lane.name, lane.width, lane.widest)).collect(),
            limits,
            queue: BTreeMap::new(),
            running: BTreeMap::new(),
            attempts: HashMap::new(),
            launched: 0,
            next_slot: 1,
            next_place: 0,
            draining: false,
            ended: false,
        }
    }

    /// Takes one event and says what is to be done.
    pub fn handle(&mut self, event: Event, now_ms: u64) -> Vec<Command> {
        let mut commands = Vec::new();
        match event {
            Event::Ready(packets) => self.enqueue_new(packets),
            Event::Settled(settled) => self.settle(settled, now_ms, &mut commands),
            Event::Woke => {}
            Event::Drain => self.draining = true,
        }
        self.admit(now_ms, &mut commands);
        self.conclude(&mut commands);
        commands
    }

    /// The lanes as they are now.
    pub fn lanes(&self) -> Vec<LaneView> {
        self.lanes.iter().map(Lane::view).collect()
    }

    /// Launches that run now.
    pub fn in_flight(&self) -> usize {
        self.running.len()
    }

    /// Launches that were started.
    pub fn launched(&self) -> u32 {
        self.launched
    }

    fn enqueue_new(&mut self, packets: Vec<Vec<(TaskId, u32)>>) {
        self.ended = false;
        for packet in packets {
            let mut tasks = Vec::with_capacity(packet.len());
            for (task, attempts) in packet {
                self.attempts.entry(task.clone()).or_insert(attempts);
                tasks.push(task);
            }
            self.enqueue(1, Waiting { tasks, not_on: None });
        }
    }

    fn enqueue(&mut self, rank: u8, waiting: Waiting) {
        if !waiting.tasks.is_empty() {
            self.queue.insert((rank, self.next_place), waiting);
            self.next_place += 1;
        }
    }

    fn settle(&mut self, settled: Settled, now_ms: u64, commands: &mut Vec<Command>) {
        let Some(running) = self.running.remove(&settled.slot) else { return };
        let lane = &mut self.lanes[running.lane];
        lane.in_flight -= 1;
        let lane_name = lane.name.clone();
        let was_closed = lane.is_closed();
        match closing_reason(&settled) {
            Some(reason) => lane.close(reason),
            None => lane.learn(settled.outcome, &settled.readings, now_ms, settled.jitter),
        }
        if let (false, LaneState::Closed(reason)) = (was_closed, &lane.state) {
            commands.push(Command::LaneClosed { lane: lane_name.clone(), reason: reason.clone() });
        }
        let any_done = !settled.done.is_empty();
        let left: Vec<TaskId> = running
            .tasks
            .into_iter()
            .filter(|task| !settled.done.contains(task) && !settled.dropped.contains(task))
            .collect();
        if left.is_empty() {
            return;
        }
        if !costs_an_attempt(settled.outcome) {
            return self.enqueue(0, Waiting { tasks: left, not_on: Some(lane_name) });
        }
        self.retry_or_park(left, &settled, any_done, &lane_name, commands);
    }

    fn retry_or_park(
        &mut self,
        left: Vec<TaskId>,
        settled: &Settled,
        any_done: bool,
        lane: &str,
        commands: &mut Vec<Command>,
    ) {
        let (mut again, mut spent) = (Vec::new(), Vec::new());
        for task in left {
            let attempts = self.attempts.entry(task.clone()).or_insert(0);
            *attempts += 1;
            if *attempts >= self.limits.attempts { spent.push(task) } else { again.push(task) }
        }
        if !spent.is_empty() {
            let reason = format!(
                "{} tries, the last one {}: {}",
                self.limits.attempts,
                settled.outcome.as_str(),
                settled.message
            );
            commands.push(Command::Park { tasks: spent, reason });
        }
        // A packet that brought nothing may hold one task that spoils it, or be too large: its halves are tried apart.
        let halves = if !any_done && again.len() > 1 { again.len().div_ceil(2) } else { again.len().max(1) };
        for part in again.chunks(halves) {
            self.enqueue(0, Waiting { tasks: part.to_vec(), not_on: Some(lane.to_owned()) });
        }
    }

    fn admit(&mut self, now_ms: u64, commands: &mut Vec<Command>) {
        if self.draining {
            return;
        }
        self.lanes.iter_mut().for_each(|lane| lane.refresh(now_ms));
        let mut passed_over = Vec::new();
        while (self.running.len() as u32) < self.limits.workers {
            if self.limits.launches.is_some_and(|most| self.launched >= most) {
                break;
            }
            if !self.lanes.iter().any(Lane::has_room) {
                break;
            }
            let Some((place, waiting)) = self.queue.pop_first() else { break };
            // A packet that waits for another lane does not hold up those behind it.
            let Some(lane) = self.choose_lane(waiting.not_on.as_deref()) else {
                passed_over.push((place, waiting));
                continue;
            };
            commands.push(self.start(waiting.tasks, lane));
        }
        self.queue.extend(passed_over);
    }

    /// The first lane with room, in configured order; the one that failed the packet last only when no other is left.
    fn choose_lane(&self, not_on: Option<&str>) -> Option<usize> {
        let others_live = self.lanes.iter().any(|lane| Some(lane.name.as_str()) != not_on && !lane.is_closed());
        self.lanes.iter().position(|lane| {
            let avoided = others_live && Some(lane.name.as_str()) == not_on;
            !avoided && lane.has_room()
        })
    }

    fn start(&mut self, tasks: Vec<TaskId>, lane: usize) -> Command {
        let slot = SlotKey(self.next_slot);
        self.next_slot += 1;
        self.launched += 1;
        self.lanes[lane].in_flight += 1;
        let attempt = 1 + tasks.iter().filter_map(|task| self.attempts.get(task)).max().copied().unwrap_or(0);
        self.running.insert(slot, Running { tasks: tasks.clone(), lane });
        Command::Launch { slot, lane: self.lanes[lane].name.clone(), tasks, attempt }
    }

    /// Says when to come back, or that it is over.
    fn conclude(&mut self, commands: &mut Vec<Command>) {
        let budget_spent = self.limits.launches.is_some_and(|most| self.launched >= most);
        let can_start = !self.draining && !budget_spent && !self.queue.is_empty();
        let opens = self.lanes.iter().filter_map(Lane::opens_at).min();
        if let (true, Some(until_ms)) = (can_start, opens) {
            commands.push(Command::Wait { until_ms });
        }
        if !self.running.is_empty() || self.ended || (can_start && opens.is_some()) {
            return;
        }
        self.ended = true;
        commands.push(Command::End(if self.queue.is_empty() {
            End::Complete
        } else if self.draining {
            End::Drained
        } else if budget_spent {
            End::Budget
        } else {
            End::Blocked(self.causes())
        }));
    }

    fn causes(&self) -> Vec<String> {
        self.lanes
            .iter()
            .filter_map(|lane| match &lane.state {
                LaneState::Closed(reason) => Some(format!("{}: {reason}", lane.name)),
                LaneState::Open | LaneState::Cooling(_) => None,
            })
            .collect()
    }
}

/// Outcomes after which the lane cannot serve until a person acts.
fn closing_reason(settled: &Settled) -> Option<String> {
    match settled.outcome {
        Outcome::Misconfigured | Outcome::Unauthenticated | Outcome::QuotaExhausted => {
            Some(format!("{}: {}", settled.outcome.as_str(), settled.message))
        }
        _ => None,
    }
}

/// Whether the task may be at fault. A lane's own trouble costs no attempt.
pub fn costs_an_attempt(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Completed
        | Outcome::NoResults
        | Outcome::Refused
        | Outcome::ContextExceeded
        | Outcome::TimedOut
        | Outcome::Crashed => true,
        Outcome::RateLimited
        | Outcome::Overloaded
        | Outcome::QuotaExhausted
        | Outcome::Unauthenticated
        | Outcome::Interrupted
        | Outcome::Misconfigured => false,
    }
}
