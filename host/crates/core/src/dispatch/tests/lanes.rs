//! Lanes: cooldowns, probes, widths, order and closing.

use super::*;

/// A lane that may grow.
fn growing(width: u32, widest: u32, workers: u32) -> Dispatch {
    Dispatch::new(vec![LaneSpec { widest, ..lane("a", width) }], limits(workers))
}

fn limited(slot: SlotKey, readings: Vec<Reading>) -> Event {
    Event::Settled(Settled { readings, ..ended(slot, Outcome::RateLimited, vec![]) })
}

#[test]
fn a_rate_limit_waits_for_the_latest_hint_and_gets_nothing_before() {
    let mut engine = dispatch(&[("a", 2)], 2);
    let first = launches(&engine.handle(packets(3, 1), 1_000));
    let reading = Reading { retry_after_ms: Some(5_000), ..reading_of("requests", 10, 0, Some(90_000)) };
    let commands = engine.handle(limited(first[0].0, vec![reading]), 1_000);
    assert_eq!(acts(commands), vec![Command::Wait { until_ms: 6_000 }]);
    let commands = engine.handle(completed(&first[1]), 2_000);
    assert_eq!(acts(commands), vec![Command::Wait { until_ms: 6_000 }], "one good launch does not reopen the lane");
    // The cooldown ends as it was told; the window that is spent until later holds longer.
    assert_eq!(wait_of(&engine.handle(Event::Woke, 6_000)), Some(90_000));
    assert!(launches(&engine.handle(Event::Woke, 89_999)).is_empty());
    assert_eq!(launches(&engine.handle(Event::Woke, 90_000)).len(), 1, "the width was halved");
}

#[test]
fn a_spent_plan_outlasts_the_wait_that_is_told_beside_it() {
    let mut engine = dispatch(&[("a", 1)], 1);
    let slot = launches(&engine.handle(packets(1, 1), 0))[0].0;
    let mut reading = Reading { retry_after_ms: Some(5_000), ..reading_of("requests", 10, 0, Some(2 * HOUR)) };
    reading.limits[0].window_seconds = Some(5 * 3_600);
    assert_eq!(wait_of(&engine.handle(limited(slot, vec![reading]), 0)), Some(2 * HOUR));
}

#[test]
fn hosts_that_were_told_the_same_instant_do_not_come_back_in_step() {
    let mut waits = Vec::new();
    for stagger in [0.0, 0.5, 1.0] {
        let mut engine = dispatch(&[("a", 1)], 1).staggered(stagger);
        let slot = launches(&engine.handle(packets(1, 1), 0))[0].0;
        let commands = engine.handle(limited(slot, vec![retry_after(30_000)]), 0);
        let until_ms = wait_of(&commands).unwrap();
        assert!(launches(&engine.handle(Event::Woke, until_ms - 1)).is_empty());
        assert_eq!(launches(&engine.handle(Event::Woke, until_ms)).len(), 1);
        waits.push(until_ms);
        let shared = engine.share().lanes["a"].cooldown.clone();
        assert_eq!(shared, None, "what is shared is the service's instant, which is over");
    }
    assert_eq!(waits[0], 30_000, "a host that is alone comes back as it was told");
    assert!(waits.iter().all(|wait| (30_000..=36_000).contains(wait)), "{waits:?}");
    let apart = |a: usize, b: usize| waits[a].abs_diff(waits[b]) >= 500;
    assert!(apart(0, 1) && apart(1, 2) && apart(0, 2), "{waits:?}");
}

#[test]
fn a_hint_of_hours_is_never_cut_to_the_backoff() {
    let mut engine = dispatch(&[("a", 1)], 1);
    let slot = launches(&engine.handle(packets(1, 1), 0))[0].0;
    let commands = engine.handle(limited(slot, vec![retry_after(4 * HOUR)]), 0);
    assert_eq!(wait_of(&commands), Some(4 * HOUR));
}

#[test]
fn a_hint_that_lies_behind_is_no_hint() {
    let mut engine = dispatch(&[("a", 1)], 1);
    let slot = launches(&engine.handle(packets(1, 1), HOUR))[0].0;
    let reading = Reading { retry_after_ms: Some(0), ..reading_of("requests", 10, 0, Some(5)) };
    assert_eq!(wait_of(&engine.handle(limited(slot, vec![reading]), HOUR)), Some(HOUR + MINUTE));
}

#[test]
fn a_hint_of_centuries_is_cut_to_a_month() {
    let mut engine = dispatch(&[("a", 1)], 1);
    let slot = launches(&engine.handle(packets(1, 1), 0))[0].0;
    let commands = engine.handle(limited(slot, vec![retry_after(u64::MAX)]), 0);
    assert_eq!(wait_of(&commands), Some(32 * 24 * HOUR));
}

#[test]
fn without_a_hint_the_cooldown_doubles_up_to_its_cap() {
    assert_eq!(unhinted_waits(Outcome::RateLimited), [60, 120, 240, 480, 900, 900]);
}

#[test]
fn a_service_that_is_overloaded_is_asked_again_within_seconds() {
    assert_eq!(unhinted_waits(Outcome::Overloaded), [5, 10, 20, 40, 80, 160]);
}

/// Seconds of the first cooldowns when nothing but this comes.
fn unhinted_waits(outcome: Outcome) -> Vec<u64> {
    let mut engine = dispatch(&[("a", 1)], 1);
    let mut now = 0;
    let mut commands = engine.handle(packets(1, 1), now);
    let mut waits = Vec::new();
    for _ in 0..6 {
        let slot = launches(&commands)[0].0;
        commands = engine.handle(settled(slot, outcome, vec![]), now);
        let until = wait_of(&commands).unwrap();
        waits.push((until - now) / 1_000);
        now = until;
        commands = engine.handle(Event::Woke, now);
    }
    waits
}

#[test]
fn the_jitter_moves_a_guessed_end_by_a_tenth_and_a_named_one_not_at_all() {
    let until = |jitter, readings| {
        let mut engine = dispatch(&[("a", 1)], 1);
        let slot = launches(&engine.handle(packets(1, 1), 0))[0].0;
        let event = Settled { readings, jitter, ..ended(slot, Outcome::RateLimited, vec![]) };
        wait_of(&engine.handle(Event::Settled(event), 0)).unwrap()
    };
    assert_eq!((until(0.0, vec![]), until(1.0, vec![])), (54_000, 66_000));
    assert_eq!(until(1.0, vec![retry_after(7_000)]), 7_000);
}

#[test]
fn a_burst_of_limits_counts_once() {
    let mut engine = dispatch(&[("a", 8)], 8);
    let first = launches(&engine.handle(packets(8, 1), 0));
    let mut commands = Vec::new();
    for launch in &first {
        commands = engine.handle(settled(launch.0, Outcome::RateLimited, vec![]), 0);
    }
    assert_eq!(engine.lanes()[0].width, 4);
    assert_eq!(wait_of(&commands), Some(MINUTE), "not the second or eighth step of the backoff");
}

#[test]
fn after_a_cooldown_without_a_hint_exactly_one_probe_goes_first() {
    let mut engine = dispatch(&[("a", 8)], 8);
    let first = launches(&engine.handle(packets(20, 1), 0));
    for launch in &first {
        engine.handle(settled(launch.0, Outcome::Overloaded, vec![]), 0);
    }
    let probe = launches(&engine.handle(Event::Woke, MINUTE));
    assert_eq!(probe.len(), 1);
    assert!(launches(&engine.handle(Event::Woke, MINUTE + 1)).is_empty());
    assert_eq!(launches(&engine.handle(completed(&probe[0]), MINUTE + 2)).len(), 4, "then the halved width");
}

#[test]
fn after_a_cooldown_with_a_hint_the_halved_width_goes_at_once() {
    let mut engine = dispatch(&[("a", 8)], 8);
    let first = launches(&engine.handle(packets(20, 1), 0));
    for launch in &first {
        engine.handle(limited(launch.0, vec![retry_after(9_000)]), 0);
    }
    assert_eq!(launches(&engine.handle(Event::Woke, 9_000)).len(), 4);
}

#[test]
fn what_began_before_the_cooldown_neither_reopens_nor_widens_nor_narrows() {
    let mut engine = dispatch(&[("a", 4)], 4);
    let first = launches(&engine.handle(packets(20, 1), 0));
    engine.handle(limited(first[0].0, vec![retry_after(1_000)]), 0);
    engine.handle(completed(&first[1]), 10);
    let reopened = launches(&engine.handle(Event::Woke, 1_000));
    assert!(reopened.is_empty(), "two of the old launches fill the halved width");
    engine.handle(limited(first[2].0, vec![]), 1_001);
    engine.handle(completed(&first[3]), 1_002);
    assert_eq!((engine.lanes()[0].width, &engine.lanes()[0].state), (2, &LaneState::Open));
}

#[test]
fn the_width_grows_by_one_after_a_full_round_and_up_to_the_widest() {
    let mut engine = growing(2, 3, 8);
    let mut running = launches(&engine.handle(packets(20, 1), 0));
    let mut widths = Vec::new();
    for _ in 0..6 {
        let launch = running.remove(0);
        running.extend(launches(&engine.handle(completed(&launch), 0)));
        widths.push(engine.lanes()[0].width);
    }
    assert_eq!(widths, [2, 3, 3, 3, 3, 3]);
}

#[test]
fn crashes_and_timeouts_never_narrow_a_lane() {
    let mut engine = dispatch(&[("a", 4)], 4);
    let mut running = launches(&engine.handle(packets(20, 1), 0));
    for outcome in [Outcome::Crashed, Outcome::TimedOut, Outcome::NoResults, Outcome::Crashed] {
        let launch = running.remove(0);
        running.extend(launches(&engine.handle(settled(launch.0, outcome, vec![]), 0)));
    }
    assert_eq!((engine.lanes()[0].width, engine.in_flight()), (4, 4));
}

#[test]
fn a_lane_that_only_ever_limits_is_closed_at_last() {
    let mut engine = dispatch(&[("a", 1)], 1);
    let mut commands = engine.handle(packets(1, 1), 0);
    let mut now = 0;
    for _ in 0..12 {
        let slot = launches(&commands)[0].0;
        commands = engine.handle(settled(slot, Outcome::RateLimited, vec![]), now);
        let Some(until) = wait_of(&commands) else { break };
        now = until;
        commands = engine.handle(Event::Woke, now);
    }
    assert_eq!(end_of(&commands), Some(End::Blocked(vec!["a: 12 rate outcomes in a row".to_owned()])));
}

#[test]
fn a_spent_plan_closes_the_lane_and_its_reset_is_kept_for_the_next_run() {
    let mut engine = dispatch(&[("a", 1)], 1);
    let slot = launches(&engine.handle(packets(1, 1), 0))[0].0;
    let spent = Settled { readings: vec![retry_after(HOUR)], ..ended(slot, Outcome::QuotaExhausted, vec![]) };
    let commands = engine.handle(Event::Settled(spent), 0);
    assert_eq!(end_of(&commands), Some(End::Blocked(vec!["a: quota-exhausted: m; full again in 3600 s".to_owned()])));
    let mut next = dispatch(&[("a", 1)], 1);
    next.absorb(&engine.share(), 1_000);
    let Some(End::Blocked(causes)) = end_of(&next.handle(packets(1, 1), 1_000)) else { panic!("it waits for an hour") };
    assert!(causes[0].contains("3599 s") && causes[0].contains("assize quota reset a"), "{causes:?}");
    let mut later = dispatch(&[("a", 1)], 1);
    later.absorb(&next.share(), HOUR);
    assert_eq!(launches(&later.handle(packets(1, 1), HOUR)).len(), 1);
}

#[test]
fn a_second_look_goes_to_another_lane_while_there_is_one() {
    let packet = |n| Packet { avoid: Some("a".to_owned()), ..packets_of_one(n) };
    let mut engine = dispatch(&[("a", 2), ("b", 2)], 4);
    let launched = launches(&engine.handle(Event::Ready(vec![packet(0)]), 0));
    assert_eq!(launched[0].1, "b");
    let mut alone = dispatch(&[("a", 2)], 4);
    assert_eq!(launches(&alone.handle(Event::Ready(vec![packet(0)]), 0))[0].1, "a");
}

fn packets_of_one(n: usize) -> Packet {
    Packet { avoid: None, tasks: vec![PacketTask { task: task(n), attempts: 0, tokens: 1 }], tokens: 1 }
}

#[test]
fn lanes_are_taken_in_configured_order_and_the_next_one_takes_what_is_over() {
    let mut engine = dispatch(&[("a", 2), ("b", 2)], 3);
    let lanes: Vec<String> = launches(&engine.handle(packets(9, 1), 0)).into_iter().map(|l| l.1).collect();
    assert_eq!(lanes, ["a", "a", "b"]);
}

#[test]
fn lanes_of_one_rank_are_ordered_by_health_then_by_load() {
    let same = |name| LaneSpec { rank: Some(0), ..lane(name, 4) };
    let mut engine = Dispatch::new(vec![same("a"), same("b")], Limits { attempts: 99, ..limits(2) });
    let first = launches(&engine.handle(packets(40, 1), 0));
    assert_eq!((first[0].1.as_str(), first[1].1.as_str()), ("a", "b"), "by load");
    let mut running = first;
    let mut on_a = 0;
    for turn in 0..20 {
        let launch = running.remove(0);
        let sick = launch.1 == "a";
        let event = if sick { settled(launch.0, Outcome::TimedOut, vec![]) } else { completed(&launch) };
        let next = launches(&engine.handle(event, turn));
        on_a += next.iter().filter(|next| next.1 == "a").count();
        running.extend(next);
    }
    assert!(on_a <= 2, "the sick lane got {on_a} of twenty");
}

#[test]
fn the_lane_that_failed_a_packet_is_avoided_only_while_another_is_open() {
    let mut engine = dispatch(&[("a", 1), ("b", 1)], 2);
    let first = launches(&engine.handle(packets(2, 1), 0));
    engine.handle(limited(first[1].0, vec![retry_after(HOUR)]), 0);
    let commands = engine.handle(settled(first[0].0, Outcome::Crashed, vec![]), 0);
    assert_eq!(launches(&commands)[0].1, "a", "b is closed for an hour");
}
