//! Findings about secrets, with the secrets masked: a report is passed on further than the repository is.
//!
//! Only the findings file keeps the exact text. Where it is unclear whether a word is the secret, it is masked.

use std::borrow::Cow;

use super::masking::{Known, mask_quote};
use crate::result::Finding;
use crate::review::{MergedFinding, VerificationState, normal_category};

/// Words in a category that make its findings ones about secrets.
const CATEGORIES: [&str; 3] = ["secret", "private-key", "credential"];

/// The finding as people may see it; owned where something was masked.
pub(super) fn hide_secrets(merged: &MergedFinding) -> Cow<'_, MergedFinding> {
    if !is_about_secret(merged) {
        return Cow::Borrowed(merged);
    }
    let mut known = Known::default();
    for quote in merged.sources.iter().filter_map(|source| source.finding.quote.as_deref()) {
        mask_quote(quote, &mut known);
    }
    let mut hidden = merged.clone();
    let finding = &mut hidden.finding;
    finding.quote = finding.quote.as_deref().map(|quote| mask_quote(quote, &mut known));
    let paths: Vec<String> = finding.affected_files.iter().take(PATHS).map(|place| place.path.clone()).collect();
    each_text(finding, |text| *text = known.conceal(text, &paths));
    if let VerificationState::Doubted { reason, .. }
    | VerificationState::Raised { reason, .. }
    | VerificationState::Lowered { reason, .. }
    | VerificationState::Refuted { reason, .. } = &mut hidden.verification
    {
        *reason = known.conceal(reason, &paths);
    }
    if hidden == *merged { Cow::Borrowed(merged) } else { Cow::Owned(hidden) }
}

/// Paths of a finding that are told from secrets in its texts.
const PATHS: usize = 20;

/// A merged finding may go by the category of any of its sources.
fn is_about_secret(merged: &MergedFinding) -> bool {
    let named = |category: &str| {
        let category = normal_category(category);
        CATEGORIES.iter().any(|word| category.contains(word))
    };
    named(&merged.finding.category) || merged.sources.iter().any(|source| named(&source.finding.category))
}

fn each_text(finding: &mut Finding, mut change: impl FnMut(&mut String)) {
    change(&mut finding.title);
    change(&mut finding.summary);
    for text in [&mut finding.impact, &mut finding.likelihood, &mut finding.fix].into_iter().flatten() {
        change(text);
    }
    finding.evidence.iter_mut().chain(&mut finding.reproduction).for_each(change);
}
