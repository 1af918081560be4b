//! Scenarios whose right figures are known.

use super::*;

#[test]
fn without_limits_the_makespan_is_what_the_width_allows() {
    let replay = run(&scenario(20, 10, vec![lane("a", 4)]), 1);
    assert_eq!(replay.violations, []);
    let figures = replay.figures;
    assert_eq!((figures.bound_ms, figures.bound_by.as_str()), (50_000, "the width of a"));
    // Launches linger up to two seconds after their answers.
    assert!((50_000..62_000).contains(&figures.makespan_ms), "{figures:?}");
}

#[test]
fn a_configured_limit_is_never_run_into_and_nearly_used_up() {
    let mut api = lane("api", 10);
    (api.limits, api.service.windows) = (vec![requests(30)], vec![requests(30)]);
    api.service.tells_limits = true;
    let replay = run(&scenario(120, 10, vec![api]), 1);
    assert_eq!((replay.violations.len(), replay.figures.rate_limited, replay.tasks.done), (0, 0, 120));
    // Thirty are free, then one goes every two seconds.
    assert_eq!(replay.figures.bound_ms, 180_000);
    assert!(replay.figures.ratio < 1.15, "{:?}", replay.figures);
}

#[test]
fn barrier_waves_take_longer_and_run_into_the_limit() {
    let mut api = lane("api", 8);
    api.service.windows = vec![requests(30)];
    api.service.latency_ms = Spread { median: 8_000.0, sigma: 0.8, least: None, most: Some(100_000.0) };
    (api.service.tells_limits, api.service.tells_retry_after) = (true, true);
    let scenario = scenario(100, 8, vec![api]);
    let (replay, waves) = (run(&scenario, 5), run_waves(&scenario, 5).unwrap());
    assert_eq!((replay.violations.len(), replay.tasks.done, waves.done, waves.left), (0, 100, 100, 0));
    assert!(waves.makespan_ms > replay.figures.makespan_ms, "{waves:?} {:?}", replay.figures);
}

#[test]
fn what_one_lane_cannot_take_now_goes_to_the_next() {
    let mut narrow = lane("narrow", 4);
    (narrow.limits, narrow.service.windows) = (vec![requests(2)], vec![requests(2)]);
    let alone = run(&scenario(40, 8, vec![narrow.clone()]), 1);
    let spilled = run(&scenario(40, 8, vec![narrow, lane("wide", 4)]), 1);
    assert_eq!((alone.violations.len(), spilled.violations.len(), spilled.tasks.done), (0, 0, 40));
    assert!(spilled.figures.makespan_ms * 5 < alone.figures.makespan_ms, "{alone:?} {spilled:?}");
}

#[test]
fn a_run_that_ends_on_its_budget_says_what_is_left() {
    let mut scenario = scenario(20, 8, vec![lane("a", 8)]);
    scenario.limits.tokens = Some(10_000);
    let replay = run(&scenario, 1);
    assert_eq!(replay.violations, []);
    assert_eq!(replay.ends[0].end.as_deref(), Some("the budget of tokens is spent"));
    assert!(replay.tasks.left > 0 && replay.tasks.left == replay.ends[0].left);
}

#[test]
fn a_fault_of_a_scenario_is_named_with_its_place() {
    let mut faulty = scenario(0, 4, vec![lane("a", 0), lane("a", 2)]);
    faulty.lanes[1].service.failures.crash = 0.7;
    faulty.lanes[1].service.failures.hang = 0.7;
    let faults: Vec<String> = faulty.faults().iter().map(ToString::to_string).collect();
    for place in ["trace.tasks: ", "lane a.width: ", "lane a: its name", "lane a.service.failures: "] {
        assert!(faults.iter().any(|fault| fault.starts_with(place)), "{place} {faults:?}");
    }
    assert_eq!(scenario(3, 4, vec![lane("a", 1)]).faults(), []);
}
