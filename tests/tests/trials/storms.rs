//! Services that say no for a while: nothing is lost, nobody hammers, and two hosts of one user wait together.

use std::path::Path;
use std::time::Duration;

use assize_tests::{Running, generate, until};

use crate::desk::{Desk, count_of, most_at_once};

const WORKERS: &str = "8";
const PATIENCE: Duration = Duration::from_secs(110);

/// What a limit's header says.
const HEADER_MS: u64 = 2_000;
/// Milliseconds after its limit in which a request may still arrive that was under way already.
const UNDER_WAY_MS: u64 = 300;

#[test]
fn a_storm_costs_few_calls_and_no_task() {
    let desk = Desk::new(60);
    // Some of the work is done before the storm comes.
    desk.play("ok");
    desk.run(&["--workers", WORKERS, "--max-launches", "3"]).exits(4);
    let before = desk.machine.status()["tasks"]["done"].as_u64().unwrap();
    assert!(before > 0);
    let earlier = desk.api.requests().len();

    desk.play("storm-5+slow-150");
    desk.call(&["--workers", WORKERS]).limit(PATIENCE).run().exits(0).says("rate-limited");
    desk.machine.each_task_once();
    let requests = desk.api.requests().split_off(earlier);
    let refused = requests.iter().filter(|entry| entry.status == Some(429)).count();
    let answered: Vec<_> = requests.iter().filter(|entry| entry.status == Some(200)).cloned().collect();
    assert!(refused > 0, "there was a storm");
    assert!(refused <= 8 + 2, "{refused} calls into the storm; what was under way when it began are eight");
    let asked: usize = answered.iter().map(|entry| entry.tasks).sum();
    let done = desk.machine.status()["tasks"]["done"].as_u64().unwrap();
    assert_eq!(asked as u64, done - before, "what was finished is kept, and the rest is asked once");
    assert!(requests.len() > 8 + refused, "there was more to do than fits at once: {}", requests.len());

    // Half of the width is left, and it grows by one for a whole round of answers.
    let first = answered.first().unwrap().at_ms;
    let at_once = most_at_once(&answered, first, first + 140);
    assert!(at_once <= 4, "{at_once} calls at once right after the storm");
}

#[test]
fn two_hosts_wait_as_long_as_the_service_says_and_do_not_come_back_as_a_crowd() {
    let desk = Desk::new(40);
    let second = desk.second_repo(40);
    desk.play("429-in-2-times-14+slow-100");
    let start = |repo: &Path| desk.call_on(repo, &["--workers", "4"]).limit(PATIENCE).start();
    let first = start(desk.machine.repo());
    // The second one comes while the first one meets the storm, or waits already.
    until("the first host has met the storm", PATIENCE, || desk.with_status(429).len() >= 3);
    let hosts = [first, start(&second)];
    for host in hosts.map(Running::wait) {
        host.exits(0);
    }
    desk.machine.each_task_once();

    let requests = desk.api.requests();
    let refused: Vec<u64> = desk.with_status(429).iter().map(|entry| entry.at_ms).collect();
    assert_eq!(refused.len(), 14, "all of them were met");
    for at in &refused {
        let too_early: Vec<u64> = requests
            .iter()
            .map(|entry| entry.at_ms)
            .filter(|other| (at + UNDER_WAY_MS..at + HEADER_MS - 20).contains(other))
            .collect();
        assert!(too_early.is_empty(), "after the 429 at {at} there were requests at {too_early:?}");
    }
    // Each round of the storm is met by fewer: the hosts share one width, which is halved each time.
    let rounds = rounds_of(&refused);
    assert!(rounds.len() >= 3, "{rounds:?}");
    // Of each host three go to a service of which nothing was heard.
    assert!((3..=6).contains(&rounds[0]), "{rounds:?}");
    assert!(rounds[1..].iter().all(|round| *round <= 4), "a crowd came back: {rounds:?}");
}

#[test]
fn two_hosts_that_were_told_the_same_instant_do_not_return_in_step() {
    let desk = Desk::new(20);
    let second = desk.second_repo(20);
    // A section of its own for each host tells their requests apart; the account and its limits are one.
    let start = |tag: &str, repo: &Path| {
        desk.play(&format!("429-in-2-times-6+slow-100~{tag}"));
        let mut host = desk.call_on(repo, &["--workers", "1"]).limit(PATIENCE).start();
        host.line(|line| line.starts_with("provider:")).expect("it says whom it asks");
        host
    };
    let hosts = [start("first", desk.machine.repo()), start("second", &second)];
    for host in hosts.map(Running::wait) {
        host.exits(0);
    }
    let refused = |tag: &str| -> Vec<u64> {
        desk.with_status(429).iter().filter(|e| e.scenario.ends_with(tag)).map(|e| e.at_ms).collect()
    };
    let (first, second) = (refused("~first"), refused("~second"));
    assert_eq!((first.len(), second.len()), (6, 6));
    // Distances from each return of one host to the nearest of the other, in milliseconds.
    let near = |at: &u64| second.iter().map(|other| at.abs_diff(*other)).min().unwrap();
    let distances: Vec<u64> = first[1..].iter().map(near).collect();
    let in_step = distances.iter().filter(|distance| **distance < HEADER_MS / 40).count();
    assert!(in_step <= 2, "of five returns {in_step} are in step with the other host: {distances:?}");
}

/// Sizes of groups of instants that lie closer together than a second.
fn rounds_of(instants: &[u64]) -> Vec<usize> {
    let mut sorted = instants.to_vec();
    sorted.sort_unstable();
    let mut rounds: Vec<(u64, usize)> = Vec::new();
    for at in sorted {
        match rounds.last_mut() {
            Some((last, count)) if at - *last < 1_000 => (*last, *count) = (at, *count + 1),
            _ => rounds.push((at, 1)),
        }
    }
    rounds.into_iter().map(|(_, count)| count).collect()
}

#[test]
fn hosts_that_are_told_no_time_spread_their_returns() {
    let desk = Desk::new(8);
    let mut pauses = Vec::new();
    for lane in 0..8 {
        let account = format!("[lanes.openai]\naccount = \"a{lane}\"\n");
        let repo = desk.machine.at(&format!("repo-{lane}"));
        std::fs::create_dir_all(&repo).unwrap();
        generate(&repo, 2, lane).unwrap();
        desk.play_with("429-no-hint", &account);
        desk.call_on(&repo, &["--workers", "1", "--max-launches", "1"]).run().exits(4);
        let quota = desk.quota();
        let state = quota["lanes"].as_array().unwrap().iter().find(|lane| !lane["state"]["cooldown"].is_null());
        let state = &state.unwrap_or_else(|| panic!("no lane cools: {quota:#}"))["state"];
        let until = state["cooldown"]["until_ms"].as_u64().unwrap();
        pauses.push(until - state["width_at_ms"].as_u64().unwrap());
        desk.machine.bare().args(["quota", "reset"]).run().exits(0);
    }
    assert!(pauses.iter().all(|pause| (54_000..=66_000).contains(pause)), "{pauses:?}");
    let spread = pauses.iter().max().unwrap() - pauses.iter().min().unwrap();
    assert!(spread > 3_000, "they come back in step: {pauses:?}");
}

#[test]
fn a_limit_that_never_ends_closes_the_lane_instead_of_calling_for_ever() {
    let desk = Desk::new(10);
    desk.play("429-in-1");
    let end = desk.call(&["--workers", "4"]).limit(PATIENCE).run().exits(3);
    let calls = desk.api.requests().len();
    assert!(calls <= 4 * 2 + 12, "{calls} calls\n{}", end.stderr);
    assert_eq!(desk.machine.status()["tasks"]["parked"], 0, "a limit costs no attempt");
    assert_eq!(count_of(&desk.machine.ledger(), "result-ingested"), 0);
    desk.play("ok");
    desk.run(&[]).exits(0);
    desk.machine.each_task_once();
}
