//! The loop of a host: it tells its dispatcher what happened, writes its store and carries out what is wanted, as the real
//! one does, with a chance to die at every step.

use super::course::{Course, Fate};
use super::host::Live;
use super::laws::Heard;
use super::scenario::BEGIN_MS;
use super::scenario_lane::LanePacing;
use super::service::{Answer, Arrival};
use super::store::{LaunchNumber, TaskStand};
use super::world::{Happening, Step, World};
use crate::dispatch::{
    Command, Event, PacketTask, RequestAsked, RequestEnded, RequestKey, Settled, SlotKey, costs_an_attempt,
};
use crate::id::TaskId;
use crate::plugin::{Outcome, Reading};

/// Milliseconds in which a service says no.
const REFUSAL_MS: u64 = 50;
/// What an overloaded service asks for, where it says when to come back.
const OVERLOADED_FOR_MS: u64 = 5_000;
/// Times that a program comes back with a request that the gateway has sent back.
const MOST_RETURNS: u32 = 3;
/// Parts that a task is cut into at most.
const MOST_PARTS: u64 = 64;

/// The end of a launch, as the store takes it.
pub(super) struct Closing {
    launch: LaunchNumber,
    tasks: Vec<TaskId>,
    done: Vec<TaskId>,
    counts: bool,
}

impl World<'_> {
    /// Tells a host's dispatcher what happened, inside one transaction on what all hosts share, and does what it wants.
    pub(super) fn tell(&mut self, host: usize, event: Event, closing: Option<Closing>) {
        if self.dies(host) {
            return;
        }
        let now_ms = self.now_ms;
        let engine = &mut self.hosts[host].engine;
        engine.absorb(&self.shared, now_ms);
        let mut commands = engine.handle(event, now_ms);
        self.shared = engine.share();
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
        let splits = commands.iter().any(|command| matches!(command, Command::Split { .. }));
        let state = &self.hosts[host];
        let (known, expected) = (state.engine.in_flight(), state.live.len() + launches);
        let goes_on = ends || waits > 0 || splits || expected > 0 || state.end.is_some();
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

    fn check_stand(&mut self, host: usize, task: &TaskId, stand: &TaskStand, law: &'static str) {
        let found = self.hosts[host].store.rows.get(task).map(|row| row.stand.clone());
        let holds = found.as_ref() == Some(stand);
        self.laws.check(holds, law, self.now_ms, || format!("{task} is {found:?}"));
    }

    fn launch(&mut self, host: usize, slot: SlotKey, lane: &str, tasks: Vec<TaskId>) {
        let (scenario, now_ms) = (self.scenario, self.now_ms);
        let Some(at) = scenario.lanes.iter().position(|other| other.name == lane) else {
            return self.laws.check(false, "only lanes of the run are launched", now_ms, || lane.to_owned());
        };
        let state = &mut self.hosts[host];
        let launch = state.number_launch();
        let taken = state.store.lease(launch, &tasks);
        let tokens = tasks.iter().filter_map(|task| state.store.rows.get(task)).fold(0_u64, |sum, row| {
            sum.saturating_add(row.tokens)
        });
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

    fn go_on(&mut self, host: usize, slot: SlotKey, after_ms: u64, step: Step) {
        let life = self.hosts[host].life;
        self.plan(after_ms, Happening::Step { host, life, slot, step });
    }

    /// The same, unless the launch is ended before.
    fn go_on_in_time(&mut self, host: usize, slot: SlotKey, after_ms: u64, step: Step) {
        let left_ms = self.left_ms(host, slot);
        if after_ms < left_ms {
            self.go_on(host, slot, after_ms, step);
        } else {
            self.go_on(host, slot, left_ms, Step::Settle(Outcome::TimedOut));
        }
    }

    /// Milliseconds until a launch is ended.
    fn left_ms(&self, host: usize, slot: SlotKey) -> u64 {
        let Some(live) = self.hosts[host].live.get(&slot) else { return 0 };
        let timeout_ms = self.scenario.lanes[live.lane].service.timeout_ms;
        live.began_ms.saturating_add(timeout_ms).saturating_sub(self.now_ms)
    }

    pub(super) fn step(&mut self, host: usize, slot: SlotKey, step: Step) {
        match step {
            Step::Ask => self.ask(host, slot),
            Step::Send => self.send(host, slot),
            Step::Respond => self.respond(host, slot),
            Step::Settle(outcome) => self.settle(host, slot, outcome),
        }
    }

    fn ask(&mut self, host: usize, slot: SlotKey) {
        let until_ms = self.now_ms + self.left_ms(host, slot);
        let Some(live) = self.hosts[host].live.get_mut(&slot) else { return };
        live.asked += 1;
        let (input_tokens, output_tokens) = live.course.draw(live.taken);
        let request = RequestKey(live.asked);
        let asked = RequestAsked { slot, request, input_tokens, output_tokens, until_ms };
        self.tell(host, Event::RequestAsked(asked), None);
    }

    fn admitted(&mut self, host: usize, slot: SlotKey, request: RequestKey) {
        let now_ms = self.now_ms;
        let found = self.hosts[host].live.get(&slot).map(|live| (live.lane, live.asked));
        let holds = found.is_some_and(|(_, asked)| asked == request.0);
        self.laws.check(holds, "a request is answered once", now_ms, || format!("{slot:?} {request:?}"));
        if let Some((lane, _)) = found {
            self.laws.sends(&self.scenario.lanes[lane].name, now_ms);
        }
        self.go_on(host, slot, 0, Step::Send);
    }

    fn sent_back(&mut self, host: usize, slot: SlotKey, retry_after_ms: u64) {
        self.laws.check(retry_after_ms > 0, "no wait lies in the past", self.now_ms, || format!("{slot:?}"));
        self.figures.sent_back += 1;
        let Some(live) = self.hosts[host].live.get_mut(&slot) else { return };
        live.sent_back += 1;
        if live.sent_back <= MOST_RETURNS {
            return self.go_on_in_time(host, slot, retry_after_ms, Step::Ask);
        }
        live.reading = Reading { throttled: true, retry_after_ms: Some(retry_after_ms), ..Reading::default() };
        live.refused = Some((Outcome::RateLimited, None));
        self.go_on(host, slot, REFUSAL_MS, Step::Settle(Outcome::RateLimited));
    }

    fn send(&mut self, host: usize, slot: SlotKey) {
        let (scenario, now_ms) = (self.scenario, self.now_ms);
        let state = &mut self.hosts[host];
        let Some(live) = state.live.get_mut(&slot) else { return };
        let lane = &scenario.lanes[live.lane];
        live.sent_ms = now_ms;
        let (input_tokens, output_tokens) = live.course.draw(live.taken);
        if live.course.fate == Fate::IsOverloaded && live.taken == 0 {
            let retry_after_ms = lane.service.tells_retry_after.then_some(OVERLOADED_FOR_MS);
            live.reading = Reading { retry_after_ms, ..Reading::default() };
            live.refused = Some((Outcome::Overloaded, None));
            return self.go_on(host, slot, REFUSAL_MS, Step::Respond);
        }
        let arrival = Arrival { input_tokens, output_tokens, prompt_tokens: live.course.prompt_tokens };
        match self.services.arrive(live.lane, lane, arrival, now_ms) {
            Answer::Refused { outcome, reading, by } => {
                if let Some(by) = &by {
                    self.figures.rate_limited += 1;
                    self.laws.refused(&lane.name, by, now_ms);
                }
                (live.reading, live.refused) = (reading, Some((outcome, by)));
                self.go_on(host, slot, REFUSAL_MS, Step::Respond);
            }
            Answer::Taken(reading) => {
                (live.reading, live.open) = (reading, true);
                live.taken += 1;
                let (request_ms, fate) = (live.course.request_ms(), live.course.fate);
                state.tokens = state.tokens.saturating_add(input_tokens).saturating_add(output_tokens);
                state.micro_usd = state.micro_usd.saturating_add(lane.cost(input_tokens, output_tokens));
                self.figures.requests += 1;
                self.laws.spends(scenario, state.tokens, state.micro_usd, now_ms);
                match fate {
                    Fate::Crashes => self.go_on_in_time(host, slot, request_ms / 2, Step::Settle(Outcome::Crashed)),
                    Fate::Hangs => self.go_on_in_time(host, slot, u64::MAX, Step::Respond),
                    _ => self.go_on_in_time(host, slot, request_ms, Step::Respond),
                }
            }
        }
    }

    fn respond(&mut self, host: usize, slot: SlotKey) {
        let scenario = self.scenario;
        self.leave(host, slot);
        let Some(live) = self.hosts[host].live.get(&slot) else { return };
        let (lane, refused) = (&scenario.lanes[live.lane], live.refused.clone());
        let life = self.hosts[host].life;
        if lane.pacing == LanePacing::Request {
            self.end_request(host, slot);
            if self.hosts[host].life != life {
                return;
            }
        }
        match refused {
            Some((outcome, _)) => self.go_on(host, slot, 0, Step::Settle(outcome)),
            None => self.next_request(host, slot),
        }
    }

    /// Tells the dispatcher of the end of a request that it let go.
    fn end_request(&mut self, host: usize, slot: SlotKey) {
        let scenario = self.scenario;
        let Some(live) = self.hosts[host].live.get(&slot) else { return };
        let by_load = |(outcome, _): &(Outcome, _)| matches!(outcome, Outcome::RateLimited | Outcome::Overloaded);
        let rate_limited = live.refused.as_ref().is_some_and(by_load);
        let (input, output) = match live.refused {
            Some(_) => (0, 0),
            None => live.course.draw(live.taken.saturating_sub(1)),
        };
        let ended = RequestEnded {
            slot,
            request: RequestKey(live.asked),
            rate_limited,
            readings: vec![live.reading.clone()],
            input_tokens: Some(input),
            output_tokens: Some(output),
            jitter: live.course.jitter,
        };
        if rate_limited {
            let by = live.refused.as_ref().and_then(|(_, by)| by.as_ref());
            let heard = Heard { reading: &live.reading, by, sent_ms: live.sent_ms, began_ms: live.sent_ms };
            self.laws.heard(&scenario.lanes[live.lane].name, &heard, self.now_ms);
        }
        self.tell(host, Event::RequestEnded(ended), None);
    }

    fn next_request(&mut self, host: usize, slot: SlotKey) {
        let Some(live) = self.hosts[host].live.get_mut(&slot) else { return };
        if live.taken < live.course.requests {
            let by_request = self.scenario.lanes[live.lane].pacing == LanePacing::Request;
            return self.go_on_in_time(host, slot, 0, if by_request { Step::Ask } else { Step::Send });
        }
        let answered = match live.course.fate {
            Fate::Answers | Fate::HangsAfterwards => live.tasks.clone(),
            Fate::AnswersPartly => live.tasks[..live.tasks.len() / 2].to_vec(),
            _ => Vec::new(),
        };
        let (launch, fate, lingers_ms) = (live.launch, live.course.fate, live.course.lingers_ms);
        if !answered.is_empty() {
            self.hosts[host].store.write_answer(launch, answered);
        }
        let outcome = match fate {
            Fate::AnswersNothing => Outcome::NoResults,
            Fate::IsRefused => Outcome::Refused,
            Fate::PluginFailsLast => Outcome::Crashed,
            Fate::HangsAfterwards => return self.go_on_in_time(host, slot, u64::MAX, Step::Respond),
            _ => Outcome::Completed,
        };
        self.go_on_in_time(host, slot, lingers_ms, Step::Settle(outcome));
    }

    /// The service is done with what it works on, or the program is gone.
    fn leave(&mut self, host: usize, slot: SlotKey) {
        let now_ms = self.now_ms;
        let Some(live) = self.hosts[host].live.get_mut(&slot) else { return };
        if !std::mem::take(&mut live.open) {
            return;
        }
        let worked_ms = now_ms - live.sent_ms;
        live.busy_ms += worked_ms;
        self.busy.by_lane[live.lane] += worked_ms;
        self.busy.longest_ms = self.busy.longest_ms.max(live.busy_ms);
        self.services.leave(live.lane);
    }

    fn settle(&mut self, host: usize, slot: SlotKey, outcome: Outcome) {
        let (scenario, now_ms) = (self.scenario, self.now_ms);
        self.leave(host, slot);
        let Some(live) = self.hosts[host].live.remove(&slot) else { return };
        let lane = &scenario.lanes[live.lane];
        let done = self.hosts[host].store.answer(live.launch);
        let counts = costs_an_attempt(outcome) && !(outcome == Outcome::ContextExceeded && live.tasks.len() > 1);
        self.free_ends += u64::from(!counts || !done.is_empty());
        self.figures.makespan_ms = now_ms - BEGIN_MS;
        if matches!(outcome, Outcome::RateLimited | Outcome::Overloaded) {
            let by = live.refused.as_ref().and_then(|(_, by)| by.as_ref());
            // Where requests are paced, the end of the request has told it already.
            let by = by.filter(|_| lane.pacing == LanePacing::Launch);
            let began_ms = if lane.pacing == LanePacing::Launch { live.began_ms } else { 0 };
            let heard = Heard { reading: &live.reading, by, sent_ms: live.sent_ms, began_ms };
            self.laws.heard(&lane.name, &heard, now_ms);
        }
        let event = Settled {
            slot,
            outcome,
            message: "simulated".to_owned(),
            done: done.clone(),
            dropped: Vec::new(),
            set_aside: Vec::new(),
            readings: vec![live.reading.clone()],
            usage: live.course.usage(lane, live.taken),
            jitter: live.course.jitter,
        };
        let closing = Closing { launch: live.launch, tasks: live.tasks, done, counts };
        self.tell(host, Event::Settled(event), Some(closing));
    }

    /// The store's transaction at the end of a launch.
    pub(super) fn ingest(
        &mut self,
        host: usize,
        launch: LaunchNumber,
        done: &[TaskId],
        park: &[TaskId],
        counts: bool,
    ) {
        for task in done {
            self.check_stand(host, task, &TaskStand::Leased(launch), "no result is ingested twice");
        }
        for task in park {
            self.check_stand(host, task, &TaskStand::Leased(launch), "a task ends once");
        }
        self.hosts[host].store.settle(launch, done, park, counts);
    }

    /// Cuts a task into parts of which each fits, as files are cut into ranges of lines.
    fn split(&mut self, host: usize, task: TaskId, most_tokens: u64) {
        self.check_stand(host, &task, &TaskStand::Pending, "a task ends once");
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
        let event = Box::new(Event::SplitInto { task, parts });
        self.plan(0, Happening::Tell { host, life, event });
    }
}

/// Takes out what is given up of the tasks of a launch, because it belongs to the launch's own transaction.
fn take_parks(commands: &mut Vec<Command>, of: &[TaskId]) -> Vec<TaskId> {
    let mut parked = Vec::new();
    commands.retain(|command| match command {
        Command::Park { tasks, .. } if tasks.iter().all(|task| of.contains(task)) => {
            parked.extend(tasks.iter().cloned());
            false
        }
        _ => true,
    });
    parked
}
