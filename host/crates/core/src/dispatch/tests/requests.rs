//! Requests of launched programs behind the gateway.

use super::*;

fn paced(windows: Vec<WindowSpec>) -> LaneSpec {
    LaneSpec { pacing: Pacing::Request, agent: true, margin: 1.0, windows, ..lane("a", 8) }
}

fn engine_with(windows: Vec<WindowSpec>, launches: usize) -> Dispatch {
    let mut engine = Dispatch::new(vec![paced(windows)], limits(8));
    engine.handle(packets(launches, 1), 0);
    engine
}

fn ask(slot: u64, request: u64, until_ms: u64) -> Event {
    let (slot, request) = (SlotKey(slot), RequestKey(request));
    Event::RequestAsked(RequestAsked { slot, request, input_tokens: 100, output_tokens: 50, until_ms })
}

fn end(slot: u64, request: u64, rate_limited: bool, readings: Vec<Reading>) -> Event {
    let (slot, request) = (SlotKey(slot), RequestKey(request));
    let (input_tokens, output_tokens) = (Some(60), Some(10));
    Event::RequestEnded(RequestEnded {
        slot,
        request,
        rate_limited,
        readings,
        input_tokens,
        output_tokens,
        jitter: 0.5,
    })
}

/// The requests that were let go.
fn gone(commands: &[Command]) -> Vec<(u64, u64)> {
    let admitted = |command: &Command| match command {
        Command::AdmitRequest { slot, request } => Some((slot.0, request.0)),
        _ => None,
    };
    commands.iter().filter_map(admitted).collect()
}

/// The requests that were refused, with the time after which to come back.
fn refused(commands: &[Command]) -> Vec<(u64, u64, u64)> {
    let refusal = |command: &Command| match command {
        Command::RefuseRequest { slot, request, retry_after_ms } => Some((slot.0, request.0, *retry_after_ms)),
        _ => None,
    };
    commands.iter().filter_map(refusal).collect()
}

#[test]
fn a_launch_needs_one_request_to_fit_and_takes_nothing() {
    let engine = engine_with(vec![window(Dimension::Requests, 2, MINUTE)], 5);
    assert_eq!((engine.in_flight(), engine.windows(0)[0].level), (5, 2.0));
}

#[test]
fn each_request_is_admitted_against_the_windows() {
    let mut engine = engine_with(vec![window(Dimension::Requests, 2, MINUTE)], 3);
    assert_eq!(gone(&engine.handle(ask(1, 1, HOUR), 0)), [(1, 1)]);
    assert_eq!(gone(&engine.handle(ask(2, 1, HOUR), 0)), [(2, 1)]);
    let commands = engine.handle(ask(3, 1, HOUR), 0);
    assert_eq!((gone(&commands).len(), wait_of(&commands)), (0, Some(30_000)));
    assert_eq!(gone(&engine.handle(Event::Woke, 30_000)), [(3, 1)]);
}

#[test]
fn launches_take_turns_and_one_that_asks_for_much_does_not_hold_up_the_others() {
    let mut engine = engine_with(vec![window(Dimension::Requests, 1, MINUTE)], 2);
    for request in 1..=4 {
        engine.handle(ask(1, request, HOUR), 0);
    }
    engine.handle(ask(2, 1, HOUR), 0);
    let order: Vec<(u64, u64)> = (1..=4).flat_map(|n| gone(&engine.handle(Event::Woke, n * MINUTE))).collect();
    assert_eq!(order, [(1, 2), (2, 1), (1, 3), (1, 4)]);
}

#[test]
fn a_request_that_would_be_held_too_long_is_refused_with_the_time_to_come_back() {
    let mut engine = engine_with(vec![window(Dimension::Requests, 1, MINUTE)], 2);
    engine.handle(ask(1, 1, HOUR), 0);
    assert_eq!(refused(&engine.handle(ask(2, 1, 30_000), 0)), [(2, 1, MINUTE)]);
    assert_eq!(engine.lanes()[0].requests_waiting, 0);
}

#[test]
fn a_request_behind_others_is_refused_when_its_time_is_over() {
    let mut engine = engine_with(vec![window(Dimension::Requests, 1, MINUTE)], 3);
    engine.handle(ask(1, 1, HOUR), 0);
    engine.handle(ask(2, 1, HOUR), 0);
    let commands = engine.handle(ask(3, 1, MINUTE + 10), 0);
    assert!(refused(&commands).is_empty());
    let commands = engine.handle(Event::Woke, MINUTE);
    assert_eq!((gone(&commands), refused(&commands).len()), (vec![(2, 1)], 1));
}

#[test]
fn a_request_is_settled_by_what_it_drew() {
    let mut engine = engine_with(vec![window(Dimension::Tokens, 1_000, MINUTE)], 1);
    engine.handle(ask(1, 1, HOUR), 0);
    assert_eq!(engine.windows(0)[0].level, 850.0);
    engine.handle(end(1, 1, false, vec![]), 0);
    assert_eq!(engine.windows(0)[0].level, 930.0);
}

#[test]
fn headers_of_each_response_feed_the_windows() {
    let mut engine = engine_with(vec![], 2);
    engine.handle(ask(1, 1, HOUR), 0);
    engine.handle(end(1, 1, false, vec![reading_of("requests", 50, 0, Some(20_000))]), 0);
    let commands = engine.handle(ask(2, 1, HOUR), 5);
    assert_eq!((gone(&commands).len(), wait_of(&commands)), (0, Some(20_000)));
}

#[test]
fn limits_behind_the_gateway_count_once_a_cooldown_and_not_once_a_request() {
    let mut engine = engine_with(vec![], 8);
    for request in 1..=6 {
        engine.handle(ask(1, request, HOUR), 0);
    }
    for request in 1..=6 {
        engine.handle(end(1, request, true, vec![]), 0);
    }
    engine.handle(settled(SlotKey(1), Outcome::RateLimited, vec![]), 0);
    assert_eq!(engine.lanes()[0].width, 4);
    assert!(matches!(&engine.lanes()[0].state, LaneState::Cooling(cooldown) if cooldown.until_ms == MINUTE));
}

#[test]
fn in_a_cooldown_no_request_goes_and_after_a_guessed_one_a_single_request_goes_first() {
    let mut engine = engine_with(vec![], 3);
    engine.handle(ask(1, 1, HOUR), 0);
    engine.handle(end(1, 1, true, vec![]), 0);
    for slot in 1..=3 {
        assert!(gone(&engine.handle(ask(slot, 9, HOUR), 1)).is_empty());
    }
    let probe = gone(&engine.handle(Event::Woke, MINUTE));
    assert_eq!(probe, [(1, 9)]);
    assert_eq!(gone(&engine.handle(end(1, 9, false, vec![]), MINUTE + 1)), [(2, 9), (3, 9)]);
}

#[test]
fn a_probe_that_was_a_launch_is_over_with_its_first_good_answer() {
    let mut engine = engine_with(vec![], 1);
    engine.handle(ask(1, 1, HOUR), 0);
    engine.handle(end(1, 1, true, vec![]), 0);
    engine.handle(settled(SlotKey(1), Outcome::RateLimited, vec![]), 0);
    engine.handle(packets_of(9, 1, 7), MINUTE);
    let started = engine.in_flight() as u64;
    assert_eq!(started, 1, "one launch goes first");
    assert_eq!(gone(&engine.handle(ask(2, 1, HOUR), MINUTE)), [(2, 1)]);
    assert!(!launches(&engine.handle(end(2, 1, false, vec![]), MINUTE)).is_empty());
}

#[test]
fn an_ended_launch_drops_its_requests_and_frees_its_places() {
    let mut engine = engine_with(vec![window(Dimension::Concurrency, 2, 0)], 2);
    engine.handle(ask(1, 1, HOUR), 0);
    engine.handle(ask(1, 2, HOUR), 0);
    engine.handle(ask(1, 3, HOUR), 0);
    assert!(gone(&engine.handle(ask(2, 1, HOUR), 0)).is_empty());
    let commands = engine.handle(settled(SlotKey(1), Outcome::TimedOut, vec![]), 0);
    assert_eq!(gone(&commands), [(2, 1)]);
    assert_eq!(engine.lanes()[0].requests_waiting, 0);
    assert!(gone(&engine.handle(end(1, 1, false, vec![]), 0)).is_empty(), "what ends late changes nothing");
}

#[test]
fn a_request_of_a_launch_that_does_not_run_is_refused() {
    let mut engine = engine_with(vec![], 1);
    assert_eq!(refused(&engine.handle(ask(9, 1, HOUR), 0)).len(), 1);
}

#[test]
fn a_request_larger_than_a_window_goes_when_the_window_is_full() {
    let mut engine = engine_with(vec![window(Dimension::Tokens, 120, MINUTE)], 2);
    assert_eq!(gone(&engine.handle(ask(1, 1, HOUR), 0)), [(1, 1)]);
    let commands = engine.handle(ask(2, 1, HOUR), 0);
    let at = wait_of(&commands).unwrap();
    assert!(at > MINUTE, "{at}");
    assert_eq!(gone(&engine.handle(Event::Woke, at)), [(2, 1)]);
}

#[test]
fn a_launch_does_not_overtake_a_request_that_waits() {
    let mut engine = Dispatch::new(vec![paced(vec![window(Dimension::Tokens, 200, MINUTE)])], limits(2));
    engine.handle(packets(1, 1), 0);
    engine.handle(ask(1, 1, HOUR), 0);
    let small = Packet { avoid: None, tasks: vec![PacketTask { task: task(7), attempts: 0, tokens: 7 }], tokens: 7 };
    engine.handle(ask(1, 2, HOUR), 0);
    assert!(launches(&engine.handle(Event::Ready(vec![small]), 0)).is_empty(), "its first request would fit");
    let freed = engine.handle(settled(SlotKey(1), Outcome::Completed, vec![task(0)]), 0);
    assert_eq!(launches(&freed).len(), 1);
}

#[test]
fn requests_of_lanes_that_are_paced_by_launches_go_at_once() {
    let windows = vec![window(Dimension::Requests, 9, MINUTE)];
    let spec = LaneSpec { pacing: Pacing::Launch, ..paced(windows) };
    let mut engine = Dispatch::new(vec![spec], limits(1));
    engine.handle(packets(1, 1), 0);
    let level = engine.windows(0)[0].level;
    for request in 0..20 {
        assert_eq!(gone(&engine.handle(ask(1, request, HOUR), 0)).len(), 1);
    }
    assert_eq!(engine.windows(0)[0].level, level);
}

#[test]
fn a_program_that_floods_is_told_to_come_back() {
    let mut engine = engine_with(vec![window(Dimension::Requests, 1, MINUTE)], 1);
    let refusals = (0..1_000).map(|request| refused(&engine.handle(ask(1, request, HOUR), 0)).len()).sum::<usize>();
    assert_eq!(refusals, 1_000 - 1 - 256);
}

#[test]
fn draining_still_serves_what_runs() {
    let mut engine = engine_with(vec![], 1);
    engine.handle(Event::Drain, 0);
    assert_eq!(gone(&engine.handle(ask(1, 1, HOUR), 0)), [(1, 1)]);
}

#[test]
fn before_the_service_is_heard_few_requests_go_and_its_first_answer_lets_the_others_go() {
    let mut engine = engine_with(Vec::new(), 1);
    let first: Vec<_> = (1..=8).flat_map(|request| gone(&engine.handle(ask(1, request, HOUR), 0))).collect();
    assert_eq!(first, [(1, 1), (1, 2), (1, 3)]);
    let commands = engine.handle(end(1, 2, false, vec![reading_of("requests", 5, 4, None)]), 100);
    assert_eq!(gone(&commands), [(1, 4), (1, 5)], "what went before the limit was known counts");
}

#[test]
fn a_service_that_names_no_limits_is_not_held_back_after_its_first_answer() {
    let mut engine = engine_with(Vec::new(), 1);
    for request in 1..=8 {
        engine.handle(ask(1, request, HOUR), 0);
    }
    assert_eq!(gone(&engine.handle(end(1, 1, false, Vec::new()), 100)).len(), 5);
}
