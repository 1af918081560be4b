//! One host: its dispatcher, its store, the launches that it runs, and its deaths.

use std::collections::{BTreeMap, BTreeSet};

use super::course::Course;
use super::random::Random;
use super::scenario::Scenario;
use super::store::{LaunchNumber, Store};
use crate::dispatch::{Dispatch, End, LaneSpec, SlotKey, WindowKey};
use crate::id::TaskId;
use crate::plugin::{Outcome, Reading};

/// Tells the randomness of crashes from every other one.
const CRASHES: u64 = 0x6372_6173;

/// A launch that runs.
#[derive(Clone, Debug)]
pub(super) struct Live {
    pub(super) launch: LaunchNumber,
    pub(super) lane: usize,
    pub(super) tasks: Vec<TaskId>,
    pub(super) began_ms: u64,
    pub(super) course: Course,
    /// Requests that the service has taken.
    pub(super) taken: u32,
    /// Requests for which the dispatcher was asked.
    pub(super) asked: u64,
    /// Requests that the dispatcher sent back.
    pub(super) sent_back: u32,
    /// When the request that is under way was sent.
    pub(super) sent_ms: u64,
    /// Whether the service works on a request.
    pub(super) open: bool,
    /// Milliseconds that the service has worked.
    pub(super) busy_ms: u64,
    /// What the last response said.
    pub(super) reading: Reading,
    /// Why the service refused, and by which window.
    pub(super) refused: Option<(Outcome, Option<WindowKey>)>,
}

/// A host.
#[derive(Debug)]
pub(super) struct Host {
    pub(super) engine: Dispatch,
    pub(super) store: Store,
    pub(super) live: BTreeMap<SlotKey, Live>,
    /// Counts its deaths; what an earlier life has planned is void.
    pub(super) life: u32,
    pub(super) is_up: bool,
    pub(super) end: Option<End>,
    /// Lanes that are closed for this life.
    pub(super) closed: BTreeSet<String>,
    /// Counts what the dispatcher was told; an instant that was waited for is void when something else has happened.
    pub(super) batch: u64,
    /// Since when nothing runs although something waits.
    pub(super) idle_since_ms: Option<u64>,
    /// Launches, tokens and money of this life.
    pub(super) launches: u64,
    pub(super) tokens: u64,
    pub(super) micro_usd: u64,
    /// Tasks whose parts the dispatcher waits for.
    pub(super) splitting: usize,
    next_launch: LaunchNumber,
    steps: u64,
    random: Random,
}

impl Host {
    pub(super) fn new(scenario: &Scenario, seed: u64, index: usize) -> Self {
        Self {
            engine: engine_of(scenario),
            store: Store::default(),
            live: BTreeMap::new(),
            life: 0,
            is_up: false,
            end: None,
            closed: BTreeSet::new(),
            batch: 0,
            idle_since_ms: None,
            launches: 0,
            tokens: 0,
            micro_usd: 0,
            splitting: 0,
            next_launch: 1,
            steps: 0,
            random: Random::of(&[seed, CRASHES, index as u64]),
        }
    }

    /// A new life: nothing but the store is left of the one before.
    pub(super) fn begin(&mut self, scenario: &Scenario) {
        self.engine = engine_of(scenario);
        self.live.clear();
        self.closed.clear();
        (self.launches, self.tokens, self.micro_usd, self.splitting) = (0, 0, 0, 0);
        self.is_up = true;
    }

    /// One step on; whether the host dies at it.
    pub(super) fn dies(&mut self, scenario: &Scenario, index: usize) -> bool {
        self.steps += 1;
        let hosts = &scenario.hosts;
        if self.life >= hosts.most_crashes {
            return false;
        }
        let named = index == 0 && hosts.crash_at_step == Some(self.steps);
        named || self.random.happens(hosts.crash_share)
    }

    pub(super) fn number_launch(&mut self) -> LaunchNumber {
        let number = self.next_launch;
        self.next_launch += 1;
        self.launches += 1;
        number
    }

    /// Launches that run on a lane.
    pub(super) fn running_on(&self, lane: usize) -> usize {
        self.live.values().filter(|live| live.lane == lane).count()
    }

    /// Whether it has still something to do.
    pub(super) fn is_unfinished(&self) -> bool {
        self.end.is_none()
    }
}

fn engine_of(scenario: &Scenario) -> Dispatch {
    let lanes: Vec<LaneSpec> = scenario.lanes.iter().map(|lane| lane.spec()).collect();
    Dispatch::new(lanes, scenario.limits.of_engine())
}
