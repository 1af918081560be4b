//! The same trace in barrier waves, as the predecessor ran them: everything of a wave starts at once, and the next one starts
//! when the slowest has ended. It gets the whole trace on its first lane, and a person who starts it again at once
//! whenever it stops for an error; it is compared at its best.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde::Serialize;

use super::course::{Course, Fate};
use super::scenario::{BEGIN_MS, Scenario};
use super::scenario_lane::SimulatedLane;
use super::service::{Answer, Arrival, Services};
use super::wave_schedule::{Known, Learned, WaveOutcome};
use crate::dispatch::{Dimension, costs_an_attempt};
use crate::id::TaskId;
use crate::plugin::Outcome;

/// Longest time that the predecessor sleeps before it launches into a cooldown.
const LONGEST_SLEEP_MS: u64 = 120_000;
/// Waves of a run that goes nowhere.
const FEWEST_WAVES: u64 = 1_000;
const WAVES_EACH: u64 = 20;
const MINUTE_MS: u64 = 60_000;

/// What barrier waves came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct WaveReplay {
    /// From the beginning to the end of the last wave, milliseconds.
    pub makespan_ms: u64,
    /// Waves.
    pub waves: u64,
    /// Launches.
    pub launches: u64,
    /// Requests that a limit refused.
    pub rate_limited: u64,
    /// Tasks with a result.
    pub done: usize,
    /// Tasks without one.
    pub left: usize,
}

/// A packet that waits.
#[derive(Clone, Debug)]
struct Waiting {
    tasks: Vec<(TaskId, u64)>,
    attempts: u32,
}

impl Waiting {
    fn tokens(&self) -> u64 {
        self.tasks.iter().fold(0, |sum, (_, tokens)| sum.saturating_add(*tokens))
    }
}

/// A launch of a wave.
struct Member {
    waiting: Waiting,
    course: Course,
    taken: u32,
    outcome: Option<Outcome>,
    ends_ms: u64,
}

struct Waves<'a> {
    scenario: &'a Scenario,
    lane: &'a SimulatedLane,
    seed: u64,
    now_ms: u64,
    services: Services,
    learned: Learned,
    tries: HashMap<TaskId, u32>,
    pending: VecDeque<Waiting>,
    replay: WaveReplay,
}

/// Runs the trace of a scenario in waves; `None` where there is no lane.
pub fn run_waves(scenario: &Scenario, seed: u64) -> Option<WaveReplay> {
    let sizes = scenario.trace.sizes(seed);
    let name = |at: usize| TaskId::new(format!("t{at:05}"));
    let tasks: Vec<(TaskId, u64)> = sizes.iter().enumerate().map(|(at, tokens)| (name(at), *tokens)).collect();
    let packets = tasks.chunks(scenario.trace.per_packet.max(1) as usize);
    let mut waves = Waves {
        scenario,
        lane: scenario.lanes.first()?,
        seed,
        now_ms: BEGIN_MS,
        services: Services::new(scenario),
        learned: Learned::default(),
        tries: HashMap::new(),
        pending: packets.map(|tasks| Waiting { tasks: tasks.to_vec(), attempts: 0 }).collect(),
        replay: WaveReplay { left: tasks.len(), ..WaveReplay::default() },
    };
    waves.play();
    waves.replay.makespan_ms = waves.now_ms - BEGIN_MS;
    Some(waves.replay)
}

impl Waves<'_> {
    fn play(&mut self) {
        let most = FEWEST_WAVES + WAVES_EACH * self.replay.left as u64;
        while !self.pending.is_empty() && self.replay.waves < most {
            let mut wave = self.next_wave();
            self.run(&mut wave);
            self.now_ms = wave.iter().map(|member| member.ends_ms).max().unwrap_or(self.now_ms);
            if self.take_in(wave) {
                return;
            }
        }
    }

    fn next_wave(&mut self) -> Vec<Member> {
        let ahead_ms = self.learned.cooldown_until_ms.saturating_sub(self.now_ms);
        let requested = self.scenario.limits.workers.saturating_mul(self.scenario.hosts.count.max(1));
        let slots: Vec<u64> = self.pending.iter().take(requested as usize).map(Waiting::tokens).collect();
        // The width is chosen before the sleep, so that the wave after a cooldown is one launch.
        let width = self.learned.width(&known(self.lane), requested, &slots, self.now_ms) as usize;
        self.now_ms += ahead_ms.min(LONGEST_SLEEP_MS);
        self.replay.waves += 1;
        let members: Vec<Waiting> = self.pending.drain(..width.min(self.pending.len())).collect();
        members.into_iter().filter_map(|waiting| self.member(waiting)).collect()
    }

    fn member(&mut self, waiting: Waiting) -> Option<Member> {
        let (first, _) = waiting.tasks.first()?;
        let nth = self.tries.entry(first.clone()).or_default();
        *nth += 1;
        let course = Course::of(self.seed, self.lane, first, *nth, waiting.tokens());
        self.replay.launches += 1;
        Some(Member { waiting, course, taken: 0, outcome: None, ends_ms: self.now_ms })
    }

    /// Lets the launches of a wave run, request by request in the order of time.
    fn run(&mut self, wave: &mut [Member]) {
        let mut agenda: BTreeMap<(u64, usize), bool> = (0..wave.len()).map(|at| ((self.now_ms, at), false)).collect();
        while let Some(((at_ms, at), responds)) = agenda.pop_first() {
            let member = &mut wave[at];
            if responds {
                self.services.leave(0);
            }
            if let Some(next_ms) = self.advance(member, at_ms) {
                agenda.insert((next_ms, at), member.outcome.is_none() || member.ends_ms == next_ms);
            }
        }
    }

    /// One request further; gives when its response ends.
    fn advance(&mut self, member: &mut Member, at_ms: u64) -> Option<u64> {
        if member.outcome.is_some() {
            return None;
        }
        let course = &member.course;
        let timeout_ms = self.now_ms + self.lane.service.timeout_ms;
        let early = match course.fate {
            Fate::PluginFailsFirst => Some(Outcome::Crashed),
            Fate::IsOverloaded => Some(Outcome::Overloaded),
            _ if member.taken == course.requests => Some(outcome_of(course.fate)),
            _ => None,
        };
        if let Some(outcome) = early {
            (member.outcome, member.ends_ms) = (Some(outcome), at_ms.min(timeout_ms));
            return None;
        }
        let (input_tokens, output_tokens) = course.draw(member.taken);
        let arrival = Arrival { input_tokens, output_tokens, prompt_tokens: course.prompt_tokens };
        match self.services.arrive(0, self.lane, arrival, at_ms) {
            Answer::Refused { outcome, by, .. } => {
                self.replay.rate_limited += u64::from(by.is_some());
                (member.outcome, member.ends_ms) = (Some(outcome), at_ms);
                None
            }
            Answer::Taken(_) => {
                member.taken += 1;
                let mut ends_ms = at_ms + course.request_ms();
                if course.fate == Fate::Crashes {
                    ends_ms = at_ms + course.request_ms() / 2;
                    (member.outcome, member.ends_ms) = (Some(Outcome::Crashed), ends_ms);
                }
                if matches!(course.fate, Fate::Hangs | Fate::HangsAfterwards) || ends_ms >= timeout_ms {
                    ends_ms = timeout_ms.max(at_ms + 1);
                    (member.outcome, member.ends_ms) = (Some(Outcome::TimedOut), ends_ms);
                }
                Some(ends_ms)
            }
        }
    }

    /// Records a wave and puts back what failed; whether it is over for good.
    fn take_in(&mut self, wave: Vec<Member>) -> bool {
        let width = u32::try_from(wave.len()).unwrap_or(u32::MAX);
        let mut how = WaveOutcome::Success;
        let mut is_over = false;
        for member in wave {
            let outcome = member.outcome.unwrap_or(Outcome::Crashed);
            match outcome {
                Outcome::Completed => {}
                Outcome::RateLimited | Outcome::Overloaded => how = WaveOutcome::RateLimited,
                _ if how == WaveOutcome::Success => how = WaveOutcome::Failure,
                _ => {}
            }
            is_over |= matches!(outcome, Outcome::Unauthenticated | Outcome::QuotaExhausted);
            self.put_back(member, outcome);
        }
        self.learned.record(width, how, self.now_ms);
        is_over
    }

    fn put_back(&mut self, member: Member, outcome: Outcome) {
        let mut waiting = member.waiting;
        if outcome == Outcome::Completed {
            let all = waiting.tasks.len();
            let done = if member.course.fate == Fate::AnswersPartly { all / 2 } else { all };
            waiting.tasks.drain(..done);
            self.replay.done += done;
            self.replay.left -= done;
        }
        waiting.attempts += u32::from(costs_an_attempt(outcome));
        if !waiting.tasks.is_empty() && waiting.attempts < self.scenario.limits.attempts {
            self.pending.push_back(waiting);
        }
    }
}

/// How a launch ends whose requests were all taken. An answer that was written before a hang is not even looked at.
fn outcome_of(fate: Fate) -> Outcome {
    match fate {
        Fate::Answers | Fate::AnswersPartly => Outcome::Completed,
        Fate::AnswersNothing => Outcome::NoResults,
        Fate::IsRefused => Outcome::Refused,
        Fate::IsOverloaded => Outcome::Overloaded,
        Fate::Crashes | Fate::PluginFailsFirst | Fate::PluginFailsLast => Outcome::Crashed,
        Fate::Hangs | Fate::HangsAfterwards => Outcome::TimedOut,
    }
}

/// The limits of a minute that the configuration names; the predecessor knows no other ones.
fn known(lane: &SimulatedLane) -> Known {
    let of = |dimension: Dimension| {
        let is =
            |limit: &&super::scenario_lane::TrueLimit| limit.dimension == dimension && limit.period_ms == MINUTE_MS;
        lane.limits.iter().filter(is).map(|limit| limit.limit).min()
    };
    Known {
        requests_per_minute: of(Dimension::Requests),
        input_tokens_per_minute: of(Dimension::InputTokens).or_else(|| of(Dimension::Tokens)),
        is_hosted_agent: lane.agent,
    }
}
