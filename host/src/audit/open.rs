//! Opening an audit: to work on it, or to read it beside one that works.

use assize_core::id::Digest;
use assize_store::{Holder, Mode, Store, StoreError, StoreLock};
use assize_survey::check_survey;
use serde::de::DeserializeOwned;

use super::AuditError;
use super::inventory::survey_options;
use crate::components::{Catalog, Wanted, choose_lanes};
use crate::config::Settings;

/// An audit that is worked on. The lock lives as long as the value.
pub struct Audit {
    /// Settings of this run.
    pub settings: Settings,
    /// The store.
    pub store: Store,
    /// The components.
    pub catalog: Catalog,
    /// This process, as leases name it.
    pub holder: Holder,
    _lock: StoreLock,
}

impl Audit {
    /// Checks everything that can be checked before anything is made, then takes the lock and opens the store.
    pub fn open(settings: Settings, purpose: Purpose) -> Result<Self, AuditError> {
        check_survey(&settings.root, &survey_options(&settings))?;
        let wanted = if purpose == Purpose::Review { Wanted::ForRun } else { Wanted::Analyzers };
        let catalog = Catalog::load(&settings, wanted)?;
        if purpose == Purpose::Review {
            choose_lanes(&settings, &catalog)?;
        }
        let holder = this_process();
        let lock = StoreLock::acquire(&settings.state_dir, &holder)?;
        let there = settings.state_dir.join("store.db").exists();
        let mut store = Store::open(&settings.state_dir, Mode::ReadWrite)?;
        if there && !settings.adopt {
            check_seal(&settings, &store)?;
        }
        if let Some(key) = &settings.user_key {
            let seal = key.seal_state(&settings.state_dir);
            if store.meta(SEAL)?.as_ref() != Some(&seal) {
                store.set_meta(SEAL, &seal)?;
            }
        }
        Ok(Self { settings, store, catalog, holder, _lock: lock })
    }

    /// A recorded artifact, when it was made from exactly these inputs.
    pub(super) fn current<T: DeserializeOwned>(&self, name: &str, inputs: Digest) -> Result<Option<T>, AuditError> {
        match self.store.artifact_stamp(name)? {
            Some(stamp) if stamp.inputs == inputs => load(&self.store, name),
            _ => Ok(None),
        }
    }
}

/// What an audit is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A provider is going to be asked, so it must be one that can be.
    Review,
    /// No provider is asked.
    Other,
}

/// An audit that is only looked at.
pub struct AuditReader {
    /// Settings.
    pub settings: Settings,
    /// The store, read-only.
    pub store: Store,
}

impl AuditReader {
    /// Opens the store beside a run that may be going on.
    pub fn open(settings: Settings) -> Result<Self, AuditError> {
        if !settings.state_dir.join("store.db").exists() {
            let message = format!(
                "there is no audit in {}; start one with: assize run {}",
                settings.state_dir.display(),
                settings.root.display()
            );
            return Err(AuditError::NotFound(message));
        }
        let store = match Store::open(&settings.state_dir, Mode::ReadOnly) {
            // Another process is making it at this moment.
            Err(StoreError::Older { found: 0, .. } | StoreError::Missing { .. }) => {
                let message = format!("the audit in {} is only being made; look again", settings.state_dir.display());
                return Err(AuditError::NotFound(message));
            }
            opened => opened?,
        };
        if !settings.adopt {
            check_seal(&settings, &store)?;
        }
        Ok(Self { settings, store })
    }
}

/// A recorded artifact, whatever it was made from.
pub(super) fn load<T: DeserializeOwned>(store: &Store, name: &str) -> Result<Option<T>, AuditError> {
    let Some(artifact) = store.artifact(name)? else { return Ok(None) };
    serde_json::from_slice(&artifact.body)
        .map(Some)
        .map_err(|error| AuditError::Record { name: name.to_owned(), message: error.to_string() })
}

/// Name of the seal among the store's values.
const SEAL: &str = "seal";

/// Refuses a store that this user did not make at this place: a repository could bring one with results of its own
/// making, and nobody would see that nothing was reviewed.
fn check_seal(settings: &Settings, store: &Store) -> Result<(), AuditError> {
    let Some(key) = &settings.user_key else { return Ok(()) };
    let seal = store.meta(SEAL)?;
    // A host that died while it made its store left one without a seal, and with nothing in it that could deceive.
    let is_blank = seal.is_none() && store.ledger_head()? == Digest::from_bytes([0; 32]);
    if is_blank || seal == Some(key.seal_state(&settings.state_dir)) {
        return Ok(());
    }
    Err(AuditError::ForeignState(settings.state_dir.clone()))
}

/// This process, told apart from a later one of the same id by its start time.
fn this_process() -> Holder {
    let pid = std::process::id();
    Holder { pid, started: start_of(pid).unwrap_or_else(|| "unknown".to_owned()), host: host_name() }
}

/// Whether the process of a holder lives on this machine.
pub fn is_alive(holder: &Holder) -> bool {
    holder.host == host_name() && start_of(holder.pid).is_some_and(|started| started == holder.started)
}

/// When a process started, in the system's own unit; none where there is no such process.
fn start_of(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Fields after the parenthesised name; the start time is the twentieth of them.
    stat.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(19)).map(str::to_owned)
}

fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}
