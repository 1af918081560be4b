//! What a reader says of itself, and the one thing that it does.

use crate::reading::{Evidence, Reading};

/// Schema of the configuration section of a reader: there is nothing to configure.
pub const CONFIG_SCHEMA: &str = r#"{"type":"object","properties":{},"additionalProperties":false}"#;

/// A reader of limits: plain functions, so that its logic is tested without a host.
pub trait LimitReader {
    /// Kebab-case name.
    const NAME: &'static str;
    /// Version, SemVer.
    const VERSION: &'static str;
    /// One sentence for lists.
    const SUMMARY: &'static str;
    /// Providers whose evidence it reads; `*` for all.
    const PROVIDERS: &'static [&'static str];

    /// What the evidence says of limits; absent when it says nothing that this reader knows.
    fn read(evidence: &Evidence) -> Option<Reading>;
}
