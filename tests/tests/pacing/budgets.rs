//! Budgets are never overspent, and a run that ends on one goes on in the next.

use std::time::{Duration, Instant};

use assize_tests::Ended;
use serde_json::Value;

use crate::scene::Scene;

const EIGHT: [&str; 2] = ["--workers", "8"];
/// Priced so that a request costs more than a cent.
const PRICED: &str =
    "output_tokens = 400\n[lanes.anthropic.price]\ninput_usd_per_million = 10\noutput_usd_per_million = 50";

fn scene(lane: &str) -> Scene {
    Scene::new(12).with_model("slow-50", lane)
}

/// A run with a budget, eight launches at once.
fn paused(scene: &Scene, budget: &[&str]) -> Value {
    let end: Ended = scene.by_model(&[&EIGHT[..], budget].concat()).run().exits(4);
    let outcome = end.json();
    assert_eq!(outcome["end"], "paused", "{outcome:#}");
    assert!(outcome["causes"][0].as_str().unwrap().contains(budget[0]), "{outcome:#}");
    outcome
}

/// Another run without one completes what is left, and asks nothing twice but what was cut short.
fn goes_on(scene: &Scene, cut: usize) {
    assert!(scene.asked().len() < 12);
    scene.by_model(&EIGHT).run().exits(0);
    scene.machine.each_task_once();
    assert!(scene.asked().len() <= 12 + cut, "{} requests", scene.asked().len());
}

#[test]
fn launches_are_never_more_than_allowed() {
    let scene = scene("");
    let outcome = paused(&scene, &["--max-launches", "5"]);
    assert_eq!((outcome["launches"].as_u64(), scene.asked().len()), (Some(5), 5));
    goes_on(&scene, 0);
}

#[test]
fn tokens_are_never_more_than_allowed() {
    let scene = scene("output_tokens = 400");
    let budget = 16_000;
    let outcome = paused(&scene, &["--budget-tokens", &budget.to_string()]);
    let drawn: u64 = scene.asked().iter().map(|entry| entry.input_tokens + entry.output_tokens).sum();
    assert!(drawn > 0 && drawn <= budget, "{drawn} of {budget}");
    assert_eq!(outcome["tokens"].as_u64(), Some(drawn), "what was spent is told");
    goes_on(&scene, 0);
}

#[test]
fn money_is_never_more_than_allowed() {
    let scene = scene(PRICED);
    let outcome = paused(&scene, &["--budget-usd", "0.15"]);
    let cost = scene.asked().iter().map(|entry| entry.input_tokens * 10 + entry.output_tokens * 50).sum::<u64>();
    assert!(cost > 0 && cost <= 150_000, "{cost} millionths of a dollar");
    let told = outcome["micro_usd"].as_u64().unwrap();
    assert!(told.abs_diff(cost) <= cost / 50, "{told} told, {cost} spent");
    goes_on(&scene, 0);
}

#[test]
fn a_budget_too_small_for_anything_spends_nothing() {
    let scene = scene(PRICED);
    paused(&scene, &["--budget-usd", "0.0001"]);
    assert!(scene.asked().is_empty());
    goes_on(&scene, 0);
}

#[test]
fn nothing_starts_after_the_deadline() {
    let scene = Scene::new(12).with_model("slow-700", "");
    let begin = Instant::now();
    let end = scene.by_model(&["--workers", "1", "--deadline", "3s"]).run().exits(4);
    assert!(begin.elapsed() < Duration::from_secs(30), "{:?}", begin.elapsed());
    assert!(end.json()["causes"][0].as_str().unwrap().contains("--deadline"), "{}", end.stdout);
    // The one that ran when the deadline came was ended.
    goes_on(&scene, 1);
}
