//! What the plugin says of itself.

use assize_reading::{Evidence, LimitReader, Reading};

use crate::read::read_evidence;

/// The reader of Anthropic's limits.
pub struct Anthropic;

impl LimitReader for Anthropic {
    const NAME: &'static str = "anthropic";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const SUMMARY: &'static str = "Reads the limits that Anthropic's services and Claude Code tell";
    const PROVIDERS: &'static [&'static str] = &["claude-code", "anthropic"];

    fn read(evidence: &Evidence) -> Option<Reading> {
        read_evidence(evidence)
    }
}
