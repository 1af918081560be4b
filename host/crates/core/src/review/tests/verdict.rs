//! What second opinions change.

use super::sample::{asking, clean, finding, judged, record, reviewer};
use crate::id::FindingId;
use crate::result::{Confidence, ReviewerKind, Severity, VerdictKind, Verification};
use crate::review::{KnownFinding, VerificationState, apply_verdicts, derive_findings};

fn one() -> (Vec<KnownFinding>, FindingId) {
    let known = derive_findings(&[], &[record("t", 1, vec![finding("a.rs", 3, "x")])]);
    let id = known[0].id.clone();
    (known, id)
}

#[test]
fn each_verdict_changes_the_finding() {
    let (known, id) = one();
    let task = asking("d", std::slice::from_ref(&id));
    for (kind, given, severity, state) in [
        (VerdictKind::Confirm, None, Severity::Medium, "confirmed"),
        (VerdictKind::Raise, Some(Severity::Critical), Severity::Critical, "raised"),
        (VerdictKind::Raise, None, Severity::High, "raised"),
        (VerdictKind::Raise, Some(Severity::Medium), Severity::Medium, "confirmed"),
        (VerdictKind::Lower, Some(Severity::Info), Severity::Info, "lowered"),
        (VerdictKind::Lower, None, Severity::Low, "lowered"),
        (VerdictKind::Refute, None, Severity::Medium, "refuted"),
    ] {
        let out =
            apply_verdicts(known.clone(), std::slice::from_ref(&task), &[judged(&task, 2, &[(&id, kind, given)])]);
        assert_eq!((out[0].finding.severity, out[0].verification.as_str()), (severity, state));
        let (judge, _) = out[0].verification.decision().expect("somebody decided");
        assert_eq!((&judge.task_name[..], judge.reviewer.kind), ("d", ReviewerKind::Agent));
    }
}

#[test]
fn a_later_verdict_beats_an_earlier_one_and_starts_from_the_first_severity() {
    let (known, id) = one();
    let (first, second) = (asking("d1", std::slice::from_ref(&id)), asking("d2", std::slice::from_ref(&id)));
    let raised = judged(&first, 5, &[(&id, VerdictKind::Raise, Some(Severity::Critical))]);
    let confirmed = judged(&second, 6, &[(&id, VerdictKind::Confirm, None)]);
    let out = apply_verdicts(known, &[first, second], &[confirmed, raised]);
    assert_eq!((out[0].verification.as_str(), out[0].finding.severity), ("confirmed", Severity::Medium));
}

#[test]
fn only_what_was_asked_is_judged_and_never_by_rules() {
    let (known, id) = one();
    let other = asking("d", &["SEC-ffffffff".into()]);
    let refute = [(&id, VerdictKind::Refute, None)];
    let out = apply_verdicts(known.clone(), std::slice::from_ref(&other), &[judged(&other, 2, &refute)]);
    assert_eq!(out[0].verification, VerificationState::Unverified);
    let task = asking("d", std::slice::from_ref(&id));
    let mut rules = judged(&task, 2, &refute);
    rules.reviewer = reviewer(ReviewerKind::Rules);
    let out = apply_verdicts(known.clone(), std::slice::from_ref(&task), &[rules]);
    assert_eq!(out[0].verification, VerificationState::Unverified);
    let out = apply_verdicts(known, &[], &[judged(&task, 2, &refute)]);
    assert_eq!(out[0].verification, VerificationState::Unverified);
}

#[test]
fn an_answer_without_verdicts_confirms_or_doubts() {
    let (known, id) = one();
    let task = asking("d", &[id]);
    let with = |verified, concerns: &[&str]| {
        let mut record = clean(&task, 2);
        let concerns = concerns.iter().map(|c| (*c).to_owned()).collect();
        record.result.verification = Some(Verification { verified, concerns, ..Verification::default() });
        apply_verdicts(known.clone(), std::slice::from_ref(&task), &[record]).remove(0)
    };
    assert_eq!(with(true, &[]).verification.as_str(), "confirmed");
    let doubted = with(false, &["cannot be reached"]);
    assert_eq!((doubted.verification.as_str(), doubted.finding.confidence), ("doubted", Confidence::Low));
    assert!(!doubted.verification.is_refuted());
    assert_eq!(with(false, &[]).verification, VerificationState::Unverified);
}
