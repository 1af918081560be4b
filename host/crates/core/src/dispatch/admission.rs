//! Which lane takes a packet, and when.

use std::collections::{BTreeMap, BTreeSet};

use super::budget::{Bound, Reservation};
use super::command::{Command, Decision};
use super::draw::Draw;
use super::engine::{Dispatch, Running};
use super::event::SlotKey;
use super::lane::Probe;
use super::queue::{Group, Waiting};
use super::refusal::Refusal;
use super::spec::Pacing;
use super::window::{Fit, WindowKey};
use super::windows::Verdict;

/// Windows that something earlier waits for: nothing later draws on them before it.
pub(super) type Awaited = BTreeSet<WindowKey>;

/// What a lane says to a packet.
struct Offer {
    lane: usize,
    verdict: Verdict,
    draw: Draw,
    answer: Result<Reservation, Refusal>,
}

/// What became of the first packet of a group.
enum Turn {
    /// It was launched, or taken out of the queue otherwise.
    Moved,
    /// It waits.
    Stays,
}

impl Dispatch {
    /// Launches what fits, in order of arrival. What does not fit holds back what is behind it only at the windows that it
    /// waits for, so that small packets do not starve a large one.
    pub(super) fn admit(&mut self, mut awaited: Awaited, now_ms: u64, commands: &mut Vec<Command>) {
        let workers = usize::try_from(self.limits.workers.max(1)).unwrap_or(usize::MAX);
        while self.running.len() < workers && self.short_of.is_none() && !self.budget.launches_are_spent() {
            let mut moved = false;
            for (_, group) in self.queue.heads() {
                if let Turn::Moved = self.turn(&group, &mut awaited, now_ms, commands) {
                    moved = true;
                    break;
                }
            }
            if !moved {
                return;
            }
        }
    }

    fn turn(&mut self, group: &Group, awaited: &mut Awaited, now_ms: u64, commands: &mut Vec<Command>) -> Turn {
        let (preferred, avoided) = self.lanes_in_order(group);
        let mut offers: Vec<Offer> = Vec::new();
        let too_large = |offer: &Offer| matches!(offer.answer, Err(Refusal::TooLarge(_)));
        for (lane, last_resort) in preferred.into_iter().map(|at| (at, false)).chain(avoided.map(|at| (at, true))) {
            if last_resort && !offers.iter().all(too_large) {
                break;
            }
            let Some(waiting) = self.queue.head(group) else { return Turn::Stays };
            let offer = self.offer(lane, waiting, awaited, now_ms);
            if let Ok(reservation) = offer.answer {
                let Some(waiting) = self.queue.pop(group) else { return Turn::Stays };
                self.start(waiting, offer, reservation, now_ms, commands);
                return Turn::Moved;
            }
            self.note_refusal(group, &offer, now_ms, commands);
            offers.push(offer);
        }
        if !offers.is_empty() && offers.iter().all(too_large) {
            let Some(waiting) = self.queue.pop(group) else { return Turn::Stays };
            let most = (waiting.tokens / 2).max(1);
            self.cut(waiting, most, commands);
            return Turn::Moved;
        }
        self.wait_for(&offers, awaited);
        Turn::Stays
    }

    /// The lanes of a group that are not closed: by configuration, then health, then load. The one that failed the packet
    /// last comes apart from them while another is open.
    fn lanes_in_order(&self, group: &Group) -> (Vec<usize>, Option<usize>) {
        let mut lanes: Vec<usize> = group.lanes.iter().copied().filter(|lane| !self.lanes[*lane].is_closed()).collect();
        lanes.sort_by_key(|lane| self.lanes[*lane].rank(*lane));
        let other_is_open = lanes.iter().any(|lane| Some(*lane) != group.not_on && self.lanes[*lane].is_open());
        let avoided = group.not_on.filter(|lane| other_is_open && lanes.contains(lane));
        lanes.retain(|lane| Some(*lane) != avoided);
        (lanes, avoided)
    }

    fn offer(&self, at: usize, waiting: &Waiting, awaited: &Awaited, now_ms: u64) -> Offer {
        let lane = &self.lanes[at];
        let bound = Bound {
            tokens: lane.draws.most_tokens(&lane.spec, waiting.tokens),
            micro_usd: lane.draws.most_micro_usd(&lane.spec, waiting.tokens),
        };
        let mut draw = lane.draws.expect(&lane.spec, waiting.tokens);
        draw.spend = bound.micro_usd.map(|cost| cost as f64);
        if lane.spec.pacing == Pacing::Request {
            // The gateway admits each request by itself; a launch needs no more than that the first one fits.
            draw.input = (draw.input / draw.requests).ceil();
            draw.output = (draw.output / draw.requests).ceil();
            draw.requests = 1.0;
        }
        // What an agent draws comes in many requests, so that it may be more than a limit; one request may not.
        let spread = lane.spec.agent || lane.spec.pacing == Pacing::Request;
        let verdict = self.windows.consult(&lane.spec, &draw, spread, now_ms);
        let answer = self.answer(at, &verdict, bound, awaited);
        Offer { lane: at, verdict, draw, answer }
    }

    fn answer(&self, at: usize, verdict: &Verdict, bound: Bound, awaited: &Awaited) -> Result<Reservation, Refusal> {
        let lane = &self.lanes[at];
        let binding = verdict.binding.map(|at| verdict.consulted[at].key.clone());
        if let (Some(key), Fit::Never) = (&binding, verdict.fit()) {
            return Err(Refusal::TooLarge(key.clone()));
        }
        if let Some(opens_at) = lane.opens_at() {
            return Err(Refusal::Cooling(opens_at));
        }
        if !lane.has_room() {
            let probing = matches!(lane.probe, Probe::Launch(_) | Probe::Request(..));
            return Err(if probing { Refusal::Probing } else { Refusal::Full });
        }
        if let Some(consulted) = verdict.consulted.iter().find(|c| c.draw > 0.0 && awaited.contains(&c.key)) {
            return Err(Refusal::Behind(consulted.key.clone()));
        }
        match (verdict.fit(), binding) {
            (Fit::At(at), Some(key)) => return Err(Refusal::Window(key, Some(at))),
            (Fit::OnRelease, Some(key)) => return Err(Refusal::Window(key, None)),
            _ => {}
        }
        self.budget.quote(bound).map_err(Refusal::Budget)
    }

    /// Remembers what the packet waits for.
    fn wait_for(&mut self, offers: &[Offer], awaited: &mut Awaited) {
        let refusals = || offers.iter().filter_map(|offer| Some((offer, offer.answer.as_ref().err()?)));
        for (offer, refusal) in refusals() {
            if let Refusal::Window(..) = refusal {
                awaited.extend(offer.verdict.refusing().cloned());
            }
        }
        if let Some(at) = refusals().filter_map(|(_, refusal)| refusal.fits_at_ms()).min() {
            self.wake_at(at);
        }
        // A budget is one for all lanes; what is behind must not take what this packet waits for.
        let budget =
            refusals().find_map(|(_, refusal)| if let Refusal::Budget(which) = refusal { Some(*which) } else { None });
        self.short_of = self.short_of.or(budget);
    }

    fn start(
        &mut self,
        waiting: Waiting,
        offer: Offer,
        reservation: Reservation,
        now_ms: u64,
        commands: &mut Vec<Command>,
    ) {
        let slot = self.next_slot();
        let decision = decide(&waiting, &self.lanes[offer.lane].spec.name, Some(slot), &offer.verdict, now_ms);
        let lane = &mut self.lanes[offer.lane];
        lane.in_flight += 1;
        if lane.probe == Probe::Due {
            lane.probe = Probe::Launch(slot);
        }
        let draw = match lane.spec.pacing {
            Pacing::Launch => offer.draw,
            // The spend is the launch's own; everything else is drawn by its requests.
            Pacing::Request => Draw { spend: offer.draw.spend, ..Draw::default() },
        };
        let taken = self.windows.take(&lane.spec, &draw, now_ms);
        self.budget.reserve(reservation);
        let attempts = waiting.tasks.iter().filter_map(|task| self.tasks.get(task)).map(|task| task.attempts).max();
        commands.push(Command::Launch {
            slot,
            lane: lane.spec.name.clone(),
            tasks: waiting.tasks.clone(),
            attempt: attempts.unwrap_or(0).saturating_add(1),
            micro_usd: reservation.micro_usd,
        });
        commands.push(Command::Note(decision));
        let epoch = lane.epoch;
        let requests = BTreeMap::new();
        self.running
            .insert(slot, Running { waiting, lane: offer.lane, epoch, began_ms: now_ms, taken, reservation, requests });
    }

    /// Notes why a lane does not take a packet, when that is news for the lane.
    fn note_refusal(&mut self, group: &Group, offer: &Offer, now_ms: u64, commands: &mut Vec<Command>) {
        let (Err(refusal), Some(waiting)) = (&offer.answer, self.queue.head(group)) else { return };
        let lane = &mut self.lanes[offer.lane];
        if lane.last_refusal.as_ref().is_some_and(|last| last.is_like(refusal)) {
            return;
        }
        lane.last_refusal = Some(refusal.clone());
        let mut decision = decide(waiting, &lane.spec.name, None, &offer.verdict, now_ms);
        decision.reason = refusal.reason();
        decision.fits_at_ms = refusal.fits_at_ms();
        commands.push(Command::Note(decision));
    }
}

fn decide(waiting: &Waiting, lane: &str, slot: Option<SlotKey>, verdict: &Verdict, now_ms: u64) -> Decision {
    Decision {
        at_ms: now_ms,
        slot,
        first_task: waiting.tasks.first().cloned().unwrap_or_else(|| "".into()),
        tasks: waiting.tasks.len(),
        lane: lane.to_owned(),
        admitted: slot.is_some(),
        reason: "fits".to_owned(),
        windows: verdict.consulted.clone(),
        binding: if slot.is_some() { verdict.tightest() } else { verdict.binding },
        fits_at_ms: slot.map(|_| now_ms),
    }
}
