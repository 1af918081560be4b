//! Facts of files: from the cache where component, configuration, path and content are the same, else by inspection.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use assize_core::fact::{Fact, FileFacts, Observation, Relation};
use assize_core::id::Digest;
use assize_core::inventory::{Encoding, FileRow, Inventory};
use assize_sandbox::{CallContext, Inspector};
use assize_survey::{read_bytes, read_text};
use serde::{Deserialize, Serialize};

use super::{Audit, AuditError};
use crate::clock;
use crate::components::{Catalog, Component};
use crate::config::Settings;

/// Files in one call of `relate`: more would not fit the limits of a call.
const RELATE_AT_ONCE: usize = 20_000;

/// A file that an analyzer could not look at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnalyzerProblem {
    /// Path; empty where it is about all files.
    pub path: String,
    /// Analyzer.
    pub analyzer: String,
    /// One line.
    pub message: String,
}

/// All facts of an inventory.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// By path, then analyzer.
    pub files: Vec<FileFacts>,
    /// What could not be looked at.
    pub problems: Vec<AnalyzerProblem>,
    /// Inspections that were made.
    pub inspected: usize,
    /// Inspections that were spared.
    pub cached: usize,
}

impl Facts {
    /// The findings as observations, by path.
    pub fn observations(&self) -> HashMap<String, Vec<Observation>> {
        let mut by_path: HashMap<String, Vec<Observation>> = HashMap::new();
        for file in &self.files {
            for fact in &file.facts {
                if let Fact::Finding(finding) = fact {
                    by_path.entry(file.path.clone()).or_default().push(Observation {
                        analyzer: file.analyzer.clone(),
                        path: file.path.clone(),
                        finding: finding.clone(),
                        extra: Vec::new(),
                    });
                }
            }
        }
        by_path
    }
}

/// One file for one analyzer.
struct Errand {
    row: FileRow,
    analyzer: usize,
    key: Digest,
}

/// What came of inspecting it: bytes for the cache and facts, or why not.
type Inspected = Result<(Vec<u8>, Vec<Fact>), String>;

impl Audit {
    /// Facts of every auditable file.
    pub async fn gather_facts(&mut self, inventory: &Inventory) -> Result<Facts, AuditError> {
        let analyzers: Vec<Component> = self.catalog.analyzers().into_iter().cloned().collect();
        let configs: Vec<String> = analyzers.iter().map(|c| analyzer_config(&self.settings, c.name())).collect();
        let errands = plan_errands(inventory, &analyzers, &configs);
        let keys: Vec<Digest> = errands.iter().map(|errand| errand.key).collect();
        let mut known = self.store.facts(&keys)?;
        let mut facts = Facts::default();
        let (mut found, mut open) = (Vec::with_capacity(errands.len()), Vec::new());
        for (at, errand) in errands.into_iter().enumerate() {
            match known.remove(&errand.key).and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
                Some(cached) => found.push((at, file_facts(&errand, &analyzers, cached))),
                None => open.push((at, errand)),
            }
        }
        facts.cached = found.len();
        facts.inspected = open.len();
        let mut fresh = Vec::new();
        for (at, errand, inspected) in inspect_all(&self.settings.root, &analyzers, &configs, open).await {
            match inspected {
                Ok((bytes, list)) => {
                    fresh.push((errand.key, bytes));
                    found.push((at, file_facts(&errand, &analyzers, list)));
                }
                Err(message) => facts.problems.push(AnalyzerProblem {
                    path: errand.row.path.clone(),
                    analyzer: analyzers[errand.analyzer].name().to_owned(),
                    message,
                }),
            }
        }
        self.store.put_facts(&fresh)?;
        found.sort_by_key(|(at, _)| *at);
        facts.files = found.into_iter().map(|(_, facts)| facts).collect();
        facts.problems.sort_by(|a, b| (&a.path, &a.analyzer).cmp(&(&b.path, &b.analyzer)));
        Ok(facts)
    }

    /// Relations among the files. An analyzer that fails costs its own relations only.
    pub(super) async fn relate(&self, inventory: &Inventory, facts: &mut Facts) -> Vec<Relation> {
        let paths: Vec<String> = inventory.auditable().map(|row| row.path.clone()).collect();
        let mut relations = Vec::new();
        for component in self.catalog.analyzers() {
            let files: Vec<FileFacts> =
                facts.files.iter().filter(|f| f.analyzer == component.name()).filter_map(relating).collect();
            let config = analyzer_config(&self.settings, component.name());
            for chunk in files.chunks(RELATE_AT_ONCE) {
                // Time grows with the work that is handed over; the base is the limit of an ordinary call.
                let time = std::time::Duration::from_millis(2_000 + chunk.len() as u64 + paths.len() as u64 / 10);
                let call = CallContext { now_ms: 0, deadline: Some(time), ..CallContext::default() };
                match component.plugin.relate(chunk, &paths, &config, &call).await {
                    Ok(found) => relations.extend(found),
                    Err(error) => facts.problems.push(AnalyzerProblem {
                        path: String::new(),
                        analyzer: component.name().to_owned(),
                        message: format!("no relations: {error}"),
                    }),
                }
            }
        }
        relations
    }
}

/// Digest of all that facts depend on beside the files: components and their configuration.
pub(super) fn analyzers_digest(catalog: &Catalog, settings: &Settings) -> Digest {
    let analyzers = catalog.analyzers();
    let parts =
        analyzers.iter().map(|c| format!("{}\0{}", c.plugin.digest_sha256(), analyzer_config(settings, c.name())));
    let parts: Vec<String> = parts.collect();
    Digest::of_parts(parts.iter().map(String::as_bytes))
}

fn analyzer_config(settings: &Settings, name: &str) -> String {
    settings.analyzers.get(name).map_or_else(|| "{}".to_owned(), ToString::to_string)
}

fn plan_errands(inventory: &Inventory, analyzers: &[Component], configs: &[String]) -> Vec<Errand> {
    let mut errands = Vec::new();
    for row in inventory.auditable() {
        let Some(content) = row.digest else { continue };
        for (at, component) in analyzers.iter().enumerate().filter(|(_, c)| c.serves_file(row)) {
            let key = Digest::of_parts([
                component.plugin.digest_sha256().as_bytes(),
                configs[at].as_bytes(),
                content.as_bytes(),
                row.path.as_bytes(),
                row.language.as_bytes(),
            ]);
            errands.push(Errand { row: row.clone(), analyzer: at, key });
        }
    }
    errands
}

/// Inspects on as many tasks as there are processors; each takes the next file that nobody has.
async fn inspect_all(
    root: &std::path::Path,
    analyzers: &[Component],
    configs: &[String],
    open: Vec<(usize, Errand)>,
) -> Vec<(usize, Errand, Inspected)> {
    let workers = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).min(open.len().max(1));
    let shared = Arc::new((root.to_owned(), analyzers.to_vec(), configs.to_vec(), open, AtomicUsize::new(0)));
    let now_ms = clock::now_ms();
    let tasks: Vec<_> = (0..workers)
        .map(|_| {
            let shared = shared.clone();
            tokio::spawn(async move {
                let (root, analyzers, configs, open, next) = &*shared;
                let call = CallContext { now_ms, ..CallContext::default() };
                let inspectors = analyzers.iter().zip(configs).map(|(c, config)| c.plugin.inspector(config, &call));
                let mut inspectors: Vec<_> = inspectors.collect();
                let mut done = Vec::new();
                while let Some((_, errand)) = open.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let inspected = match &mut inspectors[errand.analyzer] {
                        Ok(inspector) => inspect(root, inspector, errand).await,
                        Err(error) => Err(error.to_string()),
                    };
                    done.push((errand.key, inspected));
                }
                done
            })
        })
        .collect();
    let mut by_key: HashMap<Digest, Inspected> = HashMap::new();
    for task in tasks {
        by_key.extend(task.await.unwrap_or_default());
    }
    let open = Arc::into_inner(shared).map(|shared| shared.3).unwrap_or_default();
    let lost = || Err("the inspection was lost".to_owned());
    open.into_iter()
        .map(|(at, errand)| {
            let inspected = by_key.remove(&errand.key).unwrap_or_else(lost);
            (at, errand, inspected)
        })
        .collect()
}

async fn inspect(root: &std::path::Path, inspector: &mut Inspector, errand: &Errand) -> Inspected {
    // Analyzers read UTF-8; what is UTF-16 is decoded for them, as it is for the checks of quotes.
    let bytes = match errand.row.encoding {
        Encoding::Utf16Le | Encoding::Utf16Be => read_text(root, &errand.row).map(|decoded| decoded.text.into_bytes()),
        _ => read_bytes(root, &errand.row),
    };
    let bytes = bytes.map_err(|error| error.to_string())?;
    let facts = inspector.inspect(&errand.row.path, &errand.row.language, &bytes).await;
    let facts = facts.map_err(|error| error.to_string())?;
    let body = serde_json::to_vec(&facts).map_err(|error| error.to_string())?;
    Ok((body, facts))
}

fn file_facts(errand: &Errand, analyzers: &[Component], facts: Vec<Fact>) -> FileFacts {
    FileFacts {
        path: errand.row.path.clone(),
        language: errand.row.language.clone(),
        analyzer: analyzers[errand.analyzer].name().to_owned(),
        facts,
    }
}

/// What `relate` needs of a file; most facts are not handed over.
fn relating(file: &FileFacts) -> Option<FileFacts> {
    let wanted = |fact: &&Fact| !matches!(fact, Fact::Finding(_) | Fact::Metric(_) | Fact::Suppression(_));
    let facts: Vec<Fact> = file.facts.iter().filter(wanted).cloned().collect();
    (!facts.is_empty()).then(|| FileFacts { facts, ..FileFacts { facts: Vec::new(), ..file.clone() } })
}
