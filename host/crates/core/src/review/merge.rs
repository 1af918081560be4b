//! Merging that conserves: whatever is the same defect becomes one finding, and every original stays as its source.
//!
//! What joins a group must stand at the place of its first finding, whichever of its findings it resembles. Groups
//! therefore do not grow along chains, and an absorbed finding cannot take another with it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use super::identity::{KnownFinding, compare};
use super::same::Traits;
use super::verdict::VerificationState;
use crate::id::{Digest, FindingId, LaunchId};
use crate::lens::Lens;
use crate::result::{AffectedFile, Confidence, Finding, ReviewerKind, Severity};

/// Groups that one finding is compared with under one index; beyond it findings stay apart, which loses nothing.
const COMPARED: usize = 64;
/// Findings of one group that another is compared with.
const MEMBERS: usize = 16;

/// One original finding of a merged one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindingSource {
    /// Its own id.
    pub id: FindingId,
    /// Name of the task.
    pub task_name: String,
    /// Lane that found it.
    pub lane: String,
    /// Kind of reviewer.
    pub reviewer: ReviewerKind,
    /// Model, as the provider told it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The reviewer's own id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Launch that brought it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<LaunchId>,
    /// What second opinions made of it.
    pub verification: VerificationState,
    /// The finding itself, whole: title, severity, confidence, place, evidence.
    pub finding: Finding,
}

/// One defect, with everybody who reported it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MergedFinding {
    /// Id of one of the sources; no other merged finding has it.
    pub id: FindingId,
    /// Ids of the other sources, sorted: aliases for baselines and references.
    pub also: Vec<FindingId>,
    /// Wording and evidence of the most specific source, places of all, severity and confidence of the group.
    /// `related_findings` holds ids of merged findings only.
    pub finding: Finding,
    /// The decision that counts for the group. Refuted only when every source is.
    pub verification: VerificationState,
    /// The originals, never empty.
    pub sources: Vec<FindingSource>,
}

impl MergedFinding {
    /// Path and first line of the first place.
    pub fn place(&self) -> Option<(&str, Option<u64>)> {
        self.finding.affected_files.first().map(|place| (place.path.as_str(), place.line_start))
    }

    /// Whether it counts: it was not refuted.
    pub fn counts(&self) -> bool {
        !self.verification.is_refuted()
    }
}

/// Merges what is the same; worst first in the outcome. The sources of all merged findings are exactly `findings`.
pub fn merge_findings(mut findings: Vec<KnownFinding>) -> Vec<MergedFinding> {
    findings.sort_by(compare);
    let groups = join_patterns(&findings, join_places(&findings));
    let aliases = alias_index(&findings, &groups);
    let mut merged: Vec<MergedFinding> = groups.iter().map(|group| merge_group(&findings, group, &aliases)).collect();
    merged.sort_by(|a, b| report_key(a).cmp(&report_key(b)));
    merged
}

fn report_key(merged: &MergedFinding) -> impl Ord + '_ {
    let finding = &merged.finding;
    let worst = std::cmp::Reverse((finding.severity, finding.confidence));
    (!merged.counts(), worst, merged.place(), &merged.id)
}

/// Positions of findings that are the same; the first is the one that others are compared with.
type Group = Vec<usize>;

/// Groups of one file, by what they can be found under.
#[derive(Default)]
struct FileIndex<'a> {
    open: Vec<usize>,
    placeless: Vec<usize>,
    symbols: HashMap<&'a str, Vec<usize>>,
    quotes: HashMap<&'a str, Vec<usize>>,
}

impl<'a> FileIndex<'a> {
    fn add(&mut self, group: usize, traits: &'a Traits) {
        if traits.span.is_some() { &mut self.open } else { &mut self.placeless }.push(group);
        if let Some(symbol) = &traits.symbol {
            self.symbols.entry(symbol).or_default().push(group);
        }
        if let Some(quote) = &traits.quote {
            self.quotes.entry(quote).or_default().push(group);
        }
    }

    /// Groups that may hold the same finding: nearest first, a bounded number of each sort.
    fn candidates(&self, traits: &Traits) -> impl Iterator<Item = usize> {
        let of = |index: &'_ HashMap<&str, Vec<usize>>, key: &Option<String>| {
            let groups = key.as_ref().and_then(|key| index.get(key.as_str())).map_or(&[][..], Vec::as_slice);
            groups.iter().rev().take(COMPARED).copied().collect::<Vec<_>>()
        };
        let meeting = self.open.iter().rev().take(COMPARED).copied();
        let placeless = self.placeless.iter().rev().take(COMPARED).copied().filter(|_| traits.span.is_none());
        let found: Vec<usize> = meeting.chain(placeless).collect();
        found.into_iter().chain(of(&self.quotes, &traits.quote)).chain(of(&self.symbols, &traits.symbol))
    }
}

/// Groups in the making. A group that was fused into another is empty and points to it.
struct Places<'a> {
    traits: &'a [Traits],
    groups: Vec<Group>,
    /// The finding whose place is the group's.
    first: Vec<usize>,
    home: Vec<usize>,
}

impl Places<'_> {
    fn root(&self, mut group: usize) -> usize {
        while self.home[group] != group {
            group = self.home[group];
        }
        group
    }

    /// Whether a finding is the same as one of the group's and stands where the first of them stands.
    fn belongs(&self, at: usize, group: usize) -> bool {
        let (own, first) = (&self.traits[at], &self.traits[self.first[group]]);
        let like = |member: &usize| self.traits[*member].same_as(own);
        first.same_as(own) || (first.stands_with(own) && self.groups[group].iter().take(MEMBERS).any(like))
    }

    /// Whether two groups that share a finding stand at one place, and no reviewer told any of theirs apart.
    fn may_fuse(&self, one: usize, two: usize) -> bool {
        let (left, right) = (&self.groups[one], &self.groups[two]);
        let first = &self.traits[self.first[one]];
        let apart = |a: &usize, b: &usize| self.traits[*a].told_apart(&self.traits[*b]);
        left.len().max(right.len()) <= MEMBERS
            && first.stands_with(&self.traits[self.first[two]])
            && !left.iter().any(|a| right.iter().any(|b| apart(a, b)))
    }

    /// Puts a finding into the first of the groups, and those that it shows to be the same into one.
    fn join(&mut self, at: usize, hits: &[usize]) -> usize {
        let Some(&group) = hits.first() else {
            self.groups.push(vec![at]);
            self.first.push(at);
            self.home.push(self.home.len());
            return self.groups.len() - 1;
        };
        for &other in &hits[1..] {
            if self.may_fuse(group, other) {
                let given = std::mem::take(&mut self.groups[other]);
                self.groups[group].extend(given);
                self.home[other] = group;
            }
        }
        self.groups[group].push(at);
        group
    }
}

/// Groups findings of the same file. `findings` are sorted by path and line.
fn join_places(findings: &[KnownFinding]) -> Vec<Group> {
    let traits: Vec<Traits> = findings.iter().map(Traits::of).collect();
    let mut places = Places { traits: &traits, groups: Vec::new(), first: Vec::new(), home: Vec::new() };
    let mut by_id: HashMap<&FindingId, usize> = HashMap::new();
    let mut index = FileIndex::default();
    let mut path = None;
    for (at, own) in traits.iter().enumerate() {
        if path != Some(&own.path) {
            path = Some(&own.path);
            index = FileIndex::default();
        }
        if let Some((first, _)) = own.span {
            // What ended before this line cannot meet this finding, nor any that follows.
            let ends = |group: &usize| traits[places.first[*group]].span.is_some_and(|(_, last)| last >= first);
            index.open.retain(ends);
            let old = index.open.len().saturating_sub(COMPARED * 4);
            index.open.drain(..old);
        }
        // Equal ids are one finding by definition; everything else has to be the same.
        let mut hits: Vec<usize> = by_id.get(&findings[at].id).map(|group| places.root(*group)).into_iter().collect();
        for group in index.candidates(own).map(|group| places.root(group)) {
            if !hits.contains(&group) && places.belongs(at, group) {
                hits.push(group);
            }
        }
        let group = places.join(at, &hits);
        if hits.is_empty() {
            index.add(group, own);
        }
        by_id.insert(&findings[at].id, group);
    }
    let mut groups = places.groups;
    groups.retain(|group| !group.is_empty());
    groups
}

/// Joins groups across files where both say that they are systemic and say the same.
fn join_patterns(findings: &[KnownFinding], groups: Vec<Group>) -> Vec<Group> {
    let mut joined: Vec<Group> = Vec::new();
    let mut patterns: HashMap<String, Vec<(usize, Traits)>> = HashMap::new();
    for group in groups {
        let systemic = group.iter().find(|at| findings[**at].finding.systemic == Some(true));
        let Some(&systemic) = systemic else {
            joined.push(group);
            continue;
        };
        let traits = Traits::of(&findings[systemic]);
        let known = patterns.entry(traits.category.clone()).or_default();
        match known.iter().take(COMPARED).find(|(_, other)| other.same_pattern(&traits)) {
            Some((at, _)) => joined[*at].extend(group),
            None => {
                known.push((joined.len(), traits));
                joined.push(group);
            }
        }
    }
    joined
}

/// Ids of merged findings by what a reviewer called them in one result.
type Aliases<'a> = BTreeMap<(Digest, &'a str), FindingId>;

fn alias_index<'a>(findings: &'a [KnownFinding], groups: &[Group]) -> Aliases<'a> {
    let mut aliases = Aliases::new();
    for group in groups {
        let id = group_id(findings, group);
        for known in group.iter().map(|at| &findings[*at]) {
            if let Some(alias) = &known.finding.id {
                aliases.insert((known.result, alias), id.clone());
            }
        }
    }
    aliases
}

/// The id that a group goes by: that of a first site if there is one, the smallest under the group's own lens.
fn group_id(findings: &[KnownFinding], group: &Group) -> FindingId {
    let lens = findings[wording(findings, group)].finding.lens;
    let mut own: Vec<&KnownFinding> = group.iter().map(|at| &findings[*at]).collect();
    own.sort_by_key(|known| (known.finding.lens != lens, known.site, &known.id));
    own[0].id.clone()
}

/// The finding whose words speak for the group: one that was not refuted, rests on a quote, names its place and says
/// the most.
fn wording(findings: &[KnownFinding], group: &Group) -> usize {
    let weight = |at: &usize| {
        let known = &findings[*at];
        let finding = &known.finding;
        let place = finding.affected_files.first();
        let unsure = finding.tags.iter().any(|tag| tag == "unverified-quote" || tag == "quote-elsewhere");
        let told = finding.summary.chars().count() + finding.evidence.iter().map(|e| e.chars().count()).sum::<usize>();
        (
            !known.verification.is_refuted(),
            known.verification.is_verified(),
            finding.quote.is_some() && !unsure,
            place.is_some_and(|p| p.line_start.is_some()),
            place.is_some_and(|p| p.symbol.is_some()),
            told,
            std::cmp::Reverse(*at),
        )
    };
    group.iter().copied().max_by_key(weight).unwrap_or(group[0])
}

fn merge_group(findings: &[KnownFinding], group: &Group, aliases: &Aliases<'_>) -> MergedFinding {
    let leaves: Vec<&KnownFinding> = group.iter().map(|at| &findings[*at]).collect();
    let chosen = &findings[wording(findings, group)];
    let id = group_id(findings, group);
    let mut finding = chosen.finding.clone();
    finding.id = None;
    finding.severity = group_severity(&leaves, chosen);
    finding.confidence = standing(&leaves).map(|k| k.finding.confidence).max().unwrap_or(Confidence::Low);
    finding.affected_files = all_places(chosen, &leaves);
    finding.systemic = leaves.iter().any(|k| k.finding.systemic == Some(true)).then_some(true).or(finding.systemic);
    let related = leaves.iter().flat_map(|k| k.finding.related_findings.iter().map(|alias| (k.result, alias.trim())));
    let related: BTreeSet<&FindingId> =
        related.filter_map(|key| aliases.get(&key)).filter(|other| **other != id).collect();
    finding.related_findings = related.into_iter().map(|id| id.as_str().to_owned()).collect();
    let also: BTreeSet<&FindingId> = leaves.iter().map(|k| &k.id).filter(|other| **other != id).collect();
    MergedFinding {
        also: also.into_iter().cloned().collect(),
        id,
        verification: group_verification(&leaves, &finding),
        finding,
        sources: leaves.into_iter().map(source).collect(),
    }
}

/// The sources that were not refuted; all, where every one was.
fn standing<'a, 'b>(leaves: &'b [&'a KnownFinding]) -> impl Iterator<Item = &'a KnownFinding> + 'b {
    let all = leaves.iter().all(|known| known.verification.is_refuted());
    leaves.iter().copied().filter(move |known| all || !known.verification.is_refuted())
}

fn group_severity(leaves: &[&KnownFinding], chosen: &KnownFinding) -> Severity {
    let verified = leaves.iter().filter(|k| k.verification.is_verified()).map(|k| k.finding.severity).max();
    let any = standing(leaves).map(|k| k.finding.severity).max();
    verified.or(any).unwrap_or(chosen.finding.severity)
}

fn group_verification(leaves: &[&KnownFinding], merged: &Finding) -> VerificationState {
    let rank = |known: &&KnownFinding| {
        let state = &known.verification;
        let verified = state.is_verified();
        (verified, verified && known.finding.severity == merged.severity, *state != VerificationState::Unverified)
    };
    let mut best: Option<&KnownFinding> = None;
    for known in standing(leaves) {
        if best.is_none_or(|other| rank(&known) > rank(&other)) {
            best = Some(known);
        }
    }
    best.map(|known| known.verification.clone()).unwrap_or_default()
}

fn all_places(chosen: &KnownFinding, leaves: &[&KnownFinding]) -> Vec<AffectedFile> {
    let mut places = chosen.finding.affected_files.clone();
    let mut known: BTreeSet<(String, Option<u64>, Option<u64>)> = BTreeSet::new();
    let key = |place: &AffectedFile| (place.path.clone(), place.line_start, place.line_end);
    known.extend(places.iter().map(key));
    for place in leaves.iter().flat_map(|k| &k.finding.affected_files) {
        if known.insert(key(place)) {
            places.push(place.clone());
        }
    }
    places
}

fn source(known: &KnownFinding) -> FindingSource {
    FindingSource {
        id: known.id.clone(),
        task_name: known.task_name.clone(),
        lane: known.reviewer.lane.as_str().to_owned(),
        reviewer: known.reviewer.kind,
        model: known.reviewer.model.clone(),
        alias: known.finding.id.clone(),
        launch: known.launch.clone(),
        verification: known.verification.clone(),
        finding: known.finding.clone(),
    }
}

/// Findings that count, by severity, worst first; severities without any are left out.
pub(crate) fn severity_counts<'a>(findings: impl Iterator<Item = &'a MergedFinding>) -> Vec<(Severity, u64)> {
    let mut counts: BTreeMap<Severity, u64> = BTreeMap::new();
    for merged in findings {
        *counts.entry(merged.finding.severity).or_default() += 1;
    }
    counts.into_iter().rev().collect()
}

/// Lenses under which a group was found, in scheduling order.
pub(crate) fn lenses_of(merged: &MergedFinding) -> Vec<Lens> {
    let lenses: BTreeSet<Lens> = merged.sources.iter().map(|source| source.finding.lens).collect();
    lenses.into_iter().collect()
}
