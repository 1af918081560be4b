//! `assize ledger`.

use assize_store::{LedgerEntry, Verified};
use clap::Subcommand;
use serde_json::json;

use super::exit::ExitStatus;
use super::output::Output;
use crate::audit::{AuditError, AuditReader};
use crate::clock;
use crate::config::{Environment, PlaceFlags, Settings};

/// What to do with the ledger.
#[derive(Subcommand, Debug)]
pub(super) enum Command {
    /// Print entries, oldest first
    Show(ShowArgs),
    /// Check the chain of hashes
    Verify(VerifyArgs),
}

/// Flags of `assize ledger show`.
#[derive(clap::Args, Debug)]
pub(super) struct ShowArgs {
    #[command(flatten)]
    place: PlaceFlags,
    /// First entry
    #[arg(long, default_value_t = 1, value_name = "SEQ")]
    from: u64,
    /// Entries at most
    #[arg(long, default_value_t = 1_000, value_name = "N")]
    limit: u64,
}

/// Flags of `assize ledger verify`.
#[derive(clap::Args, Debug)]
pub(super) struct VerifyArgs {
    #[command(flatten)]
    place: PlaceFlags,
}

pub(super) fn run(command: &Command, output: &Output, environment: Environment) -> Result<ExitStatus, AuditError> {
    match command {
        Command::Show(args) => show(args, output, environment),
        Command::Verify(args) => verify(args, output, environment),
    }
}

fn show(args: &ShowArgs, output: &Output, environment: Environment) -> Result<ExitStatus, AuditError> {
    let reader = AuditReader::open(Settings::gather(&args.place.alone(), environment)?)?;
    let entries = reader.store.ledger(args.from, args.limit)?;
    let lines: Vec<String> = entries
        .iter()
        .map(|e| format!("{:6} {} {:18} {}", e.seq, clock::rfc3339(e.at_ms), e.kind, e.subject))
        .collect();
    let values: Vec<_> = entries
        .iter()
        .map(|e| json!({"seq": e.seq, "at_ms": e.at_ms, "kind": e.kind, "subject": subject(e), "hash": e.hash}))
        .collect();
    output.outcome(&values, &lines);
    Ok(ExitStatus::Complete)
}

/// The subject as JSON; it is kept as text because its hash is over the text.
fn subject(entry: &LedgerEntry) -> serde_json::Value {
    serde_json::from_str(&entry.subject).unwrap_or_else(|_| serde_json::Value::from(entry.subject.clone()))
}

fn verify(args: &VerifyArgs, output: &Output, environment: Environment) -> Result<ExitStatus, AuditError> {
    let reader = AuditReader::open(Settings::gather(&args.place.alone(), environment)?)?;
    match reader.store.verify_ledger()? {
        Verified::Whole { entries, head } => {
            let line = format!("the ledger is whole: {entries} entries, head {head}");
            output.outcome(&json!({"whole": true, "entries": entries, "head": head}), &[line]);
            Ok(ExitStatus::Complete)
        }
        Verified::Broken { seq, why } => {
            let line = format!("the ledger was changed at entry {seq}: {why}");
            output.outcome(&json!({"whole": false, "seq": seq, "why": why}), &[line]);
            Ok(ExitStatus::Fault)
        }
    }
}
