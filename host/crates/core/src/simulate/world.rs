//! The world of a run: a virtual clock, what happens next, the services, and what all hosts share.

use std::collections::{BTreeMap, HashMap};

use super::bound::{Busy, bound};
use super::host::Host;
use super::laws::Laws;
use super::replay::{Figures, HostEnd, Replay, TaskCount};
use super::scenario::{BEGIN_MS, Scenario};
use super::service::Services;
use super::store::TaskStand;
use crate::dispatch::{End, Event, PacketTask, SharedState, SlotKey};
use crate::id::TaskId;
use crate::plugin::Outcome;

/// Happenings of a run that has nothing to do.
const FEWEST_HAPPENINGS: u64 = 20_000;
/// Happenings for each task and request; a dispatcher that needs more turns in circles.
const HAPPENINGS_EACH: u64 = 200;
/// Wakes without anything to do that are no sign of polling, and how many each launch or request may bring.
const FEWEST_IDLE_WAKES: u64 = 50;
const IDLE_WAKES_EACH: u64 = 4;

/// What is to happen.
#[derive(Clone, Debug)]
pub(super) enum Happening {
    /// A host starts, for the first time or again.
    Start(usize),
    /// The instant that a host waits for, unless something else happened to it.
    Wake { host: usize, batch: u64 },
    /// A person asks a host to stop.
    Drain(usize),
    /// The parts of a task are told to a host that lives in this life.
    Split { host: usize, life: u32, task: TaskId, parts: Vec<PacketTask> },
    /// A launch goes on.
    Step { host: usize, life: u32, slot: SlotKey, step: Step },
}

/// How a launch goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// It asks for leave to send a request.
    Ask,
    /// A request arrives at the service.
    Send,
    /// The response has ended.
    Respond,
    /// It is over.
    Settle(Outcome),
}

/// The world.
pub(super) struct World<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) seed: u64,
    pub(super) now_ms: u64,
    pub(super) hosts: Vec<Host>,
    pub(super) services: Services,
    pub(super) shared: SharedState,
    pub(super) laws: Laws,
    pub(super) figures: Figures,
    pub(super) busy: Busy,
    /// Launches that began with a task.
    pub(super) tries: HashMap<TaskId, u32>,
    /// Launches of each lane, and those of them that ended without costing a try.
    pub(super) free_ends: u64,
    agenda: BTreeMap<(u64, u64), Happening>,
    planned: u64,
}

/// Runs a scenario from a seed. It has to be free of faults; what is wrong with the dispatcher is in the outcome.
pub fn run(scenario: &Scenario, seed: u64) -> Replay {
    let mut world = World::new(scenario, seed);
    world.play();
    world.conclude()
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario, seed: u64) -> Self {
        let count = scenario.hosts.count.max(1) as usize;
        let mut world = Self {
            scenario,
            seed,
            now_ms: BEGIN_MS,
            hosts: (0..count).map(|index| Host::new(scenario, seed, index)).collect(),
            services: Services::new(scenario),
            shared: SharedState::default(),
            laws: Laws::new(scenario),
            figures: Figures::default(),
            busy: Busy { by_lane: vec![0; scenario.lanes.len()], longest_ms: 0 },
            tries: HashMap::new(),
            free_ends: 0,
            agenda: BTreeMap::new(),
            planned: 0,
        };
        let per_packet = scenario.trace.per_packet.max(1) as usize;
        for (at, tokens) in scenario.trace.sizes(seed).into_iter().enumerate() {
            world.hosts[at / per_packet % count].store.add(TaskId::new(format!("t{at:05}")), tokens);
        }
        for host in 0..count {
            world.plan(0, Happening::Start(host));
            if let Some(after) = scenario.limits.drain_ms {
                world.plan(after, Happening::Drain(host));
            }
        }
        world
    }

    /// Lets something happen so many milliseconds from now.
    pub(super) fn plan(&mut self, after_ms: u64, happening: Happening) {
        self.planned += 1;
        self.agenda.insert((self.now_ms.saturating_add(after_ms), self.planned), happening);
    }

    fn play(&mut self) {
        let most = FEWEST_HAPPENINGS.saturating_add(HAPPENINGS_EACH.saturating_mul(self.size()));
        let mut happened = 0;
        while let Some(((at_ms, _), happening)) = self.agenda.pop_first() {
            self.now_ms = at_ms;
            happened += 1;
            if happened > most {
                let detail = || format!("{happened} happenings");
                return self.laws.check(false, "a run ends", at_ms, detail);
            }
            self.happen(happening);
        }
    }

    /// Tasks, each with the requests that a launch of it may make.
    fn size(&self) -> u64 {
        let requests = self.scenario.lanes.iter().map(|lane| lane.service.requests.most).max().unwrap_or(1);
        let tasks: usize = self.hosts.iter().map(|host| host.store.rows.len()).sum();
        (tasks as u64).saturating_mul(u64::from(requests))
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Start(host) => self.start(host),
            Happening::Wake { host, batch } if self.hosts[host].batch == batch && self.hosts[host].is_up => {
                self.wake(host);
            }
            Happening::Drain(host) if self.hosts[host].is_up && self.hosts[host].is_unfinished() => {
                self.tell(host, Event::Drain.into());
            }
            Happening::Split { host, life, task, parts } if self.hosts[host].life == life => {
                self.hosts[host].splitting -= 1;
                self.tell(host, Event::SplitInto { task, parts }.into());
            }
            Happening::Step { host, life, slot, step } if self.hosts[host].life == life => {
                self.step(host, slot, step);
            }
            Happening::Wake { .. } | Happening::Drain(_) | Happening::Split { .. } | Happening::Step { .. } => {}
        }
    }

    fn wake(&mut self, host: usize) {
        let before = (self.hosts[host].engine.launched(), self.planned);
        self.tell(host, Event::Woke.into());
        let has_acted = self.hosts[host].engine.launched() > before.0 || self.planned > before.1 + 1;
        if !has_acted && self.hosts[host].is_unfinished() {
            self.figures.idle_wakes += 1;
        }
    }

    /// A host starts: what an earlier life has left is swept, then everything that waits is handed over.
    fn start(&mut self, host: usize) {
        self.hosts[host].begin(self.scenario);
        for launch in self.hosts[host].store.left_behind() {
            if self.dies(host) {
                return;
            }
            let answered = self.hosts[host].store.answer(launch);
            self.ingest(host, launch, &answered, &[], false);
        }
        let packets = self.hosts[host].store.pending(self.scenario.trace.per_packet);
        self.tell(host, Event::Ready(packets).into());
    }

    /// One step on; when the host dies at it, everything but its store is gone, and its launches with it.
    pub(super) fn dies(&mut self, host: usize) -> bool {
        if !self.hosts[host].dies(self.scenario, host) {
            return false;
        }
        let dead = &mut self.hosts[host];
        dead.life += 1;
        dead.is_up = false;
        dead.idle_since_ms = None;
        let open: Vec<usize> = dead.live.values().filter(|live| live.open).map(|live| live.lane).collect();
        dead.live.clear();
        open.into_iter().for_each(|lane| self.services.leave(lane));
        self.figures.crashes += 1;
        self.plan(self.scenario.hosts.restart_ms, Happening::Start(host));
        true
    }

    fn conclude(mut self) -> Replay {
        for host in 0..self.hosts.len() {
            self.check_end(host);
        }
        self.check_bounds();
        let mut tasks = TaskCount::default();
        for store in self.hosts.iter().map(|host| &host.store) {
            tasks.all += store.rows.len();
            tasks.done += store.count(&TaskStand::Done);
            tasks.parked += store.count(&TaskStand::Parked);
            tasks.split += store.count(&TaskStand::Split);
        }
        tasks.left = tasks.all - tasks.done - tasks.parked - tasks.split;
        let ends = self.hosts.iter().enumerate().map(|(at, host)| HostEnd {
            host: at,
            end: host.end.as_ref().map(words_of),
            crashes: host.life,
            left: host.store.rows.len()
                - host.store.count(&TaskStand::Done)
                - host.store.count(&TaskStand::Parked)
                - host.store.count(&TaskStand::Split),
        });
        let ends = ends.collect();
        self.sum_up();
        Replay { seed: self.seed, ends, tasks, figures: self.figures, violations: self.laws.violations }
    }

    fn check_end(&mut self, at: usize) {
        let (host, now_ms) = (&self.hosts[at], self.now_ms);
        let left = host.store.count(&TaskStand::Pending);
        let none_runs = host.live.is_empty() && host.store.left_behind().is_empty();
        let limits = &self.scenario.limits;
        let is_right = match &host.end {
            None => false,
            Some(End::Complete) => left == 0,
            Some(End::Waiting) => false,
            Some(End::Drained) => left > 0 && limits.drain_ms.is_some(),
            Some(End::Deadline) => left > 0 && limits.deadline_ms.is_some(),
            Some(End::Budget(which)) => {
                let has = match which.as_str() {
                    "launches" => limits.launches.is_some(),
                    "tokens" => limits.tokens.is_some(),
                    _ => limits.micro_usd.is_some(),
                };
                left > 0 && has
            }
            Some(End::Blocked(causes)) => {
                left > 0 && !causes.is_empty() && host.closed.len() == self.scenario.lanes.len()
            }
        };
        let detail =
            format!("host {at} ended as {:?}; {left} tasks are left, lanes {:?} are closed", host.end, host.closed);
        let twice = host.store.ingested.iter().find(|(_, times)| **times > 1).map(|(task, _)| task.clone());
        self.laws.check(is_right, "a run ends for a reason that holds", now_ms, || detail.clone());
        self.laws.check(none_runs, "nothing runs after the end", now_ms, || detail);
        self.laws.check(twice.is_none(), "no result is ingested twice", now_ms, || format!("{twice:?}"));
    }

    fn check_bounds(&mut self) {
        let now_ms = self.now_ms;
        let figures = &self.figures;
        let (launches, wakes) = (figures.launches, figures.idle_wakes);
        let tasks: u64 = self.hosts.iter().map(|host| host.store.rows.len() as u64).sum();
        let tries = tasks.saturating_mul(u64::from(self.scenario.limits.attempts));
        let most_launches = tries
            .saturating_add(self.free_ends)
            .saturating_add(figures.crashes.saturating_mul(u64::from(self.scenario.limits.workers)));
        let acts = launches + figures.requests + figures.sent_back;
        let most_wakes = FEWEST_IDLE_WAKES + IDLE_WAKES_EACH * acts * self.hosts.len() as u64;
        self.laws.check(launches <= most_launches, "launches are bounded by tries", now_ms, || {
            format!("{launches} launches, {most_launches} tries")
        });
        self.laws
            .check(wakes <= most_wakes, "nothing polls", now_ms, || format!("{wakes} wakes without anything to do"));
    }

    fn sum_up(&mut self) {
        let (bound_ms, bound_by) = bound(self.scenario, &self.services, &self.busy);
        let places: u64 = self.scenario.lanes.iter().map(|lane| u64::from(lane.widest())).sum();
        let places = places.min(u64::from(self.scenario.limits.workers)) * self.hosts.len() as u64;
        let figures = &mut self.figures;
        figures.rate_episodes = self.laws.episodes();
        (figures.bound_ms, figures.bound_by) = (bound_ms, bound_by);
        if bound_ms > 0 && figures.makespan_ms > 0 {
            figures.ratio = figures.makespan_ms as f64 / bound_ms as f64;
            figures.utilisation = self.busy.all() as f64 / (figures.makespan_ms.saturating_mul(places.max(1))) as f64;
        }
    }
}

fn words_of(end: &End) -> String {
    match end {
        End::Complete => "complete".to_owned(),
        End::Waiting => "waiting for persons".to_owned(),
        End::Blocked(causes) => format!("blocked: {}", causes.join("; ")),
        End::Budget(which) => format!("the budget of {which} is spent"),
        End::Deadline => "the deadline has come".to_owned(),
        End::Drained => "drained".to_owned(),
    }
}
