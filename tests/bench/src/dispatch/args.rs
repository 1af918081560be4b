//! What is dispatched, as the command line says it.

use std::path::PathBuf;

use crate::args::{number, numbers};

/// Shown with an error.
pub const USAGE: &str = "usage: assize-bench dispatch --assize FILE --scratch DIR [options]
  --tasks 600                tasks, one request each
  --requests 160             requests a minute that the service takes
  --tokens 400000            tokens a minute that it takes
  --latency 1500,0.5         median of its answers in milliseconds, and the deviation of the logarithm
  --width 24                 launches at once
  --margins 0.8,1            parts of a limit that may be used; none leaves these runs out
  --together 2               runs at once with one key; 0 leaves this out";

/// The command line.
#[derive(Clone, Debug, PartialEq)]
pub struct DispatchArgs {
    /// The binary that is measured.
    pub assize: PathBuf,
    /// Directory for everything that is made.
    pub scratch: PathBuf,
    /// Tasks.
    pub tasks: usize,
    /// What the service takes.
    pub limits: Limits,
    /// Median in milliseconds, and the deviation of the logarithm.
    pub latency: (f64, f64),
    /// Launches at once.
    pub width: usize,
    /// Parts of a limit that may be used, a run each.
    pub margins: Vec<f64>,
    /// Runs at once with one key.
    pub together: usize,
}

/// What a service takes in a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests.
    pub requests: u64,
    /// Tokens in and out.
    pub tokens: u64,
}

/// Length of the service's windows, in milliseconds. Services tell their limits by the minute, so that nothing else is tried.
pub const WINDOW_MS: f64 = 60_000.0;

impl DispatchArgs {
    /// Reads the command line.
    ///
    /// # Errors
    /// One line that says what is wrong.
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut args = Self {
            assize: PathBuf::new(),
            scratch: PathBuf::new(),
            tasks: 600,
            limits: Limits { requests: 160, tokens: 400_000 },
            latency: (1_500.0, 0.5),
            width: 24,
            margins: vec![0.8, 1.0],
            together: 2,
        };
        while let Some(flag) = words.next() {
            let value = words.next().ok_or_else(|| format!("{flag} needs a value"))?;
            match flag.as_str() {
                "--assize" => args.assize = value.into(),
                "--scratch" => args.scratch = value.into(),
                "--tasks" => args.tasks = number(&flag, &value)?,
                "--requests" => args.limits.requests = number(&flag, &value)?,
                "--tokens" => args.limits.tokens = number(&flag, &value)?,
                "--latency" => match numbers(&flag, &value)?.as_slice() {
                    [median, deviation] => args.latency = (*median, *deviation),
                    _ => return Err(format!("{flag} takes a median and a deviation")),
                },
                "--width" => args.width = number(&flag, &value)?,
                "--margins" if value == "none" => args.margins.clear(),
                "--margins" => args.margins = numbers(&flag, &value)?,
                "--together" => args.together = number(&flag, &value)?,
                _ => return Err(format!("{flag} is no flag")),
            }
        }
        args.check()
    }

    fn check(self) -> Result<Self, String> {
        let missing = [(&self.assize, "--assize"), (&self.scratch, "--scratch")];
        if let Some((_, flag)) = missing.iter().find(|(path, _)| path.as_os_str().is_empty()) {
            return Err(format!("{flag} is missing"));
        }
        let counts = [self.tasks as u64, self.limits.requests, self.limits.tokens, self.width as u64];
        if counts.contains(&0) {
            return Err("--tasks, --requests, --tokens and --width are at least 1".to_owned());
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<DispatchArgs, String> {
        DispatchArgs::parse(text.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn what_is_needed_is_asked_for_and_the_rest_has_defaults() {
        let args = parse("--assize a --scratch s --latency 20,0.1 --margins none").unwrap();
        assert_eq!((args.latency, args.margins, args.tasks), ((20.0, 0.1), vec![], 600));
        for wrong in ["--assize a", "--assize a --scratch s --width 0", "--assize a --scratch s --latency 3"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
