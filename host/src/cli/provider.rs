//! `assize provider`.

use clap::Subcommand;
use serde_json::json;

use super::exit::ExitStatus;
use super::output::Output;
use crate::audit::AuditError;
use crate::components::{Catalog, Chosen, choose_provider, program_of};
use crate::config::{Environment, Origin, ProviderWish, RunFlags, Settings};
use crate::launch::resolve_program;

/// What to do with providers.
#[derive(Subcommand, Debug)]
pub(super) enum Command {
    /// List the providers, and which one a run would take
    List(ListArgs),
    /// Whether a provider can work here: component, configuration, grants, program. Nothing is launched
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
    /// Provider
    name: String,
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
    let catalog = Catalog::load(&settings)?;
    let chosen = choose_provider(&settings, &catalog);
    let taken = chosen.as_ref().map(|c| c.name.clone()).unwrap_or_default();
    let mut values = Vec::new();
    let mut lines = Vec::new();
    for (name, component) in catalog.providers() {
        let configured = settings.providers.contains_key(name);
        values.push(json!({"name": name, "plugin": component.name(), "origin": component.origin,
            "configured": configured, "chosen": name == taken}));
        let mark = if name == taken { "*" } else { " " };
        let state = if configured { ", configured" } else { "" };
        lines.push(format!(
            "{mark} {name:14} {} ({}{state})",
            component.plugin.description().summary,
            component.origin
        ));
    }
    match &chosen {
        Ok(chosen) => lines.push(format!("a run takes {}: {}", chosen.name, chosen.why)),
        Err(error) => lines.push(format!("a run would stop: {error}")),
    }
    output.outcome(&values, &lines);
    Ok(ExitStatus::Complete)
}

fn check(args: &CheckArgs, output: &Output, environment: Environment) -> Result<ExitStatus, AuditError> {
    let mut settings = Settings::gather(&args.flags, environment)?;
    settings.provider = ProviderWish { name: args.name.clone(), origin: Origin::Flag };
    let catalog = Catalog::load(&settings)?;
    let chosen = choose_provider(&settings, &catalog)?;
    let (found, program_line) = program_state(&settings, &chosen);
    let grants: Vec<String> = chosen.grants.iter().map(ToString::to_string).collect();
    let mut lines = vec![
        format!(
            "component: {} {}, {}",
            chosen.component.name(),
            chosen.component.plugin.description().version,
            chosen.component.origin
        ),
        "configuration: fits its schema".to_owned(),
        format!("grants: {}", if grants.is_empty() { "none".to_owned() } else { grants.join(", ") }),
        program_line.clone(),
    ];
    let usable = found.unwrap_or(true);
    lines.push(
        if usable {
            "it can be launched; whether it is logged in shows at its first launch"
        } else {
            "it cannot be launched"
        }
        .to_owned(),
    );
    output.outcome(&json!({"name": chosen.name, "usable": usable, "grants": grants, "program": program_line}), &lines);
    Ok(if usable { ExitStatus::Complete } else { ExitStatus::Incomplete })
}

/// Whether its program is there; none where it launches none.
fn program_state(settings: &Settings, chosen: &Chosen) -> (Option<bool>, String) {
    if chosen.component.plugin.description().requests.iter().all(|r| r.kind != "program") && chosen.name != "command" {
        return (None, "program: none is launched".to_owned());
    }
    let Some(program) = program_of(&chosen.name, &chosen.config) else {
        return (Some(false), "program: the configuration names none".to_owned());
    };
    match resolve_program(&program, settings.environment.path(), &settings.root) {
        Ok(resolved) => (Some(true), format!("program: {}", resolved.path.display())),
        Err(error) => (Some(false), format!("program: {error}")),
    }
}
