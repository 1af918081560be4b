//! One audit: its store, and the obligations that need no reviewer (inventory, structure, plan, synthesis).
//! It starts nothing and waits for nobody; the driver does that.

mod analysis;
mod error;
mod explain;
mod inventory;
mod obligations;
mod open;
mod plan;
mod sources;
mod structure;
mod synthesis;

pub use analysis::{AnalyzerProblem, Facts};
pub use error::AuditError;
pub use explain::{Explanation, explain};
pub use inventory::{Surveyed, recorded_inventory};
pub use obligations::Overview;
pub use open::{Audit, AuditReader, Purpose, is_alive};
pub use plan::PlanRecord;
pub use sources::LaunchSources;
pub use structure::StructureRecord;
pub use synthesis::{Findings, ReportFiles, Verdict, derive_current_findings, render_input};
