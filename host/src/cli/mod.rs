//! The command line: one file a command, each Args → Settings → run. stdout is data, stderr is talk.

mod clean;
mod exit;
mod explain;
mod import_results;
mod ledger;
mod main;
mod output;
mod plan;
mod plugin;
mod provider;
mod quota;
mod report;
mod run;
mod simulate;
mod status;
mod stop;
mod version;

pub use exit::{EXIT_CODES, ExitStatus};
pub use main::{Cli, main};
