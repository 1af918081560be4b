//! Coverage: which file was looked at under which lens, and by whom. It is worked out from results, never kept.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::id::TaskId;
use crate::lens::Lens;
use crate::result::{ResultRecord, Reviewer, ReviewerKind};
use crate::task::{LineRange, Task};

/// Trigger of the deepening tasks that review their files as a whole once more.
pub(super) const WHOLE_LOOK: &str = "clean-high-risk";

/// Something that will not be reviewed, with the reason that the report gives. What is absent is not restricted;
/// a waiver that restricts nothing waives nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiver {
    /// File, or a directory with `/` at its end.
    pub path: Option<String>,
    /// Lens.
    pub lens: Option<Lens>,
    /// Task whose files and lens are meant.
    pub task: Option<TaskId>,
    /// Why; shown in the report.
    pub reason: String,
}

/// What counts as reviewed.
#[derive(Clone, Debug, Default)]
pub struct CoverageOptions {
    /// Kinds of reviewer whose results count; empty means all.
    pub require: Vec<ReviewerKind>,
}

/// How it stands with a file under a lens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum PairState {
    /// It was looked at as it is now.
    Reviewed {
        /// By whom, strongest kind first, once each.
        by: Vec<Reviewer>,
        /// One of the tasks.
        task: TaskId,
    },
    /// It will not be looked at.
    Waived {
        /// Why.
        reason: String,
    },
    /// It was not looked at.
    Missing,
    /// It was looked at before it changed.
    Stale,
}

/// One required pair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoveragePair {
    /// Repository-relative path.
    pub path: String,
    /// Lens.
    pub lens: Lens,
    /// How it stands.
    pub state: PairState,
}

/// Counts of pairs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverageSummary {
    /// All required pairs.
    pub required: u64,
    /// Reviewed ones.
    pub reviewed: u64,
    /// Waived ones.
    pub waived: u64,
    /// Missing ones.
    pub missing: u64,
    /// Stale ones.
    pub stale: u64,
    /// Reviewed ones by the strongest kind of reviewer that looked; sums up to `reviewed`.
    pub by_kind: BTreeMap<ReviewerKind, u64>,
    /// Files with at least one required pair.
    pub files: u64,
    /// Files all of whose pairs are reviewed.
    pub files_reviewed: u64,
}

/// All required pairs, sorted by path and lens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// The pairs.
    pub pairs: Vec<CoveragePair>,
    /// Their counts.
    pub summary: CoverageSummary,
}

impl Coverage {
    /// Whether every pair is reviewed or waived.
    pub fn is_complete(&self) -> bool {
        self.summary.missing == 0 && self.summary.stale == 0
    }
}

type Pair<'a> = (&'a str, Lens);

/// What tasks and results say about one pair.
#[derive(Default)]
struct Looks<'a> {
    /// A whole-file task with a result.
    whole: bool,
    /// Lines of the file, where it is split.
    total: u64,
    /// Ranges that were looked at.
    seen: Vec<LineRange>,
    /// A planned range without a result exists.
    open: bool,
    by: Vec<&'a Reviewer>,
    task: Option<&'a TaskId>,
}

/// Coverage of the required pairs by current results: those whose task is among `tasks`.
///
/// A pair that is split into line ranges is reviewed when the ranges with results make up the file, or when every
/// planned range has one. A deepening task counts only where it reviews its files as a whole.
pub fn derive_coverage(
    required: &[(String, Lens)],
    tasks: &[Task],
    results: &[ResultRecord],
    waivers: &[Waiver],
    options: &CoverageOptions,
) -> Coverage {
    let pairs: BTreeSet<Pair<'_>> = required.iter().map(|(path, lens)| (path.as_str(), *lens)).collect();
    let looks = collect_looks(tasks, results, options);
    let stale = stale_pairs(tasks, results, options);
    let waived = Waived::new(waivers, tasks);
    let mut coverage = Coverage::default();
    for (path, lens) in pairs {
        let state = match looks.get(&(path, lens)).and_then(reviewed) {
            Some(state) => state,
            None => match waived.reason(path, lens) {
                Some(reason) => PairState::Waived { reason: reason.to_owned() },
                None if stale.contains(&(path, lens)) => PairState::Stale,
                None => PairState::Missing,
            },
        };
        coverage.pairs.push(CoveragePair { path: path.to_owned(), lens, state });
    }
    coverage.summary = summarise(&coverage.pairs);
    coverage
}

fn counts(kind: ReviewerKind, options: &CoverageOptions) -> bool {
    options.require.is_empty() || options.require.contains(&kind)
}

fn collect_looks<'a>(
    tasks: &'a [Task],
    results: &'a [ResultRecord],
    options: &CoverageOptions,
) -> HashMap<Pair<'a>, Looks<'a>> {
    let mut by_task: HashMap<&TaskId, Vec<&ResultRecord>> = HashMap::new();
    for record in results.iter().filter(|record| counts(record.reviewer.kind, options)) {
        by_task.entry(&record.task).or_default().push(record);
    }
    let mut looks: HashMap<Pair<'_>, Looks<'_>> = HashMap::new();
    for task in tasks.iter().filter(|t| t.deepening.as_ref().is_none_or(|d| d.trigger == WHOLE_LOOK)) {
        let answers = by_task.get(&task.id).map_or(&[][..], Vec::as_slice);
        for file in &task.files {
            let look = looks.entry((&file.path, task.lens)).or_default();
            let covers = |r: &&&ResultRecord| r.result.file_coverage.iter().any(|c| c.path == file.path);
            let before = look.by.len();
            look.by.extend(answers.iter().filter(covers).map(|record| &record.reviewer));
            let seen = look.by.len() > before;
            look.total = look.total.max(file.total_lines);
            match file.range {
                None => look.whole |= seen,
                Some(range) if seen => look.seen.push(range),
                Some(_) => look.open |= task.deepening.is_none(),
            }
            if seen {
                look.task = look.task.or(Some(&task.id));
            }
        }
    }
    looks
}

fn reviewed(look: &Looks<'_>) -> Option<PairState> {
    let ranges = !look.seen.is_empty() && (!look.open || covers_all(&look.seen, look.total));
    if !(look.whole || ranges) {
        return None;
    }
    let mut by: Vec<Reviewer> = look.by.iter().map(|reviewer| (*reviewer).clone()).collect();
    by.sort_by(|a, b| (b.kind, &a.lane, &a.model).cmp(&(a.kind, &b.lane, &b.model)));
    by.dedup();
    Some(PairState::Reviewed { by, task: look.task?.clone() })
}

fn covers_all(ranges: &[LineRange], total: u64) -> bool {
    let mut ranges = ranges.to_vec();
    ranges.sort();
    let mut next = 1;
    for range in ranges {
        if range.first > next {
            return false;
        }
        next = next.max(range.last.saturating_add(1));
    }
    next > total
}

/// Pairs that results of tasks which are no longer planned once covered.
fn stale_pairs<'a>(tasks: &[Task], results: &'a [ResultRecord], options: &CoverageOptions) -> HashSet<Pair<'a>> {
    let planned: HashSet<&TaskId> = tasks.iter().map(|task| &task.id).collect();
    let old = results.iter().filter(|r| counts(r.reviewer.kind, options) && !planned.contains(&r.task));
    old.flat_map(|r| r.result.file_coverage.iter().map(|c| (c.path.as_str(), r.result.lens))).collect()
}

/// Waivers by what they name.
struct Waived<'a> {
    pairs: HashMap<Pair<'a>, &'a str>,
    paths: HashMap<(&'a str, Option<Lens>), &'a str>,
    lenses: HashMap<Lens, &'a str>,
}

impl<'a> Waived<'a> {
    fn new(waivers: &'a [Waiver], tasks: &'a [Task]) -> Self {
        let by_id: HashMap<&TaskId, &Task> = tasks.iter().map(|task| (&task.id, task)).collect();
        let mut waived = Self { pairs: HashMap::new(), paths: HashMap::new(), lenses: HashMap::new() };
        for waiver in waivers {
            let (reason, lens) = (waiver.reason.as_str(), waiver.lens);
            match (&waiver.task, &waiver.path) {
                (Some(id), path) => {
                    let Some(task) = by_id.get(id).filter(|task| lens.is_none_or(|lens| lens == task.lens)) else {
                        continue;
                    };
                    for file in task.files.iter().filter(|f| path.as_ref().is_none_or(|path| *path == f.path)) {
                        waived.pairs.entry((&file.path, task.lens)).or_insert(reason);
                    }
                }
                (None, Some(path)) => {
                    waived.paths.entry((path, lens)).or_insert(reason);
                }
                (None, None) => {
                    if let Some(lens) = lens {
                        waived.lenses.entry(lens).or_insert(reason);
                    }
                }
            }
        }
        waived
    }

    fn reason(&self, path: &str, lens: Lens) -> Option<&'a str> {
        let path_reason = |path| [Some(lens), None].into_iter().find_map(|lens| self.paths.get(&(path, lens)).copied());
        let directory = || path.match_indices('/').rev().find_map(|(at, _)| path_reason(&path[..=at]));
        let pair = self.pairs.get(&(path, lens)).copied();
        pair.or_else(|| path_reason(path)).or_else(directory).or_else(|| self.lenses.get(&lens).copied())
    }
}

fn summarise(pairs: &[CoveragePair]) -> CoverageSummary {
    let mut summary = CoverageSummary { required: pairs.len() as u64, ..CoverageSummary::default() };
    for pair in pairs {
        match &pair.state {
            PairState::Reviewed { by, .. } => {
                summary.reviewed += 1;
                if let Some(strongest) = by.iter().map(|reviewer| reviewer.kind).max() {
                    *summary.by_kind.entry(strongest).or_default() += 1;
                }
            }
            PairState::Waived { .. } => summary.waived += 1,
            PairState::Missing => summary.missing += 1,
            PairState::Stale => summary.stale += 1,
        }
    }
    for file in pairs.chunk_by(|a, b| a.path == b.path) {
        summary.files += 1;
        summary.files_reviewed += u64::from(file.iter().all(|p| matches!(p.state, PairState::Reviewed { .. })));
    }
    summary
}
