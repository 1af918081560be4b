//! Budgets are reserved at admission, settled at the end and never overspent by what is in flight.

use super::*;

fn engine_with(spec: LaneSpec, limits: Limits) -> Dispatch {
    Dispatch::new(vec![spec], limits)
}

fn spent(launch: &(SlotKey, String, Vec<TaskId>), usage: SlotUsage) -> Event {
    Event::Settled(Settled { usage: Some(usage), ..ended(launch.0, Outcome::Completed, launch.2.clone()) })
}

fn cost(micro_usd: u64) -> SlotUsage {
    SlotUsage { micro_usd: Some(micro_usd), ..SlotUsage::default() }
}

#[test]
fn the_launch_budget_is_never_overspent() {
    let mut engine = engine_with(lane("a", 8), Limits { launches: Some(3), ..limits(8) });
    let first = launches(&engine.handle(packets(5, 1), 0));
    assert_eq!(first.len(), 3);
    let mut commands = Vec::new();
    for launch in &first {
        commands = engine.handle(completed(launch), 0);
    }
    assert_eq!(commands, vec![Command::End(End::Budget("launches".to_owned()))]);
}

#[test]
fn tokens_in_flight_count_until_they_are_settled() {
    let spec = LaneSpec { output_tokens: 100, ..lane("a", 8) };
    let mut engine = engine_with(spec, Limits { tokens: Some(4_000), ..limits(8) });
    let first = launches(&engine.handle(packets_of(9, 1, 1_000), 0));
    assert_eq!((first.len(), engine.spent().reserved_tokens), (2, 2_700));
    let used = SlotUsage { input_tokens: Some(500), output_tokens: Some(50), ..SlotUsage::default() };
    let next = engine.handle(spent(&first[0], used), 0);
    assert_eq!((launches(&next).len(), engine.spent().tokens), (1, 550), "what was not used is free again");
}

#[test]
fn a_run_that_has_no_tokens_left_says_so() {
    let spec = LaneSpec { output_tokens: 100, ..lane("a", 8) };
    let mut engine = engine_with(spec, Limits { tokens: Some(1_400), ..limits(8) });
    let first = launches(&engine.handle(packets_of(2, 1, 1_000), 0));
    let used = SlotUsage { input_tokens: Some(1_300), output_tokens: Some(50), ..SlotUsage::default() };
    let commands = engine.handle(spent(&first[0], used), 0);
    assert_eq!(end_of(&commands), Some(End::Budget("tokens".to_owned())));
}

#[test]
fn with_a_price_and_a_largest_answer_the_cost_is_bounded_beforehand() {
    let price = Price { input_micro_usd_per_million: 4_000_000, output_micro_usd_per_million: 10_000_000 };
    let spec = LaneSpec { price: Some(price), output_tokens: 100, ..lane("a", 8) };
    let mut engine = engine_with(spec, Limits { micro_usd: Some(13_000), ..limits(8) });
    let commands = engine.handle(packets_of(9, 1, 1_000), 0);
    let reserved: Vec<Option<u64>> = commands
        .iter()
        .filter_map(|command| if let Command::Launch { micro_usd, .. } = command { Some(*micro_usd) } else { None })
        .collect();
    assert_eq!(reserved, [Some(6_000), Some(6_000)]);
}

#[test]
fn launches_of_unknown_cost_go_one_at_a_time_until_one_is_known() {
    let mut engine =
        engine_with(LaneSpec { agent: true, ..lane("a", 8) }, Limits { micro_usd: Some(10_000), ..limits(8) });
    let first = engine.handle(packets_of(9, 1, 1_000), 0);
    assert!(matches!(first[0], Command::Launch { micro_usd: Some(10_000), .. }), "all that is left");
    let first = launches(&first);
    assert_eq!(first.len(), 1);
    let next = engine.handle(spent(&first[0], cost(1_000)), 0);
    assert_eq!(launches(&next).len(), 7, "a quarter more than the dearest that was seen, of the nine thousand left");
    assert_eq!(engine.spent().reserved_micro_usd, 8_750);
}

#[test]
fn a_launch_that_tells_no_cost_costs_all_that_was_reserved() {
    let mut engine = engine_with(lane("a", 8), Limits { micro_usd: Some(10_000), ..limits(8) });
    let first = launches(&engine.handle(packets(2, 1), 0));
    let commands = engine.handle(completed(&first[0]), 0);
    assert_eq!(end_of(&commands), Some(End::Budget("usd".to_owned())));
}

#[test]
fn a_launch_that_never_reached_the_service_costs_nothing() {
    let mut engine = Dispatch::new(vec![lane("a", 8), lane("b", 8)], Limits { micro_usd: Some(10_000), ..limits(8) });
    let first = launches(&engine.handle(packets(1, 1), 0));
    let commands = engine.handle(settled(first[0].0, Outcome::Unauthenticated, vec![]), 0);
    assert_eq!((launches(&commands).len(), engine.spent().micro_usd), (1, 0));
}

#[test]
fn a_free_lane_needs_no_money() {
    let price = Price { input_micro_usd_per_million: 0, output_micro_usd_per_million: 0 };
    let spec = LaneSpec { price: Some(price), agent: true, ..lane("a", 4) };
    let mut engine = engine_with(spec, Limits { micro_usd: Some(1), ..limits(8) });
    assert_eq!(launches(&engine.handle(packets(9, 1), 0)).len(), 4);
}

#[test]
fn a_dear_lane_leaves_what_it_cannot_pay_to_a_cheap_one() {
    let price = |input| Price { input_micro_usd_per_million: input, output_micro_usd_per_million: 0 };
    let of = |name, input| LaneSpec { price: Some(price(input)), output_tokens: 1, ..lane(name, 4) };
    let limits = Limits { micro_usd: Some(1_000), ..limits(1) };
    let mut engine = Dispatch::new(vec![of("dear", 9_000_000), of("cheap", 100_000)], limits);
    assert_eq!(launches(&engine.handle(packets_of(1, 1, 1_000), 0))[0].1, "cheap");
}

#[test]
fn a_spend_window_is_exact_and_knows_no_margin() {
    let price = Price { input_micro_usd_per_million: 4_000_000, output_micro_usd_per_million: 10_000_000 };
    let windows = vec![window(Dimension::Spend, 12_000, 24 * HOUR)];
    let spec = LaneSpec { price: Some(price), output_tokens: 100, windows, ..lane("a", 8) };
    let mut engine = engine_with(spec, limits(8));
    assert_eq!(launches(&engine.handle(packets_of(9, 1, 1_000), 0)).len(), 2);
}

#[test]
fn nothing_starts_at_or_after_the_deadline() {
    let mut engine = engine_with(lane("a", 1), Limits { deadline_ms: Some(1_000), ..limits(8) });
    let first = launches(&engine.handle(packets(2, 1), 999));
    let commands = engine.handle(completed(&first[0]), 1_000);
    assert_eq!(commands, vec![Command::End(End::Deadline)]);
}

#[test]
fn a_run_does_not_sleep_until_a_deadline_before_which_nothing_fits() {
    let windows = vec![window(Dimension::Requests, 1, HOUR)];
    let spec = LaneSpec { windows, ..lane("a", 1) };
    let mut engine = engine_with(spec, Limits { deadline_ms: Some(MINUTE), ..limits(8) });
    let first = launches(&engine.handle(packets(2, 1), 0));
    assert_eq!(end_of(&engine.handle(completed(&first[0]), 10)), Some(End::Deadline));
}
