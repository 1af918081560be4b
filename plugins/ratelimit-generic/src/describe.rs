//! What the plugin says of itself.

use assize_reading::{Evidence, LimitReader, Reading};

use crate::read::read_evidence;

/// The reader for services that have none of their own.
pub struct Generic;

impl LimitReader for Generic {
    const NAME: &'static str = "generic";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const SUMMARY: &'static str = "Reads limits in the headers and error bodies that services share";
    const PROVIDERS: &'static [&'static str] = &["*"];

    fn read(evidence: &Evidence) -> Option<Reading> {
        read_evidence(evidence)
    }
}
