//! Resolves imports into relations among the files of the inventory.

mod paths;
mod resolve_compiled;
mod resolve_dynamic;

use std::collections::BTreeSet;

use crate::config::Config;
use crate::facts::{Error, Fact, FileFacts, Import, Relation, Span};
use crate::language::{C, GO, JVM, PHP, PYTHON, RUBY, RUST, SCRIPT, language_of};
use paths::Paths;

/// A resolved import: index of the file, and how sure it is.
type Target = (u32, f32);

/// Relations of all files, in the order of their sources, each pair once with its best evidence. What cannot be resolved
/// is left out. The work is near-linear: paths are looked up in hash maps, suffixes in sorted lists.
///
/// # Errors
/// Configuration that cannot be used.
pub fn relate(files: &[FileFacts], paths: &[String], config: &str) -> Result<Vec<Relation>, Error> {
    Config::parse(config)?;
    let paths = Paths::new(paths, files);
    let mut relations = Vec::new();
    let mut order: Vec<&FileFacts> = files.iter().collect();
    order.sort_by(|a, b| a.path.cmp(&b.path));
    let mut packages = BTreeSet::new();
    for file in order {
        let Some(source) = paths.index(&file.path) else { continue };
        let from = relations.len();
        for fact in &file.facts {
            let Fact::Import(import) = fact else { continue };
            for (target, confidence) in resolve(&paths, file, import) {
                if target != source {
                    relations.push(relation(&paths, file, target, kind_of(import), confidence, import.span));
                }
            }
        }
        let found = &mut relations[from..];
        found.sort_by(|a, b| {
            a.target.cmp(&b.target).then(b.confidence.total_cmp(&a.confidence)).then(a.span.cmp(&b.span))
        });
        let mut kept: Vec<Relation> = Vec::with_capacity(found.len());
        for one in relations.drain(from..) {
            if kept.last().is_none_or(|last| last.target != one.target) {
                kept.push(one);
            }
        }
        relations.append(&mut kept);
        if language_of(&file.language, &file.path) == GO {
            packages.insert(paths::directory(&file.path));
        }
    }
    // Files of one Go package see each other without imports: its first file stands for the package.
    for directory in packages {
        let Some(first) = paths.representative(directory) else { continue };
        for member in paths.package_files(directory).filter(|member| *member != first) {
            relations.push(Relation {
                source: paths.path(first).to_owned(),
                target: paths.path(member).to_owned(),
                kind: "package".to_owned(),
                confidence: 0.9,
                span: Span { start_line: 1, start_column: 1, end_line: 1, end_column: 1, start_byte: 0, end_byte: 0 },
                extra: Vec::new(),
            });
        }
    }
    relations.sort_by(|a, b| (&a.source, &a.target, &a.kind).cmp(&(&b.source, &b.target, &b.kind)));
    Ok(relations)
}

fn resolve(paths: &Paths<'_>, file: &FileFacts, import: &Import) -> Vec<Target> {
    match language_of(&file.language, &file.path) {
        RUST => resolve_compiled::rust(paths, &file.path, import),
        GO => resolve_compiled::go(paths, &file.path, import),
        C => resolve_compiled::include(paths, &file.path, import),
        language if language & JVM != 0 => resolve_compiled::jvm(paths, &file.path, import),
        PYTHON => resolve_dynamic::python(paths, &file.path, import),
        SCRIPT => resolve_dynamic::script(paths, &file.path, import),
        RUBY => resolve_dynamic::ruby(paths, &file.path, import),
        PHP => resolve_dynamic::php(paths, &file.path, import),
        _ => Vec::new(),
    }
}

fn kind_of(import: &Import) -> &'static str {
    match import.kind.as_str() {
        "include" | "include-system" => "include",
        "module" => "module",
        _ => "import",
    }
}

fn relation(paths: &Paths<'_>, file: &FileFacts, target: u32, kind: &str, confidence: f32, span: Span) -> Relation {
    Relation {
        source: file.path.clone(),
        target: paths.path(target).to_owned(),
        kind: kind.to_owned(),
        confidence,
        span,
        extra: Vec::new(),
    }
}
