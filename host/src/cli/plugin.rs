//! `assize plugin`.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::{Value, json};

use super::exit::ExitStatus;
use super::output::Output;
use crate::audit::AuditError;
use crate::components::{Catalog, Component, Wanted, describe_origin};
use crate::config::{Environment, RunFlags, Settings};

/// What to do with components.
#[derive(Subcommand, Debug)]
pub(super) enum Command {
    /// List the components of a run here
    List(ListArgs),
    /// Show what a component is, asks for and may do; nothing of it runs but its description
    Inspect(InspectArgs),
}

/// Flags of `assize plugin list`.
#[derive(clap::Args, Debug)]
pub(super) struct ListArgs {
    #[command(flatten)]
    flags: RunFlags,
}

/// Flags of `assize plugin inspect`.
#[derive(clap::Args, Debug)]
pub(super) struct InspectArgs {
    /// File of a component, or the name of one that is built in
    file: PathBuf,
    #[command(flatten)]
    flags: RunFlags,
}

pub(super) fn run(command: &Command, output: &Output, environment: Environment) -> Result<ExitStatus, AuditError> {
    match command {
        Command::List(args) => {
            let catalog = Catalog::load(&Settings::gather(&args.flags, environment)?, Wanted::All)?;
            let components = catalog.components();
            let lines: Vec<String> = components.iter().map(line).collect();
            output.outcome(&components.iter().map(value).collect::<Vec<_>>(), &lines);
        }
        Command::Inspect(args) => {
            let mut settings = Settings::gather(&args.flags, environment)?;
            let name = args.file.to_string_lossy().into_owned();
            let built_in = !args.file.exists();
            if !built_in {
                settings.plugins.push(args.file.clone());
            }
            let catalog = Catalog::load(&settings, Wanted::All)?;
            let found = match built_in {
                true => catalog.by_name(&name),
                false => catalog.components().last(),
            };
            let component = found.ok_or_else(|| {
                AuditError::NotFound(format!(
                    "there is neither a file nor a built-in component {name:?}; `assize plugin list` names them"
                ))
            })?;
            output.outcome(&value(component), &details(component));
        }
    }
    Ok(ExitStatus::Complete)
}

fn line(component: &Component) -> String {
    let description = component.plugin.description();
    let kind = description.kind.as_str();
    format!(
        "{:24} {:10} {:8} {} ({})",
        description.name, kind, description.version, description.summary, component.origin
    )
}

fn details(component: &Component) -> Vec<String> {
    let description = component.plugin.description();
    let mut lines = vec![
        format!("{} {} ({})", description.name, description.version, description.kind.as_str()),
        format!("  {}", description.summary),
        format!("  license {}, {} bytes, {}", description.license, component.plugin.size(), describe_origin(component)),
    ];
    lines.extend(description.serves.iter().map(|service| format!("  serves {} {}", service.kind, service.value)));
    for request in &description.requests {
        let granted = component.grants.iter().any(|g| g.kind.as_str() == request.kind && g.name == request.name);
        let state = if granted { "granted" } else { "not granted" };
        lines.push(format!("  asks for {}={} ({state}): {}", request.kind, request.name, request.reason));
    }
    if description.requests.is_empty() {
        lines.push("  asks for nothing".to_owned());
    }
    let schema: Value = serde_json::from_str(&description.config_schema).unwrap_or_default();
    lines.push(format!("  configuration: {schema}"));
    lines
}

fn value(component: &Component) -> Value {
    json!({
        "description": component.plugin.description(),
        "origin": component.origin,
        "sha256": component.plugin.digest_sha256(),
        "bytes": component.plugin.size(),
        "grants": component.grants,
    })
}
