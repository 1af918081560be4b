//! `assize stop`.

use assize_store::{Held, StoreLock};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::exit::ExitStatus;
use super::output::Output;
use crate::audit::{AuditError, is_alive};
use crate::config::{Environment, PlaceFlags, Settings};

/// Flags of `assize stop`.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    #[command(flatten)]
    place: PlaceFlags,
    /// End running launches at once instead of within 10 s
    #[arg(long)]
    now: bool,
}

pub(super) fn run(args: &Args, output: &Output, environment: Environment) -> Result<ExitStatus, AuditError> {
    let settings = Settings::gather(&args.place.alone(), environment)?;
    let held = if settings.state_dir.is_dir() { StoreLock::held(&settings.state_dir)? } else { None };
    let Some(held) = held else {
        output.outcome(&json!({"stopped": null}), &["nobody works on this audit".to_owned()]);
        return Ok(ExitStatus::Complete);
    };
    let pid = living(&held)?;
    let signals = if args.now { 2 } else { 1 };
    for _ in 0..signals {
        kill_process(pid, Signal::INT).map_err(|error| {
            AuditError::NotFound(format!("process {} cannot be asked to stop: {error}", pid.as_raw_nonzero()))
        })?;
    }
    let how = if args.now { "at once" } else { "within 10 s; `assize stop --now` ends its launches at once" };
    let line = format!("process {} was asked to stop; it ends {how}", pid.as_raw_nonzero());
    output.outcome(&json!({"stopped": pid.as_raw_nonzero()}), &[line]);
    Ok(ExitStatus::Complete)
}

/// The process that has the lock, if it is on this machine and the one that wrote so. A signal must not reach another.
fn living(held: &Held) -> Result<Pid, AuditError> {
    let unknown =
        || AuditError::NotFound("somebody works on this audit, but it cannot be told which process".to_owned());
    let holder = held.holder.as_ref().ok_or_else(unknown)?;
    if !is_alive(holder) {
        let message =
            format!("this audit is worked on by process {} of {}, not of this machine", holder.pid, holder.host);
        return Err(AuditError::NotFound(message));
    }
    i32::try_from(holder.pid).ok().and_then(Pid::from_raw).ok_or_else(unknown)
}
