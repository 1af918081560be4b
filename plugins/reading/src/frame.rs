//! What a sentence is read in: when it was received, in whose zone it was written, and of whom it is.

use jiff::tz::TimeZone;

use crate::reading::Evidence;
use crate::zone::find_zone;

/// Name in the evidence's `extra` of the zone of the machine on which a program wrote its text. Without it a time of day
/// that names no zone is no instant.
pub const TIME_ZONE: &str = "time-zone";

/// The frame of one piece of evidence.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Milliseconds since the Unix epoch.
    pub received_at_ms: u64,
    /// Zone of the machine.
    pub zone: Option<TimeZone>,
    /// Provider.
    pub provider: String,
}

impl Frame {
    /// The frame of this evidence.
    pub fn of(evidence: &Evidence) -> Self {
        let zone =
            evidence.extra.iter().find(|(name, _)| name == TIME_ZONE).and_then(|(_, zone)| find_zone(zone.trim()));
        Self { received_at_ms: evidence.received_at_ms, zone, provider: evidence.provider.clone() }
    }
}
