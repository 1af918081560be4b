//! The boundary at which a reviewer's answer becomes results: each result is checked by itself, and what is wrong with
//! one never costs its neighbours.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value};

use super::extract::extract_results;
use super::finding::check_finding;
use super::identity::identity_digest;
use super::members::Marks;
use super::path::{BadPath, normal_path};
use super::problem::{Problem, shown};
use super::quote::IndexedText;
use super::verification::check_verification;
use crate::id::TaskId;
use crate::lens::Lens;
use crate::result::{AuditResult, FileCoverage, Finding};
use crate::task::{Task, TaskFile};

/// Bytes of a rejected result that are kept for the quarantine.
const RAW_BYTES: usize = 256 * 1024;

/// The sources that answers are checked against.
pub trait SourceText {
    /// Lines of a file: LF bytes, plus one when the last byte is not LF. `None` when unknown.
    fn lines(&self, path: &str) -> Option<u64>;
    /// Text of a file, which may be a lossy decoding. `None` when it cannot be had; quotes are then not checked.
    fn text(&self, path: &str) -> Option<Cow<'_, str>>;
}

/// Limits and habits of a check.
#[derive(Clone, Copy, Debug)]
pub struct CheckOptions {
    /// Whether paths that differ only in case are the same, as on some file systems.
    pub fold_case: bool,
    /// Bytes of the whole answer.
    pub max_answer: usize,
    /// Bytes of one text.
    pub max_text: usize,
    /// Findings of one result.
    pub max_findings: usize,
}

impl Default for CheckOptions {
    /// Case counts; 32 MiB an answer, 64 KiB a text, 500 findings a result.
    fn default() -> Self {
        Self { fold_case: false, max_answer: 32 << 20, max_text: 64 << 10, max_findings: 500 }
    }
}

/// What became of an answer.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Results that hold, in the order of the answer.
    pub accepted: Vec<Accepted>,
    /// Results that do not, for the quarantine; their tasks are asked again with the errors.
    pub rejected: Vec<Rejected>,
    /// What is wrong with the answer as a whole: it then holds no results.
    pub problems: Vec<Problem>,
    /// What had to be taken off to get at the results: prose, wrappers, encodings.
    pub notes: Vec<Problem>,
    /// Tasks that got neither an accepted nor a rejected result.
    pub missing: Vec<TaskId>,
}

/// A result that holds.
#[derive(Clone, Debug)]
pub struct Accepted {
    /// The task that it answers.
    pub task: TaskId,
    /// The result, its paths those of the task.
    pub result: AuditResult,
    /// What was repaired, dropped or doubted.
    pub warnings: Vec<Problem>,
}

/// A result that does not hold.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// The task whose result it would have been, when it is one that was asked.
    pub task: Option<TaskId>,
    /// The task's name as the reviewer wrote it, one bounded line.
    pub task_name: Option<String>,
    /// The result as JSON, cut at 256 KiB.
    pub raw: String,
    /// Why; never empty.
    pub errors: Vec<Problem>,
}

/// Checks a reviewer's answer against the tasks that it was asked and the sources.
pub fn check_answer(text: &str, tasks: &[&Task], sources: &dyn SourceText, options: CheckOptions) -> Checked {
    let mut checked = Checked::default();
    let mut answered: HashSet<&str> = HashSet::new();
    if text.len() > options.max_answer {
        let message = format!("{} bytes, at most {} are read", text.len(), options.max_answer);
        checked.problems.push(Problem::new("answer-too-large", "", message));
    } else {
        match extract_results(text) {
            Err(problem) => checked.problems.push(problem),
            Ok(found) => {
                checked.notes = found.notes;
                let by_name: HashMap<&str, &Task> = tasks.iter().map(|t| (t.name.as_str(), *t)).collect();
                let mut desk = Desk { sources, options, texts: BTreeMap::new() };
                for item in found.items {
                    check_item(item, &by_name, &mut answered, &mut desk, &mut checked);
                }
            }
        }
    }
    let open = tasks.iter().filter(|task| !answered.contains(task.name.as_str()));
    checked.missing = open.map(|task| task.id.clone()).collect();
    checked
}

/// What checking one answer shares between its results.
pub(super) struct Desk<'a> {
    sources: &'a dyn SourceText,
    /// Limits.
    pub options: CheckOptions,
    texts: BTreeMap<String, Option<IndexedText<'a>>>,
}

impl<'a> Desk<'a> {
    /// The text of a file, read and indexed once.
    pub fn text(&mut self, path: &str) -> Option<&IndexedText<'a>> {
        if !self.texts.contains_key(path) {
            let text = self.sources.text(path).map(IndexedText::new);
            self.texts.insert(path.to_owned(), text);
        }
        self.texts.get(path)?.as_ref()
    }

    /// Lines of a file of a task, as they are now or as they were planned.
    pub fn lines(&self, file: &TaskFile) -> u64 {
        self.sources.lines(&file.path).unwrap_or(file.total_lines)
    }
}

/// The files of a task by the paths that mean them.
pub(super) struct TaskPaths<'t> {
    exact: HashMap<&'t str, &'t TaskFile>,
    folded: HashMap<String, &'t TaskFile>,
}

impl<'t> TaskPaths<'t> {
    fn new(task: &'t Task, fold_case: bool) -> Self {
        let exact = task.files.iter().map(|file| (file.path.as_str(), file)).collect();
        let folded = task.files.iter().filter(|_| fold_case).map(|f| (f.path.to_lowercase(), f)).collect();
        Self { exact, folded }
    }

    /// The task's file of a path, however it is written; marks an error when there is none.
    pub fn find(&self, raw: &str, place: &str, marks: &mut Marks) -> Option<&'t TaskFile> {
        if let Some(file) = self.exact.get(raw) {
            return Some(file);
        }
        let known =
            |path: String| self.exact.get(path.as_str()).or_else(|| self.folded.get(&path.to_lowercase())).copied();
        let (code, why) = match normal_path(raw).map(known) {
            Ok(Some(file)) => return Some(file),
            Ok(None) => ("path-not-in-task", "is not a file of the task"),
            Err(BadPath::Absolute) => ("path-absolute", "is absolute; paths are relative to the repository"),
            Err(BadPath::Escaping) => ("path-escaping", "leads out of the repository"),
            Err(BadPath::Empty) => ("path-empty", "names no file"),
        };
        marks.error(code, place, format!("{} {why}", shown(raw)));
        None
    }
}

fn check_item<'t>(
    item: Value,
    by_name: &HashMap<&'t str, &'t Task>,
    answered: &mut HashSet<&'t str>,
    desk: &mut Desk<'_>,
    checked: &mut Checked,
) {
    let mut marks = Marks::new(desk.options.max_text);
    let name = item.get("task_id").and_then(Value::as_str);
    let task = name.and_then(|name| by_name.get(name.trim()).copied());
    let result = match (&item, task) {
        (Value::Object(object), Some(task)) if !answered.contains(task.name.as_str()) => {
            check_result(object, task, desk, &mut marks)
        }
        (Value::Object(_), Some(_)) => {
            marks.error("task-repeated", "/task_id", "the answer holds an earlier result for this task");
            None
        }
        (Value::Object(object), None) => {
            if let Some(name) = marks.text(object, "task_id", "") {
                marks.error("unknown-task", "/task_id", format!("{} was not asked for", shown(&name)));
            }
            None
        }
        _ => {
            marks.error("not-an-object", "", "a result must be an object");
            None
        }
    };
    // A second result for a task is refused by itself; the task keeps its first one.
    if let Some(task) = task {
        answered.insert(&task.name);
    }
    match (result, task) {
        (Some(result), Some(task)) if marks.errors.is_empty() => {
            checked.accepted.push(Accepted { task: task.id.clone(), result, warnings: marks.warnings });
        }
        _ => {
            let task_name = name.map(|name| super::words::one_line(name, 200));
            let mut raw = item.to_string();
            raw.truncate(raw.floor_char_boundary(RAW_BYTES));
            let task = task.map(|task| task.id.clone());
            checked.rejected.push(Rejected { task, task_name, raw, errors: marks.errors });
        }
    }
}

fn check_result(
    object: &Map<String, Value>,
    task: &Task,
    desk: &mut Desk<'_>,
    marks: &mut Marks,
) -> Option<AuditResult> {
    let paths = TaskPaths::new(task, desk.options.fold_case);
    check_word(object, "unit_id", task.unit.as_str(), marks);
    check_word(object, "pass_id", &task.pass_id, marks);
    check_lens(object, task.lens, "", marks);
    let file_coverage = check_coverage(object, task, &paths, desk, marks);
    let findings = check_findings(object, task, &paths, desk, marks);
    let notes = marks.optional_text(object, "notes", "");
    let requires_followup = marks.flag(object, "requires_followup", "");
    let verification = check_verification(object, task, marks);
    Some(AuditResult {
        task_id: task.name.clone(),
        unit_id: task.unit.as_str().to_owned(),
        pass_id: task.pass_id.clone(),
        lens: task.lens,
        file_coverage,
        findings,
        notes,
        requires_followup,
        verification,
    })
}

fn check_word(object: &Map<String, Value>, key: &str, wanted: &str, marks: &mut Marks) {
    if let Some(word) = marks.text(object, key, "")
        && word.trim() != wanted
    {
        let code = format!("{}-differs", key.trim_end_matches("_id"));
        marks.error(&code, format!("/{key}"), format!("{} is not the task's {}", shown(&word), shown(wanted)));
    }
}

/// Checks that a lens is there, known and the task's.
pub(super) fn check_lens(object: &Map<String, Value>, wanted: Lens, place: &str, marks: &mut Marks) {
    let Some(word) = marks.text(object, "lens", place) else { return };
    let place = format!("{place}/lens");
    match Lens::parse(&word) {
        Some(lens) if lens == wanted => {}
        Some(lens) => marks.error("lens-differs", place, format!("{lens} is not the task's lens {wanted}")),
        None => marks.error("unknown-word", place, format!("{} is not a lens", shown(&word))),
    }
}

fn check_coverage(
    object: &Map<String, Value>,
    task: &Task,
    paths: &TaskPaths<'_>,
    desk: &Desk<'_>,
    marks: &mut Marks,
) -> Vec<FileCoverage> {
    let mut seen: BTreeMap<&str, u64> = BTreeMap::new();
    let list = marks.list(object, "file_coverage", "", task.files.len() + 1000);
    for (at, entry) in list.iter().enumerate() {
        let place = format!("/file_coverage/{at}");
        let Some(entry) = entry.as_object() else {
            marks.error("not-an-object", place, "a coverage entry must be an object");
            continue;
        };
        let path = marks.text(entry, "path", &place);
        let Some(file) = path.and_then(|path| paths.find(&path, &format!("{place}/path"), marks)) else { continue };
        let lines = desk.lines(file);
        let place = format!("{place}/total_lines");
        match entry.get("total_lines").and_then(Value::as_u64) {
            None => marks.error("wrong-type", place, "`total_lines` must be a whole number of lines"),
            Some(said) if said != lines && said != file.total_lines => {
                marks.error("lines-differ", place, format!("the file has {lines} lines, not {said}"));
            }
            Some(_) => {}
        }
        if seen.insert(&file.path, file.total_lines).is_some() {
            marks.error("coverage-doubled", format!("/file_coverage/{at}"), "the file is listed twice");
        }
    }
    for file in task.files.iter().filter(|file| !seen.contains_key(file.path.as_str())) {
        marks.error("coverage-missing", "/file_coverage", format!("{} is not listed", shown(&file.path)));
    }
    seen.into_iter().map(|(path, total_lines)| FileCoverage { path: path.to_owned(), total_lines }).collect()
}

/// Position and lines of a finding that was taken.
type Seen = (usize, Option<(u64, u64)>);

fn check_findings(
    object: &Map<String, Value>,
    task: &Task,
    paths: &TaskPaths<'_>,
    desk: &mut Desk<'_>,
    marks: &mut Marks,
) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut known: HashMap<_, Vec<Seen>> = HashMap::new();
    let max = desk.options.max_findings;
    for (at, item) in marks.list(object, "findings", "", max).iter().enumerate() {
        let place = format!("/findings/{at}");
        let Some(item) = item.as_object() else {
            marks.error("not-an-object", place, "a finding must be an object");
            continue;
        };
        let Some(finding) = check_finding(item, task, paths, &place, desk, marks) else { continue };
        let span = super::same::primary_span(&finding);
        let twins = known.entry(identity_digest(&finding)).or_default();
        if let Some((first, _)) = twins.iter().find(|(_, other)| super::same::spans_meet(*other, span)) {
            marks.warn("duplicate-finding", place, format!("it repeats finding {first} of the result and was dropped"));
            continue;
        }
        twins.push((at, span));
        findings.push(finding);
    }
    findings
}
