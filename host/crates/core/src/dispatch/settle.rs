//! The end of a launch: what it drew, what it says of its lane, and what becomes of its tasks.

use super::command::Command;
use super::cooldown::hinted_end;
use super::draw::total_tokens;
use super::engine::{Dispatch, Running};
use super::event::Settled;
use super::lane::{LaneState, Probe, RateOutcome};
use super::queue::Waiting;
use super::window::Dimension;
use crate::id::TaskId;
use crate::plugin::Outcome;

impl Dispatch {
    pub(super) fn settle(&mut self, settled: Settled, now_ms: u64, commands: &mut Vec<Command>) {
        let Some(running) = self.running.remove(&settled.slot) else { return };
        let at = running.lane;
        let was_closed = self.lanes[at].is_closed();
        self.drop_requests(at, settled.slot, &running.requests, now_ms);
        self.settle_draws(&running, &settled, now_ms);
        self.windows.read(&self.lanes[at].spec, &settled.readings, running.began_ms, now_ms);
        self.settle_lane(&running, &settled, now_ms);
        self.tell_closed(at, was_closed, commands);
        self.settle_tasks(&running.waiting, &settled, at, commands);
    }

    /// What was really drawn takes the place of what was expected, in windows, budgets and memory.
    fn settle_draws(&mut self, running: &Running, settled: &Settled, now_ms: u64) {
        let lane = &mut self.lanes[running.lane];
        let tokens = running.waiting.tokens;
        let usage = settled.usage.unwrap_or_default();
        // A launch that never reached the service drew nothing, unless it says so.
        let untold = if reached_the_service(settled.outcome) { None } else { Some(0) };
        let likely = lane.draws.likely_micro_usd(&lane.spec, tokens, &usage);
        let expected = lane.draws.expect(&lane.spec, tokens);
        let expected_tokens =
            (lane.draws.observed() > 0 || !lane.spec.agent).then_some(expected.input + expected.output);
        let spent_tokens = total_tokens(&usage).or(untold).or(expected_tokens.map(|tokens| tokens as u64));
        let spent_money = usage.micro_usd.or(untold).or(likely);
        self.budget.settle(running.reservation, spent_tokens, spent_money);
        let or_untold = |told: Option<u64>| told.or(untold).map(|amount| amount as f64);
        let actual = |dimension: Dimension, _taken: f64| match dimension {
            Dimension::Concurrency => Some(0.0),
            Dimension::Spend => spent_money.map(|cost| cost as f64),
            Dimension::Requests if settled.outcome == Outcome::RateLimited => or_untold(usage.requests.or(Some(1))),
            Dimension::Requests => or_untold(usage.requests),
            Dimension::Tokens => or_untold(total_tokens(&usage)),
            Dimension::InputTokens => or_untold(usage.input_tokens),
            Dimension::OutputTokens => or_untold(usage.output_tokens),
        };
        self.windows.settle(&running.taken, actual, now_ms);
        if settled.outcome == Outcome::Completed {
            lane.draws.observe(&lane.spec, tokens, &usage);
        } else if let Some(usage) = settled.usage {
            lane.draws.observe_most(&lane.spec, tokens, &usage);
        }
    }

    fn settle_lane(&mut self, running: &Running, settled: &Settled, now_ms: u64) {
        let lane = &mut self.lanes[running.lane];
        lane.in_flight = lane.in_flight.saturating_sub(1);
        if lane.probe == Probe::Launch(settled.slot) {
            lane.probe = Probe::None;
        }
        let outcome = settled.outcome;
        let hint_ms = hinted_end(&settled.readings, now_ms);
        match outcome {
            Outcome::RateLimited | Outcome::Overloaded => {
                let reason = outcome.as_str();
                let (epoch, jitter, overloaded) = (running.epoch, settled.jitter, outcome == Outcome::Overloaded);
                lane.throttle(&RateOutcome { epoch, hint_ms, jitter, reason, overloaded }, now_ms);
            }
            Outcome::QuotaExhausted => {
                let left = hint_ms.map(|at| format!("; full again in {} s", at.saturating_sub(now_ms).div_ceil(1_000)));
                if let Some(until_ms) = hint_ms {
                    lane.remember_spent(until_ms, outcome.as_str());
                }
                lane.close(format!("{}: {}{}", outcome.as_str(), settled.message, left.unwrap_or_default()));
            }
            Outcome::Misconfigured | Outcome::Unauthenticated => {
                lane.close(format!("{}: {}", outcome.as_str(), settled.message));
            }
            _ => lane.learn(outcome, running.epoch, now_ms),
        }
    }

    /// Tells that a lane has closed, and finds other places for what only it could take.
    pub(super) fn tell_closed(&mut self, at: usize, was_closed: bool, commands: &mut Vec<Command>) {
        let lane = &self.lanes[at];
        if let (false, LaneState::Closed(reason)) = (was_closed, &lane.state) {
            commands.push(Command::LaneClosed { lane: lane.spec.name.clone(), reason: reason.clone() });
            self.rehome(commands);
        }
    }

    fn settle_tasks(&mut self, ran: &Waiting, settled: &Settled, at: usize, commands: &mut Vec<Command>) {
        self.set_aside += ran.tasks.iter().filter(|task| settled.set_aside.contains(task)).count();
        let is_over =
            |task: &TaskId| [&settled.done, &settled.dropped, &settled.set_aside].iter().any(|l| l.contains(task));
        let left: Vec<TaskId> = ran.tasks.iter().filter(|task| !is_over(task)).cloned().collect();
        if left.is_empty() {
            return;
        }
        let mut waiting = self.part_of(ran, left);
        (waiting.ran, waiting.not_on) = (true, Some(at));
        match (settled.outcome, waiting.tasks.as_slice()) {
            (Outcome::ContextExceeded, [_, _, ..]) => {
                // The packet was too large, which no lane is to blame for.
                waiting.not_on = None;
                return self.cut(waiting, 0, commands);
            }
            (Outcome::Refused, [_]) => drop(waiting.refused_by.insert(at)),
            _ => {}
        }
        if !costs_an_attempt(settled.outcome) {
            return self.enqueue(waiting, commands);
        }
        self.retry_or_park(waiting, settled, commands);
    }

    fn retry_or_park(&mut self, waiting: Waiting, settled: &Settled, commands: &mut Vec<Command>) {
        let (mut again, mut spent) = (Vec::new(), Vec::new());
        for task in &waiting.tasks {
            let Some(state) = self.tasks.get_mut(task) else { continue };
            state.attempts = state.attempts.saturating_add(1);
            if state.attempts >= self.limits.attempts { spent.push(task.clone()) } else { again.push(task.clone()) }
        }
        if !spent.is_empty() {
            let (outcome, message) = (settled.outcome.as_str(), &settled.message);
            let reason = format!("{} tries, the last one {outcome}: {message}", self.limits.attempts);
            commands.push(Command::Park { tasks: spent, reason });
        }
        let whole = self.part_of(&waiting, again);
        match whole.tasks.as_slice() {
            [] => {}
            [task] if settled.outcome == Outcome::ContextExceeded && !self.split_asked.contains(task) => {
                // Anything smaller: how much too large it was nobody says, and what is still too large is cut again.
                self.cut(Waiting { ..whole.clone() }, whole.tokens.saturating_sub(1), commands);
            }
            // A packet that brought nothing may hold one task that spoils it: its halves are tried apart.
            [_, _, ..] if settled.done.is_empty() => self.cut(whole, 0, commands),
            _ => self.enqueue(whole, commands),
        }
    }
}

/// Whether a launch that ended so may have drawn on limits without telling.
fn reached_the_service(outcome: Outcome) -> bool {
    !matches!(
        outcome,
        Outcome::Misconfigured
            | Outcome::Unauthenticated
            | Outcome::QuotaExhausted
            | Outcome::RateLimited
            | Outcome::Overloaded
    )
}

/// Whether the task may be at fault. A lane's own trouble costs no attempt.
pub fn costs_an_attempt(outcome: Outcome) -> bool {
    match outcome {
        Outcome::Completed
        | Outcome::NoResults
        | Outcome::Refused
        | Outcome::ContextExceeded
        | Outcome::TimedOut
        | Outcome::Crashed => true,
        Outcome::RateLimited
        | Outcome::Overloaded
        | Outcome::QuotaExhausted
        | Outcome::Unauthenticated
        | Outcome::Interrupted
        | Outcome::Misconfigured => false,
    }
}
