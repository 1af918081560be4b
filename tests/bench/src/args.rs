//! What is measured, as the command line says it.

use std::path::PathBuf;

/// Shown with an error.
pub const USAGE: &str = "usage: assize-bench --assize FILE --worker FILE --scratch DIR [options]
  --sizes 100,1000,10000     source files of the generated repositories
  --workers 1,4,16           launches at once
  --repeats 3                runs of what is short
  --predecessor DIR          a checkout with audit-code.mjs; its plan is measured beside ours
  --predecessor-plan 21      its CPU seconds to plan 1,000 files
  --predecessor-audit 139    its CPU seconds for an audit of 1,000 files with 99 launches
  --predecessor-peak 272     MiB of its largest process in that audit";

/// The command line.
#[derive(Clone, Debug, PartialEq)]
pub struct Args {
    /// The binary that is measured.
    pub assize: PathBuf,
    /// A worker that answers at once.
    pub worker: PathBuf,
    /// Directory for everything that is made.
    pub scratch: PathBuf,
    /// Source files of the repositories.
    pub sizes: Vec<usize>,
    /// Launches at once.
    pub workers: Vec<usize>,
    /// Runs of what is short.
    pub repeats: usize,
    /// Checkout of the predecessor.
    pub predecessor: Option<PathBuf>,
    /// The predecessor's figures.
    pub figures: Figures,
}

/// What the predecessor was measured to need at 1,000 files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// CPU seconds of a plan.
    pub plan_cpu: f64,
    /// CPU seconds of a whole audit.
    pub audit_cpu: f64,
    /// MiB of the largest process.
    pub peak_mib: f64,
}

impl Args {
    /// Reads the command line.
    ///
    /// # Errors
    /// One line that says what is wrong.
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut args = Self {
            assize: PathBuf::new(),
            worker: PathBuf::new(),
            scratch: PathBuf::new(),
            sizes: vec![100, 1_000, 10_000],
            workers: vec![1, 4, 16],
            repeats: 3,
            predecessor: None,
            figures: Figures { plan_cpu: 21.0, audit_cpu: 139.0, peak_mib: 272.0 },
        };
        while let Some(flag) = words.next() {
            let value = words.next().ok_or_else(|| format!("{flag} needs a value"))?;
            match flag.as_str() {
                "--assize" => args.assize = value.into(),
                "--worker" => args.worker = value.into(),
                "--scratch" => args.scratch = value.into(),
                "--sizes" => args.sizes = numbers(&flag, &value)?,
                "--workers" => args.workers = numbers(&flag, &value)?,
                "--repeats" => args.repeats = number(&flag, &value)?,
                "--predecessor" => args.predecessor = Some(value.into()),
                "--predecessor-plan" => args.figures.plan_cpu = number(&flag, &value)?,
                "--predecessor-audit" => args.figures.audit_cpu = number(&flag, &value)?,
                "--predecessor-peak" => args.figures.peak_mib = number(&flag, &value)?,
                _ => return Err(format!("{flag} is no flag")),
            }
        }
        let missing = [(&args.assize, "--assize"), (&args.worker, "--worker"), (&args.scratch, "--scratch")];
        match missing.iter().find(|(path, _)| path.as_os_str().is_empty()) {
            Some((_, flag)) => Err(format!("{flag} is missing")),
            None if args.repeats == 0 => Err("--repeats is at least 1".to_owned()),
            None => Ok(args),
        }
    }
}

/// One number.
///
/// # Errors
/// One line that names the flag.
pub fn number<T: std::str::FromStr>(flag: &str, value: &str) -> Result<T, String> {
    value.trim().parse().map_err(|_| format!("{flag} takes a number, not {value}"))
}

/// Numbers with commas between them.
///
/// # Errors
/// One line that names the flag.
pub fn numbers<T: std::str::FromStr>(flag: &str, value: &str) -> Result<Vec<T>, String> {
    value.split(',').map(|one| number(flag, one)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Args, String> {
        Args::parse(text.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn what_is_needed_is_asked_for_and_the_rest_has_defaults() {
        let args = parse("--assize a --worker w --scratch s --sizes 5,6 --predecessor-plan 2.5").unwrap();
        assert_eq!((args.sizes, args.workers, args.figures.plan_cpu), (vec![5, 6], vec![1, 4, 16], 2.5));
        for wrong in ["--assize a --worker w", "--assize", "--what 1", "--assize a --worker w --scratch s --repeats x"]
        {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
