//! Ten thousand random scenarios. A seed that fails is replayed by `assize simulate --random SEED`.

use std::collections::BTreeSet;

use super::*;

fn every_law_holds(seeds: std::ops::Range<u64>) {
    let mut broken = Vec::new();
    for seed in seeds {
        let scenario = Scenario::random(seed);
        assert_eq!(scenario.faults(), [], "seed {seed}");
        let replay = run(&scenario, seed);
        let figures = &replay.figures;
        assert!(figures.makespan_ms >= figures.bound_ms, "seed {seed} is faster than anything can be: {figures:?}");
        if let Some(first) = replay.violations.first() {
            let again = format!("assize simulate --random {seed}");
            broken.push(format!("{} at {} ms: {}; {again}", first.law, first.at_ms, first.detail));
        }
    }
    assert!(broken.is_empty(), "{} seeds break a law:\n{}", broken.len(), broken.join("\n"));
}

#[test]
fn every_law_holds_in_the_first_quarter_of_ten_thousand_seeds() {
    every_law_holds(0..2_500);
}

#[test]
fn every_law_holds_in_the_second_quarter_of_ten_thousand_seeds() {
    every_law_holds(2_500..5_000);
}

#[test]
fn every_law_holds_in_the_third_quarter_of_ten_thousand_seeds() {
    every_law_holds(5_000..7_500);
}

#[test]
fn every_law_holds_in_the_last_quarter_of_ten_thousand_seeds() {
    every_law_holds(7_500..10_000);
}

#[test]
fn random_scenarios_reach_every_end_and_everything_that_goes_wrong() {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for seed in 0..600 {
        let replay = run(&Scenario::random(seed), seed);
        let (figures, tasks) = (&replay.figures, &replay.tasks);
        for (what, count) in [
            ("crashes", figures.crashes),
            ("refusals", figures.rate_limited),
            ("requests sent back", figures.sent_back),
            ("waits", figures.waits),
            ("parked", tasks.parked as u64),
            ("split", tasks.split as u64),
        ] {
            seen.extend((count > 0).then_some(what));
        }
        for end in replay.ends.iter().filter_map(|end| end.end.as_deref()) {
            let kinds = ["complete", "blocked", "the budget of launches", "the budget of tokens", "the budget of usd"];
            let kinds = kinds.into_iter().chain(["the deadline", "drained"]);
            seen.extend(kinds.filter(|kind| end.starts_with(kind)));
        }
    }
    assert_eq!(seen.len(), 13, "{seen:?}");
}

#[test]
fn a_seed_gives_the_same_run_every_time() {
    for seed in 0..40 {
        let scenario = Scenario::random(seed);
        assert_eq!(run(&scenario, seed), run(&scenario, seed));
        assert_eq!(run_waves(&scenario, seed), run_waves(&scenario, seed));
    }
}
