//! Who a finding is: ids that survive moved lines and reformatting, and the digest of a result.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::same::{primary_span, spans_meet};
use super::verdict::VerificationState;
use super::words::{normal_category, normal_symbol, title_words, without_space};
use crate::id::{Digest, FindingId, LaunchId, TaskId};
use crate::result::{AuditResult, Finding, ResultRecord, Reviewer};
use crate::task::Task;

/// Hex digits of an id, more where that is not enough.
const DIGITS: usize = 8;

/// A finding of a result, with its id and where it comes from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct KnownFinding {
    /// Minted here; equal for the same finding of several results.
    pub id: FindingId,
    /// Which of several places with the same identity it is, from 0.
    pub site: u32,
    /// The finding as its reviewer gave it, or as verdicts changed it.
    pub finding: Finding,
    /// Task by content.
    pub task: TaskId,
    /// Task for people.
    pub task_name: String,
    /// Digest of the result.
    pub result: Digest,
    /// Who found it.
    pub reviewer: Reviewer,
    /// Launch that brought it.
    pub launch: Option<LaunchId>,
    /// What second opinions made of it.
    pub verification: VerificationState,
}

/// Digest of a result's canonical JSON: members sorted, no white space.
pub fn result_digest(result: &AuditResult) -> Digest {
    // A result is plain data with text keys, which always has a JSON form.
    let value = serde_json::to_value(result).unwrap_or_default();
    Digest::of(sorted(value).to_string().as_bytes())
}

/// The value with the members of its objects sorted. Depth is that of the result type.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(object) => {
            let members: BTreeMap<String, Value> = object.into_iter().map(|(k, v)| (k, sorted(v))).collect();
            Value::Object(members.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        other => other,
    }
}

/// The id of a finding by itself: prefix of its lens and 8 hex digits over lens, category, path, and its symbol, else
/// its quote, else its title. Lines, white space and spelling of the category do not count.
pub fn finding_id(finding: &Finding) -> FindingId {
    with_digits(finding, &identity_digest(finding), DIGITS)
}

fn with_digits(finding: &Finding, digest: &Digest, digits: usize) -> FindingId {
    FindingId::new(format!("{}-{}", finding.lens.prefix(), digest.short(digits)))
}

/// The whole digest that ids are cut from.
pub(super) fn identity_digest(finding: &Finding) -> Digest {
    let primary = finding.affected_files.first();
    let path = primary.map_or("", |affected| affected.path.as_str());
    let symbol = primary.and_then(|a| a.symbol.as_deref()).map(normal_symbol).filter(|s| !s.is_empty());
    let trusted = !finding.tags.iter().any(|tag| tag == "unverified-quote");
    let quote = finding.quote.as_deref().filter(|_| trusted).map(without_space).filter(|q| !q.is_empty());
    let (kind, anchor) = match (symbol, quote) {
        (Some(symbol), _) => ("symbol", symbol),
        (None, Some(quote)) => ("quote", quote),
        (None, None) => ("title", title_words(&finding.title).join(" ")),
    };
    let category = normal_category(&finding.category);
    let parts = [finding.lens.as_str(), &category, path, kind, &anchor];
    Digest::of_parts(parts.map(str::as_bytes))
}

/// All findings of the results, each with an id that no other finding of the report has.
///
/// Where several places of one file have the same identity, the first that was ingested keeps the plain id and the
/// others get ids of their own; where two identities share their first digits, both ids get longer.
pub fn derive_findings(tasks: &[Task], results: &[ResultRecord]) -> Vec<KnownFinding> {
    let names: HashMap<&TaskId, &str> = tasks.iter().map(|task| (&task.id, task.name.as_str())).collect();
    let mut order: Vec<&ResultRecord> = results.iter().collect();
    order.sort_by(|a, b| (a.at_ms, &a.task, a.digest).cmp(&(b.at_ms, &b.task, b.digest)));
    let mut ingested: HashSet<(&TaskId, Digest)> = HashSet::new();
    order.retain(|record| ingested.insert((&record.task, record.digest)));
    let mut sites: HashMap<Digest, Vec<Option<(u64, u64)>>> = HashMap::new();
    let mut found: Vec<(Digest, KnownFinding)> = Vec::new();
    for record in order {
        for finding in &record.result.findings {
            let identity = identity_digest(finding);
            let site = site_of(sites.entry(identity).or_default(), primary_span(finding));
            let identity =
                if site == 0 { identity } else { Digest::of_parts([&identity.as_bytes()[..], &site.to_le_bytes()]) };
            let known = KnownFinding {
                id: finding_id(finding),
                site,
                finding: finding.clone(),
                task: record.task.clone(),
                task_name: names.get(&record.task).map_or(&record.result.task_id[..], |name| name).to_owned(),
                result: record.digest,
                reviewer: record.reviewer.clone(),
                launch: record.launch.clone(),
                verification: VerificationState::Unverified,
            };
            found.push((identity, known));
        }
    }
    name_apart(found)
}

/// The number of the site that a span belongs to; a new one when it meets none.
fn site_of(sites: &mut Vec<Option<(u64, u64)>>, span: Option<(u64, u64)>) -> u32 {
    let at = match sites.iter().position(|site| spans_meet(*site, span)) {
        Some(at) => at,
        None => {
            sites.push(span);
            sites.len() - 1
        }
    };
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// Gives each identity the shortest id that no other identity has, and all that would collide the same length.
fn name_apart(found: Vec<(Digest, KnownFinding)>) -> Vec<KnownFinding> {
    let mut by_prefix: HashMap<(&'static str, String), Vec<Digest>> = HashMap::new();
    for (digest, known) in &found {
        let key = (known.finding.lens.prefix(), digest.short(DIGITS));
        let digests = by_prefix.entry(key).or_default();
        if !digests.contains(digest) {
            digests.push(*digest);
        }
    }
    let mut named: Vec<KnownFinding> = Vec::with_capacity(found.len());
    for (digest, mut known) in found {
        let key = (known.finding.lens.prefix(), digest.short(DIGITS));
        let twins = by_prefix.get(&key).map_or(&[][..], Vec::as_slice);
        known.id = with_digits(&known.finding, &digest, digits_apart(&digest, twins));
        named.push(known);
    }
    named.sort_by(compare);
    named
}

fn digits_apart(digest: &Digest, twins: &[Digest]) -> usize {
    let mut digits = DIGITS;
    while digits < 64 && twins.iter().any(|twin| twin != digest && twin.short(digits) == digest.short(digits)) {
        digits += 4;
    }
    digits
}

/// Order of findings: by place, then by id and source, and where all that is equal, by what they say.
pub(super) fn compare(left: &KnownFinding, right: &KnownFinding) -> Ordering {
    let text = |known: &KnownFinding| serde_json::to_string(&(&known.finding, &known.verification)).unwrap_or_default();
    sort_key(left).cmp(&sort_key(right)).then_with(|| text(left).cmp(&text(right)))
}

fn sort_key(known: &KnownFinding) -> impl Ord + '_ {
    let path = known.finding.affected_files.first().map_or("", |a| a.path.as_str());
    let line = primary_span(&known.finding).map_or(0, |span| span.0);
    (path, line, &known.id, &known.task_name, &known.reviewer.lane, known.result, &known.finding.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::review::tests::sample;

    #[test]
    fn moved_lines_and_new_formatting_keep_the_id() {
        let one = sample::finding("src/a.rs", 10, "SQL built from input");
        let mut two = sample::finding("src/a.rs", 99, "Another wording");
        two.quote = one.quote.as_ref().map(|quote| quote.replace(' ', "\n   "));
        two.category = "Sql_Injection".to_owned();
        assert_eq!(finding_id(&one), finding_id(&two));
        two.affected_files[0].path = "src/b.rs".to_owned();
        assert_ne!(finding_id(&one), finding_id(&two));
    }

    #[test]
    fn an_unverified_quote_gives_no_identity() {
        let mut one = sample::finding("src/a.rs", 10, "SQL built from input");
        one.tags.push("unverified-quote".to_owned());
        let mut two = one.clone();
        two.quote = Some("something else".to_owned());
        assert_eq!(finding_id(&one), finding_id(&two));
    }

    #[test]
    fn the_same_text_at_two_places_is_two_findings() {
        let mut one = sample::record("t1", 1, vec![sample::finding("a.rs", 10, "x"), sample::finding("a.rs", 15, "x")]);
        let again = sample::record("t2", 2, vec![sample::finding("a.rs", 15, "x")]);
        let known = derive_findings(&[], &[again.clone(), one.clone()]);
        assert_eq!(known.len(), 3);
        assert_ne!(known[0].id, known[1].id);
        assert_eq!(known[1].id, known[2].id);
        one.at_ms = 9;
        assert_eq!(known[0].id, finding_id(&one.result.findings[0]));
    }

    #[test]
    fn colliding_digits_make_both_ids_longer() {
        let known = derive_findings(&[], &[sample::record("t", 1, vec![sample::finding("a.rs", 1, "x")])]);
        let mut near = *Digest::of(b"x").as_bytes();
        let one = Digest::from_bytes(near);
        near[6] ^= 1;
        let two = Digest::from_bytes(near);
        let named = name_apart(vec![(one, known[0].clone()), (two, known[0].clone())]);
        assert_eq!(named[0].id.as_str().len(), "SEC-".len() + 16);
        assert_ne!(named[0].id, named[1].id);
    }

    #[test]
    fn an_ingested_result_counts_once() {
        let record = sample::record("t1", 1, vec![sample::finding("a.rs", 10, "x")]);
        let later = ResultRecord { at_ms: 7, ..record.clone() };
        // The key is task and digest, so the order of ingestion does not make it two.
        assert_eq!(derive_findings(&[], &[record, later]).len(), 1);
    }

    #[test]
    fn a_digest_depends_on_content_only() {
        let record = sample::record("t1", 1, vec![sample::finding("a.rs", 10, "x")]);
        let text = serde_json::to_string(&record.result).expect("JSON");
        let back: AuditResult = serde_json::from_str(&text).expect("a result");
        assert_eq!(result_digest(&record.result), result_digest(&back));
        let other = sample::record("t1", 1, vec![sample::finding("a.rs", 11, "x")]);
        assert_ne!(result_digest(&record.result), result_digest(&other.result));
    }
}
