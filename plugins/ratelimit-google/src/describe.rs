//! What the plugin says of itself.

use assize_reading::{Evidence, LimitReader, Reading};

use crate::read::read_evidence;

/// The reader of Google's limits.
pub struct Google;

impl LimitReader for Google {
    const NAME: &'static str = "google";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const SUMMARY: &'static str = "Reads the limits that Google's Gemini services tell";
    const PROVIDERS: &'static [&'static str] = &["google", "gemini", "vertex"];

    fn read(evidence: &Evidence) -> Option<Reading> {
        read_evidence(evidence)
    }
}
