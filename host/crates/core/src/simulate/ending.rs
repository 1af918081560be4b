//! How requests and launches end, and what the dispatcher is told of it.

use super::carrying::{Closing, Told};
use super::course::Fate;
use super::laws::RateNews;
use super::scenario_lane::LanePacing;
use super::world::{Step, World};
use crate::dispatch::{Event, RequestEnded, RequestKey, Settled, SlotKey, costs_an_attempt};
use crate::plugin::Outcome;

impl World<'_> {
    pub(super) fn respond(&mut self, host: usize, slot: SlotKey) {
        let scenario = self.scenario;
        self.leave(host, slot);
        let Some(live) = self.hosts[host].live.get(&slot) else { return };
        let (lane, refused) = (&scenario.lanes[live.lane], live.refused.clone());
        let life = self.hosts[host].life;
        if lane.pacing == LanePacing::Request {
            self.end_request(host, slot);
            if self.hosts[host].life != life {
                return;
            }
        }
        match refused {
            Some((outcome, _)) => self.go_on(host, slot, 0, Step::Settle(outcome)),
            None => self.next_request(host, slot),
        }
    }

    /// Tells the dispatcher of the end of a request that it let go.
    fn end_request(&mut self, host: usize, slot: SlotKey) {
        let Some(live) = self.hosts[host].live.get(&slot) else { return };
        let by_load = |(outcome, _): &(Outcome, _)| matches!(outcome, Outcome::RateLimited | Outcome::Overloaded);
        let rate_limited = live.refused.as_ref().is_some_and(by_load);
        let (input, output) = match live.refused {
            Some(_) => (0, 0),
            None => live.course.draw(live.taken.saturating_sub(1)),
        };
        let ended = RequestEnded {
            slot,
            request: RequestKey(live.asked),
            rate_limited,
            readings: vec![live.reading.clone()],
            input_tokens: Some(input),
            output_tokens: Some(output),
            jitter: live.course.jitter,
        };
        let rate = rate_limited.then(|| RateNews {
            lane: live.lane,
            reading: live.reading.clone(),
            by: live.refused.as_ref().and_then(|(_, by)| by.clone()),
            sent_ms: live.sent_ms,
            began_ms: live.sent_ms,
        });
        self.tell(host, Told { event: Event::RequestEnded(ended), closing: None, rate });
    }

    fn next_request(&mut self, host: usize, slot: SlotKey) {
        let Some(live) = self.hosts[host].live.get_mut(&slot) else { return };
        if live.taken < live.course.requests {
            let by_request = self.scenario.lanes[live.lane].pacing == LanePacing::Request;
            return self.go_on_in_time(host, slot, 0, if by_request { Step::Ask } else { Step::Send });
        }
        let answered = match live.course.fate {
            Fate::Answers | Fate::HangsAfterwards => live.tasks.clone(),
            Fate::AnswersPartly => live.tasks[..live.tasks.len() / 2].to_vec(),
            _ => Vec::new(),
        };
        let (launch, fate, lingers_ms) = (live.launch, live.course.fate, live.course.lingers_ms);
        if !answered.is_empty() {
            self.hosts[host].store.write_answer(launch, answered);
        }
        let outcome = match fate {
            Fate::AnswersNothing => Outcome::NoResults,
            Fate::IsRefused => Outcome::Refused,
            Fate::PluginFailsLast => Outcome::Crashed,
            Fate::HangsAfterwards => return self.go_on_in_time(host, slot, u64::MAX, Step::Respond),
            _ => Outcome::Completed,
        };
        self.go_on_in_time(host, slot, lingers_ms, Step::Settle(outcome));
    }

    /// The service is done with what it works on, or the program is gone.
    fn leave(&mut self, host: usize, slot: SlotKey) {
        let now_ms = self.now_ms;
        let Some(live) = self.hosts[host].live.get_mut(&slot) else { return };
        if !std::mem::take(&mut live.open) {
            return;
        }
        let worked_ms = now_ms - live.sent_ms;
        live.busy_ms += worked_ms;
        self.busy.by_lane[live.lane] += worked_ms;
        self.busy.longest_ms = self.busy.longest_ms.max(live.busy_ms);
        self.services.leave(live.lane);
        self.note_work();
    }

    pub(super) fn settle(&mut self, host: usize, slot: SlotKey, outcome: Outcome) {
        let scenario = self.scenario;
        self.leave(host, slot);
        let Some(live) = self.hosts[host].live.remove(&slot) else { return };
        let lane = &scenario.lanes[live.lane];
        let done = self.hosts[host].store.answer(live.launch);
        let counts = costs_an_attempt(outcome) && !(outcome == Outcome::ContextExceeded && live.tasks.len() > 1);
        self.free_ends += u64::from(!counts || !done.is_empty());
        self.note_work();
        let rate = matches!(outcome, Outcome::RateLimited | Outcome::Overloaded).then(|| {
            // Where requests are paced, the end of the request has told it already.
            let is_news = lane.pacing == LanePacing::Launch;
            RateNews {
                lane: live.lane,
                reading: live.reading.clone(),
                by: live.refused.as_ref().and_then(|(_, by)| by.clone()).filter(|_| is_news),
                sent_ms: live.sent_ms,
                began_ms: if is_news { live.began_ms } else { 0 },
            }
        });
        let event = Settled {
            slot,
            outcome,
            message: "simulated".to_owned(),
            done: done.clone(),
            dropped: Vec::new(),
            set_aside: Vec::new(),
            readings: vec![live.reading.clone()],
            usage: live.course.usage(lane, live.taken),
            jitter: live.course.jitter,
        };
        let closing = Some(Closing { launch: live.launch, tasks: live.tasks, done, counts });
        self.tell(host, Told { event: Event::Settled(event), closing, rate });
    }
}
