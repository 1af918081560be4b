//! The life of a slot: refilled, retried, parked, drained, ended.

use super::*;

#[test]
fn a_free_worker_is_refilled_at_once_and_never_waits_for_the_others() {
    let mut engine = dispatch(&[("a", 4)], 2);
    let first = launches(&engine.handle(packets(3, 1), 0));
    assert_eq!(first.len(), 2);
    let next = launches(&engine.handle(completed(&first[0]), 1));
    assert_eq!(next.len(), 1);
    assert_eq!(engine.in_flight(), 2);
}

#[test]
fn a_task_is_parked_after_its_tries_and_the_rest_goes_on() {
    let mut engine = dispatch(&[("a", 1)], 1);
    let mut commands = engine.handle(packets(2, 1), 0);
    let (mut gone, mut tries) = (Vec::new(), 0);
    while let Some(launch) = launches(&commands).pop() {
        let bad = launch.2[0] == task(0);
        tries += usize::from(bad);
        let event = if bad { settled(launch.0, Outcome::Crashed, vec![]) } else { completed(&launch) };
        commands = engine.handle(event, 0);
        for (tasks, reason) in parked(&commands) {
            assert!(reason.contains("crashed"), "{reason}");
            gone.extend(tasks);
        }
    }
    assert_eq!((gone, tries), (vec![task(0)], 3));
    assert_eq!(end_of(&commands), Some(End::Complete));
}

#[test]
fn tries_of_earlier_runs_count() {
    let mut engine = dispatch(&[("a", 1)], 1);
    let old = PacketTask { task: task(0), attempts: 2, tokens: 1 };
    let commands = engine.handle(Event::Ready(vec![Packet { avoid: None, tasks: vec![old], tokens: 1 }]), 0);
    assert!(matches!(commands[0], Command::Launch { attempt: 3, .. }));
    let slot = launches(&commands)[0].0;
    assert_eq!(parked(&engine.handle(settled(slot, Outcome::NoResults, vec![]), 0)).len(), 1);
}

#[test]
fn a_missing_program_costs_no_attempt_and_spills_to_the_next_lane() {
    let mut engine = dispatch(&[("a", 1), ("b", 1)], 1);
    let first = launches(&engine.handle(packets(1, 1), 0));
    let commands = engine.handle(settled(first[0].0, Outcome::Misconfigured, vec![]), 0);
    assert!(matches!(&commands[0], Command::LaneClosed { lane, .. } if lane == "a"));
    assert!(matches!(&commands[1], Command::Launch { lane, attempt: 1, .. } if lane == "b"));
}

#[test]
fn a_run_without_an_open_lane_ends_blocked_and_says_why() {
    let mut engine = dispatch(&[("a", 1)], 1);
    let first = launches(&engine.handle(packets(1, 1), 0));
    let commands = engine.handle(settled(first[0].0, Outcome::Unauthenticated, vec![]), 0);
    assert_eq!(end_of(&commands), Some(End::Blocked(vec!["a: unauthenticated: m".to_owned()])));
}

#[test]
fn an_engine_without_lanes_blocks_instead_of_waiting() {
    let mut engine = dispatch(&[], 1);
    assert!(matches!(end_of(&engine.handle(packets(1, 1), 0)), Some(End::Blocked(causes)) if !causes.is_empty()));
}

#[test]
fn draining_starts_nothing_and_ends_when_the_last_launch_has() {
    let mut engine = dispatch(&[("a", 1)], 1);
    let first = launches(&engine.handle(packets(2, 1), 0));
    assert!(engine.handle(Event::Drain, 0).is_empty());
    let commands = engine.handle(settled(first[0].0, Outcome::Interrupted, vec![]), 0);
    assert_eq!(commands, vec![Command::End(End::Drained)]);
}

#[test]
fn a_packet_that_brings_nothing_is_halved_so_that_one_bad_task_spoils_only_itself() {
    let mut engine = dispatch(&[("a", 8)], 8);
    let first = launches(&engine.handle(packets(1, 4), 0));
    let again = launches(&engine.handle(settled(first[0].0, Outcome::Crashed, vec![]), 0));
    assert_eq!(again.iter().map(|(_, _, tasks)| tasks.len()).collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn a_refusal_costs_an_attempt_and_prefers_another_lane() {
    let mut engine = dispatch(&[("a", 1), ("b", 1)], 1);
    let first = launches(&engine.handle(packets(1, 1), 0));
    let commands = engine.handle(settled(first[0].0, Outcome::Refused, vec![]), 0);
    assert!(matches!(&commands[0], Command::Launch { lane, attempt: 2, .. } if lane == "b"), "{commands:?}");
}

#[test]
fn a_task_that_every_live_lane_refused_is_parked_and_named_so() {
    let mut engine = Dispatch::new(vec![lane("a", 1), lane("b", 1)], Limits { attempts: 9, ..limits(1) });
    let first = launches(&engine.handle(packets(1, 1), 0));
    let second = launches(&engine.handle(settled(first[0].0, Outcome::Refused, vec![]), 0));
    let commands = engine.handle(settled(second[0].0, Outcome::Refused, vec![]), 0);
    assert!(parked(&commands)[0].1.starts_with("refused"), "{commands:?}");
    assert_eq!(end_of(&commands), Some(End::Complete));
}

#[test]
fn a_lane_that_closes_does_not_keep_what_the_others_refused() {
    let mut engine = Dispatch::new(vec![lane("a", 1), lane("b", 1)], Limits { attempts: 9, ..limits(2) });
    let first = launches(&engine.handle(packets(2, 1), 0));
    assert_eq!((first[0].1.as_str(), first[1].1.as_str()), ("a", "b"));
    engine.handle(settled(first[0].0, Outcome::Refused, vec![]), 0);
    let commands = engine.handle(settled(first[1].0, Outcome::Unauthenticated, vec![]), 0);
    assert_eq!(parked(&commands)[0].0, [task(0)], "only b was left for it");
    assert_eq!(launches(&commands)[0].2, [task(1)]);
}

#[test]
fn the_refusal_of_a_packet_is_not_held_against_each_of_its_tasks() {
    let mut engine = Dispatch::new(vec![lane("a", 2)], Limits { attempts: 9, ..limits(2) });
    let first = launches(&engine.handle(packets(1, 2), 0));
    let commands = engine.handle(settled(first[0].0, Outcome::Refused, vec![]), 0);
    assert_eq!(launches(&commands).len(), 2);
    assert!(parked(&commands).is_empty());
}

#[test]
fn a_run_ends_waiting_when_only_what_persons_hold_is_left() {
    let mut engine = dispatch(&[("a", 1)], 1);
    let first = launches(&engine.handle(packets(1, 2), 0));
    let mut handed = ended(first[0].0, Outcome::Completed, vec![task(0)]);
    handed.set_aside = vec![task(1)];
    assert_eq!(engine.handle(Event::Settled(handed), 0), vec![Command::End(End::Waiting)]);
}

#[test]
fn what_ended_is_told_once_and_new_packets_reopen_the_run() {
    let mut engine = dispatch(&[("a", 1)], 1);
    assert_eq!(end_of(&engine.handle(Event::Ready(vec![]), 0)), Some(End::Complete));
    assert!(engine.handle(Event::Woke, 1).is_empty());
    assert_eq!(launches(&engine.handle(packets(1, 1), 2)).len(), 1);
}

#[test]
fn an_event_of_an_unknown_slot_changes_nothing() {
    let mut engine = dispatch(&[("a", 1)], 1);
    engine.handle(packets(1, 1), 0);
    assert!(engine.handle(settled(SlotKey(77), Outcome::Completed, vec![task(0)]), 0).is_empty());
    assert_eq!(engine.in_flight(), 1);
}

#[test]
fn an_event_costs_the_same_however_long_the_queue_is() {
    let mut engine = dispatch(&[("a", 8)], 8);
    let mut running = launches(&engine.handle(packets(10_000, 1), 0));
    let mut events = 0;
    while let Some(launch) = running.pop() {
        events += 1;
        running.extend(launches(&engine.handle(completed(&launch), events)));
    }
    assert_eq!(events, 10_000);
}

#[test]
fn what_comes_back_goes_ahead_of_what_never_ran() {
    let mut engine = dispatch(&[("a", 1)], 1);
    let first = launches(&engine.handle(packets(3, 1), 0));
    let commands = engine.handle(settled(first[0].0, Outcome::Crashed, vec![]), 0);
    assert_eq!(launches(&commands)[0].2, [task(0)]);
}
