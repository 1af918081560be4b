//! `assize report`.

use assize_core::render::{render_findings_json, render_markdown, render_sarif};
use clap::ValueEnum;

use super::exit::ExitStatus;
use super::output::Output;
use crate::audit::{AuditError, AuditReader, render_input};
use crate::config::{Environment, RunFlags, Settings};

/// Flags of `assize report`.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    flags: RunFlags,
    /// Format; --json is short for `--format findings`
    #[arg(long, value_enum, default_value_t = Format::Markdown)]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Markdown,
    /// audit-tools/audit-findings/v1 JSON
    Findings,
    /// SARIF 2.1.0
    Sarif,
}

pub(super) fn run(args: &Args, output: &Output, environment: Environment) -> Result<ExitStatus, AuditError> {
    let reader = AuditReader::open(Settings::gather(&args.flags, environment)?)?;
    let input = render_input(&reader)?;
    let text = match args.format {
        Format::Markdown if output.is_json() => render_findings_json(&input),
        Format::Markdown => render_markdown(&input),
        Format::Findings => render_findings_json(&input),
        Format::Sarif => render_sarif(&input),
    };
    output.print(&text);
    Ok(if input.is_complete() { ExitStatus::Complete } else { ExitStatus::Incomplete })
}
