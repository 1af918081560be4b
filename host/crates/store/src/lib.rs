//! What `assize` remembers: one directory with one SQLite database, the lock, and the run directories that people open.
//! The only SQL of the product. It decides nothing and reads no clock: times and processes come in as arguments.

mod admissions;
mod artifacts;
mod clean;
mod error;
mod facts;
mod files;
mod ledger;
mod lock;
mod quota;
mod results;
mod schema;
mod settle;
mod slots;
mod sql;
mod store;
mod tasks;
mod waivers;

pub use admissions::Admission;
pub use artifacts::{ArchivedAudit, Artifact, ArtifactStamp, Import};
pub use clean::{CleanItem, CleanPlan, Cleaned, plan_clean};
pub use error::StoreError;
pub use files::{StateDir, write_atomic};
pub use ledger::{LedgerEntry, Verified};
pub use lock::{Held, Holder, LockError, StoreLock};
pub use quota::{QuotaStore, Usage};
pub use results::{Ingested, QuarantineRow, Quarantined};
pub use schema::SCHEMA_VERSION;
pub use settle::{Settled, Settlement};
pub use slots::{AttemptCost, LaunchEnd, LaunchRow, LaunchState, Lease, NewSlot};
pub use store::{Mode, Store};
pub use tasks::{Changes, TaskRow, TaskState};
pub use waivers::Waiver;

#[cfg(test)]
mod tests;
