//! Tasks: every required (file, lens) pair in exactly one of them; flows claim first, units take the rest.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

use crate::fact::FileFacts;
use crate::id::{Digest, TaskId, UnitId};
use crate::inventory::{FileKind, Inventory};
use crate::lens::{LENS_TEXT_VERSION, Lens};
use crate::task::{Deepening, LineRange, Priority, Task, TaskFile};

use super::groups::{Bounds, Weight, cut_stably};
use super::lenses::{FLOW_LENSES, LensEvidence, position, required_lenses};
use super::options::{Depth, PlanOptions};
use super::prompt::PROMPT_VERSION;
use super::risk::FileRisk;
use super::signals::{FileSignals, derive_signals};
use super::slices::plan_ranges;
use super::structure::Structure;
use super::surfaces::SurfaceKind;
use super::table::FileTable;
use super::work;

/// A unit with more files than this is looked at as a whole.
const ARCHITECTURE_ABOVE: usize = 3;
/// A file with fewer lines is not split for its bytes: its lines are what is long.
const LEAST_SLICE: u64 = 20;

/// That a file must be looked at under a lens. Where the file is split, all tasks that hold a range of it together meet it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RequiredPair {
    /// Repository-relative path.
    pub path: String,
    /// The lens.
    pub lens: Lens,
    /// Why, for people.
    pub reason: String,
}

/// The base plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// Tasks, the most urgent first: by priority, risk, then name.
    pub tasks: Vec<Task>,
    /// What must be covered, by path and lens.
    pub required: Vec<RequiredPair>,
    /// What was left out and why.
    pub notes: Vec<String>,
}

/// The id of a task by its content. A deepening task asks something else of the same files, so its question is part of it.
pub fn derive_task_id(lens: Lens, files: &[TaskFile], deepening: Option<&Deepening>) -> TaskId {
    let mut parts: Vec<Vec<u8>> =
        vec![lens.as_str().into(), LENS_TEXT_VERSION.to_le_bytes().into(), PROMPT_VERSION.to_le_bytes().into()];
    let mut sorted: Vec<&TaskFile> = files.iter().collect();
    sorted.sort_by(|a, b| (&a.path, a.range).cmp(&(&b.path, b.range)));
    for file in sorted {
        parts.push(file.path.clone().into());
        parts.push(file.digest.as_bytes().to_vec());
        let range = file.range.map_or([0, 0], |range| [range.first, range.last]);
        parts.push(range.map(u64::to_le_bytes).concat());
    }
    if let Some(deepening) = deepening {
        parts.push(deepening.trigger.clone().into());
        parts.push(deepening.round.to_le_bytes().into());
        parts.push(deepening.question.clone().into());
        parts.extend(deepening.findings.iter().map(|finding| finding.as_str().into()));
    }
    TaskId::new(Digest::of_parts(parts.iter().map(Vec::as_slice)).short(32))
}

/// Plans the tasks of all auditable files in scope.
///
/// `structure` and `facts` should be of the same inventory; files that the structure does not know are planned all the same.
pub fn plan_tasks(inventory: &Inventory, structure: &Structure, facts: &[FileFacts], options: &PlanOptions) -> Plan {
    let table = FileTable::of(inventory);
    let signals = derive_signals(&table, facts);
    let mut planner = Planner::of(&table, &signals, structure, options);
    planner.choose_lenses();
    planner.draft_flows();
    planner.draft_units();
    planner.into_plan()
}

/// One file or one range of it.
#[derive(Clone, Copy)]
struct Item {
    file: u32,
    range: Option<LineRange>,
}

/// A task before it has a name and an id.
struct Draft {
    unit: UnitId,
    /// Number among the unit's groups; absent where there is only one.
    part: Option<usize>,
    lens: Lens,
    items: Vec<Item>,
    /// Confidence of the flow that it follows.
    flow: Option<f32>,
}

struct Planner<'a> {
    table: &'a FileTable<'a>,
    signals: &'a [FileSignals<'a>],
    structure: &'a Structure,
    options: &'a PlanOptions,
    risks: Vec<Option<&'a FileRisk>>,
    /// Edges that reach or leave each file.
    degree: Vec<u32>,
    /// Whether the file is planned at all: counted, hashed and in scope.
    planned: Vec<bool>,
    /// Reasons by lens, for each file.
    required: Vec<[Option<String>; Lens::ALL.len()]>,
    /// Whether a flow has claimed the file.
    claimed: Vec<bool>,
    drafts: Vec<Draft>,
    notes: Vec<String>,
}

impl<'a> Planner<'a> {
    fn of(
        table: &'a FileTable<'a>,
        signals: &'a [FileSignals<'a>],
        structure: &'a Structure,
        options: &'a PlanOptions,
    ) -> Self {
        let counted = |file: u32| table.row(file).lines.is_some() && table.row(file).digest.is_some();
        let planned: Vec<bool> =
            table.numbers().map(|file| counted(file) && options.includes(table.path(file))).collect();
        let unknown = table.numbers().filter(|file| !counted(*file)).count();
        let mut risks = vec![None; table.len()];
        for risk in &structure.risks {
            if let Some(file) = table.find(&risk.path) {
                risks[file as usize] = Some(risk);
            }
        }
        let notes =
            (unknown > 0).then(|| format!("{unknown} files are not planned: their lines or digest are unknown"));
        Self {
            table,
            signals,
            structure,
            options,
            risks,
            degree: vec![0; table.len()],
            planned,
            required: std::iter::repeat_with(Default::default).take(table.len()).collect(),
            claimed: vec![false; table.len()],
            drafts: Vec::new(),
            notes: notes.into_iter().collect(),
        }
    }

    fn choose_lenses(&mut self) {
        let mut fan_in = vec![0u32; self.table.len()];
        for edge in &self.structure.edges {
            work::tick();
            let end = |file: u32| self.structure.files.get(file as usize).and_then(|path| self.table.find(path));
            let (Some(source), Some(target)) = (end(edge.source), end(edge.target)) else {
                continue;
            };
            self.degree[source as usize] += 1;
            self.degree[target as usize] += 1;
            if !edge.test && self.table.row(source).kind != FileKind::Test {
                fan_in[target as usize] += 1;
            }
        }
        let on_flow: HashSet<u32> = self.structure.flows.iter().flat_map(|flow| self.numbers_of(&flow.files)).collect();
        let surfaces = self.surest_surfaces();
        let mut without = 0usize;
        for file in self.table.numbers().filter(|file| self.planned[*file as usize]) {
            work::tick();
            let evidence = LensEvidence {
                row: self.table.row(file),
                signals: &self.signals[file as usize],
                risk: self.risks[file as usize],
                fan_in: fan_in[file as usize],
                on_flow: on_flow.contains(&file),
                surface: surfaces.get(&file).copied(),
            };
            let lenses = required_lenses(&evidence, self.options);
            without += usize::from(lenses.is_empty());
            for (lens, reason) in lenses {
                self.required[file as usize][position(lens)] = Some(reason.into_owned());
            }
        }
        if without > 0 {
            self.notes.push(format!("{without} files in scope require no lens"));
        }
    }

    fn surest_surfaces(&self) -> HashMap<u32, SurfaceKind> {
        let mut surest: HashMap<u32, (f32, SurfaceKind)> = HashMap::new();
        for surface in &self.structure.surfaces {
            let Some(file) = self.table.find(&surface.path) else {
                continue;
            };
            if surest.get(&file).is_none_or(|known| known.0 < surface.confidence) {
                surest.insert(file, (surface.confidence, surface.kind));
            }
        }
        surest.into_iter().map(|(file, (_, kind))| (file, kind)).collect()
    }

    fn numbers_of<'p>(&self, paths: &'p [String]) -> impl Iterator<Item = u32> + use<'a, 'p> {
        let table = self.table;
        paths.iter().filter_map(|path| table.find(path))
    }

    fn requires(&self, file: u32, lens: Lens) -> bool {
        self.required[file as usize][position(lens)].is_some()
    }

    fn bounds(&self) -> Bounds {
        let options = self.options;
        Bounds { files: options.max_task_files, lines: options.max_task_lines, bytes: options.max_task_bytes }
    }

    fn weigh(&self, item: Item) -> Weight<'a> {
        let row = self.table.row(item.file);
        Weight { path: &row.path, lines: row.lines.unwrap_or(0), bytes: row.size }
    }

    /// Most lines of the file that a task may hold: fewer where its lines are long.
    fn most_lines(&self, file: u32) -> u64 {
        let row = self.table.row(file);
        let by_bytes = match row.lines {
            Some(lines) if row.size > self.options.max_task_bytes && lines > 0 => {
                let fits = u128::from(self.options.max_task_bytes) * u128::from(lines) / u128::from(row.size.max(1));
                u64::try_from(fits).unwrap_or(u64::MAX).max(LEAST_SLICE)
            }
            _ => u64::MAX,
        };
        self.options.max_task_lines.max(1).min(by_bytes)
    }

    fn is_long(&self, file: u32) -> bool {
        self.table.row(file).lines.unwrap_or(0) > self.most_lines(file)
    }

    /// The surest and largest flows first; a flow of which others have left a single file claims nothing.
    fn draft_flows(&mut self) {
        let structure = self.structure;
        let mut flows: Vec<_> = structure.flows.iter().collect();
        flows.sort_by(|a, b| {
            b.confidence
                .total_cmp(&a.confidence)
                .then_with(|| b.files.len().cmp(&a.files.len()))
                .then_with(|| a.id.cmp(&b.id))
        });
        for flow in flows {
            let free =
                |file: &u32| self.planned[*file as usize] && !self.claimed[*file as usize] && !self.is_long(*file);
            let mut files: Vec<u32> = self.numbers_of(&flow.files).filter(free).collect();
            files.sort_unstable();
            files.dedup();
            if files.len() < 2 {
                continue;
            }
            files.iter().for_each(|file| self.claimed[*file as usize] = true);
            let items: Vec<Item> = files.into_iter().map(|file| Item { file, range: None }).collect();
            let groups = cut_stably(&items, self.bounds_of_flow(items.len()), |item| self.weigh(item));
            self.draft_groups(&UnitId::new(format!("flow:{}", flow.id)), groups, &FLOW_LENSES, Some(flow.confidence));
        }
    }

    /// A flow is cut only where lines or bytes force it: its files belong together.
    fn bounds_of_flow(&self, files: usize) -> Bounds {
        let bounds = self.bounds();
        if files <= bounds.files { Bounds { files: files.saturating_mul(3), ..bounds } } else { bounds }
    }

    fn draft_units(&mut self) {
        let structure = self.structure;
        let mut left = self.planned.clone();
        for unit in &structure.units {
            let mut files: Vec<u32> = self.numbers_of(&unit.files).filter(|file| left[*file as usize]).collect();
            files.iter().for_each(|file| left[*file as usize] = false);
            files.sort_unstable();
            files.dedup();
            self.draft_unit(&unit.id, files);
        }
        let strays: Vec<u32> = self.table.numbers().filter(|file| left[*file as usize]).collect();
        self.draft_unit(&UnitId::new("unassigned"), strays);
    }

    fn draft_unit(&mut self, unit: &UnitId, files: Vec<u32>) {
        let (long, short): (Vec<u32>, Vec<u32>) = files.iter().copied().partition(|file| self.is_long(*file));
        let items: Vec<Item> = short.into_iter().map(|file| Item { file, range: None }).collect();
        // Groups do not depend on lenses or claims, so that tasks of different lenses share their files, and a new flow
        // moves no border.
        let mut groups = cut_stably(&items, self.bounds(), |item| self.weigh(item));
        for file in long {
            let lines = self.table.row(file).lines.unwrap_or(0);
            let ranges = plan_ranges(lines, self.most_lines(file), &self.signals[file as usize].definitions);
            groups.extend(ranges.into_iter().map(|range| vec![Item { file, range: Some(range) }]));
        }
        self.draft_groups(unit, groups, &Lens::ALL, None);
        self.draft_architecture(unit, &files);
    }

    fn draft_groups(&mut self, unit: &UnitId, groups: Vec<Vec<Item>>, lenses: &[Lens], flow: Option<f32>) {
        let many = groups.len() > 1;
        for (at, group) in groups.into_iter().enumerate() {
            let part = many.then_some(at + 1);
            for &lens in lenses {
                work::tick();
                let free =
                    |item: &Item| flow.is_some() || !(FLOW_LENSES.contains(&lens) && self.claimed[item.file as usize]);
                let items: Vec<Item> =
                    group.iter().copied().filter(|item| self.requires(item.file, lens) && free(item)).collect();
                if !items.is_empty() {
                    self.drafts.push(Draft { unit: unit.clone(), part, lens, items, flow });
                }
            }
        }
    }

    /// One task a unit, over its most connected files: how parts fit shows where they meet.
    fn draft_architecture(&mut self, unit: &UnitId, files: &[u32]) {
        let lens = Lens::Architecture;
        let shown = |file: &u32| {
            let kind = self.table.row(*file).kind;
            !matches!(kind, FileKind::Test | FileKind::Doc | FileKind::Config) && !self.is_long(*file)
        };
        let mut candidates: Vec<u32> = files.iter().copied().filter(shown).collect();
        if self.options.depth == Depth::Quick || !self.options.allows(lens) || candidates.len() <= ARCHITECTURE_ABOVE {
            return;
        }
        candidates.sort_by_key(|file| (std::cmp::Reverse(self.degree[*file as usize]), *file));
        let (mut taken, mut lines, mut bytes) = (Vec::new(), 0u64, 0u64);
        for file in candidates {
            let weight = self.weigh(Item { file, range: None });
            let fits = taken.len() < self.options.max_task_files
                && lines.saturating_add(weight.lines) <= self.options.max_task_lines
                && bytes.saturating_add(weight.bytes) <= self.options.max_task_bytes;
            if fits {
                (lines, bytes) = (lines + weight.lines, bytes + weight.bytes);
                taken.push(file);
            }
        }
        if taken.len() < 2 {
            return;
        }
        taken.sort_unstable();
        for file in &taken {
            let reason = "among the most connected files of its unit".to_owned();
            self.required[*file as usize][position(lens)] = Some(reason);
        }
        let items = taken.into_iter().map(|file| Item { file, range: None }).collect();
        self.drafts.push(Draft { unit: unit.clone(), part: None, lens, items, flow: None });
    }

    fn into_plan(self) -> Plan {
        let mut tasks: Vec<Task> = self.drafts.iter().filter_map(|draft| self.task_of(draft)).collect();
        keep_names_apart(&mut tasks);
        tasks.sort_by(|a, b| (b.priority, b.risk).cmp(&(a.priority, a.risk)).then_with(|| a.name.cmp(&b.name)));
        let mut required = Vec::new();
        for (file, reasons) in self.table.numbers().zip(self.required) {
            for (lens, reason) in Lens::ALL.into_iter().zip(reasons) {
                let path = || self.table.path(file).to_owned();
                required.extend(reason.map(|reason| RequiredPair { path: path(), lens, reason }));
            }
        }
        Plan { tasks, required, notes: self.notes }
    }

    fn task_of(&self, draft: &Draft) -> Option<Task> {
        let files: Option<Vec<TaskFile>> = draft.items.iter().map(|item| self.task_file(*item)).collect();
        let files = files?;
        let lens = draft.lens;
        let riskiest = draft
            .items
            .iter()
            .filter_map(|item| self.risks[item.file as usize])
            .max_by(|a, b| a.score.cmp(&b.score).then_with(|| b.path.cmp(&a.path)));
        let part = draft.part.map(|part| format!(":part-{part}")).unwrap_or_default();
        let pass = if draft.flow.is_some() { "flow-pass" } else { "pass" };
        Some(Task {
            id: derive_task_id(lens, &files, None),
            name: format!("{}:{lens}{part}", draft.unit),
            unit: draft.unit.clone(),
            pass_id: format!("{pass}:{lens}"),
            lens,
            priority: priority_of(draft, riskiest),
            risk: riskiest.map_or(0, |risk| risk.score),
            tags: self.tags_of(draft),
            rationale: self.rationale_of(draft, riskiest),
            files,
            deepening: None,
        })
    }

    fn task_file(&self, item: Item) -> Option<TaskFile> {
        let row = self.table.row(item.file);
        Some(TaskFile {
            path: row.path.clone(),
            digest: row.digest?,
            total_lines: row.lines?,
            bytes: row.size,
            range: item.range,
        })
    }

    fn tags_of(&self, draft: &Draft) -> Vec<String> {
        let any = |name: &str| {
            draft.items.iter().any(|item| self.risks[item.file as usize].is_some_and(|risk| risk.has(name)))
        };
        let tags = [
            ("analyzer-signal", any("finding")),
            ("critical-flow", draft.flow.is_some()),
            ("exposed", any("exposure")),
            ("large-file", draft.items.iter().any(|item| item.range.is_some())),
            ("untested", any("untested")),
        ];
        tags.into_iter().filter(|(_, holds)| *holds).map(|(tag, _)| tag.to_owned()).collect()
    }

    fn rationale_of(&self, draft: &Draft, riskiest: Option<&FileRisk>) -> String {
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for item in &draft.items {
            if let Some(reason) = &self.required[item.file as usize][position(draft.lens)] {
                *reasons.entry(reason).or_default() += 1;
            }
        }
        let mut reasons: Vec<(&str, usize)> = reasons.into_iter().collect();
        reasons.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        let shown: Vec<String> = reasons.iter().take(3).map(|(reason, files)| format!("{reason} ({files})")).collect();
        let mut text = shown.join(", ");
        if let Some(risk) = riskiest.filter(|risk| risk.score > 0) {
            let names: Vec<&str> = risk.signals.iter().take(3).map(|signal| signal.name.as_str()).collect();
            text.push_str(&format!("; highest risk {} in {}: {}", risk.score, risk.path, names.join(", ")));
        }
        text
    }
}

fn priority_of(draft: &Draft, riskiest: Option<&FileRisk>) -> Priority {
    let risk = riskiest.map_or(0, |risk| risk.score);
    let grave =
        riskiest.is_some_and(|risk| risk.signals.iter().any(|signal| signal.name == "finding" && signal.points >= 13));
    let sensitive = matches!(draft.lens, Lens::Security | Lens::DataIntegrity);
    if draft.flow.is_some_and(|confidence| confidence >= 0.5) || risk >= 60 || sensitive && (risk >= 40 || grave) {
        Priority::High
    } else if draft.flow.is_some() || risk >= 35 || sensitive || draft.lens == Lens::Correctness && risk >= 15 {
        Priority::Medium
    } else {
        Priority::Low
    }
}

/// Directories may be called anything, so two names can meet; the later one takes the start of its id along, and none is lost.
fn keep_names_apart(tasks: &mut [Task]) {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by(|a, b| (&tasks[*a].name, &tasks[*a].id).cmp(&(&tasks[*b].name, &tasks[*b].id)));
    let mut taken: HashSet<String> = tasks.iter().map(|task| task.name.clone()).collect();
    let mut last: Option<String> = None;
    for at in order {
        let task = &mut tasks[at];
        if last.as_deref() != Some(task.name.as_str()) {
            last = Some(task.name.clone());
            continue;
        }
        let digits = [8, 16, 32].map(|digits| format!("{}~{}", task.name, &task.id.as_str()[..digits]));
        if let Some(name) = digits.into_iter().find(|name| !taken.contains(name)) {
            taken.insert(name.clone());
            task.name = name;
        }
    }
}
