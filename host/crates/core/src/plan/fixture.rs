//! Made-up repositories for the tests.

use crate::fact::{Definition, Fact, FileFacts, ImportFact, Metric, Relation, Route, Span};
use crate::id::Digest;
use crate::inventory::{Encoding, FileKind, FileRow, FileStatus, Inventory, Vcs, VcsKind};

/// A source row whose digest is of its path.
pub(super) fn row(path: &str, lines: u64) -> FileRow {
    let kind = if path.contains("test") { FileKind::Test } else { FileKind::Source };
    FileRow {
        path: path.to_owned(),
        raw: None,
        status: FileStatus::Auditable,
        reason: "source".to_owned(),
        kind,
        language: "rust".to_owned(),
        size: lines * 30,
        digest: Some(Digest::of(path.as_bytes())),
        lines: Some(lines),
        longest_line: Some(80),
        encoding: Encoding::Utf8,
        executable: false,
        mtime_ns: 0,
        inode: 0,
    }
}

/// A manifest that is listed but not reviewed.
pub(super) fn manifest(path: &str) -> FileRow {
    FileRow { status: FileStatus::Excluded, ..row(path, 10) }
}

pub(super) fn inventory(mut rows: Vec<FileRow>) -> Inventory {
    rows.sort_by(|a, b| a.path.cmp(&b.path));
    Inventory { name: "made-up".to_owned(), vcs: Vcs { kind: VcsKind::None, shallow: false, head: None }, rows }
}

pub(super) fn facts(path: &str, facts: Vec<Fact>) -> FileFacts {
    FileFacts { path: path.to_owned(), language: "rust".to_owned(), analyzer: "made-up".to_owned(), facts }
}

pub(super) fn sink(name: &str) -> Fact {
    Fact::Metric(Metric { name: format!("sink/{name}"), value: 1.0, span: None, extra: Vec::new() })
}

pub(super) fn import(specifier: &str) -> Fact {
    let specifier = specifier.to_owned();
    Fact::Import(ImportFact { specifier, kind: "use".to_owned(), span: Span::default(), extra: Vec::new() })
}

pub(super) fn route(path: &str) -> Fact {
    Fact::Route(Route {
        method: "GET".to_owned(),
        path: path.to_owned(),
        handler: None,
        span: Span { start_line: 3, end_line: 9, ..Span::default() },
        extra: Vec::new(),
    })
}

pub(super) fn definition(name: &str, first: u32, last: u32) -> Fact {
    Fact::Definition(Definition {
        name: name.to_owned(),
        kind: "function".to_owned(),
        exported: true,
        span: Span { start_line: first, end_line: last, ..Span::default() },
        extra: Vec::new(),
    })
}

pub(super) fn needs(source: &str, target: &str) -> Relation {
    Relation {
        source: source.to_owned(),
        target: target.to_owned(),
        kind: "import".to_owned(),
        confidence: 0.9,
        span: Span { start_line: 1, ..Span::default() },
        extra: Vec::new(),
    }
}

/// A repository of `files` files in packages of forty, with edges, routes, sinks, imports and tests.
pub(super) struct Repository {
    pub(super) inventory: Inventory,
    pub(super) facts: Vec<FileFacts>,
    pub(super) relations: Vec<Relation>,
}

pub(super) fn repository(files: usize) -> Repository {
    let path = |at: usize| {
        let name = if at % 7 == 6 { "test_" } else { "f" };
        format!("pkg{:04}/src/d{}/{name}{at:06}.rs", at / 40, at / 10 % 4)
    };
    let (mut rows, mut all, mut relations) = (Vec::new(), Vec::new(), Vec::new());
    for at in 0..files {
        rows.push(row(&path(at), 40 + (at as u64 * 37) % 400));
        let mut found = vec![definition("work", 1, 30), import("std::fmt")];
        found.extend((at % 9 == 0).then(|| route("/things")));
        found.extend((at % 11 == 0).then(|| sink("sql")));
        found.extend((at % 23 == 0).then(|| sink("subprocess")));
        found.extend((at % 13 == 0).then(|| import("tokio::sync")));
        all.push(facts(&path(at), found));
        for step in [1, 2, 17, 400] {
            if at + step < files && at % (step + 1) != 1 {
                relations.push(needs(&path(at), &path(at + step)));
            }
        }
        // Everybody needs the first file: a hub must not make anything quadratic.
        relations.push(needs(&path(at), &path(0)));
    }
    rows.extend((0..files / 40 + 1).map(|package| manifest(&format!("pkg{package:04}/Cargo.toml"))));
    Repository { inventory: inventory(rows), facts: all, relations }
}
