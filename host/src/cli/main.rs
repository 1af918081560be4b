//! The parser, and what every command has in common.

use std::process::ExitCode;

use clap::builder::styling::{AnsiColor, Styles};
use clap::{Parser, Subcommand, ValueEnum};

use super::exit::ExitStatus;
use super::output::Output;
use super::{
    clean, explain, import_results, ledger, plan, plugin, provider, quota, report, run, simulate, status, stop, version,
};
use crate::audit::AuditError;
use crate::config::Environment;
use crate::launch::{CONTAIN_SUBCOMMAND, contain_main};

/// Audits a repository with AI reviewers, model APIs and deterministic rules, through sandboxed plugins.
#[derive(Parser, Debug)]
#[command(name = "assize", version, about, arg_required_else_help = true, styles = styles(), max_term_width = 100)]
pub struct Cli {
    /// What to do
    #[command(subcommand)]
    command: Command,
    /// Print the outcome as JSON on stdout
    #[arg(long, global = true)]
    json: bool,
    /// Say nothing but warnings
    #[arg(long, short, global = true)]
    quiet: bool,
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t = Color::Auto, value_name = "WHEN")]
    color: Color,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    /// On a terminal, unless NO_COLOR is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Audit a repository to a report; goes on where an earlier run stopped
    Run(run::Args),
    /// Survey and plan without reviewing: which tasks there would be, and what is left out
    Plan(plan::Args),
    /// Where an audit stands: obligations, tasks, coverage, running launches
    Status(status::Args),
    /// Ask the process that works on an audit to stop; another run goes on
    Stop(stop::Args),
    /// What an audit owes next, and why
    Next(status::NextArgs),
    /// Why: everything that the records say of a task, a finding or a file
    Explain(explain::Args),
    /// Print a report of an audit in one of its formats
    Report(report::Args),
    /// Ingest audit results that were written elsewhere
    ImportResults(import_results::Args),
    /// Components: which there are, and what one may do
    #[command(subcommand)]
    Plugin(plugin::Command),
    /// Providers: which there are, and whether one can work here
    #[command(subcommand)]
    Provider(provider::Command),
    /// Limits of the lanes: what is known of them, why a launch had to wait, and how to forget them
    #[command(subcommand)]
    Quota(quota::Command),
    /// Replay a scenario through the real dispatcher under a virtual clock; nothing is launched or sent
    Simulate(simulate::Args),
    /// The ledger of an audit: every step, chained by hashes
    #[command(subcommand)]
    Ledger(ledger::Command),
    /// Remove what an audit has made, and nothing else
    Clean(clean::Args),
    /// Versions of the program, the plugin interface and the store
    Version,
}

/// Parses, runs and maps to an exit code.
pub fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == CONTAIN_SUBCOMMAND) {
        return contain_main(arguments);
    }
    let environment = Environment::read();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let _ = error.print();
            // Help and version are no errors to clap, and print to stdout.
            return if error.use_stderr() { ExitStatus::Usage.into() } else { ExitCode::SUCCESS };
        }
    };
    let output = Output::new(cli.json, cli.quiet, cli.color, &environment);
    let done = dispatch(cli.command, &output, environment).and_then(|status| output.finish().map(|()| status));
    match done {
        Ok(status) => status.into(),
        Err(error) => {
            output.error(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn dispatch(command: Command, output: &Output, environment: Environment) -> Result<ExitStatus, AuditError> {
    match command {
        Command::Run(args) => run::run(&args, output, environment),
        Command::Plan(args) => plan::run(&args, output, environment),
        Command::Status(args) => status::run(&args, output, environment),
        Command::Stop(args) => stop::run(&args, output, environment),
        Command::Next(args) => status::next(&args, output, environment),
        Command::Explain(args) => explain::run(&args, output, environment),
        Command::Report(args) => report::run(&args, output, environment),
        Command::ImportResults(args) => import_results::run(&args, output, environment),
        Command::Plugin(command) => plugin::run(&command, output, environment),
        Command::Provider(command) => provider::run(&command, output, environment),
        Command::Quota(command) => quota::run(&command, output, environment),
        Command::Simulate(args) => simulate::run(&args, output),
        Command::Ledger(command) => ledger::run(&command, output, environment),
        Command::Clean(args) => clean::run(&args, output, environment),
        Command::Version => version::run(output),
    }
}

fn styles() -> Styles {
    Styles::styled()
        .header(AnsiColor::Green.on_default().bold())
        .usage(AnsiColor::Green.on_default().bold())
        .literal(AnsiColor::Cyan.on_default().bold())
}
