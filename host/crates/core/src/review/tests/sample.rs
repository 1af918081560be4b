//! Small tasks, results and findings, and a pseudo-random generator with fixed seeds.

use crate::id::{Digest, FindingId, LaneId, LaunchId, TaskId, UnitId};
use crate::lens::Lens;
use crate::result::{
    AffectedFile, AuditResult, Confidence, FileCoverage, Finding, ResultRecord, Reviewer, ReviewerKind, Severity,
    Verdict, VerdictKind, Verification,
};
use crate::task::{Deepening, Priority, Task, TaskFile};

pub fn file(path: &str, total_lines: u64) -> TaskFile {
    TaskFile { path: path.to_owned(), digest: Digest::of(path.as_bytes()), total_lines, bytes: 10, range: None }
}

pub fn task(name: &str, lens: Lens, paths: &[&str]) -> Task {
    Task {
        id: TaskId::new(name),
        name: name.to_owned(),
        unit: UnitId::new("unit"),
        pass_id: format!("pass:{lens}"),
        lens,
        files: paths.iter().map(|path| file(path, 100)).collect(),
        priority: Priority::Medium,
        risk: 10,
        tags: Vec::new(),
        rationale: String::new(),
        deepening: None,
    }
}

pub fn asking(name: &str, findings: &[FindingId]) -> Task {
    let mut task = task(name, Lens::Security, &["a.rs"]);
    task.deepening = Some(Deepening {
        trigger: "high-severity".to_owned(),
        round: 1,
        findings: findings.to_vec(),
        question: String::new(),
        source_lane: None,
    });
    task
}

pub fn finding(path: &str, line: u64, title: &str) -> Finding {
    Finding {
        id: Some("SEC-001".to_owned()),
        title: title.to_owned(),
        category: "sql-injection".to_owned(),
        severity: Severity::Medium,
        confidence: Confidence::Medium,
        lens: Lens::Security,
        summary: "Input reaches the query.".to_owned(),
        affected_files: vec![AffectedFile {
            path: path.to_owned(),
            line_start: Some(line),
            line_end: Some(line + 1),
            symbol: None,
        }],
        evidence: vec![format!("{path}:{line} - the query")],
        quote: Some("query( input )".to_owned()),
        impact: None,
        likelihood: None,
        reproduction: Vec::new(),
        systemic: None,
        related_findings: Vec::new(),
        cwe: None,
        fix: None,
        tags: Vec::new(),
    }
}

pub fn reviewer(kind: ReviewerKind) -> Reviewer {
    Reviewer { kind, lane: LaneId::new(kind.as_str()), model: None }
}

pub fn record(task: &str, at_ms: u64, findings: Vec<Finding>) -> ResultRecord {
    let mut paths: Vec<String> = findings.iter().flat_map(|f| &f.affected_files).map(|a| a.path.clone()).collect();
    paths.sort();
    paths.dedup();
    record_over(&self::task(task, Lens::Security, &[]), at_ms, &paths, findings)
}

pub fn record_over(task: &Task, at_ms: u64, paths: &[String], findings: Vec<Finding>) -> ResultRecord {
    let cover = |path: &String| FileCoverage { path: path.clone(), total_lines: 100 };
    let result = AuditResult {
        task_id: task.name.clone(),
        unit_id: task.unit.as_str().to_owned(),
        pass_id: task.pass_id.clone(),
        lens: task.lens,
        file_coverage: paths.iter().map(cover).collect(),
        findings,
        notes: None,
        requires_followup: None,
        verification: None,
    };
    ResultRecord {
        task: task.id.clone(),
        digest: crate::review::result_digest(&result),
        result,
        reviewer: reviewer(ReviewerKind::Agent),
        launch: Some(LaunchId::new("launch-1")),
        at_ms,
    }
}

pub fn clean(task: &Task, at_ms: u64) -> ResultRecord {
    let paths: Vec<String> = task.files.iter().map(|file| file.path.clone()).collect();
    record_over(task, at_ms, &paths, Vec::new())
}

pub fn judged(task: &Task, at_ms: u64, verdicts: &[(&FindingId, VerdictKind, Option<Severity>)]) -> ResultRecord {
    let mut record = clean(task, at_ms);
    let verdict = |(id, verdict, severity): &(&FindingId, VerdictKind, Option<Severity>)| Verdict {
        finding_id: id.as_str().to_owned(),
        verdict: *verdict,
        severity: *severity,
        confidence: None,
        reason: "looked again".to_owned(),
    };
    let verdicts = verdicts.iter().map(verdict).collect();
    record.result.verification = Some(Verification { verdicts, ..Verification::default() });
    record.digest = crate::review::result_digest(&record.result);
    record
}

/// A xorshift generator: the same numbers in every run.
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        let sides = from.len() as u64;
        &from[usize::try_from(self.roll(sides)).expect("small")]
    }
}
