//! Measures the real binary: start-up, plans, whole audits and runs with nothing to do, on generated repositories; and how
//! well it dispatches under limits. `tests/bench/run` builds what it needs and starts it.

mod args;
mod call;
mod dispatch;
mod predecessor;
mod results;
mod subject;
mod suite;
mod targets;

use std::io::{self, Write};
use std::process::ExitCode;

use args::Args;
use dispatch::DispatchArgs;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    if words.next_if_eq("dispatch").is_some() {
        return match DispatchArgs::parse(words) {
            Ok(args) => ended(dispatch::run(&args, &mut io::stdout())),
            Err(problem) => refuse(&problem, dispatch::USAGE),
        };
    }
    match Args::parse(words) {
        Ok(args) => ended(suite::run(&args, &mut io::stdout())),
        Err(problem) => refuse(&problem, args::USAGE),
    }
}

/// A missed target is a figure to look at, not a failure of the measurement.
fn ended(measured: io::Result<()>) -> ExitCode {
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "the measurement broke off: {error}");
            ExitCode::FAILURE
        }
    }
}

fn refuse(problem: &str, usage: &str) -> ExitCode {
    let _ = writeln!(io::stderr(), "{problem}\n\n{usage}");
    ExitCode::from(2)
}
