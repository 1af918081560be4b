//! The laws of dispatching, and what their tests are written with.

#![allow(clippy::unwrap_used, reason = "tests")]

mod budgets;
mod draws;
mod fitting;
mod lanes;
mod life;
mod pacing;
mod requests;
mod sharing;
mod simulation;
mod windows;

use super::*;
use crate::id::TaskId;
use crate::plugin::{Limit, Outcome, Reading};

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;

fn task(n: usize) -> TaskId {
    TaskId::new(format!("t{n}"))
}

/// Packets of so many tasks of so many tokens each.
fn packets_of(count: usize, size: usize, tokens: u64) -> Event {
    let task = |n| PacketTask { task: task(n), attempts: 0, tokens };
    let packet =
        |p| Packet { avoid: None, tasks: (p * size..(p + 1) * size).map(task).collect(), tokens: tokens * size as u64 };
    Event::Ready((0..count).map(packet).collect())
}

fn packets(count: usize, size: usize) -> Event {
    packets_of(count, size, 100)
}

fn lane(name: &str, width: u32) -> LaneSpec {
    LaneSpec { name: name.to_owned(), account: name.to_owned(), width, widest: width, ..LaneSpec::default() }
}

fn window(dimension: Dimension, limit: u64, period_ms: u64) -> WindowSpec {
    WindowSpec { dimension, limit, period_ms, scope: Scope::Account }
}

fn limits(workers: u32) -> Limits {
    Limits { workers, attempts: 3, ..Limits::default() }
}

fn dispatch(lanes: &[(&str, u32)], workers: u32) -> Dispatch {
    Dispatch::new(lanes.iter().map(|(name, width)| lane(name, *width)).collect(), limits(workers))
}

fn launches(commands: &[Command]) -> Vec<(SlotKey, String, Vec<TaskId>)> {
    let launch = |command: &Command| match command {
        Command::Launch { slot, lane, tasks, .. } => Some((*slot, lane.clone(), tasks.clone())),
        _ => None,
    };
    commands.iter().filter_map(launch).collect()
}

/// Commands without the notes.
fn acts(commands: Vec<Command>) -> Vec<Command> {
    commands.into_iter().filter(|command| !matches!(command, Command::Note(_))).collect()
}

fn notes(commands: &[Command]) -> Vec<&Decision> {
    commands.iter().filter_map(|c| if let Command::Note(decision) = c { Some(decision) } else { None }).collect()
}

fn wait_of(commands: &[Command]) -> Option<u64> {
    commands.iter().find_map(|command| if let Command::Wait { until_ms } = command { Some(*until_ms) } else { None })
}

fn end_of(commands: &[Command]) -> Option<End> {
    commands.iter().find_map(|command| if let Command::End(end) = command { Some(end.clone()) } else { None })
}

fn parked(commands: &[Command]) -> Vec<(Vec<TaskId>, String)> {
    let park = |command: &Command| match command {
        Command::Park { tasks, reason } => Some((tasks.clone(), reason.clone())),
        _ => None,
    };
    commands.iter().filter_map(park).collect()
}

fn ended(slot: SlotKey, outcome: Outcome, done: Vec<TaskId>) -> Settled {
    Settled {
        slot,
        outcome,
        message: "m".to_owned(),
        done,
        dropped: Vec::new(),
        set_aside: Vec::new(),
        readings: Vec::new(),
        usage: None,
        jitter: 0.5,
    }
}

fn settled(slot: SlotKey, outcome: Outcome, done: Vec<TaskId>) -> Event {
    Event::Settled(ended(slot, outcome, done))
}

/// A launch that has done all of its tasks.
fn completed(launch: &(SlotKey, String, Vec<TaskId>)) -> Event {
    settled(launch.0, Outcome::Completed, launch.2.clone())
}

fn usage(requests: u64, input: u64, output: u64) -> Option<SlotUsage> {
    Some(SlotUsage {
        requests: Some(requests),
        input_tokens: Some(input),
        output_tokens: Some(output),
        micro_usd: None,
    })
}

fn reading_of(dimension: &str, limit: u64, remaining: u64, resets_at_ms: Option<u64>) -> Reading {
    let limit = Limit {
        dimension: dimension.to_owned(),
        window_seconds: Some(60),
        limit: Some(limit),
        remaining: Some(remaining),
        resets_at_ms,
        scope: "account".to_owned(),
        extra: Vec::new(),
    };
    Reading { limits: vec![limit], throttled: remaining == 0, retry_after_ms: None, extra: Vec::new() }
}

fn retry_after(ms: u64) -> Reading {
    Reading { throttled: true, retry_after_ms: Some(ms), ..Reading::default() }
}
