//! Requests of launched programs: each is admitted against the windows of its lane, in turn over the launches.

use std::collections::{BTreeMap, VecDeque};

use super::admission::Awaited;
use super::command::Command;
use super::cooldown::hinted_end;
use super::draw::Draw;
use super::engine::Dispatch;
use super::event::{RequestAsked, RequestEnded, RequestKey, SlotKey};
use super::lane::{Probe, RateOutcome};
use super::spec::Pacing;
use super::window::{Dimension, Fit};
use super::windows::Taken;

/// Requests of one launch that are held at once; a program that sends more is told to come back.
const MOST_HELD: usize = 256;
/// Requests that go at once to a service of which nothing was heard: the smallest limits that services have let that many
/// through, and the first answer tells all others the limits.
const MOST_UNHEARD: usize = 3;
/// When a request that cannot be held is tried again.
const COME_BACK_MS: u64 = 1_000;

/// A request that was admitted and has not ended.
#[derive(Clone, Debug)]
pub(super) struct Held {
    /// Cooldowns that the lane had had when it was admitted.
    epoch: u64,
    sent_ms: u64,
    pub(super) taken: Taken,
    asked: RequestAsked,
}

/// The requests that are held, a queue for each launch and a turn for each launch of a lane.
#[derive(Debug, Default)]
pub(super) struct RequestQueues {
    turns: BTreeMap<usize, VecDeque<SlotKey>>,
    by_slot: BTreeMap<SlotKey, VecDeque<RequestAsked>>,
}

impl RequestQueues {
    /// Requests that are held on a lane.
    pub(super) fn waiting(&self, lane: usize) -> usize {
        let slots = self.turns.get(&lane).into_iter().flatten();
        slots.filter_map(|slot| self.by_slot.get(slot)).map(VecDeque::len).sum()
    }

    /// Forgets what a launch asked for.
    pub(super) fn drop_slot(&mut self, lane: usize, slot: SlotKey) {
        self.by_slot.remove(&slot);
        if let Some(turns) = self.turns.get_mut(&lane) {
            turns.retain(|other| *other != slot);
        }
    }

    fn push(&mut self, lane: usize, asked: RequestAsked) -> bool {
        let queue = self.by_slot.entry(asked.slot).or_default();
        if queue.len() >= MOST_HELD {
            return false;
        }
        if queue.is_empty() {
            self.turns.entry(lane).or_default().push_back(asked.slot);
        }
        queue.push_back(asked);
        true
    }

    /// Takes the first request of a launch; the launch goes to the end of the line.
    fn pop(&mut self, lane: usize, slot: SlotKey) {
        let Some(queue) = self.by_slot.get_mut(&slot) else { return };
        queue.pop_front();
        let has_more = !queue.is_empty();
        if !has_more {
            self.by_slot.remove(&slot);
        }
        if let Some(turns) = self.turns.get_mut(&lane) {
            turns.retain(|other| *other != slot);
            if has_more {
                turns.push_back(slot);
            }
        }
    }

    /// Takes out the requests of a lane whose programs would give up before the instant at which they can go.
    fn take_late(&mut self, lane: usize, goes_at_ms: u64) -> Vec<RequestAsked> {
        let mut late = Vec::new();
        let Some(turns) = self.turns.get_mut(&lane) else { return late };
        turns.retain(|slot| {
            let Some(queue) = self.by_slot.get_mut(slot) else { return false };
            late.extend(queue.iter().filter(|asked| asked.until_ms < goes_at_ms));
            queue.retain(|asked| asked.until_ms >= goes_at_ms);
            !queue.is_empty()
        });
        self.by_slot.retain(|_, queue| !queue.is_empty());
        late
    }

    fn slots(&self, lane: usize) -> Vec<SlotKey> {
        self.turns.get(&lane).into_iter().flatten().copied().collect()
    }

    fn first(&self, slot: SlotKey) -> Option<RequestAsked> {
        self.by_slot.get(&slot)?.front().copied()
    }

    fn earliest_deadline(&self, lane: usize) -> Option<u64> {
        let slots = self.turns.get(&lane)?;
        slots.iter().filter_map(|slot| self.by_slot.get(slot)).flatten().map(|asked| asked.until_ms).min()
    }

    fn lanes(&self) -> Vec<usize> {
        self.turns.iter().filter(|(_, slots)| !slots.is_empty()).map(|(lane, _)| *lane).collect()
    }
}

impl Dispatch {
    /// Holds a request until it is its turn.
    pub(super) fn ask(&mut self, asked: RequestAsked, commands: &mut Vec<Command>) {
        let lane = self.running.get(&asked.slot).map(|running| running.lane);
        let held = lane.is_some_and(|lane| self.requests.push(lane, asked));
        if !held {
            let RequestAsked { slot, request, .. } = asked;
            commands.push(Command::RefuseRequest { slot, request, retry_after_ms: COME_BACK_MS });
        }
    }

    /// Admits the requests that fit and refuses those that would be held too long. Gives the windows that the first held
    /// request of each lane waits for.
    pub(super) fn admit_requests(&mut self, now_ms: u64, commands: &mut Vec<Command>) -> Awaited {
        let mut awaited = Awaited::new();
        for lane in self.requests.lanes() {
            let goes_at = self.admit_requests_of(lane, &mut awaited, now_ms, commands);
            // Those behind the first go no earlier than it; when that is not known, they may wait as long as they can.
            for asked in self.requests.take_late(lane, goes_at.unwrap_or(now_ms)) {
                let retry_after_ms = goes_at.map_or(COME_BACK_MS, |at| at.saturating_sub(now_ms).max(1));
                commands.push(Command::RefuseRequest { slot: asked.slot, request: asked.request, retry_after_ms });
            }
            if self.requests.waiting(lane) > 0 {
                let wake = [goes_at, self.requests.earliest_deadline(lane).map(|at| at.saturating_add(1))];
                wake.into_iter().flatten().for_each(|at| self.wake_at(at));
            }
        }
        awaited
    }

    /// Lets requests of one lane go until the next one has to wait; gives the instant at which that one goes, if it is known.
    fn admit_requests_of(
        &mut self,
        at: usize,
        awaited: &mut Awaited,
        now_ms: u64,
        commands: &mut Vec<Command>,
    ) -> Option<u64> {
        loop {
            let lane = &self.lanes[at];
            if let Some(opens_at) = lane.opens_at() {
                return Some(opens_at);
            }
            if self.is_unheard(at) && self.sent_requests(at) >= MOST_UNHEARD {
                return None;
            }
            let slot = self.requests.slots(at).into_iter().find(|slot| lane.takes_request_of(*slot))?;
            let asked = self.requests.first(slot)?;
            let draw = draw_of(&asked, lane.spec.pacing);
            // A request that is larger than a window goes when the window is full: its program runs already.
            let verdict = self.windows.consult(&lane.spec, &draw, true, now_ms);
            match verdict.fit() {
                Fit::Now => self.let_go(at, asked, &draw, now_ms, commands),
                Fit::At(fits_at) => {
                    awaited.extend(verdict.refusing().cloned());
                    return Some(fits_at);
                }
                Fit::OnRelease | Fit::Never => {
                    awaited.extend(verdict.refusing().cloned());
                    return None;
                }
            }
        }
    }

    /// Whether nobody has named a limit of a lane, and no answer has shown that the service names none.
    fn is_unheard(&self, at: usize) -> bool {
        let lane = &self.lanes[at];
        let is_named = self.windows.of(&lane.spec).any(|(key, _)| key.dimension != Dimension::Concurrency);
        !(is_named || lane.was_answered || lane.draws.observed() > 0)
    }

    /// Requests of a lane that were sent and have not ended.
    fn sent_requests(&self, at: usize) -> usize {
        self.running.values().filter(|running| running.lane == at).map(|running| running.requests.len()).sum()
    }

    /// Lets what was sent before a window was known draw on it.
    pub(super) fn draw_late(&mut self, now_ms: u64) {
        for running in self.running.values_mut() {
            let spec = &self.lanes[running.lane].spec;
            for held in running.requests.values_mut() {
                self.windows.take_late(spec, &draw_of(&held.asked, spec.pacing), &mut held.taken, now_ms);
            }
        }
    }

    fn let_go(&mut self, at: usize, asked: RequestAsked, draw: &Draw, now_ms: u64, commands: &mut Vec<Command>) {
        let RequestAsked { slot, request, .. } = asked;
        let lane = &mut self.lanes[at];
        self.requests.pop(at, slot);
        if lane.probe == Probe::Due {
            lane.probe = Probe::Request(slot, request);
        }
        let taken = self.windows.take(&lane.spec, draw, now_ms);
        let held = Held { epoch: lane.epoch, sent_ms: now_ms, taken, asked };
        if let Some(running) = self.running.get_mut(&slot) {
            running.requests.insert(request, held);
        }
        commands.push(Command::AdmitRequest { slot, request });
    }

    /// Settles a request: what it drew instead of what it was expected to, and what its response says of limits.
    pub(super) fn end_request(&mut self, ended: &RequestEnded, now_ms: u64, commands: &mut Vec<Command>) {
        let Some(running) = self.running.get_mut(&ended.slot) else { return };
        let at = running.lane;
        let Some(held) = running.requests.remove(&ended.request) else { return };
        let input = ended.input_tokens.unwrap_or(if ended.rate_limited { 0 } else { held.asked.input_tokens });
        let output = ended.output_tokens.unwrap_or(if ended.rate_limited { 0 } else { held.asked.output_tokens });
        let actual = Draw { requests: 1.0, input: input as f64, output: output as f64, ..Draw::default() };
        self.windows.settle(&held.taken, |dimension, _| Some(actual.amount(dimension, 0.0)), now_ms);
        let lane = &mut self.lanes[at];
        lane.was_answered = true;
        self.windows.read(&lane.spec, &ended.readings, held.sent_ms, now_ms);
        // One answer is what a probe is for; the rest of its launch needs no more care than others.
        let good_launch = lane.probe == Probe::Launch(ended.slot) && !ended.rate_limited;
        if good_launch || lane.probe == Probe::Request(ended.slot, ended.request) {
            lane.probe = Probe::None;
        }
        if ended.rate_limited {
            let hint_ms = hinted_end(&ended.readings, now_ms);
            let reason = "rate-limited";
            let outcome = RateOutcome { epoch: held.epoch, hint_ms, jitter: ended.jitter, reason, overloaded: false };
            lane.throttle(&outcome, now_ms);
            self.tell_closed(at, false, commands);
        }
    }

    /// Forgets the requests of a launch that has ended. Those that were sent stay drawn, but no longer count as at once.
    pub(super) fn drop_requests(&mut self, at: usize, slot: SlotKey, sent: &BTreeMap<RequestKey, Held>, now_ms: u64) {
        self.requests.drop_slot(at, slot);
        for held in sent.values() {
            let concurrency = |dimension| (dimension == Dimension::Concurrency).then_some(0.0);
            self.windows.settle(&held.taken, |dimension, _| concurrency(dimension), now_ms);
        }
        if matches!(self.lanes[at].probe, Probe::Request(probing, _) if probing == slot) {
            self.lanes[at].probe = Probe::None;
        }
    }
}

fn draw_of(asked: &RequestAsked, pacing: Pacing) -> Draw {
    match pacing {
        // The launch took everything when it started.
        Pacing::Launch => Draw { spend: Some(0.0), ..Draw::default() },
        Pacing::Request => Draw {
            requests: 1.0,
            input: asked.input_tokens as f64,
            output: asked.output_tokens as f64,
            concurrency: 1.0,
            spend: Some(0.0),
        },
    }
}
