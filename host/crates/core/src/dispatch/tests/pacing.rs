//! Launches against windows: draws, order, waits and what is noted.

use super::*;

fn paced(windows: Vec<WindowSpec>, width: u32) -> LaneSpec {
    LaneSpec { windows, margin: 1.0, ..lane("a", width) }
}

fn engine_with(windows: Vec<WindowSpec>) -> Dispatch {
    Dispatch::new(vec![paced(windows, 100)], limits(100))
}

#[test]
fn a_launch_takes_its_expected_draw_from_every_window_in_the_windows_own_unit() {
    use Dimension::{Concurrency, InputTokens, OutputTokens, Requests, Tokens};
    let windows = [Requests, Tokens, InputTokens, OutputTokens, Concurrency];
    let spec = LaneSpec { output_tokens: 500, ..paced(windows.map(|d| window(d, 10_000, MINUTE)).to_vec(), 9) };
    let mut engine = Dispatch::new(vec![spec], limits(9));
    engine.handle(packets_of(1, 1, 2_000), 0);
    let left: Vec<(Dimension, f64)> = engine.windows(0).iter().map(|view| (view.key.dimension, view.level)).collect();
    let expected = [
        (Requests, 9_999.0),
        (Tokens, 7_500.0),
        (InputTokens, 8_000.0),
        (OutputTokens, 9_500.0),
        (Concurrency, 9_999.0),
    ];
    assert_eq!(left, expected);
}

#[test]
fn a_slot_waits_for_the_earliest_instant_at_which_it_fits() {
    let mut engine = engine_with(vec![window(Dimension::Requests, 2, MINUTE)]);
    let commands = engine.handle(packets(3, 1), 0);
    assert_eq!((launches(&commands).len(), wait_of(&commands)), (2, Some(30_000)));
    assert!(launches(&engine.handle(Event::Woke, 29_999)).is_empty());
    assert_eq!(launches(&engine.handle(Event::Woke, 30_000)).len(), 1);
}

#[test]
fn ten_slots_of_thirty_thousand_tokens_share_a_window_of_a_hundred_thousand() {
    let mut engine = engine_with(vec![window(Dimension::InputTokens, 100_000, MINUTE)]);
    let commands = engine.handle(packets_of(10, 1, 30_000), 0);
    assert_eq!((launches(&commands).len(), wait_of(&commands)), (3, Some(12_000)));
}

#[test]
fn a_window_of_tokens_out_binds_too() {
    let spec = LaneSpec { output_tokens: 400, ..paced(vec![window(Dimension::OutputTokens, 1_000, MINUTE)], 8) };
    let mut engine = Dispatch::new(vec![spec], limits(8));
    assert_eq!(launches(&engine.handle(packets_of(8, 1, 5_000), 0)).len(), 2);
}

#[test]
fn what_was_not_drawn_is_given_back_and_what_was_drawn_beyond_is_taken() {
    for (drawn, level) in [(400, 600.0), (1_500, -500.0)] {
        let mut engine = engine_with(vec![window(Dimension::InputTokens, 1_000, MINUTE)]);
        let launch = launches(&engine.handle(packets_of(1, 1, 1_000), 0)).remove(0);
        let end = Settled { usage: usage(1, drawn, 0), ..ended(launch.0, Outcome::Completed, launch.2) };
        engine.handle(Event::Settled(end), 0);
        assert_eq!(engine.windows(0)[0].level, level);
    }
}

#[test]
fn a_launch_that_never_reached_the_service_gives_everything_back() {
    let mut engine = engine_with(vec![window(Dimension::Requests, 10, MINUTE), window(Dimension::Tokens, 999, MINUTE)]);
    let slot = launches(&engine.handle(packets(1, 1), 0))[0].0;
    engine.handle(settled(slot, Outcome::Misconfigured, vec![]), 0);
    assert!(engine.windows(0).iter().all(|view| Some(view.level) == view.capacity), "{:?}", engine.windows(0));
}

#[test]
fn a_concurrency_window_waits_for_an_end_and_not_for_time() {
    let mut engine = engine_with(vec![window(Dimension::Concurrency, 2, 0)]);
    let commands = engine.handle(packets(3, 1), 0);
    let first = launches(&commands);
    assert_eq!((first.len(), wait_of(&commands)), (2, None));
    assert!(launches(&engine.handle(Event::Woke, HOUR)).is_empty());
    assert_eq!(launches(&engine.handle(completed(&first[0]), HOUR)).len(), 1);
}

#[test]
fn models_of_one_account_share_its_windows_and_keep_their_own() {
    let of = |name: &str, limit: u64, scope| LaneSpec {
        account: "acme".to_owned(),
        model: Some(name.to_owned()),
        windows: vec![WindowSpec { scope, ..window(Dimension::Requests, limit, MINUTE) }],
        margin: 1.0,
        ..lane(name, 100)
    };
    let mut shared = Dispatch::new(vec![of("a", 3, Scope::Account), of("b", 3, Scope::Account)], limits(100));
    assert_eq!(launches(&shared.handle(packets(9, 1), 0)).len(), 3);
    let mut own = Dispatch::new(vec![of("a", 3, Scope::Model), of("b", 2, Scope::Model)], limits(100));
    assert_eq!(launches(&own.handle(packets(9, 1), 0)).len(), 5);
}

#[test]
fn a_slot_that_one_lanes_windows_refuse_goes_to_the_next_lane_that_fits_now() {
    let narrow = paced(vec![window(Dimension::Requests, 1, MINUTE)], 9);
    let mut engine = Dispatch::new(vec![narrow, lane("b", 9)], limits(3));
    let lanes: Vec<String> = launches(&engine.handle(packets(3, 1), 0)).into_iter().map(|l| l.1).collect();
    assert_eq!(lanes, ["a", "b", "b"]);
}

#[test]
fn small_packets_do_not_starve_a_large_one_at_the_window_it_waits_for() {
    let mut engine = engine_with(vec![window(Dimension::InputTokens, 1_000, MINUTE)]);
    let packet =
        |n, tokens| Packet { avoid: None, tasks: vec![PacketTask { task: task(n), attempts: 0, tokens }], tokens };
    let order = vec![packet(0, 500), packet(1, 900), packet(2, 100)];
    let first = engine.handle(Event::Ready(order), 0);
    assert_eq!(launches(&first).len(), 1, "the third would fit but is behind");
    let next = launches(&engine.handle(Event::Woke, wait_of(&first).unwrap()));
    assert_eq!(next[0].2, [task(1)]);
}

#[test]
fn a_packet_for_another_lane_of_the_account_does_not_overtake_at_a_shared_window() {
    let of = |name: &str, context| LaneSpec {
        name: name.to_owned(),
        account: "acme".to_owned(),
        context_tokens: Some(context),
        ..paced(vec![window(Dimension::InputTokens, 1_000, MINUTE)], 9)
    };
    let mut engine = Dispatch::new(vec![of("small", 600), of("large", 9_000)], limits(9));
    let packet =
        |n, tokens| Packet { avoid: None, tasks: vec![PacketTask { task: task(n), attempts: 0, tokens }], tokens };
    let first = engine.handle(Event::Ready(vec![packet(0, 500), packet(1, 900), packet(2, 100)]), 0);
    assert_eq!(launches(&first).len(), 1);
    let next = launches(&engine.handle(Event::Woke, wait_of(&first).unwrap()));
    assert_eq!(next[0].2, [task(1)]);
}

#[test]
fn a_live_reading_binds_although_nothing_was_configured() {
    let mut engine = dispatch(&[("a", 9)], 1);
    let first = launches(&engine.handle(packets(3, 1), 0));
    let end = Settled {
        readings: vec![reading_of("requests", 50, 0, Some(40_000))],
        ..ended(first[0].0, Outcome::Completed, first[0].2.clone())
    };
    let commands = engine.handle(Event::Settled(end), 100);
    assert_eq!((launches(&commands).len(), wait_of(&commands)), (0, Some(40_000)));
    assert_eq!(launches(&engine.handle(Event::Woke, 40_000)).len(), 1);
}

#[test]
fn a_reading_without_a_length_is_of_a_minute_unless_its_reset_is_further_away() {
    let period = |resets_at_ms| {
        let mut engine = dispatch(&[("a", 9)], 1);
        let slot = launches(&engine.handle(packets(1, 1), 0))[0].0;
        let mut reading = reading_of("requests", 50, 10, resets_at_ms);
        reading.limits[0].window_seconds = None;
        let end = Settled { readings: vec![reading], ..ended(slot, Outcome::Completed, vec![task(0)]) };
        engine.handle(Event::Settled(end), 0);
        engine.windows(0)[0].key.period_ms
    };
    assert_eq!(period(None), MINUTE);
    assert_eq!(period(Some(20)), MINUTE);
    assert_eq!(period(Some(360_000)), HOUR);
    assert_eq!(period(Some(5 * HOUR)), 24 * HOUR);
    assert_eq!(period(Some(7 * 24 * HOUR)), 7 * 24 * HOUR);
}

#[test]
fn a_service_that_names_ever_new_windows_is_not_followed_for_ever() {
    let mut engine = dispatch(&[("a", 9)], 1);
    let mut running = launches(&engine.handle(packets(500, 1), 0));
    for seconds in 0..400 {
        let now = seconds * HOUR;
        let launch = running.remove(0);
        let mut reading = reading_of("requests", 50, 40, None);
        reading.limits[0].window_seconds = Some(seconds);
        let end = Settled { readings: vec![reading], ..ended(launch.0, Outcome::Completed, launch.2) };
        running.extend(launches(&engine.handle(Event::Settled(end), now)));
    }
    assert_eq!(engine.windows(0).len(), 48);
}

#[test]
fn every_admission_is_noted_and_a_refusal_only_when_it_is_news() {
    let mut engine = engine_with(vec![window(Dimension::Requests, 2, MINUTE)]);
    let commands = engine.handle(packets(5, 1), 0);
    let all = notes(&commands);
    assert_eq!(all.iter().map(|note| note.admitted).collect::<Vec<_>>(), [true, true, false]);
    let refusal = all[2];
    assert_eq!((refusal.binding, refusal.fits_at_ms, refusal.slot), (Some(0), Some(30_000), None));
    assert_eq!(refusal.windows[0].draw, 1.0);
    assert!(refusal.reason.contains("requests of a"), "{}", refusal.reason);
    assert!(notes(&engine.handle(Event::Woke, 10_000)).is_empty());
    assert_eq!(notes(&engine.handle(Event::Woke, 30_000)).len(), 2, "one goes, and the next waits for another instant");
}

#[test]
fn a_clock_that_stands_still_or_goes_back_neither_spins_nor_overdraws() {
    let mut engine = engine_with(vec![window(Dimension::Requests, 2, MINUTE)]);
    engine.handle(packets(5, 1), HOUR);
    for now in [HOUR, HOUR - 5_000, HOUR] {
        let commands = engine.handle(Event::Woke, now);
        assert!(launches(&commands).is_empty());
        assert!(wait_of(&commands).unwrap() > now);
    }
}
