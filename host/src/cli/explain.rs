//! `assize explain`.

use super::exit::ExitStatus;
use super::output::Output;
use crate::audit::{AuditError, AuditReader, explain};
use crate::config::{Environment, RunFlags, Settings};

/// Flags of `assize explain`.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// Task name or id, finding id, or path of a file
    what: String,
    #[command(flatten)]
    flags: RunFlags,
}

pub(super) fn run(args: &Args, output: &Output, environment: Environment) -> Result<ExitStatus, AuditError> {
    let reader = AuditReader::open(Settings::gather(&args.flags, environment)?)?;
    let explanation = explain(&reader, &args.what)?;
    output.outcome(&explanation, &explanation.lines);
    Ok(ExitStatus::Complete)
}
