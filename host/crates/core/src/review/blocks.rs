//! Work blocks: findings that one person or agent mends together, bounded, with owners and an order without cycles.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::merge::MergedFinding;
use crate::id::{Digest, FindingId};
use crate::result::Severity;

/// Findings of one block at most.
pub const BLOCK_FINDINGS: usize = 25;
/// Files of one block at most.
pub const BLOCK_FILES: usize = 20;

/// What a block is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockRole {
    /// It changes the files that it owns.
    Implementation,
    /// It settles one systemic finding that other blocks carry out in their own files.
    Coordination,
}

/// Findings that are mended together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkBlock {
    /// `block-<8 hex>` over the findings; stable while they are.
    pub id: String,
    /// What it is for.
    pub role: BlockRole,
    /// The findings, worst first as in the report.
    pub finding_ids: Vec<FindingId>,
    /// Units of the files, sorted; `file:<path>` where a file has none.
    pub unit_ids: Vec<String>,
    /// Files that no other block owns, sorted.
    pub owned_files: Vec<String>,
    /// The worst of its findings.
    pub max_severity: Severity,
    /// Why these belong together.
    pub rationale: String,
    /// Blocks to be done before, sorted; free of cycles.
    pub depends_on: Vec<String>,
}

/// A block in the making: positions of findings, and files.
#[derive(Default)]
struct Draft<'a> {
    findings: Vec<usize>,
    files: BTreeSet<&'a str>,
    systemic: bool,
}

/// Work blocks of the findings that were not refuted; leave out suppressed ones before. `edges` say that the first file needs the second.
///
/// Findings of one file belong together, then those whose files overlap, then files of one unit that need each other,
/// as far as the bounds allow. A systemic finding is a block of its own and joins nothing.
pub fn derive_blocks(
    findings: &[MergedFinding],
    edges: &[(String, String)],
    unit_of: &dyn Fn(&str) -> Option<String>,
) -> Vec<WorkBlock> {
    let mut drafts = draft_by_file(findings);
    join_drafts(&mut drafts, edges, unit_of);
    for (at, merged) in findings.iter().enumerate() {
        if merged.counts() && merged.finding.systemic == Some(true) {
            drafts.push(Draft { findings: vec![at], files: files_of(merged), systemic: true });
        }
    }
    for draft in &mut drafts {
        draft.findings.sort_unstable();
    }
    drafts.sort_by_key(|draft| draft.findings.first().copied());
    let owners = assign_owners(&drafts);
    let names = name_drafts(&drafts, findings);
    let order = order_drafts(drafts.len(), &dependencies(&owners, edges));
    let finish = |(at, draft): (usize, &Draft<'_>)| {
        let depends_on: BTreeSet<&String> = order[at].iter().map(|other| &names[*other]).collect();
        let units: BTreeSet<String> = draft.files.iter().map(|file| unit_name(file, unit_of)).collect();
        let owned = draft.files.iter().filter(|file| owners.get(*file) == Some(&at));
        WorkBlock {
            id: names[at].clone(),
            role: if draft.systemic { BlockRole::Coordination } else { BlockRole::Implementation },
            finding_ids: draft.findings.iter().map(|f| findings[*f].id.clone()).collect(),
            owned_files: owned.map(|file| (*file).to_owned()).collect(),
            max_severity: draft.findings.iter().map(|f| findings[*f].finding.severity).max().unwrap_or(Severity::Info),
            rationale: rationale(draft, units.len()),
            unit_ids: units.into_iter().collect(),
            depends_on: depends_on.into_iter().cloned().collect(),
        }
    };
    drafts.iter().enumerate().map(finish).collect()
}

fn unit_name(file: &str, unit_of: &dyn Fn(&str) -> Option<String>) -> String {
    unit_of(file).unwrap_or_else(|| format!("file:{file}"))
}

fn rationale(draft: &Draft<'_>, units: usize) -> String {
    let (findings, files) = (draft.findings.len(), draft.files.len());
    match (draft.systemic, files) {
        (true, _) => format!(
            "one systemic finding over {files} files in {units} units; agree on the mend, then apply it in each block"
        ),
        (false, 1) if findings == 1 => "the only finding in its file".to_owned(),
        (false, 1) => format!("{findings} findings in one file"),
        (false, _) => format!("{findings} findings in {files} files that change together"),
    }
}

/// The files of a finding, the first ones where there are too many; its first place is always among them.
fn files_of(merged: &MergedFinding) -> BTreeSet<&str> {
    let mut files = BTreeSet::new();
    for place in &merged.finding.affected_files {
        if files.len() < BLOCK_FILES {
            files.insert(place.path.as_str());
        }
    }
    files
}

/// A draft for each first file, cut at the bounds.
fn draft_by_file(findings: &[MergedFinding]) -> Vec<Draft<'_>> {
    let mut by_file: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, merged) in findings.iter().enumerate() {
        if merged.counts() && merged.finding.systemic != Some(true) {
            by_file.entry(merged.place().map_or("", |place| place.0)).or_default().push(at);
        }
    }
    let mut drafts: Vec<Draft<'_>> = Vec::new();
    for positions in by_file.into_values() {
        let mut draft = Draft::default();
        for at in positions {
            let files = files_of(&findings[at]);
            let more = files.difference(&draft.files).count();
            if draft.findings.len() == BLOCK_FINDINGS || draft.files.len() + more > BLOCK_FILES {
                drafts.push(std::mem::take(&mut draft));
            }
            draft.findings.push(at);
            draft.files.extend(files);
        }
        drafts.push(draft);
    }
    drafts
}

/// Joins drafts that share a file, then drafts of one unit whose files need each other.
fn join_drafts<'a>(drafts: &mut Vec<Draft<'a>>, edges: &[(String, String)], unit_of: &dyn Fn(&str) -> Option<String>) {
    let mut first: HashMap<&'a str, usize> = HashMap::new();
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for (at, draft) in drafts.iter().enumerate() {
        for file in &draft.files {
            match first.get(file) {
                Some(other) => pairs.push((*other, at)),
                None => {
                    first.insert(file, at);
                }
            }
        }
    }
    let mut wanted: BTreeSet<(usize, usize)> = BTreeSet::new();
    for (from, to) in edges {
        let (Some(one), Some(two)) = (first.get(from.as_str()), first.get(to.as_str())) else { continue };
        if one != two && unit_of(from).is_some_and(|unit| Some(unit) == unit_of(to)) {
            wanted.insert((*one.min(two), *one.max(two)));
        }
    }
    pairs.extend(wanted);
    let mut parent: Vec<usize> = (0..drafts.len()).collect();
    for (one, two) in pairs {
        let (one, two) = (root(&mut parent, one), root(&mut parent, two));
        let (keep, give) = (one.min(two), one.max(two));
        let findings = drafts[keep].findings.len() + drafts[give].findings.len();
        if keep == give
            || findings > BLOCK_FINDINGS
            || drafts[keep].files.union(&drafts[give].files).count() > BLOCK_FILES
        {
            continue;
        }
        let given = std::mem::take(&mut drafts[give]);
        drafts[keep].findings.extend(given.findings);
        drafts[keep].files.extend(given.files);
        parent[give] = keep;
    }
    drafts.retain(|draft| !draft.findings.is_empty());
}

fn root(parent: &mut [usize], mut at: usize) -> usize {
    while parent[at] != at {
        parent[at] = parent[parent[at]];
        at = parent[at];
    }
    at
}

/// Each file belongs to one block: the implementation block with the worst finding, else a coordination block.
fn assign_owners<'a>(drafts: &[Draft<'a>]) -> BTreeMap<&'a str, usize> {
    let mut owners = BTreeMap::new();
    for systemic in [false, true] {
        for (at, draft) in drafts.iter().enumerate().filter(|(_, draft)| draft.systemic == systemic) {
            for file in &draft.files {
                owners.entry(*file).or_insert(at);
            }
        }
    }
    owners
}

fn name_drafts(drafts: &[Draft<'_>], findings: &[MergedFinding]) -> Vec<String> {
    let digests: Vec<Digest> = drafts
        .iter()
        .map(|draft| {
            let ids: BTreeSet<&str> = draft.findings.iter().map(|at| findings[*at].id.as_str()).collect();
            Digest::of_parts(ids.into_iter().map(str::as_bytes))
        })
        .collect();
    let mut digits = 8;
    loop {
        let names: Vec<String> = digests.iter().map(|digest| format!("block-{}", digest.short(digits))).collect();
        if digits >= 64 || names.iter().collect::<HashSet<_>>().len() == names.len() {
            return names;
        }
        digits += 4;
    }
}

/// For each block the blocks whose files its files need.
fn dependencies(owners: &BTreeMap<&str, usize>, edges: &[(String, String)]) -> BTreeSet<(usize, usize)> {
    let pair = |(from, to): &(String, String)| Some((*owners.get(from.as_str())?, *owners.get(to.as_str())?));
    edges.iter().filter_map(pair).filter(|(from, to)| from != to).collect()
}

/// Dependencies without those that close a cycle: what a walk in block order, worst first, has not finished yet.
fn order_drafts(count: usize, dependencies: &BTreeSet<(usize, usize)>) -> Vec<Vec<usize>> {
    let mut needs: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, to) in dependencies {
        needs[*from].push(*to);
    }
    let mut finished: Vec<Option<usize>> = vec![None; count];
    let mut entered = vec![false; count];
    let mut next = 0;
    for start in 0..count {
        let mut path = vec![(start, 0)];
        if std::mem::replace(&mut entered[start], true) {
            continue;
        }
        while let Some((at, step)) = path.last_mut() {
            let (block, child) = (*at, needs[*at].get(*step).copied());
            *step += 1;
            match child {
                Some(child) if !std::mem::replace(&mut entered[child], true) => path.push((child, 0)),
                Some(_) => {}
                None => {
                    finished[block] = Some(next);
                    next += 1;
                    path.pop();
                }
            }
        }
    }
    for (at, list) in needs.iter_mut().enumerate() {
        list.retain(|other| finished[*other] < finished[at]);
    }
    needs
}
