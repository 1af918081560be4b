//! The cases, as they stand in the files.

use assize_reading::{Evidence, Reading};
use serde::Deserialize;

/// One piece of evidence and what is right to read from it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Unique name.
    pub id: String,
    /// `headers`, `body`, `event`, `text` or `negative`.
    pub kind: String,
    /// Provider of the evidence.
    pub provider: String,
    /// The evidence, but for its provider.
    pub evidence: Evidence,
    /// The right reading; none for what is no limit.
    pub reading: Option<Reading>,
}

/// All cases.
pub fn corpus() -> Vec<Case> {
    const FILES: [&str; 5] = [
        include_str!("../../../../tests/data/limits/negatives.json"),
        include_str!("../../../../tests/data/limits/headers.json"),
        include_str!("../../../../tests/data/limits/bodies.json"),
        include_str!("../../../../tests/data/limits/texts.json"),
        include_str!("../../../../tests/data/limits/further.json"),
    ];
    let mut cases: Vec<Case> = FILES.iter().flat_map(|file| serde_json::from_str::<Vec<Case>>(file).unwrap()).collect();
    for case in &mut cases {
        case.evidence.provider.clone_from(&case.provider);
    }
    cases
}
