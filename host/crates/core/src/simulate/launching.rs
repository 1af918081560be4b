//! How a launch begins, what has to hold when it does, and how it goes on.

use super::course::{Course, Fate};
use super::host::Live;
use super::scenario::BEGIN_MS;
use super::scenario_lane::LanePacing;
use super::world::{Happening, Step, World};
use crate::dispatch::SlotKey;
use crate::id::TaskId;
use crate::plugin::{Outcome, Reading};

impl World<'_> {
    /// A launch begins.
    pub(super) fn launch(&mut self, host: usize, slot: SlotKey, lane: &str, tasks: Vec<TaskId>) {
        let (scenario, now_ms) = (self.scenario, self.now_ms);
        let Some(at) = scenario.lanes.iter().position(|other| other.name == lane) else {
            return self.laws.check(false, "only lanes of the run are launched", now_ms, || lane.to_owned());
        };
        let state = &mut self.hosts[host];
        let launch = state.number_launch();
        let taken = state.store.lease(launch, &tasks);
        let tokens = tasks
            .iter()
            .filter_map(|task| state.store.rows.get(task))
            .fold(0_u64, |sum, row| sum.saturating_add(row.tokens));
        let Some(first) = tasks.first().cloned() else { return };
        let nth = self.tries.entry(first.clone()).or_default();
        *nth += 1;
        let course = Course::of(self.seed, &scenario.lanes[at], &first, *nth, tokens);
        self.laws.check(taken.is_empty(), "a task is launched once at a time", now_ms, || format!("{taken:?}"));
        self.figures.launches += 1;
        let by_request = scenario.lanes[at].pacing == LanePacing::Request;
        let step = match course.fate {
            Fate::PluginFailsFirst => Step::Settle(Outcome::Crashed),
            _ if by_request => Step::Ask,
            _ => Step::Send,
        };
        state.live.insert(
            slot,
            Live {
                launch,
                lane: at,
                tasks,
                began_ms: now_ms,
                course,
                taken: 0,
                asked: 0,
                sent_back: 0,
                sent_ms: now_ms,
                open: false,
                busy_ms: 0,
                reading: Reading::default(),
                refused: None,
            },
        );
        self.check_launch(host, at, lane);
        self.go_on(host, slot, 0, step);
    }

    fn check_launch(&mut self, host: usize, at: usize, lane: &str) {
        let (limits, now_ms) = (&self.scenario.limits, self.now_ms);
        let state = &self.hosts[host];
        let running = state.running_on(at);
        let width = state.engine.lanes().into_iter().find(|view| view.name == lane).map_or(0, |view| view.width);
        let widest = width.min(self.scenario.lanes[at].widest()) as usize;
        let (all, life_launches) = (state.live.len(), state.launches);
        let is_open = !state.closed.contains(lane);
        let laws = &mut self.laws;
        laws.check(running <= widest, "a lane is never wider than its width", now_ms, || {
            format!("{running} launches on {lane}, which takes {widest}")
        });
        laws.check(all <= limits.workers as usize, "there are no more launches than workers", now_ms, || {
            format!("{all} launches")
        });
        let within = limits.launches.is_none_or(|most| life_launches <= u64::from(most));
        laws.check(within, "a budget is never overspent", now_ms, || format!("{life_launches} launches"));
        laws.check(is_open, "a closed lane gets nothing", now_ms, || lane.to_owned());
        let in_time = limits.deadline_ms.is_none_or(|deadline| now_ms < BEGIN_MS.saturating_add(deadline));
        laws.check(in_time, "nothing starts after the deadline", now_ms, || lane.to_owned());
        laws.sends(lane, now_ms);
    }

    pub(super) fn go_on(&mut self, host: usize, slot: SlotKey, after_ms: u64, step: Step) {
        let life = self.hosts[host].life;
        self.plan(after_ms, Happening::Step { host, life, slot, step });
    }

    /// The same, unless the launch is ended before.
    pub(super) fn go_on_in_time(&mut self, host: usize, slot: SlotKey, after_ms: u64, step: Step) {
        let left_ms = self.left_ms(host, slot);
        if after_ms < left_ms {
            self.go_on(host, slot, after_ms, step);
        } else {
            self.go_on(host, slot, left_ms, Step::Settle(Outcome::TimedOut));
        }
    }

    /// Milliseconds until a launch is ended.
    pub(super) fn left_ms(&self, host: usize, slot: SlotKey) -> u64 {
        let Some(live) = self.hosts[host].live.get(&slot) else { return 0 };
        let timeout_ms = self.scenario.lanes[live.lane].service.timeout_ms;
        live.began_ms.saturating_add(timeout_ms).saturating_sub(self.now_ms)
    }

    /// A launch goes on.
    pub(super) fn step(&mut self, host: usize, slot: SlotKey, step: Step) {
        match step {
            Step::Ask => self.ask(host, slot),
            Step::Send => self.send(host, slot),
            Step::Respond => self.respond(host, slot),
            Step::Settle(outcome) => self.settle(host, slot, outcome),
        }
    }
}
