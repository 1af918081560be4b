//! Carries out effects: checked against the grants of the component first, and within the launch's paths and time.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use assize_core::fact::Observation;
use assize_core::grant::{Grants, check_effect};
use assize_core::inventory::FileRow;
use assize_core::plugin::{Analyze, Effect, EffectEvent, Failure, ReadSources, RunProgram, Source, Stdin};
use assize_core::result::ReviewerKind;
use assize_survey::read_text;
use assize_wire::HttpClient;
use tokio::time::Instant;

use super::contract::Contract;
use super::metering::LaunchMeter;
use super::requests::with_gateway;
use super::values::Values;
use crate::config::Environment;
use crate::launch::{
    Cancel, LaunchHome, Places, ProgramSpec, Secrets, Urgency, clear_home, launch_environment, place_files,
    resolve_program, run_program,
};

/// Time between TERM and KILL, and for draining outputs afterwards.
const GRACE: Duration = Duration::from_secs(10);
const DRAIN: Duration = Duration::from_secs(2);
/// Bytes kept of one output at most, whatever the plugin asks for.
const OUTPUT_CAP: u64 = 16 << 20;
/// Bytes of all sources in one answer: what a component takes in one call.
const SOURCES_CAP: usize = 24 << 20;

/// What effects of one launch are carried out with.
pub(super) struct Stage {
    /// Name of the plugin.
    pub plugin: String,
    /// Its grants.
    pub grants: Grants,
    /// Root of the repository.
    pub root: PathBuf,
    /// Our own binary.
    pub exe: PathBuf,
    /// The environment.
    pub environment: Arc<Environment>,
    /// What is written before anybody outside sees the launch.
    pub contract: Contract,
    /// Places of the launch.
    pub places: Places,
    /// The prompt.
    pub prompt: String,
    /// Rows of the files that may be read, by path.
    pub rows: HashMap<String, FileRow>,
    /// Observations of analyzers, by path.
    pub observations: Arc<HashMap<String, Vec<Observation>>>,
    /// Files that an analyzer could not look at, with the reason: nobody may say that they were reviewed by rules.
    pub unanalyzed: Arc<HashMap<String, String>>,
    /// When the launch must be over.
    pub deadline: Instant,
    /// Ends it earlier.
    pub cancel: Cancel,
    /// What kind of reviewer this is, by what it had done for it: the strongest counts.
    pub seen: Option<ReviewerKind>,
    /// How its last program ended.
    pub exit: Option<(Option<i32>, Option<i32>)>,
    /// Whether its tasks were handed to a person.
    pub handed_off: bool,
    /// The way to the network.
    pub http: HttpClient,
    /// Secrets by name.
    pub secrets: Arc<Secrets>,
    /// Where its requests are admitted and counted.
    pub meter: Arc<LaunchMeter>,
}

impl Stage {
    /// Carries out one effect.
    pub(super) async fn perform(&mut self, effect: Effect) -> EffectEvent {
        if let Err(denied) = check_effect(&self.plugin, &effect, &self.grants) {
            return EffectEvent::Failed(Failure::new("denied", denied.to_string()));
        }
        if !matches!(effect, Effect::Analyze(_))
            && let Err(message) = self.contract.write()
        {
            return EffectEvent::Failed(Failure::new("spawn", message));
        }
        let performed = match effect {
            Effect::RunProgram(run) => self.run(run).await,
            Effect::SendRequest(request) => self.send(request).await,
            Effect::Analyze(wish) => self.analyze(&wish),
            Effect::ReadSources(wish) => self.read_sources(&wish),
            Effect::HandOff(text) => self.hand_off(&text),
            Effect::Wait(ms) => self.wait(ms).await,
        };
        performed.unwrap_or_else(EffectEvent::Failed)
    }

    pub(super) fn saw(&mut self, kind: ReviewerKind) {
        self.seen = self.seen.max(Some(kind));
    }

    async fn run(&mut self, run: RunProgram) -> Result<EffectEvent, Failure> {
        self.saw(ReviewerKind::Agent);
        let mut secrets = Vec::new();
        let gateway = match &run.gateway {
            Some(wish) => Some(self.open_gateway(wish, &mut secrets).await?),
            None => None,
        };
        let ran = with_gateway(gateway, self.run_with(run, secrets)).await;
        self.places.gateway = None;
        ran
    }

    async fn run_with(&mut self, run: RunProgram, secrets: Vec<String>) -> Result<EffectEvent, Failure> {
        let spec = self.program_spec(run, secrets).await?;
        let home = (spec.home == LaunchHome::Launch).then(|| spec.run_dir.clone());
        let ran = run_program(spec, self.cancel.clone()).await;
        if let Some(run_dir) = home {
            // Programs leave caches there, of hundreds of megabytes some of them, and whole conversations.
            let _ = tokio::task::spawn_blocking(move || clear_home(&run_dir)).await;
        }
        match ran {
            Ok(exited) => {
                self.exit = Some((exited.code, exited.signal));
                Ok(EffectEvent::Exited(exited))
            }
            Err(error) => Err(Failure::new(error.kind(), error.to_string())),
        }
    }

    async fn program_spec(&self, run: RunProgram, mut secrets: Vec<String>) -> Result<ProgramSpec, Failure> {
        let invalid = |message: String| Failure::new("invalid", message);
        let program = resolve_program(&run.program, self.environment.path(), &self.root).map_err(|error| {
            let mut failure = Failure::new("not-found", error.to_string());
            failure.extra.push(("missing".to_owned(), "program".to_owned()));
            failure
        })?;
        let home = LaunchHome::from_word(&run.home).ok_or_else(|| invalid(format!("home {:?} is none", run.home)))?;
        let cwd = match run.cwd.as_str() {
            "repo" => self.places.repo.clone(),
            "run-dir" => self.places.run_dir.clone(),
            other => return Err(invalid(format!("working directory {other:?} is none"))),
        };
        let values = self.values();
        let env = values.resolve(&run.env, None, &mut secrets).await?;
        let mut env: Vec<(String, String)> = env.into_iter().map(|resolved| (resolved.name, resolved.value)).collect();
        if self.places.gateway.is_some() {
            env.extend(without_proxy(self.environment.all()));
        }
        let args = run.args.iter().map(|arg| values.text(arg)).collect::<Result<Vec<String>, Failure>>()?;
        place_files(&run.files, &self.places).map_err(|error| Failure::new(error.kind(), error.to_string()))?;
        let env = launch_environment(self.environment.all(), &env, home, &self.places.run_dir, &self.root)
            .map_err(|error| invalid(error.to_string()))?;
        let left = self.deadline.saturating_duration_since(Instant::now());
        Ok(ProgramSpec {
            program: program.path,
            args,
            env,
            stdin: match run.stdin {
                Stdin::None => None,
                Stdin::Prompt => Some(self.prompt.clone().into_bytes()),
                Stdin::Bytes(bytes) => Some(bytes),
            },
            cwd,
            run_dir: self.places.run_dir.clone(),
            home,
            stdout_file: self.places.stdout_file.clone(),
            stderr_file: self.places.stderr_file.clone(),
            results_file: self.places.results_file.clone(),
            output_cap: run.output_cap.clamp(1, OUTPUT_CAP),
            timeout: left.min(Duration::from_millis(run.timeout_ms)),
            grace: GRACE,
            drain: DRAIN,
            secrets,
            container: Some(self.exe.clone()),
        })
    }

    /// Where values of this launch come from.
    pub(super) fn values(&self) -> Values<'_> {
        Values { places: &self.places, environment: &self.environment, secrets: &self.secrets }
    }

    fn analyze(&mut self, wish: &Analyze) -> Result<EffectEvent, Failure> {
        self.saw(ReviewerKind::Rules);
        let mut found = Vec::new();
        for path in &wish.paths {
            self.check_path(path)?;
            if let Some(why) = self.unanalyzed.get(path) {
                return Err(Failure::new("invalid", format!("{path} could not be analyzed: {why}")));
            }
            let observations = self.observations.get(path).map(Vec::as_slice).unwrap_or_default();
            let of_lens = |o: &&Observation| wish.lens.as_ref().is_none_or(|lens| *lens == o.finding.lens);
            let of_analyzer = |o: &&Observation| wish.analyzers.is_empty() || wish.analyzers.contains(&o.analyzer);
            found.extend(observations.iter().filter(of_lens).filter(of_analyzer).cloned());
        }
        Ok(EffectEvent::Analyzed(found))
    }

    fn read_sources(&mut self, wish: &ReadSources) -> Result<EffectEvent, Failure> {
        let mut sources = Vec::new();
        let mut total = 0;
        for path in &wish.paths {
            let row = self.check_path(path)?;
            let decoded = read_text(&self.root, row).map_err(|error| Failure::new("not-found", error.to_string()))?;
            let source = cut(path, decoded.text, wish.cap);
            total += source.text.len();
            if total > SOURCES_CAP {
                return Err(Failure::new(
                    "too-large",
                    format!("the sources have more than {SOURCES_CAP} bytes; ask for fewer"),
                ));
            }
            sources.push(source);
        }
        Ok(EffectEvent::Sources(sources))
    }

    fn check_path(&self, path: &str) -> Result<&FileRow, Failure> {
        let outside = || Failure::new("denied", format!("{path:?} is not among the paths of this launch"));
        self.rows.get(path).ok_or_else(outside)
    }

    fn hand_off(&mut self, text: &str) -> Result<EffectEvent, Failure> {
        self.saw(ReviewerKind::Person);
        self.handed_off = true;
        std::fs::write(self.places.run_dir.join("hand-off.md"), text)
            .map_err(|error| Failure::new("spawn", format!("the instructions cannot be written: {error}")))?;
        Ok(EffectEvent::HandedOff)
    }

    async fn wait(&self, ms: u64) -> Result<EffectEvent, Failure> {
        let until =
            Instant::now().checked_add(Duration::from_millis(ms)).map_or(self.deadline, |at| at.min(self.deadline));
        tokio::select! {
            () = tokio::time::sleep_until(until) => Ok(EffectEvent::Waited),
            () = self.cancel.reached(Urgency::Soft) => Err(Failure::new("interrupted", "the run was interrupted")),
        }
    }
}

/// Keeps a program from sending to the user's proxy what is meant for the gateway on this machine.
fn without_proxy(environment: &BTreeMap<String, String>) -> impl Iterator<Item = (String, String)> {
    ["NO_PROXY", "no_proxy"].into_iter().map(|name| {
        let own = environment.get(name).map(|value| format!("{value},")).unwrap_or_default();
        (name.to_owned(), format!("{own}127.0.0.1,localhost,::1"))
    })
}

/// Cuts a text at a character, not inside one.
fn cut(path: &str, mut text: String, cap: u64) -> Source {
    let cap = usize::try_from(cap).unwrap_or(usize::MAX);
    let truncated = text.len() > cap;
    if truncated {
        let end = (0..=cap).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.truncate(end);
    }
    Source { path: path.to_owned(), text, truncated }
}
