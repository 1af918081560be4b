//! `assize provider`.

use std::path::Path;
use std::time::Duration;

use clap::Subcommand;
use serde_json::json;

use super::exit::ExitStatus;
use super::output::Output;
use super::run::runtime;
use crate::audit::AuditError;
use crate::components::{Catalog, RunLane, Wanted, choose_lanes};
use crate::config::{Environment, Origin, ProviderWish, RunFlags, Settings};
use crate::driver::ping_lane;
use crate::launch::{LaunchHome, ask_program, launch_environment, resolve_program};

/// Time for a program to say its version; some unpack themselves at their first start.
const VERSION_LIMIT: Duration = Duration::from_secs(60);

/// What to do with providers.
#[derive(Subcommand, Debug)]
pub(super) enum Command {
    /// List the providers, and which one a run would take
    List(ListArgs),
    /// Whether a provider can work here: component, configuration, grants, program and its version, and whether it answers
    /// one tiny launch of at most one request; says what that spent
    Check(CheckArgs),
}

/// Flags of `assize provider list`.
#[derive(clap::Args, Debug)]
pub(super) struct ListArgs {
    #[command(flatten)]
    flags: RunFlags,
}

/// Flags of `assize provider check`.
#[derive(clap::Args, Debug)]
pub(super) struct CheckArgs {
    /// Provider or lane
    name: String,
    /// Launch nothing: look at component, configuration, grants and program only
    #[arg(long)]
    no_launch: bool,
    #[command(flatten)]
    flags: RunFlags,
}

pub(super) fn run(command: &Command, output: &Output, environment: Environment) -> Result<ExitStatus, AuditError> {
    match command {
        Command::List(args) => list(args, output, environment),
        Command::Check(args) => check(args, output, environment),
    }
}

fn list(args: &ListArgs, output: &Output, environment: Environment) -> Result<ExitStatus, AuditError> {
    let settings = Settings::gather(&args.flags, environment)?;
    let catalog = Catalog::load(&settings, Wanted::All)?;
    let chosen = choose_lanes(&settings, &catalog);
    let taken = |name: &str| chosen.as_ref().is_ok_and(|lanes| lanes.iter().any(|lane| lane.provider == name));
    let mut values = Vec::new();
    let mut lines = Vec::new();
    for (name, component) in catalog.providers() {
        let configured = settings.providers.contains_key(name);
        values.push(json!({"name": name, "plugin": component.name(), "origin": component.origin,
            "configured": configured, "chosen": taken(name)}));
        let mark = if taken(name) { "*" } else { " " };
        let state = if configured { ", configured" } else { "" };
        lines.push(format!(
            "{mark} {name:14} {} ({}{state})",
            component.plugin.description().summary,
            component.origin
        ));
    }
    match &chosen {
        Ok(lanes) => lines.extend(lanes.iter().map(|lane| format!("a run takes {}: {}", lane.name, lane.why))),
        Err(error) => lines.push(format!("a run would stop: {error}")),
    }
    output.outcome(&values, &lines);
    Ok(ExitStatus::Complete)
}

fn check(args: &CheckArgs, output: &Output, environment: Environment) -> Result<ExitStatus, AuditError> {
    let mut settings = Settings::gather(&args.flags, environment)?;
    settings.provider = ProviderWish { name: args.name.clone(), origin: Origin::Flag };
    let catalog = Catalog::load(&settings, Wanted::ForRun)?;
    let lane = match choose_lanes(&settings, &catalog)?.into_iter().next() {
        Some(lane) => lane,
        None => return Err(AuditError::NotFound("no lane is named".to_owned())),
    };
    let grants: Vec<String> = lane.grants.iter().map(ToString::to_string).collect();
    let mut checked = Checked {
        lines: vec![
            format!(
                "component: {} {}, {}",
                lane.component.name(),
                lane.component.plugin.description().version,
                lane.component.origin
            ),
            "configuration: fits its schema".to_owned(),
            format!("grants: {}", if grants.is_empty() { "none".to_owned() } else { grants.join(", ") }),
        ],
        usable: true,
        value: json!({"name": lane.name, "provider": lane.provider, "model": lane.model, "grants": grants}),
    };
    if let Some(model) = &lane.model {
        checked.lines.push(format!("model: {model}"));
    }
    runtime()?.block_on(async {
        look_at_program(&settings, &lane, &mut checked).await;
        if checked.usable && !args.no_launch {
            launch(&settings, &lane, &mut checked).await?;
        }
        Ok::<(), AuditError>(())
    })?;
    checked.lines.push(if checked.usable { "it can be used" } else { "it cannot be used" }.to_owned());
    checked.value["usable"] = json!(checked.usable);
    output.outcome(&checked.value, &checked.lines);
    Ok(if checked.usable { ExitStatus::Complete } else { ExitStatus::Incomplete })
}

/// What a check has come to.
struct Checked {
    lines: Vec<String>,
    usable: bool,
    value: serde_json::Value,
}

/// Whether its program is there, and which version it says it is.
async fn look_at_program(settings: &Settings, lane: &RunLane, checked: &mut Checked) {
    let Some(program) = lane.program() else {
        checked.lines.push("program: none is launched".to_owned());
        checked.value["program"] = serde_json::Value::Null;
        return;
    };
    let resolved = match resolve_program(&program, settings.environment.path(), &settings.root) {
        Ok(resolved) => resolved.path,
        Err(error) => {
            checked.usable = false;
            checked.lines.push(format!("program: {error}"));
            checked.value["program"] = json!(error.to_string());
            return;
        }
    };
    checked.value["program"] = json!(resolved);
    // A template of the user's own is not asked: nobody knows what it does with an argument that it was not given.
    let asks = lane.component.plugin.description().requests.iter().any(|request| request.kind == "program");
    let version = if asks { program_version(settings, &resolved).await } else { None };
    checked.value["version"] = json!(version);
    let version = version.map(|version| format!(", {version}")).unwrap_or_default();
    checked.lines.push(format!("program: {}{version}", resolved.display()));
}

/// The first line that the program prints for `--version`.
async fn program_version(settings: &Settings, program: &Path) -> Option<String> {
    let environment = &settings.environment;
    let scratch = tempfile::tempdir().ok()?;
    let env = launch_environment(environment.all(), &[], LaunchHome::User, scratch.path(), &settings.root).ok()?;
    let answer = ask_program(program, &["--version".to_owned()], &env, VERSION_LIMIT).await.ok()?;
    let text = String::from_utf8_lossy(&answer).into_owned();
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(|line| line.chars().take(100).collect())
}

/// One tiny launch, and what it cost.
async fn launch(settings: &Settings, lane: &RunLane, checked: &mut Checked) -> Result<(), AuditError> {
    let Some(pong) = ping_lane(settings, lane).await? else {
        checked.lines.push("launch: nobody is asked who would answer at once".to_owned());
        return Ok(());
    };
    checked.usable = pong.answered();
    let said = if pong.message.is_empty() { String::new() } else { format!(": {}", pong.message) };
    checked.lines.push(format!("launch: {} after {} ms{said}", pong.outcome.as_str(), pong.wall_ms));
    let usage = pong.usage.unwrap_or_default();
    let tokens = match (usage.input_tokens, usage.cached_input_tokens) {
        (None, None) => None,
        (fresh, cached) => Some(fresh.unwrap_or(0).saturating_add(cached.unwrap_or(0))),
    };
    let known = |tokens: Option<u64>| tokens.map_or_else(|| "unknown".to_owned(), |tokens| tokens.to_string());
    let cost = usage.cost_micro_usd.map(|micro| format!(", {:.4} US dollars", micro as f64 / 1e6)).unwrap_or_default();
    let counted =
        if pong.requests > 0 { format!("{} request", pong.requests) } else { "requests not counted".to_owned() };
    checked.lines.push(format!(
        "spent: {counted}, {} tokens in, {} out{cost}",
        known(tokens),
        known(usage.output_tokens)
    ));
    checked.value["launch"] = json!({
        "outcome": pong.outcome, "message": pong.message, "wall_ms": pong.wall_ms, "requests": pong.requests,
        "input_tokens": tokens, "output_tokens": usage.output_tokens, "micro_usd": usage.cost_micro_usd,
        "model": usage.model,
    });
    Ok(())
}
