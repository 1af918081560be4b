//! Why a lane does not take a packet now, kept so that one reason is noted once.

use super::window::WindowKey;

/// Instants that lie closer together than this are one instant to a reader.
const SAME_INSTANT_MS: u64 = 1_000;

/// Why a lane does not take a packet now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// It cools down until an instant.
    Cooling(u64),
    /// Every place of its width is taken.
    Full,
    /// A probe is under way.
    Probing,
    /// A window does not take the draw before an instant, or before something ends.
    Window(WindowKey, Option<u64>),
    /// A packet or request before it waits for a window.
    Behind(WindowKey),
    /// The window is smaller than the draw.
    TooLarge(WindowKey),
    /// A budget of the run does not cover it.
    Budget(&'static str),
}

impl Refusal {
    /// One line for people.
    pub(super) fn reason(&self) -> String {
        match self {
            Refusal::Cooling(_) => "the lane cools down".to_owned(),
            Refusal::Full => "every place of the lane's width is taken".to_owned(),
            Refusal::Probing => "one launch goes first after the cooldown".to_owned(),
            Refusal::Window(key, Some(_)) => format!("{} of {} are spent for now", key.dimension.as_str(), key.holder),
            Refusal::Window(key, None) => format!("{} of {} is in use", key.dimension.as_str(), key.holder),
            Refusal::Behind(key) => {
                format!("another one waits for {} of {} before it", key.dimension.as_str(), key.holder)
            }
            Refusal::TooLarge(key) => format!("larger than the {} of {}", key.dimension.as_str(), key.holder),
            Refusal::Budget(which) => format!("what is left of the budget of {which} does not cover it"),
        }
    }

    /// When time alone makes it fit.
    pub(super) fn fits_at_ms(&self) -> Option<u64> {
        match self {
            Refusal::Cooling(at) | Refusal::Window(_, Some(at)) => Some(*at),
            _ => None,
        }
    }

    /// Whether a reader would call both the same.
    pub(super) fn is_like(&self, other: &Refusal) -> bool {
        match (self, other) {
            (Refusal::Cooling(a), Refusal::Cooling(b)) => a.abs_diff(*b) < SAME_INSTANT_MS,
            (Refusal::Window(key, Some(a)), Refusal::Window(other, Some(b))) => {
                key == other && a.abs_diff(*b) < SAME_INSTANT_MS
            }
            _ => self == other,
        }
    }
}
