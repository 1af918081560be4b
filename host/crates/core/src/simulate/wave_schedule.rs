//! How the predecessor chose the width of a wave, for comparison only: limits per minute taken as widths, and weights for
//! every width that was tried.

use std::collections::BTreeMap;

/// Share of a limit that a wave uses.
const MARGIN: f64 = 0.8;
/// Time in which a weight halves.
const HALF_LIFE_MS: f64 = 24.0 * 60.0 * 60_000.0;
/// Width of a hosted agent of which nothing is known, and of anything else.
const HOSTED_WIDTH: u32 = 8;
const FIRST_CONTACT_WIDTH: u32 = 3;
/// Weight of success from which a width counts as proved, and from which the next one is tried.
const PROVED: f64 = 0.5;
const PROVED_WELL: f64 = 2.0;
/// Widest that is looked at.
const WIDEST: u32 = 32;
/// Widths above a failed one that are blamed with it.
const BLAMED_ABOVE: u32 = 4;
const FIRST_COOLDOWN_MS: u64 = 60_000;
const LONGEST_COOLDOWN_MS: u64 = 900_000;

/// What is known before a wave.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    pub(super) requests_per_minute: Option<u64>,
    pub(super) input_tokens_per_minute: Option<u64>,
    pub(super) is_hosted_agent: bool,
}

/// How a wave went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaveOutcome {
    Success,
    RateLimited,
    /// Any other error of any launch.
    Failure,
}

/// Success and failure of one width.
#[derive(Clone, Copy, Debug, Default)]
struct Weights {
    success: f64,
    failure: f64,
}

/// What earlier waves have taught.
#[derive(Clone, Debug, Default)]
pub(super) struct Learned {
    widths: BTreeMap<u32, Weights>,
    updated_ms: u64,
    pub(super) cooldown_until_ms: u64,
    refusals_in_a_row: u32,
    has_waves: bool,
}

impl Learned {
    /// Width of the next wave; `slots` are the tokens of what waits.
    pub(super) fn width(&self, known: &Known, requested: u32, slots: &[u64], now_ms: u64) -> u32 {
        if self.cooldown_until_ms > now_ms {
            return 1;
        }
        let mut width = requested;
        if let Some(limit) = known.requests_per_minute {
            width = width.min(((limit as f64 * MARGIN) as u32).max(1));
        }
        if let Some(limit) = known.input_tokens_per_minute {
            width = width.min(fitting(slots, limit as f64 * MARGIN, width));
        }
        let nothing_known = known.requests_per_minute.is_none() && known.input_tokens_per_minute.is_none();
        if self.has_waves {
            width = width.min(self.ramp(now_ms));
        } else if known.is_hosted_agent {
            width = width.min(HOSTED_WIDTH);
        } else if nothing_known {
            width = width.min(FIRST_CONTACT_WIDTH);
        }
        width.max(1)
    }

    /// Takes in how a wave of this width went.
    pub(super) fn record(&mut self, width: u32, outcome: WaveOutcome, now_ms: u64) {
        let decay = self.decay(now_ms);
        for weights in self.widths.values_mut() {
            weights.success *= decay;
            weights.failure *= decay;
        }
        (self.updated_ms, self.has_waves) = (now_ms, true);
        let failure = match outcome {
            WaveOutcome::Success => {
                (1..=width).for_each(|width| self.widths.entry(width).or_default().success += 1.0);
                self.refusals_in_a_row = 0;
                return;
            }
            WaveOutcome::RateLimited => {
                let pause = FIRST_COOLDOWN_MS << self.refusals_in_a_row.min(8);
                self.cooldown_until_ms = now_ms.saturating_add(pause.min(LONGEST_COOLDOWN_MS));
                self.refusals_in_a_row = self.refusals_in_a_row.saturating_add(1);
                1.0 + 0.5 * f64::from(self.refusals_in_a_row - 1)
            }
            WaveOutcome::Failure => 1.0,
        };
        (width..=width.saturating_add(BLAMED_ABOVE))
            .for_each(|width| self.widths.entry(width).or_default().failure += failure);
    }

    fn decay(&self, now_ms: u64) -> f64 {
        0.5_f64.powf(now_ms.saturating_sub(self.updated_ms) as f64 / HALF_LIFE_MS)
    }

    /// The widest proved width, or one more when it is proved well and never failed.
    fn ramp(&self, now_ms: u64) -> u32 {
        let decay = self.decay(now_ms);
        let of = |width: u32| self.widths.get(&width).copied().unwrap_or_default();
        let is_safe = |width: &u32| {
            let weights = of(*width);
            weights.success * decay >= PROVED && weights.success > weights.failure
        };
        let safe = (1..=WIDEST).take_while(is_safe).last().unwrap_or(1);
        let proved = of(safe);
        if proved.success * decay >= PROVED_WELL && proved.failure == 0.0 { safe + 1 } else { safe }
    }
}

/// How many of the largest slots fit a budget of tokens together.
fn fitting(slots: &[u64], budget: f64, most: u32) -> u32 {
    let mut sizes = slots.to_vec();
    sizes.sort_unstable_by(|a, b| b.cmp(a));
    let mut width = most.max(1);
    while width > 1 && sizes.iter().take(width as usize).map(|size| *size as f64).sum::<f64>() > budget {
        width -= 1;
    }
    width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_wave_is_as_wide_as_the_predecessors() {
        let cold = |known: Known, requested| Learned::default().width(&known, requested, &[100; 20], 0);
        assert_eq!(cold(Known { is_hosted_agent: true, ..Known::default() }, 10), 8);
        assert_eq!(cold(Known::default(), 10), 3);
        assert_eq!(cold(Known { requests_per_minute: Some(10), ..Known::default() }, 20), 8);
        assert_eq!(cold(Known { input_tokens_per_minute: Some(1_000), ..Known::default() }, 20), 8);
    }

    #[test]
    fn a_success_at_one_after_a_cold_eight_makes_the_next_wave_one() {
        let mut learned = Learned::default();
        learned.record(1, WaveOutcome::Success, 0);
        assert_eq!(learned.width(&Known::default(), 8, &[1; 8], 0), 1);
    }

    #[test]
    fn refusals_in_a_row_double_the_cooldown_and_let_one_through() {
        let mut learned = Learned::default();
        for pause in [60_000, 120_000, 240_000, 480_000, 900_000, 900_000] {
            learned.record(4, WaveOutcome::RateLimited, 0);
            assert_eq!(learned.cooldown_until_ms, pause);
            assert_eq!(learned.width(&Known::default(), 8, &[1; 8], 0), 1);
        }
    }

    #[test]
    fn a_width_that_ever_failed_is_never_widened_again() {
        let mut learned = Learned::default();
        (0..5).for_each(|_| learned.record(4, WaveOutcome::Success, 0));
        assert_eq!(learned.width(&Known::default(), 9, &[1; 9], 0), 5);
        learned.record(4, WaveOutcome::Failure, 0);
        assert_eq!(learned.width(&Known::default(), 9, &[1; 9], 0), 4);
    }
}
