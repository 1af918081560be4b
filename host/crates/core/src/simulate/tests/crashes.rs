//! A host that dies at any step, between any two commands, loses nothing and repeats nothing.

use super::*;

fn of_every_kind(count: u32) -> Scenario {
    let agent = SimulatedLane { agent: true, pacing: LanePacing::Request, ..lane("agent", 2) };
    let mut agent = SimulatedLane { context_tokens: Some(2_500), limits: vec![requests(20)], ..agent };
    agent.service.windows = vec![requests(20)];
    agent.service.requests = RequestCount { least: 2, most: 3 };
    let mut api = lane("api", 2);
    api.service.windows = vec![requests(6)];
    (api.service.tells_limits, api.service.tells_retry_after) = (true, true);
    api.service.failures = Failures { no_results: 0.2, partial: 0.2, hang: 0.1, ..Failures::default() };
    let mut scenario = scenario(0, 4, vec![agent, api]);
    scenario.trace.token_list = [900, 700, 4_000, 300, 1_200, 800, 500, 600].repeat(2);
    scenario.trace.per_packet = 2;
    scenario.limits.attempts = 12;
    scenario.hosts.count = count;
    scenario
}

#[test]
fn a_crash_at_any_step_loses_nothing_and_repeats_nothing() {
    for count in [1, 2] {
        let mut step = 0;
        loop {
            step += 1;
            let mut scenario = of_every_kind(count);
            scenario.hosts.crash_at_step = Some(step);
            let replay = run(&scenario, 7);
            assert_eq!(replay.violations, [], "a crash at step {step} of {count} hosts");
            assert_eq!((replay.tasks.left, replay.tasks.parked), (0, 0), "a crash at step {step} of {count} hosts");
            if replay.figures.crashes == 0 {
                break;
            }
        }
        assert!(step > 25, "only {step} steps of {count} hosts");
    }
}

#[test]
fn what_was_written_before_the_crash_is_swept_and_not_asked_for_again() {
    let mut swept = 0;
    for step in 1..60 {
        let mut scenario = scenario(4, 4, vec![lane("a", 4)]);
        scenario.hosts.crash_at_step = Some(step);
        let replay = run(&scenario, 3);
        assert_eq!((replay.tasks.done, replay.figures.crashes <= 1), (4, true));
        // A launch that was cut short is repeated; one whose answer was there is not.
        swept += u64::from(replay.figures.crashes == 1 && replay.figures.launches == 4);
        assert!(replay.figures.launches <= 8);
    }
    assert!(swept > 0, "no crash came between an answer and its ingestion");
}

#[test]
fn a_host_that_dies_at_every_step_that_it_may_ends_all_the_same() {
    let mut crashes = 0;
    for seed in 0..30 {
        let mut scenario = of_every_kind(2);
        (scenario.hosts.crash_share, scenario.hosts.most_crashes) = (0.2, 40);
        let replay = run(&scenario, seed);
        assert_eq!(replay.violations, [], "seed {seed}");
        assert_eq!(replay.tasks.left, 0, "seed {seed}: {replay:?}");
        crashes += replay.figures.crashes;
    }
    assert!(crashes > 100, "{crashes}");
}
