//! What the plugin says of itself.

use assize_reading::{Evidence, LimitReader, Reading};

use crate::read::read_evidence;

/// The reader of what agent programs say.
pub struct Cli;

impl LimitReader for Cli {
    const NAME: &'static str = "cli";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const SUMMARY: &'static str = "Reads the sentences and events in which agent programs say that a limit was hit";
    const PROVIDERS: &'static [&'static str] = &["*"];

    fn read(evidence: &Evidence) -> Option<Reading> {
        read_evidence(evidence)
    }
}
