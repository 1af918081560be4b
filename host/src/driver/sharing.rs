//! The engine, with the state of lanes that it shares with other runs of this user. Every step of it happens inside one
//! transaction on that state, so that two runs never draw on the same room twice.

use std::path::PathBuf;

use assize_core::dispatch::{Command, Dispatch, Event, LaneSpec, LaneView, Limits, SharedState, Spent};
use assize_core::plugin::Usage as LaunchUsage;
use assize_store::{QuotaStore, StoreError, Usage};

use crate::components::RunLane;
use crate::config::Environment;

const DAY_MS: u64 = 86_400_000;

/// The engine of a run.
pub(super) struct Engine {
    engine: Dispatch,
    /// None where no lane has anything to share.
    quota: Option<QuotaStore>,
    /// Lanes by name, with the names under which all runs know them: a lane is another one with another account.
    known_as: Vec<(String, String)>,
}

/// The name under which all runs know a lane.
fn known_as(spec: &LaneSpec) -> String {
    let model = spec.model.as_deref().map(|model| format!("/{model}")).unwrap_or_default();
    format!("{}@{}{model}", spec.name, spec.account)
}

/// File of the shared state, where there is a place for it.
pub fn quota_file(environment: &Environment) -> Option<PathBuf> {
    Some(environment.state_dir()?.join("quota.db"))
}

impl Engine {
    /// An engine for these lanes. Gives beside it what a person should know of the shared state.
    pub(super) fn open(
        lanes: &[RunLane],
        limits: Limits,
        environment: &Environment,
    ) -> Result<(Self, Option<String>), StoreError> {
        let specs: Vec<LaneSpec> = lanes.iter().map(|lane| lane.spec.clone()).collect();
        let known_as = specs.iter().map(|spec| (spec.name.clone(), known_as(spec))).collect();
        // In containers all processes may have one number; they hardly start in one millisecond, too.
        let own = format!("{} {}", std::process::id(), crate::clock::now_ms());
        let engine = Dispatch::new(specs, limits).staggered(super::jitter(&own));
        if lanes.iter().all(|lane| lane.spec.account.is_empty()) {
            return Ok((Self { engine, quota: None, known_as }, None));
        }
        let (quota, note) = match quota_file(environment) {
            None => {
                (QuotaStore::in_memory()?, Some("there is no home for the state of lanes; it is not shared".to_owned()))
            }
            Some(path) => match QuotaStore::open(&path) {
                Ok((quota, None)) => (quota, None),
                Ok((quota, Some(aside))) => {
                    let note =
                        format!("{} was damaged and is now {}; lanes start cold", path.display(), aside.display());
                    (quota, Some(note))
                }
                // A home that cannot be written is no reason not to audit.
                Err(error) => (QuotaStore::in_memory()?, Some(format!("{error}; the state of lanes is not shared"))),
            },
        };
        Ok((Self { engine, quota: Some(quota), known_as }, note))
    }

    /// Takes one event and says what is to be done.
    pub(super) fn handle(&mut self, event: Event, now_ms: u64) -> Result<Vec<Command>, StoreError> {
        let Self { engine, quota, known_as } = self;
        let Some(quota) = quota else { return Ok(engine.handle(event, now_ms)) };
        quota.transact(|shared| {
            let own =
                known_as.iter().filter_map(|(lane, known)| Some((lane.clone(), shared.lanes.get(known)?.clone())));
            engine.absorb(&SharedState { windows: shared.windows.clone(), lanes: own.collect() }, now_ms);
            let commands = engine.handle(event, now_ms);
            let mut after = engine.share();
            let own = known_as.iter().filter_map(|(lane, known)| Some((known.clone(), after.lanes.remove(lane)?)));
            after.lanes = own.collect();
            (after, commands)
        })
    }

    /// Adds a launch to what its account was used for.
    pub(super) fn add_usage(
        &mut self,
        account: &str,
        usage: Option<&LaunchUsage>,
        now_ms: u64,
    ) -> Result<(), StoreError> {
        let Some(quota) = &mut self.quota else { return Ok(()) };
        if account.is_empty() {
            return Ok(());
        }
        let told = |number: fn(&LaunchUsage) -> Option<u64>| usage.and_then(number).unwrap_or(0);
        quota.add_usage(&Usage {
            account: account.to_owned(),
            day: now_ms / DAY_MS,
            launches: 1,
            requests: told(|usage| usage.requests.map(u64::from)),
            input_tokens: told(|usage| usage.input_tokens) + told(|usage| usage.cached_input_tokens),
            output_tokens: told(|usage| usage.output_tokens),
            micro_usd: told(|usage| usage.cost_micro_usd),
        })
    }

    /// The lanes as they are now.
    pub(super) fn lanes(&self) -> Vec<LaneView> {
        self.engine.lanes()
    }

    /// What the run has spent.
    pub(super) fn spent(&self) -> Spent {
        self.engine.spent()
    }

    /// Launches that run now.
    pub(super) fn in_flight(&self) -> usize {
        self.engine.in_flight()
    }
}
