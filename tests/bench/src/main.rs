//! Measures the real binary: start-up, plans, whole audits and runs with nothing to do, on generated repositories.
//! `tests/bench/run` builds what it needs and starts it.

mod args;
mod call;
mod predecessor;
mod results;
mod subject;
mod suite;
mod targets;

use std::io::{self, Write};
use std::process::ExitCode;

use args::Args;

fn main() -> ExitCode {
    let args = match Args::parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(problem) => {
            let _ = writeln!(io::stderr(), "{problem}\n\n{}", args::USAGE);
            return ExitCode::from(2);
        }
    };
    match suite::run(&args, &mut io::stdout()) {
        // A missed target is a figure to look at, not a failure of the measurement.
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "the measurement broke off: {error}");
            ExitCode::FAILURE
        }
    }
}
