//! Cuts what is too long for one task: a file into line ranges that overlap, a task into two.

use crate::task::{LineRange, Task, TaskFile};

use super::tasks::derive_task_id;
use super::work;

/// Lines that two neighbouring ranges share, so that what lies across a cut is seen whole by one of them.
const OVERLAP: u64 = 20;
/// A range is not halved below this: there is nothing left to understand.
const LEAST_RANGE: u64 = 80;

/// Ranges that together hold lines 1 to `lines`, each of at most `most` lines, cut before definitions where it can be.
///
/// `definitions` are first and last lines, sorted. Borders of outermost definitions are preferred over nested ones, nested ones
/// over a plain cut.
pub(super) fn plan_ranges(lines: u64, most: u64, definitions: &[(u64, u64)]) -> Vec<LineRange> {
    let most = most.max(1);
    let overlap = OVERLAP.min(most / 8);
    let (outer, all) = (outermost(definitions), definitions.iter().map(|span| span.0).collect::<Vec<_>>());
    let parts = lines.div_ceil(most - overlap).max(1);
    let goal = lines.div_ceil(parts).saturating_add(overlap).min(most);
    let (mut ranges, mut first) = (Vec::new(), 1u64);
    while lines >= first && lines - first >= most {
        work::tick();
        let window = Window { least: first + (goal / 2).max(1), goal: first + goal, most: first + most };
        let cut = window.nearest(&outer).or_else(|| window.nearest(&all)).unwrap_or(window.goal.max(window.least));
        ranges.push(LineRange { first, last: cut - 1 });
        first = cut.saturating_sub(overlap).max(first + 1);
    }
    ranges.push(LineRange { first, last: lines.max(first) });
    ranges
}

/// First lines of definitions that stand in no other one.
fn outermost(definitions: &[(u64, u64)]) -> Vec<u64> {
    let (mut starts, mut end) = (Vec::new(), 0);
    for &(first, last) in definitions {
        if first > end {
            starts.push(first);
            end = last;
        }
    }
    starts
}

/// Lines before which a range may end.
struct Window {
    least: u64,
    goal: u64,
    most: u64,
}

impl Window {
    /// The start within the window that is nearest to the goal.
    fn nearest(&self, starts: &[u64]) -> Option<u64> {
        let at = starts.partition_point(|start| *start < self.goal);
        let inside = |start: &u64| *start >= self.least && *start <= self.most;
        let before = at.checked_sub(1).and_then(|at| starts.get(at)).copied().filter(inside);
        let after = starts.get(at).copied().filter(inside);
        match (before, after) {
            (Some(a), Some(b)) => Some(if self.goal - a <= b - self.goal { a } else { b }),
            (a, b) => a.or(b),
        }
    }
}

/// Two tasks that together see what one saw, for one that does not fit by itself: its files in halves, or the lines of its only
/// file. Empty when it cannot be made smaller. Names end in `.1` and `.2`.
pub fn split_task(task: &Task) -> Vec<Task> {
    let halves: Vec<Vec<TaskFile>> = match task.files.as_slice() {
        [] => return Vec::new(),
        [only] => match halve_range(only) {
            Some(halves) => halves.into_iter().map(|file| vec![file]).collect(),
            None => return Vec::new(),
        },
        files => {
            let (first, second) = files.split_at(files.len() / 2);
            vec![first.to_vec(), second.to_vec()]
        }
    };
    let part = |(at, files): (usize, Vec<TaskFile>)| Task {
        id: derive_task_id(task.lens, &files, task.deepening.as_ref()),
        name: format!("{}.{}", task.name, at + 1),
        files,
        ..task.clone()
    };
    halves.into_iter().enumerate().map(part).collect()
}

fn halve_range(file: &TaskFile) -> Option<[TaskFile; 2]> {
    let whole = file.range.unwrap_or(LineRange { first: 1, last: file.total_lines });
    let lines = (whole.last + 1).checked_sub(whole.first).filter(|lines| *lines >= LEAST_RANGE)?;
    let middle = whole.first + lines / 2;
    let part = |first, last| TaskFile { range: Some(LineRange { first, last }), ..file.clone() };
    Some([part(whole.first, middle - 1), part(middle - OVERLAP, whole.last)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(lines: u64, most: u64, definitions: &[(u64, u64)]) -> Vec<LineRange> {
        let ranges = plan_ranges(lines, most, definitions);
        assert_eq!(ranges[0].first, 1);
        assert_eq!(ranges[ranges.len() - 1].last, lines);
        assert!(ranges.iter().all(|range| range.last >= range.first && range.last + 1 - range.first <= most));
        for pair in ranges.windows(2) {
            assert!(pair[1].first > pair[0].first && pair[1].first <= pair[0].last + 1);
        }
        ranges
    }

    #[test]
    fn ranges_hold_every_line_and_overlap() {
        for lines in [3_001, 3_100, 6_000, 9_999, 100_000] {
            for pair in check(lines, 3_000, &[]).windows(2) {
                assert_eq!(pair[0].last + 1 - pair[1].first, OVERLAP);
            }
        }
    }

    #[test]
    fn ranges_end_for_any_limit() {
        for most in 0..40 {
            check(500, most.max(1), &[(3, 400), (7, 9), (100, 100)]);
        }
        assert_eq!(plan_ranges(0, 3_000, &[]).len(), 1);
        assert_eq!(plan_ranges(3_000, 3_000, &[]), [LineRange { first: 1, last: 3_000 }]);
    }

    #[test]
    fn a_cut_prefers_the_start_of_an_outermost_definition() {
        let definitions = [(1, 2_400), (2_200, 2_300), (2_401, 3_900)];
        let ranges = check(4_000, 3_000, &definitions);
        assert_eq!(ranges[0].last, 2_400);
        let nested = [(1, 4_000), (2_111, 2_300)];
        assert_eq!(check(4_000, 3_000, &nested)[0].last, 2_110);
    }
}
