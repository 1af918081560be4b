//! `assize quota`.

use assize_core::dispatch::{Decision, WindowKey};
use assize_store::{Admission, QuotaStore, Usage};
use clap::Subcommand;
use serde_json::{Value, json};

use super::exit::ExitStatus;
use super::output::Output;
use crate::audit::{AuditError, AuditReader};
use crate::clock;
use crate::config::{Environment, PlaceFlags, Settings};
use crate::driver::quota_file;

const DAY_MS: u64 = 86_400_000;

/// What to do with limits.
#[derive(Subcommand, Debug)]
pub(super) enum Command {
    /// Windows, cooldowns and widths that the runs of this user share, and what accounts were used for
    Show(ShowArgs),
    /// Why launches of an audit were made when they were: the windows that were consulted, and the one that decided
    Why(WhyArgs),
    /// Forget windows, cooldowns and widths; what accounts were used for stays
    Reset(ResetArgs),
}

/// Flags of `assize quota show`.
#[derive(clap::Args, Debug)]
pub(super) struct ShowArgs {
    /// Days of usage to show
    #[arg(long, default_value_t = 7, value_name = "N")]
    days: u64,
}

/// Flags of `assize quota why`.
#[derive(clap::Args, Debug)]
pub(super) struct WhyArgs {
    #[command(flatten)]
    place: PlaceFlags,
    /// Only decisions about this launch or lane
    #[arg(long, value_name = "LAUNCH|LANE")]
    about: Option<String>,
    /// Decisions to show, the latest
    #[arg(long, default_value_t = 50, value_name = "N")]
    last: u32,
}

/// Flags of `assize quota reset`.
#[derive(clap::Args, Debug)]
pub(super) struct ResetArgs {
    /// Account or lane, as `assize quota show` names it; all when none is given
    name: Option<String>,
}

pub(super) fn run(command: &Command, output: &Output, environment: Environment) -> Result<ExitStatus, AuditError> {
    match command {
        Command::Show(args) => show(args, output, &environment)?,
        Command::Why(args) => why(args, output, environment)?,
        Command::Reset(args) => reset(args, output, &environment)?,
    }
    Ok(ExitStatus::Complete)
}

fn open(environment: &Environment) -> Result<Option<QuotaStore>, AuditError> {
    let Some(path) = quota_file(environment).filter(|path| path.exists()) else { return Ok(None) };
    Ok(Some(QuotaStore::open(&path)?.0))
}

fn show(args: &ShowArgs, output: &Output, environment: &Environment) -> Result<(), AuditError> {
    let now_ms = clock::now_ms();
    let Some(store) = open(environment)? else {
        output.outcome(&json!({"windows": [], "lanes": [], "usage": []}), &["no lane has been used yet".to_owned()]);
        return Ok(());
    };
    let state = store.state()?;
    let usage = store.usage_since((now_ms / DAY_MS).saturating_sub(args.days.saturating_sub(1)))?;
    let windows: Vec<Value> = state
        .windows
        .iter()
        .map(|(key, window)| json!({"window": key, "level": window.level_at(now_ms), "state": window}))
        .collect();
    let lanes: Vec<Value> = state.lanes.iter().map(|(lane, memory)| json!({"lane": lane, "state": memory})).collect();
    let mut lines = Vec::new();
    for (key, window) in &state.windows {
        let of = format!(" of {:.0}", window.capacity());
        let reset = window.resets_at_ms.filter(|at| *at > now_ms).map(|at| format!(", full at {}", clock::rfc3339(at)));
        lines.push(format!(
            "{}: {:.0}{of} left now{}",
            window_name(key),
            window.level_at(now_ms),
            reset.unwrap_or_default()
        ));
    }
    for (lane, memory) in &state.lanes {
        let cooling = memory.cooldown.as_ref().filter(|cooldown| cooldown.until_ms > now_ms);
        let state = cooling.map_or_else(
            || "open".to_owned(),
            |cooldown| format!("cooling until {}: {}", clock::rfc3339(cooldown.until_ms), cooldown.reason),
        );
        lines.push(format!("lane {lane}: {state}, last width {:.1}", memory.width));
    }
    lines.extend(usage.iter().map(usage_line));
    if lines.is_empty() {
        lines.push("nothing is known of any lane".to_owned());
    }
    let usage: Vec<Value> = usage.iter().map(usage_value).collect();
    output.outcome(&json!({"windows": windows, "lanes": lanes, "usage": usage}), &lines);
    Ok(())
}

/// `requests of api.example/KEY in 60 s`.
fn window_name(key: &WindowKey) -> String {
    let period = match key.period_ms {
        0 => String::new(),
        ms => format!(" in {} s", ms.div_ceil(1_000)),
    };
    format!("{} of {}{period}", key.dimension.as_str(), key.holder)
}

fn usage_line(usage: &Usage) -> String {
    let usd = match usage.micro_usd {
        0 => String::new(),
        micro => format!(", {:.2} US dollars", micro as f64 / 1e6),
    };
    let day = clock::rfc3339(usage.day * DAY_MS);
    format!(
        "{} {}: {} launches, {} requests, {} tokens in, {} out{usd}",
        day.split('T').next().unwrap_or_default(),
        usage.account,
        usage.launches,
        usage.requests,
        usage.input_tokens,
        usage.output_tokens
    )
}

fn usage_value(usage: &Usage) -> Value {
    json!({
        "account": usage.account,
        "day": clock::rfc3339(usage.day * DAY_MS).split('T').next(),
        "launches": usage.launches,
        "requests": usage.requests,
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "micro_usd": usage.micro_usd,
    })
}

fn why(args: &WhyArgs, output: &Output, environment: Environment) -> Result<(), AuditError> {
    let reader = AuditReader::open(Settings::gather(&args.place.alone(), environment)?)?;
    let admissions = reader.store.admissions(args.about.as_deref(), args.last)?;
    let mut lines: Vec<String> = admissions.iter().flat_map(admission_lines).collect();
    if lines.is_empty() {
        lines
            .push("no decision is recorded; those of the built-in rules are not, since nothing limits them".to_owned());
    }
    let value = |admission: &Admission| json!({"launch": admission.launch, "decision": admission.decision});
    output.outcome(&admissions.iter().map(value).collect::<Vec<_>>(), &lines);
    Ok(())
}

fn admission_lines(admission: &Admission) -> Vec<String> {
    let Decision { at_ms, lane, tasks, admitted, reason, windows, binding, fits_at_ms, .. } = &admission.decision;
    let what = match (&admission.launch, admitted) {
        (Some(launch), _) => format!("launched as {launch}"),
        (None, true) => "admitted".to_owned(),
        (None, false) => "had to wait".to_owned(),
    };
    let fits = fits_at_ms.filter(|_| !admitted).map(|at| format!("; it fits at {}", clock::rfc3339(at)));
    let mut lines =
        vec![format!("{} {lane}: {tasks} tasks {what}: {reason}{}", clock::rfc3339(*at_ms), fits.unwrap_or_default())];
    for (at, window) in windows.iter().enumerate() {
        let mark = if *binding == Some(at) { ">" } else { " " };
        let of = window.capacity.map(|capacity| format!(" of {capacity:.0}")).unwrap_or_default();
        lines.push(format!(
            "  {mark} {}: {:.1}{of} left, {:.1} expected",
            window_name(&window.key),
            window.level,
            window.draw
        ));
    }
    lines
}

fn reset(args: &ResetArgs, output: &Output, environment: &Environment) -> Result<(), AuditError> {
    let gone = match open(environment)? {
        Some(mut store) => store.reset(args.name.as_deref())?,
        None => 0,
    };
    let line = match (gone, &args.name) {
        (0, Some(name)) => format!("nothing is known of {name}; `assize quota show` names what is"),
        (0, None) => "nothing was known of any lane".to_owned(),
        (gone, _) => format!("{gone} windows and lanes are forgotten"),
    };
    output.outcome(&json!({"forgotten": gone}), &[line]);
    Ok(())
}
