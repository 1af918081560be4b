//! What launches are expected to draw.

use super::*;

fn drawn(spec: LaneSpec, tokens: u64, seen: &[(u64, Option<SlotUsage>)]) -> Vec<f64> {
    let windows = [Dimension::Requests, Dimension::InputTokens].map(|d| window(d, 1_000_000_000, MINUTE)).to_vec();
    let spec = LaneSpec { windows, margin: 1.0, ..spec };
    let mut engine = Dispatch::new(vec![spec], limits(1));
    let packet = |n: usize, tokens| Packet {
        avoid: None,
        tasks: vec![PacketTask { task: task(n), attempts: 0, tokens }],
        tokens,
    };
    let mut sizes: Vec<u64> = seen.iter().map(|(tokens, _)| *tokens).collect();
    sizes.push(tokens);
    let mut commands =
        engine.handle(Event::Ready(sizes.iter().enumerate().map(|(n, tokens)| packet(n, *tokens)).collect()), 0);
    for (_, usage) in seen {
        let launch = launches(&commands).remove(0);
        let end = Settled { usage: *usage, ..ended(launch.0, Outcome::Completed, launch.2) };
        commands = engine.handle(Event::Settled(end), 0);
    }
    notes(&commands)[0].windows.iter().map(|consulted| consulted.draw).collect()
}

#[test]
fn a_single_shot_starts_at_one_request_and_its_estimate() {
    assert_eq!(drawn(lane("a", 1), 1_000, &[]), [1.0, 1_000.0]);
}

#[test]
fn an_agent_starts_at_eight_requests_and_three_times_its_estimate() {
    assert_eq!(drawn(LaneSpec { agent: true, ..lane("a", 1) }, 1_000, &[]), [8.0, 3_000.0]);
}

#[test]
fn the_harness_is_part_of_the_estimate() {
    assert_eq!(drawn(LaneSpec { overhead_tokens: 500, ..lane("a", 1) }, 1_000, &[]), [1.0, 1_500.0]);
}

#[test]
fn draws_move_towards_what_is_seen() {
    let seen = vec![(1_000, usage(4, 2_000, 0)); 30];
    let draw = drawn(lane("a", 1), 1_000, &seen);
    assert!((draw[0] - 4.0).abs() < 0.1 && (draw[1] - 2_000.0).abs() < 50.0, "{draw:?}");
}

#[test]
fn a_size_of_which_nothing_was_seen_is_expected_like_the_others() {
    let seen = vec![(1_000, usage(4, 2_000, 0)); 30];
    let draw = drawn(lane("a", 1), 50_000, &seen);
    assert!((draw[1] - 100_000.0).abs() < 3_000.0, "{draw:?}");
}

#[test]
fn sizes_are_learned_apart() {
    let mut seen = vec![(1_000, usage(1, 5_000, 0)); 20];
    seen.extend(vec![(50_000, usage(1, 50_000, 0)); 20]);
    let draw = drawn(lane("a", 1), 1_000, &seen);
    assert!((draw[1] - 5_000.0).abs() < 100.0, "{draw:?}");
}

#[test]
fn what_is_not_told_is_not_taken_for_nothing() {
    let total_only = Some(SlotUsage { input_tokens: None, ..SlotUsage::default() });
    assert_eq!(drawn(lane("a", 1), 1_000, &[(1_000, None), (1_000, total_only)]), [1.0, 1_000.0]);
}

#[test]
fn absurd_use_leaves_finite_expectations() {
    let draw = drawn(lane("a", 1), 1_000, &[(0, usage(u64::MAX, u64::MAX, u64::MAX))]);
    assert!(draw.iter().all(|amount| amount.is_finite() && *amount < 1e13), "{draw:?}");
}
