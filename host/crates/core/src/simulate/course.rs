//! What becomes of one launch: everything that chance decides of it, drawn from the seed, the lane, the task and the try.

use super::random::{Random, key_of};
use super::scenario_lane::SimulatedLane;
use crate::dispatch::SlotUsage;
use crate::id::TaskId;

/// How a launch goes, if its service takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Answers,
    AnswersPartly,
    AnswersNothing,
    IsRefused,
    IsOverloaded,
    Crashes,
    /// Nothing was sent.
    PluginFailsFirst,
    /// Everything was done, and the answer is lost.
    PluginFailsLast,
    Hangs,
    /// It has answered before.
    HangsAfterwards,
}

/// What chance has decided of a launch.
#[derive(Clone, Debug)]
pub(super) struct Course {
    pub(super) fate: Fate,
    /// Milliseconds, if nothing holds it up.
    pub(super) latency_ms: u64,
    pub(super) requests: u32,
    /// Tokens in, over all requests.
    pub(super) input_tokens: u64,
    /// Tokens out, over all requests.
    pub(super) output_tokens: u64,
    /// Estimated tokens of its prompt, overhead included.
    pub(super) prompt_tokens: u64,
    /// Milliseconds between the answer and the end.
    pub(super) lingers_ms: u64,
    /// For cooldowns, from 0 to 1.
    pub(super) jitter: f64,
}

/// Longest time between the answer and the end of a launch.
const LONGEST_LINGERING_MS: u64 = 2_000;

impl Course {
    /// The course of the `nth` launch that begins with this task, on a lane, with a prompt of so many tokens.
    pub(super) fn of(seed: u64, lane: &SimulatedLane, task: &TaskId, nth: u32, tokens: u64) -> Self {
        let mut random = Random::of(&[seed, key_of(&lane.name), key_of(task.as_str()), u64::from(nth)]);
        let service = &lane.service;
        let latency_ms = service.latency_ms.whole(&mut random).max(1);
        let prompt_tokens = tokens.saturating_add(lane.overhead_tokens);
        let input = prompt_tokens as f64 * service.tokens_ratio.draw(&mut random);
        Self {
            latency_ms,
            requests: random.between(u64::from(service.requests.least), u64::from(service.requests.most)) as u32,
            input_tokens: input as u64,
            output_tokens: (prompt_tokens as f64 * service.output_share) as u64,
            prompt_tokens: prompt_tokens.saturating_add(lane.output_tokens),
            fate: fate(lane, &mut random),
            lingers_ms: random.below(LONGEST_LINGERING_MS.min(latency_ms)),
            jitter: random.share(),
        }
    }

    /// Milliseconds of one request.
    pub(super) fn request_ms(&self) -> u64 {
        (self.latency_ms / u64::from(self.requests.max(1))).max(1)
    }

    /// Tokens in and out of a request, counted from 0: equal parts, and the first one has the rest.
    pub(super) fn draw(&self, request: u32) -> (u64, u64) {
        let count = u64::from(self.requests.max(1));
        let part = |all: u64| all / count + if request == 0 { all % count } else { 0 };
        (part(self.input_tokens), part(self.output_tokens))
    }

    /// What so many requests have drawn, in the form in which the end of a launch tells it.
    pub(super) fn usage(&self, lane: &SimulatedLane, requests: u32) -> Option<SlotUsage> {
        if !lane.service.tells_usage {
            return None;
        }
        let draws = (0..requests).map(|request| self.draw(request));
        let (input, output) = draws.fold((0, 0), |sum: (u64, u64), draw| (sum.0 + draw.0, sum.1 + draw.1));
        Some(SlotUsage {
            requests: Some(u64::from(requests)),
            input_tokens: Some(input),
            output_tokens: Some(output),
            micro_usd: lane.price.map(|_| lane.cost(input, output)),
        })
    }
}

fn fate(lane: &SimulatedLane, random: &mut Random) -> Fate {
    let mut dice = random.share();
    let second = random.one_in(2);
    for (key, share) in lane.service.failures.shares() {
        if dice < share {
            return match (key, second) {
                ("crash", _) => Fate::Crashes,
                ("plugin", true) => Fate::PluginFailsFirst,
                ("plugin", false) => Fate::PluginFailsLast,
                ("hang", true) => Fate::Hangs,
                ("hang", false) => Fate::HangsAfterwards,
                ("no_results", _) => Fate::AnswersNothing,
                ("partial", _) => Fate::AnswersPartly,
                ("refused", _) => Fate::IsRefused,
                _ => Fate::IsOverloaded,
            };
        }
        dice -= share;
    }
    Fate::Answers
}
