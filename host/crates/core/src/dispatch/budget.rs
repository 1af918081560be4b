//! What a run may spend: reserved when a launch is admitted, settled when it has ended.

use serde::Serialize;

use super::spec::Limits;

/// What a run has spent and what is reserved for launches in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spent {
    /// Launches that were started.
    pub launches: u32,
    /// Tokens in and out of launches that have ended.
    pub tokens: u64,
    /// Millionths of a US dollar of launches that have ended.
    pub micro_usd: u64,
    /// Tokens that launches in flight may still draw.
    pub reserved_tokens: u64,
    /// Millionths of a US dollar that launches in flight may still cost.
    pub reserved_micro_usd: u64,
}

/// What one launch may spend at most; absent where nobody can bound it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) tokens: Option<u64>,
    pub(super) micro_usd: Option<u64>,
}

/// What is held for one launch; absent where the run has no such budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reservation {
    pub(super) tokens: Option<u64>,
    pub(super) micro_usd: Option<u64>,
}

/// The budgets of a run.
#[derive(Clone, Debug)]
pub(super) struct Budget {
    limits: Limits,
    pub(super) spent: Spent,
}

impl Budget {
    pub(super) fn new(limits: Limits) -> Self {
        Self { limits, spent: Spent::default() }
    }

    /// Whether no launch may start whatever it costs.
    pub(super) fn launches_are_spent(&self) -> bool {
        self.limits.launches.is_some_and(|most| self.spent.launches >= most)
    }

    /// Whether a launch with this bound is covered; else the name of the budget that is not.
    ///
    /// What nobody can bound is covered by all that is left, so that such launches go one at a time.
    pub(super) fn quote(&self, bound: Bound) -> Result<Reservation, &'static str> {
        if self.launches_are_spent() {
            return Err("launches");
        }
        let spent = &self.spent;
        let tokens = cover(self.limits.tokens, spent.tokens, spent.reserved_tokens, bound.tokens).ok_or("tokens")?;
        let money = cover(self.limits.micro_usd, spent.micro_usd, spent.reserved_micro_usd, bound.micro_usd);
        Ok(Reservation { tokens, micro_usd: money.ok_or("usd")? })
    }

    /// Holds what was quoted; one launch has started.
    pub(super) fn reserve(&mut self, reservation: Reservation) {
        let spent = &mut self.spent;
        spent.launches = spent.launches.saturating_add(1);
        spent.reserved_tokens = spent.reserved_tokens.saturating_add(reservation.tokens.unwrap_or(0));
        spent.reserved_micro_usd = spent.reserved_micro_usd.saturating_add(reservation.micro_usd.unwrap_or(0));
    }

    /// Replaces a reservation by what was spent; where that is not known, all that was reserved counts as spent.
    pub(super) fn settle(&mut self, reservation: Reservation, tokens: Option<u64>, micro_usd: Option<u64>) {
        let spent = &mut self.spent;
        let (held_tokens, held_money) = (reservation.tokens.unwrap_or(0), reservation.micro_usd.unwrap_or(0));
        spent.reserved_tokens = spent.reserved_tokens.saturating_sub(held_tokens);
        spent.reserved_micro_usd = spent.reserved_micro_usd.saturating_sub(held_money);
        spent.tokens = spent.tokens.saturating_add(tokens.unwrap_or(held_tokens));
        spent.micro_usd = spent.micro_usd.saturating_add(micro_usd.unwrap_or(held_money));
    }
}

/// What to hold of one budget: `Some(None)` where there is none, nothing where it does not cover the bound.
#[expect(clippy::option_option, reason = "no budget and a budget that is too small are two things")]
fn cover(limit: Option<u64>, spent: u64, reserved: u64, bound: Option<u64>) -> Option<Option<u64>> {
    let Some(limit) = limit else { return Some(None) };
    let left = limit.saturating_sub(spent).saturating_sub(reserved);
    match bound {
        Some(bound) => (bound <= left && (left > 0 || bound == 0)).then_some(Some(bound)),
        None => (left > 0).then_some(Some(left)),
    }
}
