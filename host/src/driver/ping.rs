//! One tiny launch of a lane, to see whether it answers at all.

use std::sync::Arc;
use std::time::Instant;

use assize_core::dispatch::SlotKey;
use assize_core::id::LaunchId;
use assize_core::inventory::{Inventory, Vcs, VcsKind};
use assize_core::plan::PromptContext;
use assize_core::plugin::{Outcome, Usage};
use assize_core::result::ReviewerKind;
use assize_store::StateDir;
use assize_wire::Verdict;
use tokio::sync::mpsc::unbounded_channel;

use super::launching::{LaneWork, Order, Shared, launch_tiny};
use super::metering::{Traffic, ledger_form};
use super::network::http_client;
use super::run::own_binary;
use crate::audit::AuditError;
use crate::clock;
use crate::components::RunLane;
use crate::config::Settings;
use crate::launch::{Cancel, Secrets};

/// What is asked. The answer is not looked at, only that there is one.
const QUESTION: &str = "Reply with the two letters OK and nothing else. Do not read any file.";

/// A tiny answer that takes longer is none.
const PING_LIMIT_MS: u64 = 5 * 60_000;

/// What a lane answered.
#[derive(Clone, Debug)]
pub struct Pong {
    /// The launch.
    pub launch: LaunchId,
    /// What left the machine for it, as the ledger keeps it.
    pub sent: Vec<serde_json::Value>,
    /// What became of it.
    pub outcome: Outcome,
    /// One line.
    pub message: String,
    /// Version that the program told.
    pub version: Option<String>,
    /// What it cost, as far as it was told.
    pub usage: Option<Usage>,
    /// Requests that passed through our hands; a program without a gateway may have made more.
    pub requests: u64,
    /// Milliseconds.
    pub wall_ms: u64,
}

impl Pong {
    /// Whether there was an answer.
    pub fn answered(&self) -> bool {
        self.outcome == Outcome::Completed
    }
}

/// Whether a lane is asked at all: rules and people are not.
pub(super) fn can_be_asked(lane: &RunLane) -> bool {
    matches!(lane.reviewer, ReviewerKind::Agent | ReviewerKind::Model)
}

/// Asks a lane for one tiny answer outside of any audit. None where nobody would answer at once.
///
/// # Errors
/// When the launch cannot even be prepared; what became of it is no error.
pub async fn ping_lane(settings: &Settings, lane: &RunLane) -> Result<Option<Pong>, AuditError> {
    if !can_be_asked(lane) {
        return Ok(None);
    }
    let scratch = tempfile::tempdir().map_err(|source| AuditError::File {
        operation: "write",
        path: std::env::temp_dir(),
        source,
    })?;
    let environment = Arc::new(settings.environment.clone());
    let shared = Arc::new(Shared {
        root: settings.root.clone(),
        // Nothing is to be read, so that there is nothing in the place where the program works.
        workplace: scratch.path().join("empty"),
        snapshot: None,
        exe: own_binary()?,
        state_dir: StateDir::make(&scratch.path().join("state"))?,
        http: http_client(settings, std::slice::from_ref(lane))?,
        secrets: Arc::new(Secrets::new(environment.clone(), settings.user.secrets.clone(), settings.root.clone())),
        environment,
        inventory: Inventory {
            name: String::new(),
            vcs: Vcs { kind: VcsKind::None, shallow: false, head: None },
            rows: Vec::new(),
        },
        observations: Arc::default(),
        unanalyzed: Arc::default(),
        timeout_ms: settings.timeout_ms.min(PING_LIMIT_MS),
        deadline_ms: None,
        fold_case: false,
    });
    std::fs::create_dir(&shared.workplace).map_err(|source| AuditError::File {
        operation: "write",
        path: shared.workplace.clone(),
        source,
    })?;
    let lane = RunLane { snapshot: true, ..lane.clone() };
    ping(&shared, &lane, Cancel::never()).await.map(Some)
}

/// Asks a lane for one tiny answer; it may send one request.
pub(super) async fn ping(shared: &Arc<Shared>, lane: &RunLane, cancel: Cancel) -> Result<Pong, AuditError> {
    let launch = LaunchId::new(format!(
        "{}-ping-{}",
        clock::stamp(clock::now_ms()),
        lane.name.replace(|c: char| !c.is_ascii_alphanumeric(), "-")
    ));
    let run_dir = run_dir(&shared.state_dir, &launch)?;
    let (driver, mut traffic) = unbounded_channel();
    let answering = tokio::spawn(async move {
        let mut sent = Vec::new();
        while let Some(message) = traffic.recv().await {
            match message {
                // Whoever asked may be gone.
                Traffic::Asked(asked, reply) => drop(reply.send(Verdict::Go(asked.request.0))),
                Traffic::Ended(_, Some((_, seen))) => sent.push(ledger_form(&seen)),
                Traffic::Ended(_, None) | Traffic::Refused(..) => {}
            }
        }
        sent
    });
    let order = Order {
        launch: launch.clone(),
        slot: SlotKey(0),
        lane: LaneWork::of(lane),
        run_dir: run_dir.clone(),
        tasks: Vec::new(),
        attempt: 1,
        context: PromptContext::default(),
        most_requests: Some(1),
        micro_usd: None,
        driver,
        cancel,
    };
    let began = Instant::now();
    let (conclusion, tally) = launch_tiny(shared, order, QUESTION).await;
    // Every sender is gone with the launch, so that this ends.
    let sent = answering.await.map_err(|error| AuditError::Fault(format!("a ping was lost: {error}")))?;
    // Nothing of it is evidence of an audit.
    let _ = std::fs::remove_dir_all(&run_dir);
    let answer = conclusion.results.as_deref().map(str::trim).unwrap_or_default();
    // A provider that insists on results may call an answer without any none; it has answered all the same.
    let outcome = if answer.is_empty() { conclusion.outcome } else { Outcome::Completed };
    let (outcome, message) = match (outcome, tally.refused.and_then(outcome_of)) {
        // A program that tries again is refused by us; what the service said first is the reason.
        (Outcome::RateLimited, Some(first)) => {
            (first, format!("the service refused the request with status {}", tally.refused.unwrap_or_default()))
        }
        (outcome, _) => (outcome, conclusion.message),
    };
    let version = conclusion.extra.iter().find(|(key, _)| key == "program-version").map(|(_, version)| version.clone());
    Ok(Pong {
        launch,
        sent,
        outcome,
        message,
        version,
        usage: conclusion.usage,
        requests: tally.requests,
        wall_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    })
}

/// What a status means, where it is not about limits.
fn outcome_of(status: u16) -> Option<Outcome> {
    match status {
        401 | 403 => Some(Outcome::Unauthenticated),
        402 => Some(Outcome::QuotaExhausted),
        404 => Some(Outcome::Misconfigured),
        413 => Some(Outcome::ContextExceeded),
        500..=599 => Some(Outcome::Overloaded),
        _ => None,
    }
}

fn run_dir(state: &StateDir, launch: &LaunchId) -> Result<std::path::PathBuf, AuditError> {
    Ok(state.run_dir(launch)?)
}
