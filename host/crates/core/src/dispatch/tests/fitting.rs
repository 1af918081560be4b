//! What fits no lane is cut before it is sent.

use super::*;

fn sized(name: &str, context: u64) -> LaneSpec {
    LaneSpec { context_tokens: Some(context), overhead_tokens: 100, output_tokens: 200, ..lane(name, 8) }
}

fn splits(commands: &[Command]) -> Vec<(TaskId, u64)> {
    let split = |command: &Command| match command {
        Command::Split { task, most_tokens } => Some((task.clone(), *most_tokens)),
        _ => None,
    };
    commands.iter().filter_map(split).collect()
}

fn part(n: usize, tokens: u64) -> PacketTask {
    PacketTask { task: task(n), attempts: 0, tokens }
}

#[test]
fn prompt_overhead_and_reserved_answer_must_fit_the_context_together() {
    for (tokens, fits) in [(700, true), (701, false)] {
        let mut engine = Dispatch::new(vec![sized("a", 1_000)], limits(1));
        assert_eq!(launches(&engine.handle(packets_of(1, 1, tokens), 0)).len(), usize::from(fits), "{tokens}");
    }
}

#[test]
fn a_packet_that_fits_no_lane_is_halved_until_it_does() {
    let mut engine = Dispatch::new(vec![sized("a", 1_000)], limits(8));
    let sizes: Vec<usize> =
        launches(&engine.handle(packets_of(1, 8, 300), 0)).into_iter().map(|(_, _, tasks)| tasks.len()).collect();
    assert_eq!(sizes, [2, 2, 2, 2]);
}

#[test]
fn a_packet_is_no_larger_than_the_sum_of_its_tasks_and_its_parts_no_larger_than_it() {
    let tasks: Vec<PacketTask> = (0..4).map(|n| part(n, 600)).collect();
    let mut engine = Dispatch::new(vec![sized("a", 1_000)], limits(8));
    let commands = engine.handle(Event::Ready(vec![Packet { avoid: None, tasks, tokens: 650 }]), 0);
    assert_eq!(launches(&commands)[0].2.len(), 4, "they share their files");
}

#[test]
fn a_packet_goes_to_the_lane_whose_context_takes_it() {
    let mut engine = Dispatch::new(vec![sized("small", 1_000), sized("large", 9_000)], limits(8));
    assert_eq!(launches(&engine.handle(packets_of(1, 1, 5_000), 0))[0].1, "large");
}

#[test]
fn a_task_that_fits_no_lane_is_split_and_its_parts_take_its_place() {
    let mut engine = Dispatch::new(vec![sized("a", 1_000)], limits(8));
    let commands = engine.handle(packets_of(1, 1, 1_200), 0);
    assert_eq!(commands, vec![Command::Split { task: task(0), most_tokens: 700 }], "the run does not end meanwhile");
    let parts = vec![part(10, 650), part(11, 650)];
    let commands = engine.handle(Event::SplitInto { task: task(0), parts }, 0);
    assert_eq!(launches(&commands).len(), 2);
}

#[test]
fn a_task_that_cannot_be_split_is_parked_and_the_run_ends() {
    let mut engine = Dispatch::new(vec![sized("a", 1_000)], limits(8));
    engine.handle(packets_of(1, 1, 1_200), 0);
    let commands = engine.handle(Event::SplitInto { task: task(0), parts: vec![] }, 0);
    assert!(parked(&commands)[0].1.starts_with("does not fit any lane"));
    assert_eq!(end_of(&commands), Some(End::Complete));
}

#[test]
fn parts_that_do_not_get_smaller_are_parked_instead_of_split_for_ever() {
    let mut engine = Dispatch::new(vec![sized("a", 1_000)], limits(8));
    engine.handle(packets_of(1, 1, 1_200), 0);
    let commands = engine.handle(Event::SplitInto { task: task(0), parts: vec![part(10, 1_200)] }, 0);
    assert_eq!(parked(&commands)[0].0, [task(10)]);
}

#[test]
fn a_packet_whose_context_was_exceeded_is_halved_without_costing_an_attempt() {
    let mut engine = dispatch(&[("a", 8)], 8);
    let first = launches(&engine.handle(packets(1, 4), 0));
    let commands = engine.handle(settled(first[0].0, Outcome::ContextExceeded, vec![]), 0);
    let attempts: Vec<(usize, u32)> = commands
        .iter()
        .filter_map(
            |c| if let Command::Launch { tasks, attempt, .. } = c { Some((tasks.len(), *attempt)) } else { None },
        )
        .collect();
    assert_eq!(attempts, [(2, 1), (2, 1)]);
}

#[test]
fn a_task_whose_context_was_exceeded_is_split_once_and_that_costs_an_attempt() {
    let mut engine = dispatch(&[("a", 8)], 8);
    let first = launches(&engine.handle(packets_of(1, 1, 1_000), 0));
    let commands = engine.handle(settled(first[0].0, Outcome::ContextExceeded, vec![]), 0);
    assert_eq!(splits(&commands), [(task(0), 999)]);
    let mut last_try = Dispatch::new(vec![lane("a", 1)], Limits { attempts: 1, ..limits(1) });
    let first = launches(&last_try.handle(packets(1, 1), 0));
    let commands = last_try.handle(settled(first[0].0, Outcome::ContextExceeded, vec![]), 0);
    assert!(splits(&commands).is_empty());
    assert!(parked(&commands)[0].1.contains("context-exceeded"));
}

#[test]
fn what_only_a_closed_lane_could_take_is_cut_for_those_that_are_left() {
    let mut engine = Dispatch::new(vec![sized("large", 9_000), sized("small", 1_000)], limits(1));
    let first = launches(&engine.handle(packets_of(2, 4, 300), 0));
    let commands = engine.handle(settled(first[0].0, Outcome::Unauthenticated, vec![]), 0);
    let launched = launches(&commands);
    assert_eq!((launched[0].1.as_str(), launched[0].2.len()), ("small", 2));
}

#[test]
fn a_request_that_no_window_will_ever_take_is_made_smaller() {
    let spec = LaneSpec { windows: vec![window(Dimension::InputTokens, 1_000, MINUTE)], ..lane("a", 8) };
    let mut engine = Dispatch::new(vec![spec], limits(8));
    let commands = engine.handle(packets_of(1, 2, 900), 0);
    assert_eq!(launches(&commands)[0].2.len(), 1);
    let mut engine = Dispatch::new(
        vec![LaneSpec { windows: vec![window(Dimension::InputTokens, 1_000, MINUTE)], ..lane("a", 8) }],
        limits(8),
    );
    assert_eq!(splits(&engine.handle(packets_of(1, 1, 3_000), 0)), [(task(0), 1_500)]);
}

#[test]
fn an_agent_may_draw_more_than_a_limit_because_it_does_so_over_time() {
    let windows = vec![window(Dimension::InputTokens, 1_000, MINUTE)];
    let mut engine = Dispatch::new(vec![LaneSpec { windows, agent: true, ..lane("a", 8) }], limits(8));
    let commands = engine.handle(packets_of(2, 1, 900), 0);
    assert_eq!(launches(&commands).len(), 1, "alone, when the window is full");
    assert!(wait_of(&commands).is_some());
}
