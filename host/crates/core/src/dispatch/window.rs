//! One limit as a token bucket that live readings pull down.

use serde::{Deserialize, Serialize};

/// A window whose length is at least this does not refill before a reset that the service names: plans count that way.
const FIXED_FROM_MS: u64 = 60 * 60_000;
/// Resets that lie closer together than this are one reset.
const SAME_RESET_MS: u64 = 1_000;
/// Furthest instant that a service may put a reset or a retry to; a month's window is the longest there is.
pub(super) const LONGEST_HINT_MS: u64 = 32 * 24 * 60 * 60_000;
/// Part of a draw that rounding may miss, so that what fits at an instant does fit when it has come.
const ROUNDING: f64 = 1e-6;

/// What a window counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dimension {
    /// Requests.
    Requests,
    /// Tokens in and out together.
    Tokens,
    /// Tokens in.
    InputTokens,
    /// Tokens out.
    OutputTokens,
    /// Launches at once, or requests at once where a lane is paced by requests.
    Concurrency,
    /// Millionths of a US dollar.
    Spend,
}

impl Dimension {
    /// The word of the interface.
    pub fn as_str(self) -> &'static str {
        match self {
            Dimension::Requests => "requests",
            Dimension::Tokens => "tokens",
            Dimension::InputTokens => "input-tokens",
            Dimension::OutputTokens => "output-tokens",
            Dimension::Concurrency => "concurrency",
            Dimension::Spend => "spend",
        }
    }

    /// The dimension of a word of the interface; none for words that later versions may bring.
    pub fn parse(word: &str) -> Option<Self> {
        use Dimension::{Concurrency, InputTokens, OutputTokens, Requests, Spend, Tokens};
        [Requests, Tokens, InputTokens, OutputTokens, Concurrency, Spend].into_iter().find(|d| d.as_str() == word)
    }

    /// Whether draws are known beforehand, so that no headroom is needed.
    fn is_exact(self) -> bool {
        matches!(self, Dimension::Concurrency | Dimension::Spend)
    }
}

/// Which window: whose, of what, over which time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WindowKey {
    /// The account, or `account/model` where the limit is the model's alone.
    pub holder: String,
    /// What is counted.
    pub dimension: Dimension,
    /// Over which time, in milliseconds; 0 for concurrency.
    pub period_ms: u64,
}

/// When a draw fits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// Now.
    Now,
    /// At this instant, milliseconds since the Unix epoch, if nobody else draws meanwhile.
    At(u64),
    /// When something that is in flight ends.
    OnRelease,
    /// Never: it is larger than the limit.
    Never,
}

/// The state of one limit.
///
/// Every instant is in milliseconds since the Unix epoch, every amount in the dimension's unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Over which time it refills; 0 when only ended launches give back.
    pub period_ms: u64,
    /// The limit that the configuration names.
    pub declared: Option<u64>,
    /// The limit that the service named last.
    pub read_limit: Option<u64>,
    /// The most that was ever left; it stands in for a limit that nobody names.
    pub largest_seen: u64,
    /// Share of the limit that is used.
    pub margin: f64,
    /// What is left, as of `updated_ms`; negative when more was drawn than expected.
    pub level: f64,
    /// When `level` was computed.
    pub updated_ms: u64,
    /// When the service was last heard.
    pub read_ms: Option<u64>,
    /// When it is full again.
    pub resets_at_ms: Option<u64>,
    /// When the service first named this reset, and what was left then.
    pub reset_told: Option<(u64, u64)>,
    /// What the service said was left, while nothing refills before the reset.
    pub held_at: Option<u64>,
    /// Whether it is known to fill up at the reset and not before.
    #[serde(default)]
    pub stands_still: bool,
}

impl Window {
    /// An empty description of a window that is full: limits are added by `declare` and `read`.
    pub fn new(key: &WindowKey, margin: f64, now_ms: u64) -> Self {
        let margin = if margin.is_finite() { margin.clamp(0.01, 1.0) } else { 0.8 };
        Self {
            period_ms: if key.dimension == Dimension::Concurrency { 0 } else { key.period_ms.max(1) },
            declared: None,
            read_limit: None,
            largest_seen: 0,
            margin: if key.dimension.is_exact() { 1.0 } else { margin },
            level: 0.0,
            updated_ms: now_ms,
            read_ms: None,
            resets_at_ms: None,
            reset_told: None,
            held_at: None,
            stands_still: false,
        }
    }

    /// Sets the limit that the configuration names. What is drawn already stays drawn.
    pub fn declare(&mut self, limit: u64) {
        if self.declared != Some(limit) {
            self.relimit(|window| window.declared = Some(limit));
        }
    }

    /// Sets the share of the limit that is used. What is drawn already stays drawn.
    pub(super) fn set_margin(&mut self, margin: f64) {
        if self.margin != margin {
            self.relimit(|window| window.margin = margin);
        }
    }

    /// Forgets the limit that the configuration named.
    pub(super) fn undeclare(&mut self) {
        self.relimit(|window| window.declared = None);
    }

    /// The limit: the lower one of what is configured and what the service says.
    pub fn limit(&self) -> Option<u64> {
        match (self.declared, self.read_limit) {
            (Some(declared), Some(read)) => Some(declared.min(read)),
            (declared, read) => declared.or(read),
        }
    }

    /// What it holds when it is full, as far as that is known.
    pub fn capacity(&self) -> f64 {
        match self.limit() {
            // One unit must fit even where the margin leaves less of a small limit.
            Some(limit) => (limit as f64 * self.margin).max(limit.min(1) as f64),
            None => self.largest_seen as f64,
        }
    }

    /// What is left at an instant, if nothing is drawn until then.
    pub fn level_at(&self, now_ms: u64) -> f64 {
        let capacity = self.capacity();
        match self.resets_at_ms.filter(|_| self.stands_still) {
            Some(reset) if reset <= now_ms => capacity,
            Some(_) => self.level.min(capacity),
            // The reset of a bucket says when it would be full if nothing were drawn any more; it fills by its rate alone.
            None => (self.level + self.refill(self.updated_ms, now_ms)).min(capacity),
        }
    }

    /// When the draw fits. A draw between the capacity and the limit goes when the window is full.
    pub fn fits_at(&self, draw: f64, now_ms: u64) -> Fit {
        if draw <= 0.0 {
            return Fit::Now;
        }
        if self.limit().is_some_and(|limit| draw > limit as f64) {
            return Fit::Never;
        }
        let future_reset = self.resets_at_ms.filter(|reset| *reset > now_ms && self.held_at.is_some());
        if let (Some(reset), Some(0)) = (future_reset, self.held_at) {
            return Fit::At(reset);
        }
        let need = draw.min(self.capacity());
        let missing = need - self.level_at(now_ms);
        if missing <= ROUNDING * (1.0 + need) {
            return Fit::Now;
        }
        if self.period_ms == 0 {
            return Fit::OnRelease;
        }
        match future_reset.or_else(|| self.refilled_by(missing, now_ms)) {
            Some(at) => Fit::At(at),
            None => Fit::Never,
        }
    }

    /// Takes a draw; the level may become negative, by one full window at most. Gives what was taken, which is all that can
    /// be given back.
    pub fn take(&mut self, draw: f64, now_ms: u64) -> f64 {
        self.advance(now_ms);
        let before = self.level;
        self.level = (before - draw.max(0.0)).max(-self.capacity()).min(before);
        before - self.level
    }

    /// Gives back the part of a draw that was not needed; a negative amount takes what was drawn beyond it.
    /// It never lifts a held window above what the service said is left.
    pub fn give_back(&mut self, amount: f64, now_ms: u64) {
        self.advance(now_ms);
        if amount < 0.0 {
            self.take(-amount, now_ms);
            return;
        }
        let ceiling = self.held_at.map_or(f64::MAX, |held| self.level.max(held as f64));
        self.level = (self.level + amount).min(self.capacity()).min(ceiling);
    }

    /// Takes in what the service says. It only ever lowers the level: a reading knows nothing of what is under way. It was
    /// said at some instant between `sent_ms`, when what it answers was sent, and now.
    pub fn read(
        &mut self,
        limit: Option<u64>,
        remaining: Option<u64>,
        resets_at_ms: Option<u64>,
        sent_ms: u64,
        now_ms: u64,
    ) {
        self.advance(now_ms);
        // A limit of nothing would be no service at all; services write it for "not known".
        if let Some(limit) = limit.filter(|limit| *limit > 0 && self.read_limit != Some(*limit)) {
            self.relimit(|window| window.read_limit = Some(limit));
        }
        self.read_ms = Some(now_ms);
        if self.period_ms == 0 {
            return;
        }
        if let Some(left) = remaining.filter(|left| *left > self.largest_seen) {
            self.relimit(|window| window.largest_seen = left);
        }
        if let Some(left) = remaining {
            self.level = self.level.min(left as f64);
        }
        let reset = resets_at_ms.filter(|at| *at > now_ms).map(|at| at.min(now_ms.saturating_add(LONGEST_HINT_MS)));
        if let Some(reset) = reset {
            self.read_reset(reset, remaining, sent_ms, now_ms);
        }
    }

    fn read_reset(&mut self, reset: u64, remaining: Option<u64>, sent_ms: u64, now_ms: u64) {
        let known = self.resets_at_ms;
        self.stands_still |=
            self.stood_still(reset, remaining, sent_ms) || self.period_ms >= FIXED_FROM_MS || self.limit().is_none();
        // What is spent waits for its reset, but only what stands still is full then.
        let is_spent = remaining == Some(0) && !self.fills_evenly(reset, sent_ms, now_ms);
        if is_spent || self.held_at.is_some() || self.stands_still {
            let left = remaining.unwrap_or(u64::MAX).min(self.held_at.unwrap_or(u64::MAX));
            self.held_at = Some(left);
            self.resets_at_ms = Some(known.map_or(reset, |known| known.max(reset)));
        } else if known.is_none_or(|known| known.abs_diff(reset) > SAME_RESET_MS) {
            self.resets_at_ms = Some(reset);
            self.reset_told = remaining.map(|left| (now_ms, left));
        }
    }

    /// Whether the window refills at its reset only. The reset of a bucket is when it will be full: some time later and with
    /// no more left, that lies later by at least that time. Answers arrive in any order, so that only one counts that was
    /// asked for after the other had come, and what is left is told in whole units.
    fn stood_still(&self, reset: u64, remaining: Option<u64>, sent_ms: u64) -> bool {
        let same = self.resets_at_ms.is_some_and(|known| known.abs_diff(reset) <= SAME_RESET_MS);
        let (Some((told_ms, left_then)), Some(left)) = (self.reset_told, remaining) else { return false };
        same && left <= left_then && sent_ms.saturating_sub(told_ms) >= 2 * SAME_RESET_MS + self.unit_ms()
    }

    /// Whether an empty bucket would be full at the reset, reckoned from any instant at which this may have been said: such a
    /// one refills, although it is spent.
    fn fills_evenly(&self, reset: u64, sent_ms: u64, now_ms: u64) -> bool {
        let earliest = sent_ms.saturating_add(self.period_ms).saturating_sub(2 * SAME_RESET_MS + self.unit_ms());
        let latest = now_ms.saturating_add(self.period_ms).saturating_add(2 * SAME_RESET_MS);
        (earliest..=latest).contains(&reset)
    }

    /// Time in which one unit refills.
    fn unit_ms(&self) -> u64 {
        self.period_ms / self.read_limit.unwrap_or(1).max(1)
    }

    /// Brings the level up to an instant.
    fn advance(&mut self, now_ms: u64) {
        if now_ms < self.updated_ms {
            return;
        }
        self.level = self.level_at(now_ms);
        self.updated_ms = now_ms;
        if self.resets_at_ms.is_some_and(|reset| reset <= now_ms) {
            self.resets_at_ms = None;
            self.reset_told = None;
            self.held_at = None;
            self.stands_still = false;
        }
    }

    /// Changes the limit and keeps what is drawn.
    fn relimit(&mut self, change: impl FnOnce(&mut Self)) {
        let before = self.capacity();
        change(self);
        self.level += self.capacity() - before;
    }

    /// Units a millisecond: the whole limit while the service is heard, less the margin while it is not.
    fn rates(&self) -> (f64, f64) {
        let period = self.period_ms as f64;
        match self.limit() {
            _ if self.period_ms == 0 => (0.0, 0.0),
            Some(limit) => (limit as f64 / period, self.capacity() / period),
            None => (self.capacity() / period, self.capacity() / period),
        }
    }

    /// Until when the window counts as heard.
    fn heard_until(&self) -> u64 {
        self.read_ms.map_or(0, |read| read.saturating_add(self.period_ms))
    }

    fn refill(&self, from_ms: u64, to_ms: u64) -> f64 {
        let (heard, unheard) = self.rates();
        let all = to_ms.saturating_sub(from_ms);
        let while_heard = self.heard_until().min(to_ms).saturating_sub(from_ms);
        while_heard as f64 * heard + all.saturating_sub(while_heard) as f64 * unheard
    }

    /// When so much more has come in, from now on.
    fn refilled_by(&self, missing: f64, now_ms: u64) -> Option<u64> {
        let (heard, unheard) = self.rates();
        if unheard <= 0.0 {
            return None;
        }
        let heard_ms = self.heard_until().saturating_sub(now_ms);
        let by_heard = heard_ms as f64 * heard;
        let wait = if missing <= by_heard { missing / heard } else { heard_ms as f64 + (missing - by_heard) / unheard };
        Some(now_ms.saturating_add((wait.ceil() as u64).max(1)))
    }
}
