//! `assize version`.

use assize_core::codec::WORKER_CONTRACT;
use serde_json::json;

use super::exit::ExitStatus;
use super::output::Output;
use crate::audit::AuditError;

/// Version of the plugin interface that this program speaks.
pub(crate) const PLUGIN_INTERFACE: &str = "assize:plugin@0.1.0";

pub(super) fn run(output: &Output) -> Result<ExitStatus, AuditError> {
    let program = env!("CARGO_PKG_VERSION");
    let store = assize_store::SCHEMA_VERSION;
    let value = json!({
        "assize": program,
        "plugin_interface": PLUGIN_INTERFACE,
        "store_schema": store,
        "worker_contract": WORKER_CONTRACT,
    });
    let lines = [
        format!("assize {program}"),
        format!("plugin interface {PLUGIN_INTERFACE}"),
        format!("store schema {store}"),
        format!("worker contract {WORKER_CONTRACT}"),
    ];
    output.outcome(&value, &lines);
    Ok(ExitStatus::Complete)
}
