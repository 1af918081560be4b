//! The survey: finds the repository, walks it, reads what must be read on several threads, and sorts the rows.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use assize_core::inventory::{FileRow, Inventory, Vcs, VcsKind};

use crate::git::{Place, Tracked, derive_head, discover};
use crate::inspect::{Bench, Inspected, distrust_racy, inspect};
use crate::path_text::{render_path, separate_equal_paths};
use crate::scan::CHUNK;
use crate::selection::Selection;
use crate::walk::{Entry, Ground, base_of, walk};
use crate::{Problem, SurveyError, SurveyOptions};

/// What a survey gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Survey {
    /// All rows.
    pub inventory: Inventory,
    /// What the survey got over, sorted by path.
    pub problems: Vec<Problem>,
    /// Files that were read.
    pub read: u64,
    /// Files whose earlier row was taken over without reading.
    pub reused: u64,
}

/// Surveys the repository at `root`. `known` gives the row of a path from an earlier survey; it is called from several
/// threads. A row is taken over when size, modification time and inode agree and the modification was not racy.
///
/// # Errors
/// [`SurveyError`] when there is nothing to survey or an option makes no sense. What fails below the root has a row and a problem.
pub fn survey(
    root: &Path,
    options: &SurveyOptions,
    known: &(dyn Fn(&str) -> Option<FileRow> + Sync),
) -> Result<Survey, SurveyError> {
    let (real_root, place, selection) = check(root, options)?;
    let mut problems = Vec::new();
    let vcs = derive_vcs(place.as_ref(), &mut problems);
    let nothing = Tracked::default();
    let mut ground = Ground {
        root: &real_root,
        selection: &selection,
        place: place.as_ref(),
        tracked: &nothing,
        no_ignore: options.no_ignore,
    };
    let tracked = match ground.place {
        Some(place) if place.present => Tracked::read(place, &base_of(&ground)),
        _ => Ok(Tracked::default()),
    };
    let tracked = tracked.unwrap_or_else(|message| {
        problems.push(Problem::new("", message));
        Tracked::default()
    });
    ground.tracked = &tracked;
    let entries = walk(&ground, &mut problems)?;
    let bench = Bench { root: &real_root, max_parse_bytes: options.max_parse_bytes, now_ns: options.now_ns, known };
    let inspected = inspect_all(&bench, &entries, options.threads);
    Ok(assemble(&real_root, vcs, inspected, problems, options.now_ns))
}

/// Whether there is something to survey, and whether the options make sense. Reads nothing but names.
///
/// # Errors
/// Those of [`survey`].
pub fn check_survey(root: &Path, options: &SurveyOptions) -> Result<(), SurveyError> {
    check(root, options).map(|_| ())
}

fn check(root: &Path, options: &SurveyOptions) -> Result<(PathBuf, Option<Place>, Selection), SurveyError> {
    let real_root = check_root(root)?;
    let place = discover(&real_root);
    if place.as_ref().is_some_and(|place| place.kind == VcsKind::GitBare) {
        return Err(SurveyError::BareRepository { path: root.to_path_buf() });
    }
    let selection = Selection::derive(&real_root, options)?;
    Ok((real_root, place, selection))
}

fn check_root(root: &Path) -> Result<PathBuf, SurveyError> {
    let path = || root.to_path_buf();
    match root.canonicalize() {
        Ok(real) if real.is_dir() => Ok(real),
        Ok(_) => Err(SurveyError::RootNotDirectory { path: path() }),
        Err(error) => match error.kind() {
            std::io::ErrorKind::NotFound => Err(SurveyError::RootMissing { path: path() }),
            std::io::ErrorKind::NotADirectory => Err(SurveyError::RootNotDirectory { path: path() }),
            _ => Err(SurveyError::RootUnreadable { path: path(), source: error }),
        },
    }
}

fn derive_vcs(place: Option<&Place>, problems: &mut Vec<Problem>) -> Vcs {
    let Some(place) = place else { return Vcs { kind: VcsKind::None, shallow: false, head: None } };
    if !place.present {
        problems.push(Problem::new(".git", "it names a git directory that is not there"));
        return Vcs { kind: place.kind, shallow: false, head: None };
    }
    let head = derive_head(place).unwrap_or_else(|message| {
        problems.push(Problem::new("", message));
        None
    });
    let shallow = place.common_dir.join("shallow").metadata().is_ok_and(|file| file.len() > 0);
    Vcs { kind: place.kind, shallow, head }
}

/// Entries that a thread takes at a time: enough to make taking cheap, few enough to share out large files.
const BATCH: usize = 32;

fn inspect_all(bench: &Bench, entries: &[Entry], threads: usize) -> Vec<Inspected> {
    let offered = thread::available_parallelism().map_or(1, usize::from).min(16);
    let threads = if threads == 0 { offered } else { threads }.min(entries.len().div_ceil(BATCH)).max(1);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut buffer = vec![0; CHUNK];
        let mut done = Vec::new();
        loop {
            let start = next.fetch_add(BATCH, Ordering::Relaxed);
            let Some(batch) = entries.get(start..entries.len().min(start + BATCH)).filter(|batch| !batch.is_empty())
            else {
                return done;
            };
            done.extend(batch.iter().map(|entry| inspect(bench, entry, &mut buffer)));
        }
    };
    if threads == 1 {
        return work();
    }
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut done = work();
        for other in others {
            match other.join() {
                Ok(more) => done.extend(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    })
}

fn assemble(root: &Path, vcs: Vcs, inspected: Vec<Inspected>, mut problems: Vec<Problem>, now_ns: i64) -> Survey {
    let (mut read, mut reused) = (0, 0);
    let mut rows = Vec::with_capacity(inspected.len());
    for one in inspected {
        read += u64::from(one.read);
        reused += u64::from(one.reused);
        problems.extend(one.problem);
        rows.push(one.row);
    }
    // Before the paths are final, raw bytes order those that look alike, whatever order threads came in.
    rows.sort_unstable_by(|left, right| left.path.cmp(&right.path).then_with(|| left.raw.cmp(&right.raw)));
    separate_equal_paths(&mut rows);
    rows.sort_by(|left, right| left.path.cmp(&right.path));
    rows.iter_mut().for_each(|row| distrust_racy(row, now_ns));
    problems.sort();
    problems.dedup();
    let name = root.file_name().map_or_else(|| "repository".to_owned(), |name| render_path(name.as_encoded_bytes()).0);
    Survey { inventory: Inventory { name, vcs, rows }, problems, read, reused }
}
