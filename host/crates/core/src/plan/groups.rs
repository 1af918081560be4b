//! Cuts a list of files into groups whose borders depend on the files near them, so that a change here moves no border there.

use super::work;

/// What a group may hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Most files.
    pub(super) files: usize,
    /// Most lines.
    pub(super) lines: u64,
    /// Most bytes.
    pub(super) bytes: u64,
}

/// What an item weighs.
pub(super) struct Weight<'a> {
    /// Path, which decides whether a group may end after it.
    pub(super) path: &'a str,
    /// Lines.
    pub(super) lines: u64,
    /// Bytes.
    pub(super) bytes: u64,
}

/// One group in four may end at any item, once it holds a third of its most: groups of about eight for a most of fifteen.
const ENDS_AT_ONE_IN: u64 = 4;

/// Cuts the items, in their order, into groups within the bounds; an item beyond the bounds stands alone.
///
/// Besides the bounds, a group ends where the hash of a path says so. After an insertion, a removal or a growth the borders
/// therefore fall back into step within a group or two, and the tasks behind them keep their content ids.
pub(super) fn cut_stably<'a, T: Copy>(items: &[T], bounds: Bounds, weigh: impl Fn(T) -> Weight<'a>) -> Vec<Vec<T>> {
    let least = (bounds.files / 3).max(1);
    let (mut groups, mut group) = (Vec::new(), Vec::new());
    let (mut lines, mut bytes) = (0u64, 0u64);
    for &item in items {
        work::tick();
        let weight = weigh(item);
        let full = group.len() >= bounds.files.max(1)
            || lines.saturating_add(weight.lines) > bounds.lines
            || bytes.saturating_add(weight.bytes) > bounds.bytes;
        if full && !group.is_empty() {
            groups.push(std::mem::take(&mut group));
            (lines, bytes) = (0, 0);
        }
        group.push(item);
        lines = lines.saturating_add(weight.lines);
        bytes = bytes.saturating_add(weight.bytes);
        if group.len() >= least && hash_of(weight.path).is_multiple_of(ENDS_AT_ONE_IN) {
            groups.push(std::mem::take(&mut group));
            (lines, bytes) = (0, 0);
        }
    }
    if !group.is_empty() {
        join_tail(&mut groups, group, bounds, weigh);
    }
    groups
}

/// A last group of one or two joins the one before where it fits: a launch for a single file costs as much as one for ten.
fn join_tail<'a, T: Copy>(groups: &mut Vec<Vec<T>>, tail: Vec<T>, bounds: Bounds, weigh: impl Fn(T) -> Weight<'a>) {
    let fits = |previous: &Vec<T>| {
        let all = || previous.iter().chain(&tail).map(|item| weigh(*item));
        tail.len() < 3
            && previous.len() + tail.len() <= bounds.files
            && all().map(|weight| weight.lines).fold(0, u64::saturating_add) <= bounds.lines
            && all().map(|weight| weight.bytes).fold(0, u64::saturating_add) <= bounds.bytes
    };
    match groups.last_mut() {
        Some(previous) if fits(previous) => previous.extend(tail),
        _ => groups.push(tail),
    }
}

/// FNV-1a with its bits mixed at the end; spread matters here, secrecy does not, since the bounds hold anyway.
fn hash_of(path: &str) -> u64 {
    let hash = path
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    let hash = (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ (hash >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: Bounds = Bounds { files: 15, lines: 3_000, bytes: 120_000 };

    fn cut<'a>(paths: &[&'a str]) -> Vec<Vec<&'a str>> {
        cut_stably(paths, BOUNDS, |path| Weight { path, lines: 100, bytes: 3_000 })
    }

    #[test]
    fn an_insertion_moves_few_borders() {
        let names: Vec<String> = (0..400).map(|at| format!("src/file{at:04}.rs")).collect();
        let mut paths: Vec<&str> = names.iter().map(String::as_str).collect();
        let before = cut(&paths);
        paths.insert(5, "src/file0004b.rs");
        let after = cut(&paths);
        let kept = after.iter().filter(|group| before.contains(group)).count();
        assert!(kept + 4 >= before.len(), "{kept} of {} groups kept", before.len());
    }

    #[test]
    fn no_group_is_beyond_its_bounds_and_none_is_lost() {
        let names: Vec<String> = (0..1_000).map(|at| format!("f{at}")).collect();
        let paths: Vec<&str> = names.iter().map(String::as_str).collect();
        let groups = cut_stably(&paths, BOUNDS, |path| Weight { path, lines: 700, bytes: 10 });
        assert!(groups.iter().all(|group| group.len() <= 4 && !group.is_empty()));
        assert_eq!(groups.concat(), paths);
    }
}
