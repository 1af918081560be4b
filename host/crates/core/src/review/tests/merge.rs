//! What merges, what does not, and that nothing is lost.

use std::collections::BTreeMap;

use super::sample::{Dice, finding, record, reviewer};
use crate::lens::Lens;
use crate::result::{AffectedFile, Confidence, Finding, ResultRecord, ReviewerKind, Severity};
use crate::review::{FindingSource, KnownFinding, MergedFinding, VerificationState, derive_findings, merge_findings};

fn known(findings: Vec<Finding>) -> Vec<KnownFinding> {
    let results: Vec<ResultRecord> =
        findings.into_iter().enumerate().map(|(at, f)| record(&format!("t{at}"), at as u64, vec![f])).collect();
    derive_findings(&[], &results)
}

fn merged(findings: Vec<Finding>) -> Vec<MergedFinding> {
    merge_findings(known(findings))
}

fn bare(line: u64, title: &str) -> Finding {
    Finding { quote: None, ..finding("a.rs", line, title) }
}

#[test]
fn three_similar_bugs_at_distant_lines_stay_three() {
    let titles = [(300, Severity::Medium), (400, Severity::High), (500, Severity::Low)];
    let findings =
        titles.map(|(line, severity)| Finding { severity, ..bare(line, "Missing null check on user value") });
    let out = merged(findings.to_vec());
    assert_eq!(out.len(), 3);
    let lines: Vec<_> = out.iter().filter_map(|m| m.place()?.1).collect();
    assert_eq!(lines, [400, 300, 500]);
}

#[test]
fn an_absorbed_finding_cannot_take_another_with_it() {
    // The middle one meets both neighbours; its neighbours do not meet.
    let span = |first, last, severity| {
        let mut finding = Finding { severity, ..bare(first, "Missing null check on user value") };
        finding.affected_files[0].line_end = Some(last);
        finding
    };
    let out = merged(vec![span(1, 5, Severity::Medium), span(5, 9, Severity::High), span(9, 12, Severity::Low)]);
    let leaves: usize = out.iter().map(|m| m.sources.len()).sum();
    assert_eq!((out.len(), leaves), (2, 3));
    assert!(out.iter().flat_map(|m| &m.sources).any(|s| s.finding.severity == Severity::Low));
}

#[test]
fn one_call_seen_by_three_tools_is_one_finding_and_its_neighbour_another() {
    let with = |line, title: &str, category: &str, cwe: Option<&str>, confidence| {
        let mut finding = bare(line, title);
        finding.affected_files[0].line_end = Some(line);
        finding.category = category.into();
        finding.confidence = confidence;
        finding.cwe = cwe.map(str::to_owned);
        finding
    };
    let out = merged(vec![
        with(10, "Starting a process with a shell", "blacklist", Some("CWE-78"), Confidence::Low),
        with(10, "os.system with user input", "command-injection", Some("cwe 78"), Confidence::Medium),
        with(10, "Command built from user input", "command-injection", None, Confidence::High),
        with(15, "os.system with user input", "command-injection", Some("CWE-78"), Confidence::Medium),
    ]);
    assert_eq!(out.len(), 2);
    assert_eq!((out[0].sources.len(), out[0].finding.confidence), (3, Confidence::High));
}

#[test]
fn a_symbol_or_a_quote_joins_what_lines_cannot() {
    let mut one = bare(10, "Query from input");
    one.affected_files[0].symbol = Some("Db::run()".into());
    let mut two = bare(40, "Injection");
    two.affected_files[0].symbol = Some("Db.run".into());
    assert_eq!(merged(vec![one.clone(), two.clone()]).len(), 1);
    two.affected_files[0].symbol = Some("Db.stop".into());
    assert_eq!(merged(vec![one, two]).len(), 2);

    let trusted = finding("a.rs", 10, "Query from input");
    let mut wrong = finding("a.rs", 40, "Injection");
    assert_eq!(merged(vec![trusted.clone(), wrong.clone()]).len(), 2, "the same text twice is two places");
    wrong.tags.push("quote-elsewhere".into());
    assert_eq!(merged(vec![trusted, wrong]).len(), 1, "a wrong citation is not a second place");
}

#[test]
fn one_reviewer_who_lists_two_means_two() {
    let mut one = bare(10, "Query from input");
    let mut two = bare(10, "Password is logged");
    one.category = "leak".into();
    two.category = "leak".into();
    let together = derive_findings(&[], &[record("t", 1, vec![one.clone(), two.clone()])]);
    assert_eq!(merge_findings(together).len(), 2);
    assert_eq!(merged(vec![one, two]).len(), 1);
}

#[test]
fn titles_in_other_scripts_merge_and_other_files_do_not() {
    let with = |path: &str, category: &str| {
        let mut f = Finding { category: category.into(), ..bare(10, "硬编码的密码") };
        f.affected_files[0].path = path.into();
        f
    };
    assert_eq!(merged(vec![with("a.rs", "x"), with("a.rs", "y")]).len(), 1);
    assert_eq!(merged(vec![with("a.rs", "x"), with("b.rs", "x")]).len(), 2);
}

#[test]
fn only_systemic_findings_merge_across_files() {
    let with = |path: &str, systemic| {
        let mut f = Finding { systemic, ..bare(10, "Errors are swallowed everywhere") };
        f.affected_files[0].path = path.into();
        f
    };
    let out = merged(vec![with("a.rs", Some(true)), with("b.rs", Some(true)), with("c.rs", None)]);
    assert_eq!(out.len(), 2);
    assert_eq!(out.iter().map(|m| m.finding.affected_files.len()).max(), Some(2));
}

#[test]
fn a_vague_span_takes_only_what_is_worded_alike() {
    let mut wide = bare(1, "Input is not validated");
    wide.affected_files[0].line_end = Some(500);
    let out = merged(vec![wide.clone(), bare(20, "Length overflow"), bare(300, "Input is not validated here")]);
    assert_eq!(out.len(), 2);
}

#[test]
fn verified_severity_beats_a_louder_one_and_words_come_from_one_source() {
    let mut all = known(vec![
        Finding { severity: Severity::Critical, summary: "short".into(), ..bare(10, "Query from input") },
        Finding { severity: Severity::Medium, impact: Some("rows leak".into()), ..bare(10, "Query built from input") },
    ]);
    let by = crate::review::Judge { task_name: "d".into(), reviewer: reviewer(ReviewerKind::Agent), launch: None };
    let quiet = all.iter_mut().find(|k| k.finding.severity == Severity::Medium).expect("there");
    quiet.verification = VerificationState::Confirmed { by: by.clone() };
    let out = merge_findings(all.clone());
    assert_eq!(out.len(), 1);
    assert_eq!(out[0].finding.severity, Severity::Medium);
    assert_eq!(
        (&out[0].finding.title[..], out[0].finding.impact.as_deref()),
        ("Query built from input", Some("rows leak"))
    );
    assert!(out[0].verification.is_verified());

    let loud = all.iter_mut().find(|k| k.finding.severity == Severity::Critical).expect("there");
    loud.verification = VerificationState::Refuted { reason: "no".into(), by: by.clone() };
    let out = merge_findings(all.clone());
    assert!(out[0].counts() && out[0].sources.iter().any(|s| s.verification.is_refuted()));
    for known in &mut all {
        known.verification = VerificationState::Refuted { reason: "no".into(), by: by.clone() };
    }
    assert!(!merge_findings(all)[0].counts());
}

#[test]
fn related_findings_name_merged_ones_only() {
    let mut one = bare(10, "Query from input");
    one.id = Some("A".into());
    one.related_findings = vec!["B".into(), "Z".into(), "A".into()];
    let mut two = bare(60, "Password is logged");
    two.id = Some("B".into());
    let out = merge_findings(derive_findings(&[], &[record("t", 1, vec![one, two])]));
    let other = out.iter().find(|m| m.finding.title.starts_with("Password")).expect("there");
    let first = out.iter().find(|m| m.finding.title.starts_with("Query")).expect("there");
    assert_eq!(first.finding.related_findings, [other.id.as_str()]);
}

fn random_finding(dice: &mut Dice) -> Finding {
    let titles = ["Missing null check", "Null check is missing", "Query from input", "", "密码", "Line 5"];
    let title: &str = titles[usize::try_from(dice.roll(titles.len() as u64)).expect("small")];
    let path = dice.pick::<&str>(&["a.rs", "b.rs", "c/d.rs"]);
    let mut finding = finding(path, 1 + dice.roll(30), title);
    finding.category = (*dice.pick(&["null", "sql", "", "Null!"])).into();
    finding.lens = *dice.pick(&[Lens::Security, Lens::Correctness, Lens::Tests]);
    finding.severity = *dice.pick(&Severity::WORST_FIRST);
    finding.confidence = *dice.pick(&[Confidence::Low, Confidence::High]);
    finding.systemic = *dice.pick(&[None, None, Some(false), Some(true)]);
    finding.quote = dice.pick(&[None, Some("x"), Some("y  z"), Some(" ")]).map(str::to_owned);
    finding.cwe = dice.pick(&[None, None, Some("CWE-1")]).map(str::to_owned);
    finding.id = dice.pick(&[None, Some("SEC-001"), Some("X")]).map(str::to_owned);
    let place = &mut finding.affected_files[0];
    place.symbol = dice.pick(&[None, None, Some("f"), Some("g()")]).map(str::to_owned);
    match dice.roll(4) {
        0 => (place.line_start, place.line_end) = (None, None),
        1 => place.line_end = None,
        2 => place.line_end = place.line_start.map(|line| line + dice.roll(100)),
        _ => {}
    }
    if dice.roll(5) == 0 {
        finding.affected_files.push(AffectedFile {
            path: "b.rs".into(),
            line_start: None,
            line_end: None,
            symbol: None,
        });
    }
    if dice.roll(40) == 0 {
        finding.affected_files.clear();
    }
    if dice.roll(6) == 0 {
        finding.tags.push((*dice.pick(&["unverified-quote", "quote-elsewhere"])).into());
    }
    finding
}

fn leaf(source: &FindingSource) -> String {
    serde_json::to_string(source).expect("JSON")
}

fn count(leaves: impl Iterator<Item = String>) -> BTreeMap<String, usize> {
    leaves.fold(BTreeMap::new(), |mut counts, leaf| {
        *counts.entry(leaf).or_default() += 1;
        counts
    })
}

#[test]
fn merging_conserves_every_finding() {
    for seed in 1..3000 {
        let mut dice = Dice::new(seed);
        let results: Vec<ResultRecord> = (0..1 + dice.roll(5))
            .map(|at| {
                let findings = (0..dice.roll(6)).map(|_| random_finding(&mut dice)).collect();
                record(&format!("t{at}"), dice.roll(3), findings)
            })
            .collect();
        let mut known = derive_findings(&[], &results);
        let expected = results.iter().map(|r| r.result.findings.len()).sum::<usize>();
        assert_eq!(known.len(), expected, "seed {seed}");
        let by = crate::review::Judge { task_name: "d".into(), reviewer: reviewer(ReviewerKind::Agent), launch: None };
        for finding in &mut known {
            if dice.roll(4) == 0 {
                finding.verification = VerificationState::Refuted { reason: String::new(), by: by.clone() };
            }
        }
        let alone = known.iter().flat_map(|one| merge_findings(vec![one.clone()])).flat_map(|m| m.sources);
        let before = count(alone.map(|source| leaf(&source)));
        let out = merge_findings(known.clone());
        let after = count(out.iter().flat_map(|m| &m.sources).map(leaf));
        assert_eq!(before, after, "seed {seed}");
        let ids = count(out.iter().map(|m| m.id.as_str().to_owned()));
        assert!(ids.values().all(|n| *n == 1), "seed {seed}: ids repeat");
        known.reverse();
        assert_eq!(out, merge_findings(known), "seed {seed}: order of input shows");
    }
}

#[test]
fn a_crowded_file_is_merged_in_bounded_time() {
    let findings = (0..20_000).map(|at| {
        let mut f = bare(1, &format!("word{at} thing{at}"));
        f.category = format!("category {at}");
        f.affected_files[0].line_end = Some(1_000_000);
        f
    });
    let known = derive_findings(&[], &[record("t", 1, findings.collect())]);
    assert_eq!(merge_findings(known).len(), 20_000);
}
