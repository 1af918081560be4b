//! Whole runs from seeds: lanes, windows, requests, budgets, splits and every outcome, against a service that keeps count.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::*;

/// A small generator; the engine itself has no randomness.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

#[test]
fn in_every_simulated_run_each_task_ends_exactly_once() {
    let ends: BTreeSet<&str> = (0..1_200).map(|seed| Run::new(seed).play()).collect();
    let all = ["blocked", "budget", "complete", "deadline", "drained", "waiting"];
    assert_eq!(ends.into_iter().collect::<Vec<_>>(), all, "every way to end occurs");
}

/// What launches come to; the last ones close lanes and do not occur in every run.
const OUTCOMES: [Outcome; 20] = [
    Outcome::Completed,
    Outcome::Completed,
    Outcome::Completed,
    Outcome::Completed,
    Outcome::Completed,
    Outcome::Completed,
    Outcome::Completed,
    Outcome::Completed,
    Outcome::Crashed,
    Outcome::Crashed,
    Outcome::RateLimited,
    Outcome::RateLimited,
    Outcome::Overloaded,
    Outcome::NoResults,
    Outcome::ContextExceeded,
    Outcome::Refused,
    Outcome::TimedOut,
    Outcome::Interrupted,
    Outcome::Misconfigured,
    Outcome::QuotaExhausted,
];

/// A launch as the world sees it.
struct Live {
    lane: String,
    tasks: Vec<TaskId>,
    reserved: Option<u64>,
    /// Requests that wait for an answer of the engine.
    asked: BTreeSet<RequestKey>,
    /// Requests that were let go.
    sent: BTreeSet<RequestKey>,
}

/// The world around one engine.
struct Run {
    seed: u64,
    random: Seeded,
    lanes: Vec<LaneSpec>,
    limits: Limits,
    engine: Dispatch,
    now: u64,
    live: BTreeMap<SlotKey, Live>,
    tokens: BTreeMap<TaskId, u64>,
    /// Tasks that are done, parked, dropped, handed over or replaced by parts.
    over: BTreeSet<TaskId>,
    splits: VecDeque<(TaskId, u64)>,
    /// Instants at which requests were drawn, by lane.
    drawn: BTreeMap<String, Vec<u64>>,
    next_request: u64,
    next_part: usize,
    wake: Option<u64>,
    end: Option<End>,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut random = Seeded(seed);
        let count = 1 + random.below(3) as usize;
        let lanes: Vec<LaneSpec> = ["a", "b", "c"][..count].iter().map(|name| lane_of(name, &mut random)).collect();
        let limits = limits_of(&mut random);
        let engine = Dispatch::new(lanes.clone(), limits);
        Self {
            seed,
            random,
            lanes,
            limits,
            engine,
            now: 1_000_000,
            live: BTreeMap::new(),
            tokens: BTreeMap::new(),
            over: BTreeSet::new(),
            splits: VecDeque::new(),
            drawn: BTreeMap::new(),
            next_request: 0,
            next_part: 1_000,
            wake: None,
            end: None,
        }
    }

    fn play(mut self) -> &'static str {
        let packets = self.packets();
        self.tell(Event::Ready(packets));
        let mut turns = 0;
        while self.end.is_none() {
            turns += 1;
            assert!(turns < 20_000, "seed {}: the run does not end", self.seed);
            let event = self.next_event();
            self.tell(event);
        }
        self.check_windows();
        self.check_end()
    }

    fn packets(&mut self) -> Vec<Packet> {
        let (count, size) = (1 + self.random.below(6), 1 + self.random.below(4));
        let mut packets = Vec::new();
        for p in 0..count {
            let mut tasks = Vec::new();
            for t in 0..size {
                let (task, tokens) = (task((p * size + t) as usize), 50 + self.random.below(1_200));
                self.tokens.insert(task.clone(), tokens);
                tasks.push(PacketTask { task, attempts: 0, tokens });
            }
            let sum: u64 = tasks.iter().map(|task| task.tokens).sum();
            packets.push(Packet { avoid: None, tokens: sum - self.random.below(sum / 3), tasks });
        }
        packets
    }

    fn next_event(&mut self) -> Event {
        if let Some((task, tokens)) = self.splits.pop_front() {
            return self.split(task, tokens);
        }
        if self.limits.deadline_ms.is_none() && self.random.one_in(400) {
            return Event::Drain;
        }
        let due = self.wake.is_some_and(|_| self.random.one_in(4));
        if self.live.is_empty() || due {
            let at = self.wake.unwrap_or_else(|| panic!("seed {}: nothing runs and nothing is awaited", self.seed));
            self.now = self.now.max(at);
            return Event::Woke;
        }
        self.now += self.random.below(10_000);
        let at = self.random.below(self.live.len() as u64) as usize;
        let slot = *self.live.keys().nth(at).unwrap();
        let paced = self.lanes.iter().any(|lane| lane.name == self.live[&slot].lane && lane.pacing == Pacing::Request);
        match self.random.below(6) {
            0..3 if paced => self.ask(slot),
            3 if paced && !self.live[&slot].sent.is_empty() => self.end_request(slot),
            _ => self.settle(slot),
        }
    }

    fn split(&mut self, task: TaskId, tokens: u64) -> Event {
        let parts = if self.random.one_in(3) { 0 } else { 2 };
        let parts: Vec<PacketTask> = (0..parts)
            .map(|_| {
                self.next_part += 1;
                PacketTask { task: super::task(self.next_part), attempts: 0, tokens: (tokens * 2 / 3).max(1) }
            })
            .collect();
        if !parts.is_empty() {
            self.finish(&task);
        }
        self.tokens.extend(parts.iter().map(|part| (part.task.clone(), part.tokens)));
        Event::SplitInto { task, parts }
    }

    fn ask(&mut self, slot: SlotKey) -> Event {
        self.next_request += 1;
        let request = RequestKey(self.next_request);
        self.live.get_mut(&slot).unwrap().asked.insert(request);
        let until_ms = self.now + self.random.below(120_000);
        Event::RequestAsked(RequestAsked { slot, request, input_tokens: 80, output_tokens: 20, until_ms })
    }

    fn end_request(&mut self, slot: SlotKey) -> Event {
        let rate_limited = self.random.one_in(12);
        let request = self.live.get_mut(&slot).unwrap().sent.pop_first().unwrap();
        let readings = if self.random.one_in(3) { vec![self.reading()] } else { vec![] };
        let (input_tokens, output_tokens) = (Some(self.random.below(80)), None);
        let jitter = 0.5;
        Event::RequestEnded(RequestEnded { slot, request, rate_limited, readings, input_tokens, output_tokens, jitter })
    }

    fn reading(&mut self) -> Reading {
        let (left, reset) = (self.random.below(6), self.now + self.random.below(90_000));
        reading_of("requests", 5, left, self.names_resets().then_some(reset))
    }

    fn settle(&mut self, slot: SlotKey) -> Event {
        let live = self.live.remove(&slot).unwrap();
        let most = if self.seed.is_multiple_of(3) { 20 } else { 18 };
        let mut end = ended(slot, OUTCOMES[self.random.below(most) as usize], vec![]);
        if end.outcome == Outcome::Completed {
            for task in &live.tasks {
                match self.random.below(20) {
                    0..3 => {}
                    3 => end.dropped.push(task.clone()),
                    4 => end.set_aside.push(task.clone()),
                    _ => end.done.push(task.clone()),
                }
            }
        }
        [&end.done, &end.dropped, &end.set_aside].into_iter().flatten().for_each(|task| self.finish(task));
        if self.random.one_in(4) {
            end.readings = vec![self.reading()];
        }
        // A service keeps what it promised: neither tokens nor cost beyond the bound that was computed beforehand.
        let sum: u64 = live.tasks.iter().map(|task| self.tokens[task]).sum();
        let micro_usd = live.reserved.map(|most| self.random.below(most + 1));
        end.usage = Some(SlotUsage {
            requests: Some(1),
            input_tokens: Some(self.random.below(sum / 2 + 1)),
            output_tokens: Some(self.random.below(100)),
            micro_usd,
        });
        Event::Settled(end)
    }

    fn finish(&mut self, task: &TaskId) {
        assert!(self.over.insert(task.clone()), "seed {}: {task} ended twice", self.seed);
    }

    /// Tells the engine, through a shared state that is written and read each time, and does what it says.
    fn tell(&mut self, event: Event) {
        let shared = self.engine.share();
        self.engine.absorb(&shared, self.now);
        (self.wake, self.end) = (None, None);
        for command in self.engine.handle(event, self.now) {
            self.carry_out(command);
        }
        let seed = self.seed;
        assert!(self.live.len() <= self.limits.workers as usize, "seed {seed}: more launches than workers");
        assert_eq!(self.live.len(), self.engine.in_flight(), "seed {seed}");
        let spent = self.engine.spent();
        let within = |limit: Option<u64>, spent: u64| limit.is_none_or(|limit| spent <= limit);
        assert!(within(self.limits.launches.map(u64::from), u64::from(spent.launches)), "seed {seed}: {spent:?}");
        assert!(within(self.limits.tokens, spent.tokens + spent.reserved_tokens), "seed {seed}: {spent:?}");
        assert!(within(self.limits.micro_usd, spent.micro_usd + spent.reserved_micro_usd), "seed {seed}: {spent:?}");
    }

    fn carry_out(&mut self, command: Command) {
        let seed = self.seed;
        match command {
            Command::Launch { slot, lane, tasks, micro_usd: reserved, .. } => {
                assert!(self.limits.deadline_ms.is_none_or(|deadline| self.now < deadline), "seed {seed}: too late");
                for task in &tasks {
                    let runs = self.live.values().any(|live| live.tasks.contains(task));
                    assert!(!runs && !self.over.contains(task), "seed {seed}: {task} is launched twice");
                }
                let spec = self.lanes.iter().find(|spec| spec.name == lane).unwrap();
                if spec.pacing == Pacing::Launch {
                    self.drawn.entry(lane.clone()).or_default().push(self.now);
                }
                let (asked, sent) = (BTreeSet::new(), BTreeSet::new());
                self.live.insert(slot, Live { lane, tasks, reserved, asked, sent });
            }
            Command::AdmitRequest { slot, request } => {
                let live = self.live.get_mut(&slot).unwrap();
                assert!(live.asked.remove(&request), "seed {seed}: a request is answered twice");
                live.sent.insert(request);
                self.drawn.entry(live.lane.clone()).or_default().push(self.now);
            }
            Command::RefuseRequest { slot, request, retry_after_ms } => {
                let asked = self.live.get_mut(&slot).is_some_and(|live| live.asked.remove(&request));
                assert!(asked && retry_after_ms > 0, "seed {seed}: a request is answered twice");
            }
            Command::Park { tasks, .. } => tasks.iter().for_each(|task| self.finish(task)),
            Command::Split { task, most_tokens } => {
                assert!(most_tokens > 0, "seed {seed}");
                let tokens = self.tokens[&task];
                self.splits.push_back((task, tokens));
            }
            Command::Wait { until_ms } => {
                assert!(until_ms > self.now, "seed {seed}: a wait that is over");
                self.wake = Some(until_ms);
            }
            Command::End(end) => self.end = Some(end),
            Command::LaneClosed { .. } | Command::Note(_) => {}
        }
    }

    /// What a configured window of requests lets through in any time is at most what it holds and what comes in meanwhile.
    fn check_windows(&self) {
        if self.names_resets() {
            return;
        }
        for spec in self.lanes.iter().filter(|spec| spec.account == spec.name) {
            let Some(window) = spec.windows.iter().find(|window| window.dimension == Dimension::Requests) else {
                continue;
            };
            let drawn = self.drawn.get(&spec.name).map_or(&[][..], Vec::as_slice);
            let capacity = (window.limit as f64 * spec.margin).max(1.0);
            for (first, from) in drawn.iter().enumerate() {
                for (last, to) in drawn.iter().enumerate().skip(first) {
                    let incoming = (to - from) as f64 * window.limit as f64 / window.period_ms as f64;
                    let (count, seed) = ((last - first + 1) as f64, self.seed);
                    assert!(count <= capacity + incoming + 0.01, "seed {seed}: {count} draws in {} ms", to - from);
                }
            }
        }
    }

    /// A reset that the service names fills a window, so that what it lets through can no longer be told beforehand.
    fn names_resets(&self) -> bool {
        self.seed.is_multiple_of(2)
    }

    fn check_end(&self) -> &'static str {
        let seed = self.seed;
        assert!(self.live.is_empty() && self.splits.is_empty(), "seed {seed}: ended while something was under way");
        let all = self.tokens.len() == self.over.len();
        match self.end.as_ref().unwrap() {
            End::Complete => {
                assert!(all, "seed {seed}: tasks were lost");
                "complete"
            }
            End::Waiting => {
                assert!(all, "seed {seed}: tasks were lost");
                "waiting"
            }
            End::Blocked(causes) => {
                assert!(!all && !causes.is_empty(), "seed {seed}: blocked without a cause");
                "blocked"
            }
            End::Budget(_) => {
                assert!(!all, "seed {seed}");
                "budget"
            }
            End::Deadline => {
                assert!(!all && self.limits.deadline_ms.is_some(), "seed {seed}");
                "deadline"
            }
            End::Drained => "drained",
        }
    }
}

fn lane_of(name: &str, random: &mut Seeded) -> LaneSpec {
    let mut windows = Vec::new();
    if random.one_in(2) {
        windows.push(window(Dimension::Requests, 1 + random.below(6), 30_000));
    }
    if random.one_in(3) {
        windows.push(window(Dimension::Tokens, 2_000 + random.below(3_000), 60_000));
    }
    if random.one_in(4) {
        windows.push(window(Dimension::Concurrency, 1 + random.below(3), 0));
    }
    LaneSpec {
        account: if random.one_in(2) { "shared".to_owned() } else { name.to_owned() },
        model: random.one_in(2).then(|| name.to_owned()),
        rank: random.one_in(2).then_some(0),
        widest: 8,
        agent: false,
        pacing: if random.one_in(3) { Pacing::Request } else { Pacing::Launch },
        context_tokens: random.one_in(2).then(|| 700 + random.below(3_000)),
        output_tokens: 100,
        price: Some(Price { input_micro_usd_per_million: 3_000_000, output_micro_usd_per_million: 15_000_000 }),
        windows,
        ..lane(name, 1 + random.below(4) as u32)
    }
}

fn limits_of(random: &mut Seeded) -> Limits {
    let mut limits = limits(1 + random.below(6) as u32);
    match random.below(8) {
        0 => limits.launches = Some(1 + random.below(8) as u32),
        1 => limits.tokens = Some(2_000 + random.below(20_000)),
        2 => limits.micro_usd = Some(5_000 + random.below(60_000)),
        3 => limits.deadline_ms = Some(1_000_000 + random.below(200_000)),
        _ => {}
    }
    limits
}
