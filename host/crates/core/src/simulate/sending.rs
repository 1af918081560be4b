//! The requests of a launch: asked for where they are paced, sent, and taken or refused by the service.

use super::course::Fate;
use super::service::{Answer, Arrival};
use super::world::{Step, World};
use crate::dispatch::{Event, RequestAsked, RequestKey, SlotKey};
use crate::plugin::{Outcome, Reading};

/// Milliseconds in which a service says no.
const REFUSAL_MS: u64 = 50;
/// What an overloaded service asks for, where it says when to come back.
const OVERLOADED_FOR_MS: u64 = 5_000;
/// Times that a program comes back with a request that the gateway has sent back.
const MOST_RETURNS: u32 = 3;

impl World<'_> {
    pub(super) fn ask(&mut self, host: usize, slot: SlotKey) {
        let until_ms = self.now_ms + self.left_ms(host, slot);
        let Some(live) = self.hosts[host].live.get_mut(&slot) else { return };
        live.asked += 1;
        let (input_tokens, output_tokens) = live.course.draw(live.taken);
        let request = RequestKey(live.asked);
        let asked = RequestAsked { slot, request, input_tokens, output_tokens, until_ms };
        self.tell(host, Event::RequestAsked(asked).into());
    }

    /// The dispatcher lets a request go.
    pub(super) fn admitted(&mut self, host: usize, slot: SlotKey, request: RequestKey) {
        let now_ms = self.now_ms;
        let found = self.hosts[host].live.get(&slot).map(|live| (live.lane, live.asked));
        let holds = found.is_some_and(|(_, asked)| asked == request.0);
        self.laws.check(holds, "a request is answered once", now_ms, || format!("{slot:?} {request:?}"));
        if let Some((lane, _)) = found {
            self.laws.sends(&self.scenario.lanes[lane].name, now_ms);
        }
        self.go_on(host, slot, 0, Step::Send);
    }

    /// The dispatcher does not hold a request any longer.
    pub(super) fn sent_back(&mut self, host: usize, slot: SlotKey, retry_after_ms: u64) {
        self.laws.check(retry_after_ms > 0, "no wait lies in the past", self.now_ms, || format!("{slot:?}"));
        self.figures.sent_back += 1;
        let Some(live) = self.hosts[host].live.get_mut(&slot) else { return };
        live.sent_back += 1;
        if live.sent_back <= MOST_RETURNS {
            return self.go_on_in_time(host, slot, retry_after_ms, Step::Ask);
        }
        live.reading = Reading { throttled: true, retry_after_ms: Some(retry_after_ms), ..Reading::default() };
        live.refused = Some((Outcome::RateLimited, None));
        self.go_on(host, slot, REFUSAL_MS, Step::Settle(Outcome::RateLimited));
    }

    pub(super) fn send(&mut self, host: usize, slot: SlotKey) {
        let (scenario, now_ms) = (self.scenario, self.now_ms);
        let state = &mut self.hosts[host];
        let Some(live) = state.live.get_mut(&slot) else { return };
        let lane = &scenario.lanes[live.lane];
        live.sent_ms = now_ms;
        let (input_tokens, output_tokens) = live.course.draw(live.taken);
        if live.course.fate == Fate::IsOverloaded && live.taken == 0 {
            let retry_after_ms = lane.service.tells_retry_after.then_some(OVERLOADED_FOR_MS);
            live.reading = Reading { retry_after_ms, ..Reading::default() };
            live.refused = Some((Outcome::Overloaded, None));
            return self.go_on(host, slot, REFUSAL_MS, Step::Respond);
        }
        let arrival = Arrival { input_tokens, output_tokens, prompt_tokens: live.course.prompt_tokens };
        match self.services.arrive(live.lane, lane, arrival, now_ms) {
            Answer::Refused { outcome, reading, by } => {
                if let Some(by) = &by {
                    self.figures.rate_limited += 1;
                    self.laws.refused(&lane.name, by, now_ms);
                }
                (live.reading, live.refused) = (reading, Some((outcome, by)));
                self.go_on(host, slot, REFUSAL_MS, Step::Respond);
            }
            Answer::Taken(reading) => {
                (live.reading, live.open) = (reading, true);
                live.taken += 1;
                let (request_ms, fate) = (live.course.request_ms(), live.course.fate);
                state.tokens = state.tokens.saturating_add(input_tokens).saturating_add(output_tokens);
                state.micro_usd = state.micro_usd.saturating_add(lane.cost(input_tokens, output_tokens));
                self.figures.requests += 1;
                self.laws.spends(scenario, state.tokens, state.micro_usd, now_ms);
                match fate {
                    Fate::Crashes => self.go_on_in_time(host, slot, request_ms / 2, Step::Settle(Outcome::Crashed)),
                    Fate::Hangs => self.go_on_in_time(host, slot, u64::MAX, Step::Respond),
                    _ => self.go_on_in_time(host, slot, request_ms, Step::Respond),
                }
            }
        }
    }
}
