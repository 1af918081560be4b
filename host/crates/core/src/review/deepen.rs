//! Second opinions: which results and findings deserve another look, within a budget that every reason shares fairly.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use super::coverage::WHOLE_LOOK;
use super::identity::KnownFinding;
use super::verdict::VerificationState;
use super::words::{normal_category, one_line};
use crate::id::{Digest, FindingId, LaneId, TaskId};
use crate::lens::Lens;
use crate::result::{Confidence, ResultRecord, Severity};
use crate::task::{Deepening, LineRange, Priority, Task, TaskFile};

/// Rounds of deepening in one audit.
pub const DEEPENING_ROUNDS: u32 = 3;
/// Tasks that may always be planned, however small the audit.
const LEAST_TASKS: usize = 6;
/// Risk from which a clean result is looked at again.
const HIGH_RISK: u8 = 70;
/// Findings that one task asks about.
const FINDINGS: usize = 10;
/// Files of one task.
const FILES: usize = 12;
/// Results from which a lens is verified as a whole.
const LENS_SOURCES: usize = 3;
/// Lenses that are verified as a whole.
const VERIFIED_LENSES: [Lens; 3] = [Lens::Security, Lens::DataIntegrity, Lens::Reliability];
/// The reasons, in the order in which they take turns.
const TRIGGERS: [&str; 5] = ["high-severity", "conflict", "low-confidence", "lens-verification", WHOLE_LOOK];

/// What deepening is planned from.
#[derive(Clone, Copy, Debug)]
pub struct DeepeningInput<'a> {
    /// The plan: base tasks, and deepening tasks of earlier rounds.
    pub tasks: &'a [Task],
    /// Current results.
    pub results: &'a [ResultRecord],
    /// Findings with the verdicts so far.
    pub findings: &'a [KnownFinding],
    /// Rounds that were planned before.
    pub rounds: u32,
    /// Deepening tasks that were planned before, in all rounds.
    pub planned: usize,
    /// Tasks of the base plan.
    pub base_tasks: usize,
    /// Lanes that can be asked.
    pub lanes: &'a [LaneId],
    /// Whether any lane can judge: rules cannot. Without one nothing is planned.
    pub adjudicators: bool,
}

/// Deepening tasks of the next round, sorted by id: over all rounds at most a tenth of the base tasks, but at least
/// six. The reasons take turns, so that none starves the others; while a lens still waits for base results, a fifth of
/// what is left is kept for its verification. The ids depend on what is asked only.
pub fn plan_deepening(input: DeepeningInput<'_>) -> Vec<Task> {
    let budget = LEAST_TASKS.max(input.base_tasks / 10).saturating_sub(input.planned);
    if !input.adjudicators || input.rounds >= DEEPENING_ROUNDS || budget == 0 {
        return Vec::new();
    }
    let scene = Scene::new(input);
    let mut queues: [VecDeque<Task>; TRIGGERS.len()] = [
        scene.finding_tasks(TRIGGERS[0], |known| known.finding.severity >= Severity::High),
        scene.conflict_tasks(),
        scene.finding_tasks(TRIGGERS[2], |known| {
            known.finding.confidence == Confidence::Low && known.finding.severity < Severity::High
        }),
        scene.lens_tasks(),
        scene.clean_tasks(),
    ];
    let kept_back = if scene.lens_waits() { (budget / 5).max(1).min(budget - 1) } else { 0 };
    let mut ids: HashSet<TaskId> = input.tasks.iter().map(|task| task.id.clone()).collect();
    let mut asked: HashSet<FindingId> = HashSet::new();
    let mut tasks = Vec::new();
    while tasks.len() + kept_back < budget {
        let before = queues.iter().map(VecDeque::len).sum::<usize>();
        for queue in &mut queues {
            if tasks.len() + kept_back < budget
                && let Some(task) = queue.pop_front()
                && is_news(&task, &mut asked)
                && ids.insert(task.id.clone())
            {
                tasks.push(task);
            }
        }
        if before == 0 {
            break;
        }
    }
    tasks.sort_by(|a, b| a.id.cmp(&b.id));
    tasks
}

/// Whether a task asks anything that another task of the round does not. Verification of a lens asks on its own.
fn is_news(task: &Task, asked: &mut HashSet<FindingId>) -> bool {
    let Some(deepening) = &task.deepening else { return false };
    if deepening.findings.is_empty() || deepening.trigger == TRIGGERS[3] {
        return true;
    }
    let new = deepening.findings.iter().filter(|id| asked.insert((*id).clone())).count();
    new > 0
}

/// The input with what is looked up often.
struct Scene<'a> {
    input: DeepeningInput<'a>,
    tasks: HashMap<&'a TaskId, &'a Task>,
    /// Findings that some deepening task asks about already.
    asked: HashSet<&'a FindingId>,
    answered: HashSet<&'a TaskId>,
}

impl<'a> Scene<'a> {
    fn new(input: DeepeningInput<'a>) -> Self {
        let deepenings = input.tasks.iter().filter_map(|task| task.deepening.as_ref());
        Self {
            input,
            tasks: input.tasks.iter().map(|task| (&task.id, task)).collect(),
            asked: deepenings.filter(|d| d.trigger != TRIGGERS[3]).flat_map(|d| &d.findings).collect(),
            answered: input.results.iter().map(|record| &record.task).collect(),
        }
    }

    /// Findings that nobody judged or was asked to judge, with the task that brought them; worst first.
    fn open_findings(&self) -> Vec<(&'a KnownFinding, &'a Task)> {
        let open = |known: &&KnownFinding| {
            known.verification == VerificationState::Unverified && !self.asked.contains(&known.id)
        };
        let with_task = |known: &'a KnownFinding| Some((known, *self.tasks.get(&known.task)?));
        let mut findings: Vec<_> = self.input.findings.iter().filter(open).filter_map(with_task).collect();
        findings.sort_by(|(a, _), (b, _)| {
            (b.finding.severity, &a.task_name, &a.id).cmp(&(a.finding.severity, &b.task_name, &b.id))
        });
        findings
    }

    /// Tasks over single findings, those of one source task together.
    fn finding_tasks(&self, trigger: &str, wanted: impl Fn(&KnownFinding) -> bool) -> VecDeque<Task> {
        let mut groups: Vec<(&Task, Vec<&KnownFinding>)> = Vec::new();
        let mut open_group: HashMap<&TaskId, usize> = HashMap::new();
        let mut seen: HashSet<&FindingId> = HashSet::new();
        for (known, task) in self.open_findings() {
            if !wanted(known) || !seen.insert(&known.id) {
                continue;
            }
            match open_group.get(&task.id).map(|at| &mut groups[*at].1) {
                Some(group) if group.len() < FINDINGS => group.push(known),
                _ => {
                    open_group.insert(&task.id, groups.len());
                    groups.push((task, vec![known]));
                }
            }
        }
        groups.into_iter().map(|(task, group)| self.ask(trigger, task, &group)).collect()
    }

    /// Tasks over findings of one file, lens and category whose reviewers are two ranks apart.
    fn conflict_tasks(&self) -> VecDeque<Task> {
        type Key<'k> = (&'k str, Lens, String);
        let mut groups: BTreeMap<Key<'_>, Vec<(&KnownFinding, &Task)>> = BTreeMap::new();
        for (known, task) in self.open_findings() {
            let Some(place) = known.finding.affected_files.first() else { continue };
            let key = (place.path.as_str(), known.finding.lens, normal_category(&known.finding.category));
            groups.entry(key).or_default().push((known, task));
        }
        let mut tasks = VecDeque::new();
        for mut group in groups.into_values().filter(|group| are_apart(group)) {
            // The least and the most severe must both be asked about.
            if group.len() > FINDINGS {
                let last = group.len() - 1;
                group.swap(FINDINGS - 1, last);
                group.truncate(FINDINGS);
            }
            let findings: Vec<&KnownFinding> = group.iter().map(|(known, _)| *known).collect();
            tasks.push_back(self.ask(TRIGGERS[1], group[0].1, &findings));
        }
        tasks
    }

    /// One task for each lens whose base results are all in.
    fn lens_tasks(&self) -> VecDeque<Task> {
        let mut tasks = VecDeque::new();
        for lens in VERIFIED_LENSES {
            let done = self
                .input
                .tasks
                .iter()
                .any(|task| task.lens == lens && task.deepening.as_ref().is_some_and(|d| d.trigger == TRIGGERS[3]));
            let mut base: Vec<&Task> = self.base_of(lens).collect();
            if done || base.len() < LENS_SOURCES || base.iter().any(|task| !self.answered.contains(&task.id)) {
                continue;
            }
            base.sort_by(|a, b| (b.risk, b.priority, &a.name).cmp(&(a.risk, a.priority, &b.name)));
            let open = self.open_findings();
            let of_lens = open.iter().map(|(known, _)| *known).filter(|known| known.finding.lens == lens);
            let findings: Vec<&KnownFinding> = of_lens.take(FINDINGS).collect();
            let mut files = files_of(&findings, &base);
            for file in base.iter().flat_map(|task| &task.files) {
                if files.len() < FILES && !files.iter().any(|known| known.path == file.path) {
                    files.push(file.clone());
                }
            }
            let clean = self.clean_count(&base);
            let mut question = format!(
                "The {lens} review of {} tasks is done; {clean} of them reported nothing. Does it hold as a whole? \
                 Look for what it missed in these files, and judge each finding below.\n",
                base.len()
            );
            question.push_str(&describe(&findings));
            tasks.push_back(self.task(TRIGGERS[3], base[0], files, &findings, question, None));
        }
        tasks
    }

    fn clean_count(&self, base: &[&Task]) -> usize {
        let found: HashSet<&TaskId> = self.input.findings.iter().map(|known| &known.task).collect();
        base.iter().filter(|task| !found.contains(&task.id)).count()
    }

    /// Whole second looks at risky files about which nothing was reported.
    fn clean_tasks(&self) -> VecDeque<Task> {
        let mut clean: Vec<(&Task, &ResultRecord)> = Vec::new();
        let mut seen: BTreeSet<&TaskId> = BTreeSet::new();
        for record in self.input.results {
            let Some(task) = self.tasks.get(&record.task).filter(|task| task.deepening.is_none()) else { continue };
            let quiet = record.result.findings.is_empty() && record.result.requires_followup != Some(false);
            if quiet && (is_risky(task) || record.result.requires_followup == Some(true)) && seen.insert(&task.id) {
                clean.push((task, record));
            }
        }
        clean.sort_by(|(a, _), (b, _)| (b.risk, b.priority, &a.name).cmp(&(a.risk, a.priority, &b.name)));
        let look = |(task, record): (&Task, &ResultRecord)| {
            let question = "A first review reported nothing in these files, whose risk is high. Review them again \
                            from the start, without trusting it."
                .to_owned();
            self.task(WHOLE_LOOK, task, task.files.clone(), &[], question, Some(&record.reviewer.lane))
        };
        clean.into_iter().map(look).collect()
    }

    fn base_of(&self, lens: Lens) -> impl Iterator<Item = &'a Task> {
        self.input.tasks.iter().filter(move |task| task.lens == lens && task.deepening.is_none())
    }

    /// Whether a lens that will be verified still has base tasks without results.
    fn lens_waits(&self) -> bool {
        self.input.rounds + 1 < DEEPENING_ROUNDS
            && VERIFIED_LENSES.into_iter().any(|lens| {
                self.base_of(lens).nth(LENS_SOURCES - 1).is_some()
                    && self.base_of(lens).any(|task| !self.answered.contains(&task.id))
            })
    }

    fn ask(&self, trigger: &str, task: &Task, findings: &[&KnownFinding]) -> Task {
        let sources: Vec<&Task> = findings.iter().filter_map(|known| self.tasks.get(&known.task).copied()).collect();
        let files = files_of(findings, &sources);
        let mut question = "Another reviewer reported the findings below. Judge each of them against the source: \
                            confirm, raise, lower or refute it, with a reason.\n"
            .to_owned();
        question.push_str(&describe(findings));
        self.task(trigger, task, files, findings, question, findings.first().map(|known| &known.reviewer.lane))
    }

    fn task(
        &self,
        trigger: &str,
        source: &Task,
        mut files: Vec<TaskFile>,
        findings: &[&KnownFinding],
        question: String,
        lane: Option<&LaneId>,
    ) -> Task {
        files.sort_by(|a, b| (&a.path, a.range).cmp(&(&b.path, b.range)));
        let findings: BTreeSet<FindingId> = findings.iter().map(|known| known.id.clone()).collect();
        let digest = task_digest(trigger, source.lens, &files, &findings);
        let other_lane = lane.filter(|lane| self.input.lanes.iter().any(|other| other != *lane));
        Task {
            id: TaskId::new(digest.short(32)),
            name: format!("deepening:{trigger}:{}", digest.short(12)),
            unit: source.unit.clone(),
            pass_id: format!("deepening:{}", source.lens),
            lens: source.lens,
            files,
            priority: if trigger == TRIGGERS[2] { Priority::Medium } else { Priority::High },
            risk: source.risk,
            tags: vec!["selective-deepening".to_owned(), format!("trigger:{trigger}")],
            rationale: format!("second opinion on `{}`: {trigger}", source.name),
            deepening: Some(Deepening {
                trigger: trigger.to_owned(),
                round: self.input.rounds + 1,
                findings: findings.into_iter().collect(),
                question,
                source_lane: other_lane.map(|lane| lane.as_str().to_owned()),
            }),
        }
    }
}

fn is_risky(task: &Task) -> bool {
    let marked = || task.tags.iter().any(|tag| tag == "critical-flow" || tag == "analyzer-signal");
    task.risk >= HIGH_RISK || (task.priority == Priority::High && marked())
}

/// Whether findings of different results disagree by two ranks of severity or confidence. Sorted worst first.
fn are_apart(group: &[(&KnownFinding, &Task)]) -> bool {
    let several = group.iter().any(|(known, _)| (&known.task, known.result) != (&group[0].0.task, group[0].0.result));
    let severities = group.iter().map(|(known, _)| known.finding.severity as usize);
    let confidences = group.iter().map(|(known, _)| known.finding.confidence as usize);
    several && (spread(severities) >= 2 || spread(confidences) >= 2)
}

fn spread(ranks: impl Iterator<Item = usize>) -> usize {
    let (least, most) = ranks.fold((usize::MAX, 0), |(least, most), rank| (least.min(rank), most.max(rank)));
    most.saturating_sub(least)
}

/// The files that the findings are about, as their tasks know them.
fn files_of(findings: &[&KnownFinding], tasks: &[&Task]) -> Vec<TaskFile> {
    let wanted: BTreeSet<&str> =
        findings.iter().flat_map(|known| &known.finding.affected_files).map(|place| place.path.as_str()).collect();
    // First places go first, so that the limit never leaves out the file that a finding is about.
    let firsts: BTreeSet<&str> =
        findings.iter().filter_map(|known| known.finding.affected_files.first()).map(|p| p.path.as_str()).collect();
    let mut files: Vec<TaskFile> = Vec::new();
    for paths in [&firsts, &wanted] {
        for file in tasks.iter().flat_map(|task| &task.files).filter(|file| paths.contains(file.path.as_str())) {
            match files.iter().position(|known| known.path == file.path) {
                Some(at) => {
                    files[at].range = files[at]
                        .range
                        .zip(file.range)
                        .map(|(one, two)| LineRange { first: one.first.min(two.first), last: one.last.max(two.last) });
                }
                None if files.len() < FILES => files.push(file.clone()),
                None => {}
            }
        }
    }
    files
}

/// The findings for the prompt: id, claim and place, a bounded line each.
fn describe(findings: &[&KnownFinding]) -> String {
    let mut text = String::new();
    for known in findings {
        let finding = &known.finding;
        let place = finding.affected_files.first();
        let path = place.map_or_else(String::new, |place| one_line(&place.path, 300));
        let line = place.and_then(|place| place.line_start).map_or_else(String::new, |line| format!(":{line}"));
        text.push_str(&format!(
            "- {} ({}, confidence {}) {path}{line}: {}. {}\n",
            known.id,
            finding.severity.as_str(),
            finding.confidence.as_str(),
            one_line(&finding.title, 200),
            one_line(&finding.summary, 500),
        ));
    }
    text
}

fn task_digest(trigger: &str, lens: Lens, files: &[TaskFile], findings: &BTreeSet<FindingId>) -> Digest {
    let mut parts: Vec<Vec<u8>> = vec![trigger.into(), lens.as_str().into()];
    for file in files {
        parts.push(file.path.clone().into());
        parts.push(file.digest.as_bytes().to_vec());
        let range = file.range.map(|range| format!("{}-{}", range.first, range.last));
        parts.push(range.unwrap_or_default().into());
    }
    parts.push(b"findings".to_vec());
    parts.extend(findings.iter().map(|id| id.as_str().into()));
    Digest::of_parts(parts.iter().map(Vec::as_slice))
}
