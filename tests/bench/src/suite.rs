//! The measurements in their order.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::args::Args;
use crate::call::Cost;
use crate::predecessor::measure_plan;
use crate::results::{Row, What, render_heading, render_row};
use crate::subject::Subject;
use crate::targets::render_targets;

/// Starts of the binary that are measured.
const STARTS: usize = 20;
/// Files from which on the long measurements are made once.
const LARGE: usize = 5_000;

/// Measures everything, printing each row when it is there, and the targets at the end.
///
/// # Errors
/// When a call fails; what was measured has been printed.
pub fn run(args: &Args, out: &mut impl Write) -> io::Result<()> {
    let subject = Subject::prepare(&args.assize, &args.worker, &args.scratch)?;
    let mut suite = Suite { args, subject, out, rows: Vec::new(), state: PathBuf::new() };
    suite.print_load("before")?;
    writeln!(suite.out, "{}", render_heading())?;
    suite.version()?;
    for files in &args.sizes {
        suite.size(*files)?;
    }
    suite.print_load("after")?;
    let text = render_targets(&suite.rows, args);
    write!(suite.out, "\n{text}")?;
    suite.subject.close()
}

struct Suite<'a, W> {
    args: &'a Args,
    subject: Subject,
    out: &'a mut W,
    rows: Vec<Row>,
    /// State directory that the next call works on.
    state: PathBuf,
}

impl<W: Write> Suite<'_, W> {
    fn version(&mut self) -> io::Result<()> {
        let cost = self.subject.measure_bare(&["version".into()], STARTS)?;
        self.add(Row { what: What::Version, files: 0, cost, launches: None, tasks: None })
    }

    fn size(&mut self, files: usize) -> io::Result<()> {
        let root = self.subject.repository(files)?;
        let repeats = if files >= LARGE { 1 } else { self.args.repeats };
        self.plans(files, &root, repeats)?;
        for workers in self.args.workers.clone() {
            self.audit(What::Rules(workers), files, &root)?;
        }
        self.nothing(files, &root)?;
        self.review(files, &root)?;
        for workers in self.args.workers.clone() {
            self.audit(What::Launched(workers), files, &root)?;
        }
        self.predecessor(files, &root)
    }

    fn plans(&mut self, files: usize, root: &Path, repeats: usize) -> io::Result<()> {
        self.subject.empty_cache();
        self.state = self.subject.new_state();
        let cold = self.subject.measure(1, |_| plan_args(root, &self.state))?;
        self.add(planned(What::PlanCold, files, cold))?;
        let states: Vec<PathBuf> = (0..repeats).map(|_| self.subject.new_state()).collect();
        let fresh = self.subject.measure(repeats, |at| plan_args(root, &states[at]))?;
        self.add(planned(What::PlanFresh, files, fresh))?;
        let again = self.subject.measure(self.args.repeats, |_| plan_args(root, &self.state))?;
        self.add(planned(What::PlanAgain, files, again))
    }

    fn audit(&mut self, what: What, files: usize, root: &Path) -> io::Result<()> {
        self.state = self.subject.new_state();
        self.measure_run(what, files, root, 1)
    }

    /// On the state of the audit before.
    fn nothing(&mut self, files: usize, root: &Path) -> io::Result<()> {
        self.measure_run(What::Nothing, files, root, self.args.repeats.max(5))
    }

    /// From a plan to the report, without the plan: launching, validating, ingesting and reporting.
    fn review(&mut self, files: usize, root: &Path) -> io::Result<()> {
        let workers = self.args.workers.iter().copied().max().unwrap_or(1);
        self.state = self.subject.new_state();
        self.subject.measure_bare(&plan_args(root, &self.state), 1)?;
        self.measure_run(What::Review(workers), files, root, 1)
    }

    fn predecessor(&mut self, files: usize, root: &Path) -> io::Result<()> {
        let Some(checkout) = self.args.predecessor.as_ref().filter(|_| files < LARGE) else { return Ok(()) };
        let cost = measure_plan(checkout, root, &self.subject.place(&format!("predecessor-{files}")))?;
        self.add(Row { what: What::Predecessor, files, cost, launches: None, tasks: None })
    }

    fn measure_run(&mut self, what: What, files: usize, root: &Path, repeats: usize) -> io::Result<()> {
        let cost = self.subject.measure(repeats, |_| run_args(what, root, &self.state))?;
        let outcome: Value = serde_json::from_str(&cost.stdout)?;
        let tasks = self.subject.tasks_done(root, &self.state)?;
        self.add(Row { what, files, launches: outcome["launches"].as_u64(), tasks: Some(tasks), cost })
    }

    fn add(&mut self, row: Row) -> io::Result<()> {
        writeln!(self.out, "{}", render_row(&row))?;
        self.out.flush()?;
        self.rows.push(row);
        Ok(())
    }

    /// Wall time depends on the neighbours, so they are shown.
    fn print_load(&mut self, when: &str) -> io::Result<()> {
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        writeln!(self.out, "load {when}: {}", load.trim())
    }
}

fn planned(what: What, files: usize, cost: Cost) -> Row {
    Row { what, files, launches: None, tasks: tasks_of_plan(&cost.stdout), cost }
}

/// `1000 files in 40 units, 590 tasks for 3000 (file, lens) pairs`
fn tasks_of_plan(text: &str) -> Option<u64> {
    let (before, _) = text.lines().next()?.split_once(" tasks for ")?;
    before.rsplit(' ').next()?.parse().ok()
}

fn plan_args(root: &Path, state: &Path) -> Vec<OsString> {
    words("plan -q --state-dir", &[state, root])
}

fn run_args(what: What, root: &Path, state: &Path) -> Vec<OsString> {
    let (provider, workers) = match what {
        What::Launched(workers) => ("command", Some(workers)),
        What::Rules(workers) | What::Review(workers) => ("rules", Some(workers)),
        _ => ("rules", None),
    };
    let workers = workers.map_or_else(String::new, |workers| format!(" --workers {workers}"));
    // Second looks would add work that depends on what was found.
    words(&format!("run --json -q --no-deepening --provider {provider}{workers} --state-dir"), &[state, root])
}

fn words(text: &str, paths: &[&Path]) -> Vec<OsString> {
    text.split(' ').map(OsString::from).chain(paths.iter().map(|path| path.as_os_str().to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_tasks_is_read_from_what_people_read() {
        assert_eq!(tasks_of_plan("9 files in 2 units, 12 tasks for 30 (file, lens) pairs\nleft out: x"), Some(12));
        assert_eq!(tasks_of_plan("nothing"), None);
    }

    #[test]
    fn paths_with_spaces_stay_whole() {
        let args = run_args(What::Launched(4), Path::new("/a b"), Path::new("/s"));
        assert_eq!(args.last(), Some(&OsString::from("/a b")));
        assert!(args.windows(2).any(|pair| pair == ["--workers", "4"]));
    }
}
