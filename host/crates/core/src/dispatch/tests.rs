//! The laws of dispatching, and a seeded simulation of whole runs.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::id::TaskId;
use crate::plugin::{Limit, Outcome, Reading};

fn task(n: usize) -> TaskId {
    TaskId::new(format!("t{n}"))
}

fn packets(count: usize, size: usize) -> Event {
    Event::Ready((0..count).map(|p| (0..size).map(|t| (task(p * size + t), 0)).collect()).collect())
}

fn dispatch(lanes: &[(&str, u32)], workers: u32) -> Dispatch {
    let lanes = lanes.iter().map(|(name, width)| LaneSpec { name: (*name).to_owned(), width: *width, widest: *width });
    Dispatch::new(lanes.collect(), Limits { workers, attempts: 3, launches: None })
}

fn launches(commands: &[Command]) -> Vec<(SlotKey, String, Vec<TaskId>)> {
    commands
        .iter()
        .filter_map(|command| match command {
            Command::Launch { slot, lane, tasks, .. } => Some((*slot, lane.clone(), tasks.clone())),
            _ => None,
        })
        .collect()
}

fn settled(slot: SlotKey, outcome: Outcome, done: Vec<TaskId>) -> Event {
    Event::Settled(Settled {
        slot,
        outcome,
        message: "m".to_owned(),
        done,
        dropped: Vec::new(),
        readings: Vec::new(),
        jitter: 0.5,
    })
}

#[test]
fn a_free_worker_is_refilled_at_once_and_never_waits_for_the_others() {
    let mut engine = dispatch(&[("a", 4)], 2);
    let first = launches(&engine.handle(packets(3, 1), 0));
    assert_eq!(first.len(), 2);
    let next = launches(&engine.handle(settled(first[0].0, Outcome::Completed, first[0].2.clone()), 1));
    assert_eq!(next.len(), 1);
    assert_eq!(engine.in_flight(), 2);
}

#[test]
fn a_task_is_parked_after_its_tries_and_the_rest_goes_on() {
    let mut engine = dispatch(&[("a", 1)], 1);
    let mut commands = engine.handle(packets(2, 1), 0);
    let mut parked = Vec::new();
    let mut tries = 0;
    while let Some((slot, _, tasks)) = launches(&commands).pop() {
        let bad = tasks[0] == task(0);
        tries += usize::from(bad);
        let outcome = if bad { Outcome::Crashed } else { Outcome::Completed };
        commands = engine.handle(settled(slot, outcome, if bad { vec![] } else { tasks }), 0);
        for command in &commands {
            if let Command::Park { tasks, reason } = command {
                assert!(reason.contains("crashed"), "{reason}");
                parked.extend(tasks.clone());
            }
        }
    }
    assert_eq!((parked, tries), (vec![task(0)], 3));
    assert!(commands.contains(&Command::End(End::Complete)));
}

#[test]
fn a_missing_program_costs_no_attempt_and_spills_to_the_next_lane() {
    let mut engine = dispatch(&[("a", 1), ("b", 1)], 1);
    let first = launches(&engine.handle(packets(1, 1), 0));
    let commands = engine.handle(settled(first[0].0, Outcome::Misconfigured, vec![]), 0);
    assert!(matches!(&commands[0], Command::LaneClosed { lane, .. } if lane == "a"));
    assert!(matches!(&commands[1], Command::Launch { lane, attempt: 1, .. } if lane == "b"));
}

#[test]
fn a_run_without_an_open_lane_ends_blocked_and_says_why() {
    let mut engine = dispatch(&[("a", 1)], 1);
    let first = launches(&engine.handle(packets(1, 1), 0));
    let commands = engine.handle(settled(first[0].0, Outcome::Unauthenticated, vec![]), 0);
    assert!(commands.contains(&Command::End(End::Blocked(vec!["a: unauthenticated: m".to_owned()]))));
}

#[test]
fn a_rate_limit_waits_for_the_latest_hint_and_gets_nothing_before() {
    let mut engine = dispatch(&[("a", 2)], 2);
    let first = launches(&engine.handle(packets(3, 1), 1_000));
    let limit = Limit {
        dimension: "requests".to_owned(),
        window_seconds: Some(60),
        limit: Some(10),
        remaining: Some(0),
        resets_at_ms: Some(90_000),
        scope: "account".to_owned(),
        extra: Vec::new(),
    };
    let reading = Reading { limits: vec![limit], throttled: true, retry_after_ms: Some(5_000), extra: Vec::new() };
    let event = Event::Settled(Settled {
        slot: first[0].0,
        outcome: Outcome::RateLimited,
        message: "429".to_owned(),
        done: vec![],
        dropped: vec![],
        readings: vec![reading],
        jitter: 0.5,
    });
    let commands = engine.handle(event, 1_000);
    assert_eq!(commands, vec![Command::Wait { until_ms: 90_000 }]);
    let commands = engine.handle(settled(first[1].0, Outcome::Completed, first[1].2.clone()), 2_000);
    assert_eq!(commands, vec![Command::Wait { until_ms: 90_000 }], "one good launch does not reopen the lane");
    assert!(launches(&engine.handle(Event::Woke, 89_999)).is_empty());
    assert_eq!(launches(&engine.handle(Event::Woke, 90_000)).len(), 1, "the width was halved");
}

#[test]
fn without_a_hint_the_cooldown_doubles_up_to_its_cap() {
    let mut engine = dispatch(&[("a", 1)], 1);
    let mut now = 0;
    let mut commands = engine.handle(packets(1, 1), now);
    let mut waits = Vec::new();
    for _ in 0..6 {
        let slot = launches(&commands)[0].0;
        commands = engine.handle(settled(slot, Outcome::Overloaded, vec![]), now);
        let Command::Wait { until_ms } = commands[0] else { panic!("{commands:?}") };
        waits.push((until_ms - now) / 1_000);
        now = until_ms;
        commands = engine.handle(Event::Woke, now);
    }
    assert_eq!(waits, [60, 120, 240, 480, 900, 900]);
}

#[test]
fn the_launch_budget_is_never_overspent() {
    let lane = LaneSpec { name: "a".to_owned(), width: 8, widest: 8 };
    let mut engine = Dispatch::new(vec![lane], Limits { workers: 8, attempts: 3, launches: Some(3) });
    let first = launches(&engine.handle(packets(5, 1), 0));
    assert_eq!(first.len(), 3);
    let mut commands = Vec::new();
    for (slot, _, tasks) in first {
        commands = engine.handle(settled(slot, Outcome::Completed, tasks), 0);
    }
    assert_eq!(commands, vec![Command::End(End::Budget)]);
}

#[test]
fn draining_starts_nothing_and_ends_when_the_last_launch_has() {
    let mut engine = dispatch(&[("a", 1)], 1);
    let first = launches(&engine.handle(packets(2, 1), 0));
    assert!(engine.handle(Event::Drain, 0).is_empty());
    let commands = engine.handle(settled(first[0].0, Outcome::Interrupted, vec![]), 0);
    assert_eq!(commands, vec![Command::End(End::Drained)]);
}

#[test]
fn a_packet_that_brings_nothing_is_halved_so_that_one_bad_task_spoils_only_itself() {
    let mut engine = dispatch(&[("a", 8)], 8);
    let first = launches(&engine.handle(packets(1, 4), 0));
    let again = launches(&engine.handle(settled(first[0].0, Outcome::Crashed, vec![]), 0));
    assert_eq!(again.iter().map(|(_, _, tasks)| tasks.len()).collect::<Vec<_>>(), [2, 2]);
}

/// A small generator; the engine itself has no randomness.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

#[test]
fn in_every_simulated_run_each_task_ends_exactly_once() {
    for seed in 0..2_000 {
        simulate(seed);
    }
}

fn simulate(seed: u64) {
    let mut random = Seeded(seed);
    let lanes = 1 + random.below(3) as usize;
    let names = ["a", "b", "c"];
    let specs: Vec<(&str, u32)> = names[..lanes].iter().map(|name| (*name, 1 + random.below(4) as u32)).collect();
    let workers = 1 + random.below(6) as u32;
    let mut engine = dispatch(&specs, workers);
    let (count, size) = (1 + random.below(6) as usize, 1 + random.below(4) as usize);
    let mut now = 0;
    let mut running: BTreeMap<SlotKey, Vec<TaskId>> = BTreeMap::new();
    let mut ended_once: BTreeSet<TaskId> = BTreeSet::new();
    let mut commands = engine.handle(packets(count, size), now);
    let mut turns = 0;
    let end = loop {
        turns += 1;
        assert!(turns < 10_000, "seed {seed}: the run does not end");
        let (mut wake, mut end) = (None, None);
        for command in commands.drain(..) {
            match command {
                Command::Launch { slot, tasks, .. } => drop(running.insert(slot, tasks)),
                Command::Park { tasks, .. } => {
                    tasks.into_iter().for_each(|task| assert!(ended_once.insert(task), "seed {seed}: parked twice"));
                }
                Command::Wait { until_ms } => wake = Some(until_ms),
                Command::End(reason) => end = Some(reason),
                Command::LaneClosed { .. } => {}
            }
        }
        assert!(running.len() <= workers as usize, "seed {seed}: more launches than workers");
        if let Some(end) = end {
            break end;
        }
        if running.is_empty() || (wake.is_some() && random.below(4) == 0) {
            now = wake.unwrap_or_else(|| panic!("seed {seed}: nothing runs and nothing is awaited")).max(now);
            commands = engine.handle(Event::Woke, now);
            continue;
        }
        let at = random.below(running.len() as u64) as usize;
        let slot = *running.keys().nth(at).expect("in range");
        let tasks = running.remove(&slot).expect("running");
        now += random.below(10_000);
        let outcome =
            [Outcome::Completed, Outcome::Crashed, Outcome::RateLimited, Outcome::NoResults, Outcome::Misconfigured]
                [[0, 0, 0, 1, 2, 3, 4][random.below(if seed.is_multiple_of(3) { 7 } else { 6 }) as usize]];
        let done: Vec<TaskId> = match outcome {
            Outcome::Completed => tasks.into_iter().filter(|_| random.below(5) != 0).collect(),
            _ => Vec::new(),
        };
        done.iter().for_each(|task| assert!(ended_once.insert(task.clone()), "seed {seed}: done twice"));
        commands = engine.handle(settled(slot, outcome, done), now);
    };
    assert!(running.is_empty(), "seed {seed}: ended with launches in flight");
    match end {
        End::Complete => assert_eq!(ended_once.len(), count * size, "seed {seed}: tasks were lost"),
        End::Blocked(causes) => assert!(!causes.is_empty(), "seed {seed}: blocked without a cause"),
        End::Budget | End::Drained => panic!("seed {seed}: {end:?} was not asked for"),
    }
}
