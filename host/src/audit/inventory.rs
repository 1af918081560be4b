//! The inventory: what is in the repository now, reading only what has changed.

use std::collections::HashMap;

use assize_core::id::Digest;
use assize_core::inventory::{FileRow, Inventory};
use assize_survey::{Problem, SurveyOptions, survey};

use super::open::load;
use super::{Audit, AuditError};
use crate::clock;
use crate::config::Settings;

/// Name of the artifact.
pub(super) const INVENTORY: &str = "inventory";

/// The outcome of a survey.
#[derive(Debug)]
pub struct Surveyed {
    /// The inventory.
    pub inventory: Inventory,
    /// Digest of what later stages depend on.
    pub digest: Digest,
    /// What the survey got over.
    pub problems: Vec<Problem>,
    /// Files that were read.
    pub read: u64,
    /// Files that were known to be unchanged.
    pub reused: u64,
}

impl Audit {
    /// Surveys the repository and records the inventory.
    pub fn refresh_inventory(&mut self) -> Result<Surveyed, AuditError> {
        let earlier: Option<Inventory> = load(&self.store, INVENTORY)?;
        let surveyed = look(&self.settings, earlier)?;
        let body = serde_json::to_vec(&surveyed.inventory)
            .map_err(|error| AuditError::Record { name: INVENTORY.to_owned(), message: error.to_string() })?;
        self.store.put_artifact(INVENTORY, surveyed.digest, &body, clock::now_ms())?;
        Ok(surveyed)
    }
}

/// Surveys without recording anything.
pub(super) fn look(settings: &Settings, earlier: Option<Inventory>) -> Result<Surveyed, AuditError> {
    let known: HashMap<String, FileRow> = earlier
        .map(|inventory| inventory.rows.into_iter().map(|row| (row.path.clone(), row)).collect())
        .unwrap_or_default();
    let found = survey(&settings.root, &survey_options(settings), &|path| known.get(path).cloned())?;
    let content = found.inventory.content_digest();
    let problems: Vec<String> = found.problems.iter().map(|p| format!("{}\0{}", p.path, p.message)).collect();
    let problems = Digest::of_parts(problems.iter().map(String::as_bytes));
    let digest = Digest::of_parts([&content.as_bytes()[..], problems.as_bytes()]);
    Ok(Surveyed {
        inventory: found.inventory,
        digest,
        problems: found.problems,
        read: found.read,
        reused: found.reused,
    })
}

/// What a survey is told by the settings.
pub(super) fn survey_options(settings: &Settings) -> SurveyOptions {
    SurveyOptions {
        no_ignore: settings.no_ignore,
        exclude: settings.exclude.clone(),
        state_dir: Some(settings.state_dir.clone()),
        now_ns: clock::now_ns(),
        ..SurveyOptions::default()
    }
}

/// The inventory as it was recorded last.
pub fn recorded_inventory(store: &assize_store::Store) -> Result<Inventory, AuditError> {
    load(store, INVENTORY)?
        .ok_or_else(|| AuditError::NotFound("nothing has been surveyed yet; run: assize plan".to_owned()))
}
