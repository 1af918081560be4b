//! Budgets that many launches draw on at once: what a launch may cost is reserved before it starts.

use std::time::Duration;

use assize_loopback::Entry;
use assize_tests::{Ended, Running};

use crate::desk::{Desk, most_at_once};

/// Three tenths of a dollar for an answer of the length that is reserved.
const OUTPUT_TOKENS: u64 = 1_000;
const MICRO_USD_PER_TOKEN: u64 = 300;
const BUDGET_MICRO_USD: u64 = 1_000_000;

fn lane() -> String {
    let (tokens, price) = (OUTPUT_TOKENS, MICRO_USD_PER_TOKEN);
    format!(
        "[lanes.openai]\ncontext_tokens = 9000\noutput_tokens = {tokens}\nwidth = 16\nwidest = 16\n\
         [lanes.openai.price]\ninput_usd_per_million = 0.0\noutput_usd_per_million = {price}.0\n"
    )
}

/// What the service itself counted, in millionths of a dollar.
fn cost(entries: &[Entry]) -> u64 {
    entries.iter().map(|entry| entry.output_tokens * MICRO_USD_PER_TOKEN).sum()
}

const RUN: [&str; 4] = ["--workers", "16", "--budget-usd", "1"];

fn spent(end: &Ended) -> u64 {
    end.json()["micro_usd"].as_u64().unwrap()
}

#[test]
fn sixteen_workers_and_two_hosts_never_spend_more_than_was_given() {
    let desk = Desk::new(60);
    let second = desk.second_repo(60);
    // A section of its own for each host tells their requests apart.
    let start = |tag: &str, repo: &std::path::Path| {
        desk.play_with(&format!("ok+slow-200~{tag}"), &lane());
        let mut host = desk.call_on(repo, &RUN).limit(Duration::from_secs(110)).start();
        host.line(|line| line.starts_with("provider:")).expect("it says whom it asks");
        host
    };
    let hosts = [start("first", desk.machine.repo()), start("second", &second)];
    let ends = hosts.map(Running::wait);
    for (end, tag) in ends.iter().zip(["~first", "~second"]) {
        let end = end.clone().exits(4);
        assert!(end.json()["causes"][0].as_str().unwrap().contains("--budget-usd"), "{}", end.stdout);
        let own: Vec<Entry> = desk.api.requests().into_iter().filter(|entry| entry.scenario.ends_with(tag)).collect();
        let real = cost(&own);
        assert!(real <= BUDGET_MICRO_USD, "{tag}: {real} were spent");
        assert!(spent(&end) >= real && spent(&end) <= BUDGET_MICRO_USD, "{tag}: told {}, real {real}", spent(&end));
        assert!(real > BUDGET_MICRO_USD / 3, "{tag}: {real} of the budget were used");
        // Three reservations fit; a check before and an addition after would have let sixteen go.
        let at_once = most_at_once(&own, 0, u64::MAX);
        assert!(at_once <= 3, "{tag}: {at_once} at once");
    }
}

#[test]
fn what_a_failed_launch_had_reserved_can_be_spent_by_others() {
    let desk = Desk::new(60);
    desk.play_with("429-in-1-times-3", &lane());
    let end = desk.run(&RUN).exits(4);
    let real = cost(&desk.with_status(200));
    assert_eq!(desk.with_status(429).len(), 3);
    assert!(real <= BUDGET_MICRO_USD, "{real}");
    // Three reservations that were never given back would have left a tenth of the budget.
    assert!(real > BUDGET_MICRO_USD / 3, "{real}\n{}", end.stderr);
}

#[test]
fn a_paused_run_goes_on_and_pays_for_nothing_twice() {
    let desk = Desk::new(30);
    desk.play_with("ok", &lane());
    desk.run(&RUN).exits(4);
    desk.run(&["--workers", "16"]).exits(0);
    desk.machine.each_task_once();
    let asked: usize = desk.with_status(200).iter().map(|entry| entry.tasks).sum();
    assert_eq!(asked as u64, desk.machine.status()["tasks"]["done"].as_u64().unwrap());
}

#[test]
fn tokens_are_bounded_in_the_same_way() {
    let desk = Desk::new(60);
    desk.play_with("ok+slow-100", &lane());
    let budget = 60_000;
    let end = desk.run(&["--workers", "16", "--budget-tokens", &budget.to_string()]).exits(4);
    let real: u64 = desk.with_status(200).iter().map(|entry| entry.input_tokens + entry.output_tokens).sum();
    assert!(real > 0 && real <= budget, "{real}\n{}", end.stderr);
}
