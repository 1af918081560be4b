//! What is tried before anything is spent: that results can be kept, that programs can be contained, and, when somebody asks
//! for it, that each lane answers.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use assize_core::id::LaunchId;
use assize_core::result::ReviewerKind;

use super::launching::Shared;
use super::ping::{can_be_asked, ping};
use super::run::{Run, RunEnd};
use crate::audit::{Audit, AuditError};
use crate::clock;
use crate::components::RunLane;
use crate::launch::{Cancel, LaunchHome, ProgramSpec, run_program};
use crate::reporters::{Reporter, RunEvent};

/// Time for the probe of the containment, which does nothing.
const PROBE_LIMIT: Duration = Duration::from_secs(30);

/// Tries what a run will rely on. Gives how the run ends when it cannot go on.
pub(super) async fn preflight(
    audit: &mut Audit,
    reporter: &mut dyn Reporter,
    shared: &Arc<Shared>,
    run: &mut Run,
) -> Result<Option<RunEnd>, AuditError> {
    let lanes = &run.lanes;
    if lanes.iter().all(|lane| lane.reviewer == ReviewerKind::Rules) {
        return Ok(None);
    }
    let probe = LaunchId::new("preflight");
    let dir = shared.state_dir.make_run_dir(&probe)?;
    let tried = try_place(&dir, shared, lanes).await;
    let _ = std::fs::remove_dir_all(&dir);
    tried?;
    if !audit.settings.ping || std::mem::replace(&mut run.pinged, true) {
        return Ok(None);
    }
    let mut causes = Vec::new();
    let asked: Vec<&RunLane> = lanes.iter().filter(|lane| can_be_asked(lane)).collect();
    for lane in &asked {
        let pong = ping(shared, lane, Cancel::never()).await?;
        for sent in &pong.sent {
            audit.store.note_request(&pong.launch, sent, clock::now_ms())?;
        }
        // What the run may spend includes what its first questions did.
        let usage = pong.usage.clone().unwrap_or_default();
        let tokens = [usage.input_tokens, usage.cached_input_tokens, usage.output_tokens];
        run.spent.launches = run.spent.launches.saturating_add(1);
        run.spent.tokens = tokens.into_iter().flatten().fold(run.spent.tokens, u64::saturating_add);
        run.spent.micro_usd = run.spent.micro_usd.saturating_add(usage.cost_micro_usd.unwrap_or(0));
        let line = format!("{} answered the ping with {} ({} ms)", lane.name, pong.outcome.as_str(), pong.wall_ms);
        reporter.report(&RunEvent::Stage { name: "preflight", detail: line });
        if !pong.answered() {
            causes.push(format!("{}: {}: {}", lane.name, pong.outcome.as_str(), pong.message));
        }
    }
    let none_left = !asked.is_empty() && causes.len() == asked.len();
    Ok(none_left.then_some(RunEnd::Incomplete(causes)))
}

async fn try_place(dir: &Path, shared: &Shared, lanes: &[RunLane]) -> Result<(), AuditError> {
    let file = dir.join("probe");
    std::fs::write(&file, "probe").map_err(|source| AuditError::File { operation: "write", path: file, source })?;
    if lanes.iter().any(|lane| lane.reviewer == ReviewerKind::Agent) {
        try_containment(dir, shared).await?;
    }
    Ok(())
}

/// Runs this program's own `version` as any reviewer's program would be run.
async fn try_containment(dir: &Path, shared: &Shared) -> Result<(), AuditError> {
    let spec = ProgramSpec {
        program: shared.exe.clone(),
        args: vec!["version".to_owned()],
        env: Vec::new(),
        stdin: None,
        cwd: dir.to_owned(),
        run_dir: dir.to_owned(),
        home: LaunchHome::Launch,
        stdout_file: dir.join("stdout.log"),
        stderr_file: dir.join("stderr.log"),
        results_file: dir.join("results"),
        output_cap: 4_096,
        timeout: PROBE_LIMIT,
        grace: Duration::from_secs(1),
        drain: Duration::from_secs(1),
        secrets: Vec::new(),
        container: Some(shared.exe.clone()),
    };
    let ran = run_program(spec, Cancel::never()).await.map_err(|error| AuditError::Containment(error.to_string()))?;
    if ran.code == Some(0) {
        return Ok(());
    }
    let stderr = String::from_utf8_lossy(&ran.stderr);
    let line = stderr.lines().next().unwrap_or("it said nothing");
    Err(AuditError::Containment(format!("a probe ended with {:?}: {line}", ran.code.or(ran.signal))))
}
