//! The windows of all lanes and accounts: which are consulted, what is taken from them and what readings say.

use std::collections::BTreeMap;

use super::command::Consulted;
use super::draw::Draw;
use super::spec::{LaneSpec, Scope, WindowSpec};
use super::window::{Dimension, Fit, Window, WindowKey};
use crate::plugin::{Limit, Reading};

/// Windows that one holder may have; a service that names ever new ones is not followed further.
const MOST_WINDOWS: usize = 48;
/// Limits of one reading that are looked at.
const MOST_LIMITS: usize = 32;
const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// What a launch or request took, window by window, so that exactly that can be settled.
pub(super) type Taken = Vec<(WindowKey, f64)>;

/// What the windows of a lane say to a draw.
pub(super) struct Verdict {
    pub(super) consulted: Vec<Consulted>,
    /// Parallel to `consulted`.
    pub(super) fits: Vec<Fit>,
    /// The window that fits last.
    pub(super) binding: Option<usize>,
}

impl Verdict {
    pub(super) fn fit(&self) -> Fit {
        self.binding.map_or(Fit::Now, |at| self.fits[at])
    }

    /// The window that is left with the least, if the draw is taken.
    pub(super) fn tightest(&self) -> Option<usize> {
        let rest = |at: &usize| {
            let consulted = &self.consulted[*at];
            (consulted.level - consulted.draw) / consulted.capacity.unwrap_or(1.0).max(1.0)
        };
        (0..self.consulted.len()).min_by(|a, b| rest(a).total_cmp(&rest(b)))
    }

    /// The windows that do not take the draw now.
    pub(super) fn refusing(&self) -> impl Iterator<Item = &WindowKey> {
        self.consulted.iter().zip(&self.fits).filter(|(_, fit)| **fit != Fit::Now).map(|(consulted, _)| &consulted.key)
    }
}

/// All windows by their keys.
#[derive(Clone, Debug, Default)]
pub(super) struct Windows(pub(super) BTreeMap<WindowKey, Window>);

impl Windows {
    /// Brings the windows in line with what the configuration of these lanes names. Where lanes of one account name one
    /// window, the lowest limit holds.
    pub(super) fn declare<'a>(&mut self, lanes: impl Iterator<Item = &'a LaneSpec> + Clone) {
        let mut named: BTreeMap<WindowKey, (u64, f64)> = BTreeMap::new();
        for (lane, spec) in lanes.clone().flat_map(|lane| lane.windows.iter().map(move |spec| (lane, spec))) {
            let (limit, margin) = named.entry(key_of_spec(lane, spec)).or_insert((u64::MAX, 1.0));
            (*limit, *margin) = ((*limit).min(spec.limit), margin.min(lane.margin));
        }
        let ours = |key: &WindowKey| lanes.clone().any(|lane| is_of(lane, key));
        self.0.retain(|key, window| {
            if window.declared.is_some() && ours(key) && !named.contains_key(key) {
                window.undeclare();
            }
            window.limit().is_some() || window.read_ms.is_some()
        });
        for (key, (limit, margin)) in named {
            let fresh = Window::new(&key, margin, 0);
            let window = self.0.entry(key).or_insert_with(|| fresh.clone());
            window.set_margin(fresh.margin);
            window.declare(limit);
        }
    }

    /// What the windows of a lane and its account say to a draw. A draw that is `spread` over time, or cannot be made smaller
    /// any more, may be larger than a limit; it goes when the window is full.
    pub(super) fn consult(&self, lane: &LaneSpec, draw: &Draw, spread: bool, now_ms: u64) -> Verdict {
        let mut verdict = Verdict { consulted: Vec::new(), fits: Vec::new(), binding: None };
        for (key, window) in self.of(lane) {
            let amount = draw.amount(key.dimension, window.capacity());
            let limit = window.limit();
            let needed = limit.filter(|limit| spread && *limit > 0).map_or(amount, |limit| amount.min(limit as f64));
            let fit = window.fits_at(needed, now_ms);
            verdict.consulted.push(Consulted {
                key: key.clone(),
                level: window.level_at(now_ms),
                draw: amount,
                capacity: (limit.is_some() || window.largest_seen > 0).then(|| window.capacity()),
                fits_at_ms: match fit {
                    Fit::Now => Some(now_ms),
                    Fit::At(at) => Some(at),
                    Fit::OnRelease | Fit::Never => None,
                },
            });
            verdict.fits.push(fit);
        }
        verdict.binding = (0..verdict.fits.len()).rev().max_by_key(|at| lateness(verdict.fits[*at]));
        verdict
    }

    /// Takes a draw from every window of a lane.
    pub(super) fn take(&mut self, lane: &LaneSpec, draw: &Draw, now_ms: u64) -> Taken {
        let mut taken = Vec::new();
        for (key, window) in self.0.iter_mut().filter(|(key, _)| is_of(lane, key)) {
            let amount = draw.amount(key.dimension, window.capacity());
            if amount > 0.0 {
                let took = window.take(amount, now_ms);
                taken.push((key.clone(), took));
            }
        }
        taken
    }

    /// Replaces what was taken by what was really drawn; `actual` says it for a dimension, and nothing where it is unknown.
    pub(super) fn settle(&mut self, taken: &Taken, actual: impl Fn(Dimension, f64) -> Option<f64>, now_ms: u64) {
        for (key, amount) in taken {
            if let (Some(window), Some(actual)) = (self.0.get_mut(key), actual(key.dimension, *amount)) {
                window.give_back(amount - actual, now_ms);
            }
        }
    }

    /// Takes a draw that began before a window was known: the window holds at most what it leaves.
    pub(super) fn take_late(&mut self, lane: &LaneSpec, draw: &Draw, taken: &mut Taken, now_ms: u64) {
        for (key, window) in self.0.iter_mut().filter(|(key, _)| is_of(lane, key)) {
            let amount = draw.amount(key.dimension, window.capacity());
            if amount > 0.0 && taken.iter().all(|(known, _)| known != key) {
                let took = window.take(amount, now_ms);
                taken.push((key.clone(), took));
            }
        }
    }

    /// Takes in what a service says of the limits of a lane: what was sent at `sent_ms` is answered.
    pub(super) fn read(&mut self, lane: &LaneSpec, readings: &[Reading], sent_ms: u64, now_ms: u64) {
        for limit in readings.iter().flat_map(|reading| reading.limits.iter().take(MOST_LIMITS)) {
            let Some(key) = self.key_of(lane, limit, now_ms) else { continue };
            if limit.limit.is_none() && limit.remaining.is_none() {
                continue;
            }
            let known = self.0.contains_key(&key);
            if !known && self.of_holder(&key.holder).count() >= MOST_WINDOWS {
                continue;
            }
            let window = self.0.entry(key).or_insert_with_key(|key| Window::new(key, lane.margin, now_ms));
            window.read(limit.limit, limit.remaining, limit.resets_at_ms, sent_ms, now_ms);
        }
    }

    /// The windows that a lane draws on.
    pub(super) fn of(&self, lane: &LaneSpec) -> impl Iterator<Item = (&WindowKey, &Window)> {
        self.0.iter().filter(move |(key, _)| is_of(lane, key))
    }

    fn of_holder(&self, holder: &str) -> impl Iterator<Item = (&WindowKey, &Window)> {
        self.0.iter().filter(move |(key, _)| key.holder == holder)
    }

    /// The window that a limit is told of. Where its length is not told, it is the window that is known by the same limit,
    /// else the usual minute, unless the reset lies beyond that.
    fn key_of(&self, lane: &LaneSpec, limit: &Limit, now_ms: u64) -> Option<WindowKey> {
        let dimension = Dimension::parse(&limit.dimension)?;
        let holder = holder(lane, if limit.scope == "model" { Scope::Model } else { Scope::Account });
        let period_ms = match limit.window_seconds {
            _ if dimension == Dimension::Concurrency => 0,
            Some(seconds) if seconds > 0 => seconds.saturating_mul(1_000).min(400 * DAY_MS),
            _ => self.known_period(&holder, dimension, limit).unwrap_or_else(|| usual_period(limit, now_ms)),
        };
        Some(WindowKey { holder, dimension, period_ms })
    }

    fn known_period(&self, holder: &str, dimension: Dimension, limit: &Limit) -> Option<u64> {
        let like = |window: &Window| {
            (limit.limit.is_some() && (window.read_limit == limit.limit || window.declared == limit.limit))
                || (limit.limit.is_none() && window.resets_at_ms.is_some() && window.resets_at_ms == limit.resets_at_ms)
        };
        let mut known = self.of_holder(holder).filter(|(key, window)| key.dimension == dimension && like(window));
        known.next().map(|(key, _)| key.period_ms)
    }
}

/// A minute, or the distance of the reset in whole minutes, hours or days.
fn usual_period(limit: &Limit, now_ms: u64) -> u64 {
    let distance = limit.resets_at_ms.unwrap_or(0).saturating_sub(now_ms);
    let unit = match distance {
        0..=MINUTE_MS => return MINUTE_MS,
        _ if distance <= HOUR_MS => HOUR_MS,
        _ => DAY_MS,
    };
    distance.div_ceil(unit).saturating_mul(unit).min(32 * DAY_MS)
}

fn key_of_spec(lane: &LaneSpec, spec: &WindowSpec) -> WindowKey {
    let period_ms = if spec.dimension == Dimension::Concurrency { 0 } else { spec.period_ms.max(1) };
    WindowKey { holder: holder(lane, spec.scope), dimension: spec.dimension, period_ms }
}

fn holder(lane: &LaneSpec, scope: Scope) -> String {
    match (scope, &lane.model) {
        (Scope::Model, Some(model)) => format!("{}/{model}", lane.account),
        _ => lane.account.clone(),
    }
}

fn is_of(lane: &LaneSpec, key: &WindowKey) -> bool {
    let rest = key.holder.strip_prefix(&lane.account);
    match (rest, &lane.model) {
        (Some(""), _) => true,
        (Some(rest), Some(model)) => rest.strip_prefix('/') == Some(model),
        _ => false,
    }
}

fn lateness(fit: Fit) -> (u8, u64) {
    match fit {
        Fit::Now => (0, 0),
        Fit::At(at) => (1, at),
        Fit::OnRelease => (2, 0),
        Fit::Never => (3, 0),
    }
}
