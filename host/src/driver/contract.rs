//! The run directory of a launch: what lies in it before the launch, and what is read from it afterwards.

use std::fs;
use std::path::{Path, PathBuf};

use assize_core::codec::{WorkerPlaces, render_pending_tasks, render_worker_task};
use assize_core::id::LaunchId;
use assize_core::task::Task;
use assize_store::StateDir;

use crate::launch::Places;

/// Largest results file that is read, in bytes: as much as a plugin may return.
const LARGEST_ANSWER: u64 = 32 << 20;

/// The places of one launch.
pub(super) fn places(repo: &Path, run_dir: &Path) -> Places {
    let file = |name: &str| run_dir.join(name);
    Places {
        repo: repo.to_owned(),
        run_dir: run_dir.to_owned(),
        prompt_file: file("prompt.md"),
        task_file: file("task.json"),
        pending_tasks_file: file("pending-audit-tasks.json"),
        results_file: file("audit-results.json"),
        result_file: file("result.json"),
        stdout_file: file("stdout.log"),
        stderr_file: file("stderr.log"),
        gateway: None,
    }
}

/// Where a worker can have its results checked: the audit itself, not the copy in which it works.
pub(super) struct Checks<'a> {
    pub(super) exe: &'a Path,
    pub(super) root: &'a Path,
    pub(super) state_dir: &'a Path,
}

/// What a worker is told, as `task.json` and placeholders have it.
pub(super) fn worker_places(places: &Places, launch: &LaunchId, checks: &Checks<'_>, timeout_ms: u64) -> WorkerPlaces {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    WorkerPlaces {
        run_id: launch.to_string(),
        repo_root: text(&places.repo),
        artifacts_dir: text(&places.run_dir),
        prompt_path: text(&places.prompt_file),
        pending_audit_tasks_path: text(&places.pending_tasks_file),
        audit_results_path: text(&places.results_file),
        result_path: text(&places.result_file),
        worker_command: vec![
            text(checks.exe),
            "import-results".to_owned(),
            "--dry-run".to_owned(),
            "--state-dir".to_owned(),
            text(checks.state_dir),
            text(&places.results_file),
            text(checks.root),
        ],
        timeout_ms,
    }
}

/// What lies in a run directory before a program starts. It is written when it is first needed: a reviewer that starts
/// nothing and asks nobody leaves no directory behind.
pub(super) struct Contract {
    state: StateDir,
    launch: LaunchId,
    files: [(PathBuf, String); 3],
    written: bool,
}

impl Contract {
    pub(super) fn new(
        state: StateDir,
        launch: LaunchId,
        places: &Places,
        worker: &WorkerPlaces,
        tasks: &[&Task],
        read_paths: &[String],
        prompt: &str,
    ) -> Self {
        let files = [
            (places.prompt_file.clone(), prompt.to_owned()),
            (places.task_file.clone(), render_worker_task(worker, read_paths)),
            (places.pending_tasks_file.clone(), render_pending_tasks(tasks)),
        ];
        Self { state, launch, files, written: false }
    }

    /// Makes the run directory and writes prompt, task and tasks, once.
    pub(super) fn write(&mut self) -> Result<(), String> {
        if self.written {
            return Ok(());
        }
        self.state.make_run_dir(&self.launch).map_err(|error| error.to_string())?;
        for (path, text) in &self.files {
            fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
        }
        self.written = true;
        Ok(())
    }
}

/// The answer in the results file; none where there is no plain file with something in it. A link is not followed.
pub(super) fn read_answer(results_file: &Path) -> Option<Result<String, String>> {
    let meta = fs::symlink_metadata(results_file).ok()?;
    if !meta.is_file() || meta.len() == 0 {
        return None;
    }
    if meta.len() > LARGEST_ANSWER {
        return Some(Err(format!("the results file has {} bytes; at most {LARGEST_ANSWER} are read", meta.len())));
    }
    Some(match fs::read(results_file) {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Err(error) => Err(format!("the results file cannot be read: {error}")),
    })
}
