//! What a launch is expected to draw, learned from what launches of its lane and size drew.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::event::SlotUsage;
use super::spec::LaneSpec;
use super::window::Dimension;

/// Weight of the newest observation, once there are several.
const NEWEST: f64 = 0.3;
/// Requests of an agent's launch before any was seen.
const AGENT_REQUESTS: f64 = 8.0;
/// Tokens of an agent's launch over its estimate before any was seen: it reads around.
const AGENT_RATIO: f64 = 3.0;
/// What the largest draw that was seen, or an estimate of tokens, is stretched by where it must hold as a bound.
const HEADROOM: f64 = 1.25;
/// Above this nothing is believed that a provider tells of its use.
const MOST_TOKENS: u64 = 1_000_000_000;

/// An amount for each dimension.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Draw {
    pub(super) requests: f64,
    pub(super) input: f64,
    pub(super) output: f64,
    pub(super) concurrency: f64,
    /// Absent when nobody can bound it: then it is all that the window holds.
    pub(super) spend: Option<f64>,
}

impl Draw {
    /// The amount in a window's unit; `all` is what the window holds when it is full.
    pub(super) fn amount(&self, dimension: Dimension, all: f64) -> f64 {
        match dimension {
            Dimension::Requests => self.requests,
            Dimension::Tokens => self.input + self.output,
            Dimension::InputTokens => self.input,
            Dimension::OutputTokens => self.output,
            Dimension::Concurrency => self.concurrency,
            Dimension::Spend => self.spend.unwrap_or(all),
        }
    }
}

/// How large a launch is: launches of one class draw alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum SizeClass {
    Small,
    Medium,
    Large,
    Huge,
}

impl SizeClass {
    fn of(tokens: u64) -> Self {
        match tokens {
            0..8_000 => SizeClass::Small,
            8_000..32_000 => SizeClass::Medium,
            32_000..128_000 => SizeClass::Large,
            _ => SizeClass::Huge,
        }
    }
}

/// What launches drew, as moving averages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Average {
    observed: u32,
    requests: f64,
    input_ratio: f64,
    output_ratio: f64,
}

impl Average {
    fn cold(lane: &LaneSpec, prompt: f64) -> Self {
        let (requests, ratio) = if lane.agent { (AGENT_REQUESTS, AGENT_RATIO) } else { (1.0, 1.0) };
        let output = (lane.output_tokens as f64 * requests).min(prompt * ratio);
        Self { observed: 0, requests, input_ratio: ratio, output_ratio: output / prompt }
    }

    fn learn(&mut self, usage: &SlotUsage, prompt: f64) {
        // The first observations count as much as what was assumed, so that a wrong assumption is left behind soon.
        let weight = NEWEST.max(1.0 / (f64::from(self.observed) + 2.0));
        let mix = |old: &mut f64, new: Option<f64>| {
            if let Some(new) = new {
                *old += weight * (new - *old);
            }
        };
        mix(&mut self.requests, usage.requests.map(|n| n.min(MOST_TOKENS) as f64));
        mix(&mut self.input_ratio, usage.input_tokens.map(|n| n.min(MOST_TOKENS) as f64 / prompt));
        mix(&mut self.output_ratio, usage.output_tokens.map(|n| n.min(MOST_TOKENS) as f64 / prompt));
        self.observed = self.observed.saturating_add(1);
    }
}

/// What is known of the draws of one lane; kept between runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Draws {
    classes: BTreeMap<SizeClass, Average>,
    /// Over all classes, for a class of which nothing was seen.
    all: Option<Average>,
    /// Millionths of a US dollar an estimated token, averaged.
    micro_usd_per_token: Option<f64>,
    /// The same, the largest that was seen.
    most_micro_usd_per_token: Option<f64>,
    /// Tokens in and out over the estimate, the largest that was seen.
    most_tokens_ratio: Option<f64>,
}

impl Draws {
    /// Launches that were observed.
    pub fn observed(&self) -> u32 {
        self.all.map_or(0, |all| all.observed)
    }

    /// What a launch with a prompt of so many tokens is expected to draw, but for its spend.
    pub(super) fn expect(&self, lane: &LaneSpec, tokens: u64) -> Draw {
        let prompt = prompt_tokens(lane, tokens);
        let known = self.classes.get(&SizeClass::of(tokens)).copied().or(self.all);
        let average = known.unwrap_or_else(|| Average::cold(lane, prompt));
        Draw {
            requests: average.requests.max(1.0),
            input: (average.input_ratio * prompt).round(),
            output: (average.output_ratio * prompt).round(),
            concurrency: 1.0,
            spend: None,
        }
    }

    /// Learns from the end of a launch.
    pub(super) fn observe(&mut self, lane: &LaneSpec, tokens: u64, usage: &SlotUsage) {
        let prompt = prompt_tokens(lane, tokens);
        if usage.requests.is_some() || usage.input_tokens.is_some() || usage.output_tokens.is_some() {
            let cold = self.all.unwrap_or_else(|| Average { observed: 0, ..Average::cold(lane, prompt) });
            self.all.get_or_insert(cold).learn(usage, prompt);
            let class = self.classes.entry(SizeClass::of(tokens)).or_insert(Average { observed: 0, ..cold });
            class.learn(usage, prompt);
        }
        if let Some(cost) = usage.micro_usd {
            let ratio = cost as f64 / prompt;
            let average = self.micro_usd_per_token.get_or_insert(ratio);
            *average += NEWEST * (ratio - *average);
        }
        self.observe_most(lane, tokens, usage);
    }

    /// Learns from a launch that failed: it drew less than its like, so that only the largest draws are learned from it.
    pub(super) fn observe_most(&mut self, lane: &LaneSpec, tokens: u64, usage: &SlotUsage) {
        let prompt = prompt_tokens(lane, tokens);
        if let Some(total) = total_tokens(usage) {
            raise(&mut self.most_tokens_ratio, total as f64 / prompt);
        }
        if let Some(cost) = usage.micro_usd {
            raise(&mut self.most_micro_usd_per_token, cost as f64 / prompt);
        }
    }

    /// Tokens that a launch draws at most, if that can be said.
    pub(super) fn most_tokens(&self, lane: &LaneSpec, tokens: u64) -> Option<u64> {
        let prompt = prompt_tokens(lane, tokens);
        if !lane.agent && lane.output_tokens > 0 {
            return Some(((prompt * HEADROOM).ceil() as u64).saturating_add(lane.output_tokens));
        }
        self.most_tokens_ratio.map(|ratio| (ratio * HEADROOM * prompt).ceil() as u64)
    }

    /// What a launch costs at most, in millionths of a US dollar, if that can be said.
    pub(super) fn most_micro_usd(&self, lane: &LaneSpec, tokens: u64) -> Option<u64> {
        let prompt = prompt_tokens(lane, tokens);
        if let Some(price) = lane.price {
            let free = price.input_micro_usd_per_million == 0 && price.output_micro_usd_per_million == 0;
            if free || (!lane.agent && lane.output_tokens > 0) {
                return Some(cost_of(lane, prompt * HEADROOM, lane.output_tokens as f64).unwrap_or(0));
            }
        }
        self.most_micro_usd_per_token.map(|ratio| (ratio * HEADROOM * prompt).ceil() as u64)
    }

    /// What a launch probably cost that told nothing of it.
    pub(super) fn likely_micro_usd(&self, lane: &LaneSpec, tokens: u64, usage: &SlotUsage) -> Option<u64> {
        let expected = self.expect(lane, tokens);
        let told = |told: Option<u64>, expected: f64| told.map_or(expected, |tokens| tokens as f64);
        let (input, output) = (told(usage.input_tokens, expected.input), told(usage.output_tokens, expected.output));
        cost_of(lane, input, output)
            .or_else(|| self.micro_usd_per_token.map(|ratio| (ratio * prompt_tokens(lane, tokens)).ceil() as u64))
    }
}

/// Tokens in and out, if either was told.
pub(super) fn total_tokens(usage: &SlotUsage) -> Option<u64> {
    match (usage.input_tokens, usage.output_tokens) {
        (None, None) => None,
        (input, output) => Some(input.unwrap_or(0).saturating_add(output.unwrap_or(0))),
    }
}

/// The estimate that ratios refer to; never nothing, because they are divided by it.
fn prompt_tokens(lane: &LaneSpec, tokens: u64) -> f64 {
    tokens.saturating_add(lane.overhead_tokens).clamp(1, MOST_TOKENS) as f64
}

fn cost_of(lane: &LaneSpec, input: f64, output: f64) -> Option<u64> {
    let price = lane.price?;
    let cost = input * price.input_micro_usd_per_million as f64 + output * price.output_micro_usd_per_million as f64;
    Some((cost / 1e6).ceil() as u64)
}

fn raise(most: &mut Option<f64>, seen: f64) {
    *most = Some(most.map_or(seen, |most| most.max(seen)));
}
