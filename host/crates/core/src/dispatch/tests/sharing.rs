//! Several runs on one machine, and one run after another.

use super::*;

fn two(windows: Vec<WindowSpec>) -> (Dispatch, Dispatch) {
    let spec = LaneSpec { windows, margin: 1.0, ..lane("a", 8) };
    (Dispatch::new(vec![spec.clone()], limits(8)), Dispatch::new(vec![spec], limits(8)))
}

#[test]
fn two_runs_share_a_window() {
    let (mut one, mut other) = two(vec![window(Dimension::Requests, 5, MINUTE)]);
    assert_eq!(launches(&one.handle(packets(3, 1), 0)).len(), 3);
    other.absorb(&one.share(), 0);
    assert_eq!(launches(&other.handle(packets(9, 1), 0)).len(), 2);
    one.absorb(&other.share(), 0);
    assert!(launches(&one.handle(packets(9, 1), 0)).is_empty());
}

#[test]
fn what_a_run_that_died_had_reserved_comes_back_by_refill() {
    let (mut died, mut next) = two(vec![window(Dimension::Requests, 5, MINUTE)]);
    died.handle(packets(5, 1), 0);
    next.absorb(&died.share(), 1);
    let commands = next.handle(packets(1, 1), 1);
    let at = wait_of(&commands).unwrap();
    assert_eq!(launches(&next.handle(Event::Woke, at)).len(), 1);
}

#[test]
fn concurrency_is_each_runs_own() {
    let (mut one, mut other) = two(vec![window(Dimension::Concurrency, 2, 0)]);
    one.handle(packets(9, 1), 0);
    assert!(one.share().windows.is_empty());
    other.absorb(&one.share(), 0);
    assert_eq!(launches(&other.handle(packets(9, 1), 0)).len(), 2);
    other.absorb(&one.share(), 0);
    assert!(launches(&other.handle(Event::Woke, 0)).is_empty(), "its own count survives");
}

#[test]
fn a_cooldown_of_one_run_holds_for_the_others() {
    let (mut one, mut other) = two(vec![]);
    let slot = launches(&one.handle(packets(1, 1), 0))[0].0;
    let limited = Settled { readings: vec![retry_after(HOUR)], ..ended(slot, Outcome::RateLimited, vec![]) };
    one.handle(Event::Settled(limited), 0);
    other.absorb(&one.share(), 1);
    assert_eq!(wait_of(&other.handle(packets(1, 1), 1)), Some(HOUR));
}

#[test]
fn a_run_whose_lane_is_closed_does_not_wipe_out_the_cooldown_of_another() {
    let (mut one, mut other) = two(vec![]);
    let slot = launches(&one.handle(packets(1, 1), 0))[0].0;
    let limited = Settled { readings: vec![retry_after(HOUR)], ..ended(slot, Outcome::RateLimited, vec![]) };
    one.handle(Event::Settled(limited), 0);
    let slot = launches(&other.handle(packets(1, 1), 0))[0].0;
    other.handle(settled(slot, Outcome::Unauthenticated, vec![]), 0);
    other.absorb(&one.share(), 1);
    assert_eq!(other.share().lanes["a"].cooldown, one.share().lanes["a"].cooldown);
}

#[test]
fn lanes_of_one_account_that_name_one_window_get_the_lowest_limit() {
    let of = |name: &str, limit| LaneSpec {
        account: "acme".to_owned(),
        windows: vec![window(Dimension::Requests, limit, MINUTE)],
        margin: 1.0,
        ..lane(name, 9)
    };
    let mut engine = Dispatch::new(vec![of("a", 2), of("b", 7)], limits(9));
    engine.absorb(&engine.share(), 0);
    assert_eq!(launches(&engine.handle(packets(9, 1), 0)).len(), 2);
}

#[test]
fn a_margin_that_was_configured_anew_holds_at_once() {
    let (one, _) = two(vec![window(Dimension::Requests, 10, MINUTE)]);
    let spec = LaneSpec { windows: vec![window(Dimension::Requests, 10, MINUTE)], margin: 0.5, ..lane("a", 99) };
    let mut next = Dispatch::new(vec![spec], limits(99));
    next.absorb(&one.share(), 1);
    assert_eq!(launches(&next.handle(packets(20, 1), 1)).len(), 5);
}

#[test]
fn the_width_of_an_earlier_run_decays_towards_the_cold_one_and_never_below() {
    let width_after = |remembered: u32, age: u64| {
        let mut engine = Dispatch::new(vec![LaneSpec { widest: 32, ..lane("a", 8) }], limits(99));
        let memory = LaneMemory { width: remembered, width_at_ms: 1, ..LaneMemory::default() };
        let shared = SharedState { lanes: [("a".to_owned(), memory)].into(), ..SharedState::default() };
        engine.absorb(&shared, 1 + age);
        engine.lanes()[0].width
    };
    let day = 24 * HOUR;
    assert_eq!([0, day, 2 * day, 40 * day].map(|age| width_after(24, age)), [24, 16, 12, 8]);
    assert_eq!(width_after(2, 0), 8, "one bad day does not poison the next");
    assert_eq!(width_after(4_000, 0), 32);
}

#[test]
fn a_width_that_another_run_learned_meanwhile_is_taken_over() {
    let (mut one, mut other) = two(vec![]);
    other.absorb(&one.share(), 0);
    let slot = launches(&one.handle(packets(1, 1), 5))[0].0;
    let limited = Settled { readings: vec![retry_after(10)], ..ended(slot, Outcome::RateLimited, vec![]) };
    one.handle(Event::Settled(limited), 5);
    other.absorb(&one.share(), 6);
    assert_eq!(other.lanes()[0].width, 4);
}

#[test]
fn what_was_learned_of_draws_is_kept() {
    let (mut one, mut other) = two(vec![window(Dimension::InputTokens, 100_000, MINUTE)]);
    let launch = launches(&one.handle(packets_of(1, 1, 1_000), 0)).remove(0);
    let end = Settled { usage: usage(1, 3_000, 5), ..ended(launch.0, Outcome::Completed, launch.2) };
    one.handle(Event::Settled(end), 0);
    other.absorb(&one.share(), HOUR);
    let commands = other.handle(packets_of(1, 1, 1_000), HOUR);
    assert_eq!(notes(&commands)[0].windows[0].draw, 2_000.0, "half-way from the assumption to the first that was seen");
}

#[test]
fn a_limit_that_is_no_longer_configured_no_longer_holds() {
    let (mut one, _) = two(vec![window(Dimension::Requests, 1, HOUR)]);
    one.handle(packets(5, 1), 0);
    let mut next = dispatch(&[("a", 8)], 8);
    next.absorb(&one.share(), 1);
    assert_eq!(launches(&next.handle(packets(5, 1), 1)).len(), 5);
}

#[test]
fn what_is_shared_survives_being_written_down() {
    let (mut one, _) = two(vec![window(Dimension::Requests, 5, MINUTE)]);
    let launch = launches(&one.handle(packets(3, 1), 0)).remove(0);
    let end = Settled {
        usage: usage(1, 50, 5),
        readings: vec![reading_of("tokens", 1_000, 500, Some(9_000))],
        ..ended(launch.0, Outcome::RateLimited, vec![])
    };
    one.handle(Event::Settled(end), 0);
    let shared = one.share();
    for (key, window) in &shared.windows {
        let (key_text, text) = (serde_json::to_string(key).unwrap(), serde_json::to_string(window).unwrap());
        assert_eq!(&serde_json::from_str::<WindowKey>(&key_text).unwrap(), key);
        assert_eq!(&serde_json::from_str::<Window>(&text).unwrap(), window);
    }
    for memory in shared.lanes.values() {
        let text = serde_json::to_string(memory).unwrap();
        assert_eq!(&serde_json::from_str::<LaneMemory>(&text).unwrap(), memory);
    }
}
