//! `provider-rules`: what the analyzer component saw becomes an answer that the host's own check accepts.

use std::borrow::Cow;
use std::collections::BTreeMap;

use assize_core::fact::Observation;
use assize_core::id::{Digest, TaskId, UnitId};
use assize_core::lens::Lens;
use assize_core::plugin::{
    Analyze, Conclusion, Effect, EffectEvent, Failure, LaunchFile, LaunchRequest, LaunchTask, Outcome,
};
use assize_core::review::{CheckOptions, SourceText, check_answer};
use assize_core::task::{LineRange, Priority, Task, TaskFile};
use assize_sandbox::Launch;

use crate::analyzer_patterns::{analyzer, findings};
use crate::catalog::{call, provider};
use crate::launches::{conclusion, effect, request};

/// Two calls that a rule is about, in lines 5 and 9, and a file without any.
const BAD: &str = "import os\n\n\ndef go(value):\n    os.system(value)\n\n\ndef run(value):\n    return eval(value)\n";
const GOOD: &str = "def add(a, b):\n    return a + b\n";

struct Sources(BTreeMap<&'static str, &'static str>);

impl Sources {
    fn new() -> Self {
        Self([("app/bad.py", BAD), ("app/good.py", GOOD)].into())
    }
}

impl SourceText for Sources {
    fn lines(&self, path: &str) -> Option<u64> {
        Some(self.0.get(path)?.matches('\n').count() as u64)
    }

    fn text(&self, path: &str) -> Option<Cow<'_, str>> {
        self.0.get(path).map(|text| Cow::Borrowed(*text))
    }
}

fn task(name: &str, lens: Lens, paths: &[&str], range: Option<LineRange>) -> Task {
    let sources = Sources::new();
    let file = |path: &&str| TaskFile {
        path: (*path).to_owned(),
        digest: Digest::of(sources.0[path].as_bytes()),
        total_lines: sources.lines(path).unwrap(),
        bytes: sources.0[path].len() as u64,
        range,
    };
    Task {
        id: TaskId::new(format!("id-of-{name}")),
        name: name.to_owned(),
        unit: UnitId::new("app"),
        pass_id: format!("pass:{lens}"),
        lens,
        files: paths.iter().map(file).collect(),
        priority: Priority::Medium,
        risk: 10,
        tags: Vec::new(),
        rationale: String::new(),
        deepening: None,
    }
}

/// A launch of these tasks, worded as the host words it.
fn asking(tasks: &[&Task]) -> LaunchRequest {
    let file = |file: &TaskFile| LaunchFile {
        path: file.path.clone(),
        total_lines: file.total_lines,
        range: file.range.map(|range| (range.first, range.last)),
    };
    let task = |task: &&Task| LaunchTask {
        task_id: task.name.clone(),
        unit_id: task.unit.to_string(),
        pass_id: task.pass_id.clone(),
        lens: task.lens.to_string(),
        files: task.files.iter().map(file).collect(),
        tags: Vec::new(),
        extra: Vec::new(),
    };
    LaunchRequest { tasks: tasks.iter().map(task).collect(), ..request("{}") }
}

/// What the host answers to `analyze`: everything that the analyzer finds in these files.
async fn observed(paths: &[String]) -> Vec<Observation> {
    let sources = Sources::new();
    let mut observations = Vec::new();
    for path in paths {
        let bytes = sources.0[path.as_str()].as_bytes();
        for finding in findings(analyzer().inspect(path, "python", bytes, "{}", &call()).await.unwrap()) {
            let analyzer = "analyzer-patterns".to_owned();
            observations.push(Observation { analyzer, path: path.clone(), finding, extra: Vec::new() });
        }
    }
    observations
}

async fn asked(launch: &mut Launch, event: Option<EffectEvent>) -> Analyze {
    match effect(launch, event).await {
        Effect::Analyze(analyze) => analyze,
        other => panic!("{other:?}"),
    }
}

/// Drives a launch of these tasks to its end; each task asks once.
async fn reviewed(tasks: &[&Task]) -> Conclusion {
    let mut launch = provider("rules").start_launch(asking(tasks), &call()).await.unwrap();
    let mut event = None;
    for task in tasks {
        let analyze = asked(&mut launch, event).await;
        let paths: Vec<&str> = task.files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!((analyze.paths.iter().map(String::as_str).collect::<Vec<_>>(), analyze.analyzers.len()), (paths, 0));
        assert_eq!(analyze.lens, Some(task.lens.to_string()));
        event = Some(EffectEvent::Analyzed(observed(&analyze.paths).await));
    }
    conclusion(&mut launch, event.unwrap()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn observations_become_results_that_hold() {
    let security = task("app:security", Lens::Security, &["app/bad.py", "app/good.py"], None);
    let tests = task("app:tests", Lens::Tests, &["app/good.py"], None);
    let tasks = [&security, &tests];
    let end = reviewed(&tasks).await;
    assert_eq!((end.outcome, &end.usage, &end.evidence[..]), (Outcome::Completed, &None, &[][..]));
    let checked = check_answer(&end.results.unwrap(), &tasks, &Sources::new(), CheckOptions::default());
    assert!(checked.rejected.is_empty() && checked.missing.is_empty(), "{checked:?}");
    assert!(checked.problems.is_empty() && checked.notes.is_empty(), "{checked:?}");
    let [first, second] = &checked.accepted[..] else { panic!("{checked:?}") };
    assert_eq!((&first.task, &second.task), (&security.id, &tests.id));
    assert!(first.warnings.is_empty(), "paths, lines and quotes are exact: {:?}", first.warnings);
    let places: Vec<_> = first
        .result
        .findings
        .iter()
        .map(|f| (f.affected_files[0].path.as_str(), f.affected_files[0].line_start))
        .collect();
    assert_eq!(places, [("app/bad.py", Some(5)), ("app/bad.py", Some(9))]);
    assert_eq!(first.result.file_coverage.len(), 2);
    assert!(second.result.findings.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_a_file_reports_what_starts_in_it() {
    let range = Some(LineRange { first: 6, last: 9 });
    let part = task("app:security:part-2", Lens::Security, &["app/bad.py"], range);
    let end = reviewed(&[&part]).await;
    let checked = check_answer(&end.results.unwrap(), &[&part], &Sources::new(), CheckOptions::default());
    let [accepted] = &checked.accepted[..] else { panic!("{checked:?}") };
    let lines: Vec<_> = accepted.result.findings.iter().map(|f| f.affected_files[0].line_start).collect();
    assert_eq!(lines, [Some(9)]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_analysis_that_fails_is_no_answer() {
    let task = task("app:security", Lens::Security, &["app/good.py"], None);
    let mut launch = provider("rules").start_launch(asking(&[&task]), &call()).await.unwrap();
    asked(&mut launch, None).await;
    let failed = EffectEvent::Failed(Failure::new("too-large", "the facts of app/good.py"));
    let end = conclusion(&mut launch, failed).await;
    assert_eq!((end.outcome, end.results), (Outcome::Crashed, None));
    assert!(end.message.contains("app:security"), "{}", end.message);
}
