//! Imports of Rust, Go, C and C++, Java and Kotlin.

use super::Target;
use super::paths::{Paths, ancestors, directory, join, normalise};
use crate::facts::Import;

/// Modules and `use` paths. The deepest file that a path leads to is meant; its last parts are items.
pub fn rust(paths: &Paths<'_>, source: &str, import: &Import) -> Vec<Target> {
    let place = directory(source);
    let children = child_directory(paths, source);
    if import.kind == "module" {
        if let Some((_, own)) = import.extra.iter().find(|(key, _)| key == "path") {
            return normalise(place, own).and_then(|path| paths.index(&path)).map(|i| (i, 0.98)).into_iter().collect();
        }
        return module(paths, &children, &import.specifier).map(|i| (i, 0.98)).into_iter().collect();
    }
    let mut parts: Vec<&str> = import.specifier.split("::").filter(|p| !p.is_empty()).collect();
    parts.retain(|part| *part != "*");
    let Some(first) = parts.first().copied() else { return Vec::new() };
    let (base, confidence, skip) = match first {
        "crate" => match crate_root(paths, place) {
            Some(root) => (root.to_owned(), 0.95, 1),
            None => return Vec::new(),
        },
        "self" => (children, 0.95, 1),
        "super" => {
            let mut base = directory(&children).to_owned();
            let more = parts.iter().skip(1).take_while(|p| **p == "super").count();
            for _ in 0..more {
                base = directory(&base).to_owned();
            }
            (base, 0.9, 1 + more)
        }
        name => match paths.crate_source(name) {
            Some(root) => (root.to_owned(), 0.8, 1),
            // Without a prefix it may be a module beside this place, as in `use driver::run` of a crate's root.
            None => return walk(paths, &children, &parts).map(|i| (i, 0.8)).into_iter().collect(),
        },
    };
    let parts: Vec<&str> = parts[skip..].iter().copied().filter(|p| *p != "self").collect();
    walk(paths, &base, &parts).or_else(|| owner(paths, &base)).map(|i| (i, confidence)).into_iter().collect()
}

/// Where the child modules of a file lie.
fn child_directory(paths: &Paths<'_>, source: &str) -> String {
    let place = directory(source);
    let name = source.rsplit('/').next().unwrap_or(source);
    let stem = name.strip_suffix(".rs").unwrap_or(name);
    let is_root = matches!(stem, "mod" | "lib" | "main" | "build")
        // A program or test of its own, unless a module file of this name owns a directory.
        || matches!(place.rsplit('/').next().unwrap_or(place), "bin" | "tests" | "examples" | "benches") && paths.index(&join(place, "mod.rs")).is_none();
    if is_root { place.to_owned() } else { join(place, stem) }
}

fn module(paths: &Paths<'_>, base: &str, name: &str) -> Option<u32> {
    let name = name.strip_prefix("r#").unwrap_or(name);
    paths.index(&join(base, &format!("{name}.rs"))).or_else(|| paths.index(&join(base, &format!("{name}/mod.rs"))))
}

/// The file of the module whose children lie in a directory.
fn owner(paths: &Paths<'_>, base: &str) -> Option<u32> {
    paths
        .index(&format!("{base}.rs"))
        .or_else(|| ["mod.rs", "lib.rs", "main.rs"].iter().find_map(|name| paths.index(&join(base, name))))
}

fn walk(paths: &Paths<'_>, base: &str, parts: &[&str]) -> Option<u32> {
    let mut found = None;
    let mut base = base.to_owned();
    for part in parts.iter().take(12) {
        match module(paths, &base, part) {
            Some(index) => found = Some(index),
            None => break,
        }
        base = join(&base, part);
    }
    found
}

fn crate_root<'p>(paths: &Paths<'_>, place: &'p str) -> Option<&'p str> {
    ancestors(place).find(|place| ["lib.rs", "main.rs"].iter().any(|name| paths.index(&join(place, name)).is_some()))
}

/// The package's directory, represented by one of its files.
pub fn go(paths: &Paths<'_>, source: &str, import: &Import) -> Vec<Target> {
    let found = match import.specifier.starts_with('.') {
        true => normalise(directory(source), &import.specifier)
            .and_then(|place| paths.representative(&place))
            .map(|i| (i, 0.9)),
        false => paths
            .go_package(&import.specifier)
            .and_then(|(place, confidence)| paths.representative(place).map(|i| (i, confidence))),
    };
    found.into_iter().collect()
}

/// Beside the file first, then by the end of the path. Headers of the system are resolved only with a directory.
pub fn include(paths: &Paths<'_>, source: &str, import: &Import) -> Vec<Target> {
    let is_system = import.kind == "include-system";
    if !is_system
        && let Some(index) = normalise(directory(source), &import.specifier).and_then(|path| paths.index(&path))
    {
        return vec![(index, 0.98)];
    }
    if import.specifier.starts_with('.') || is_system && !import.specifier.contains('/') {
        return Vec::new();
    }
    paths
        .by_suffix(&import.specifier, source)
        .map(|(index, is_only)| (index, if is_only { 0.8 } else { 0.5 }))
        .into_iter()
        .collect()
}

/// `a.b.C` by the end of the path; nested classes and static members by leaving off the last parts.
pub fn jvm(paths: &Paths<'_>, source: &str, import: &Import) -> Vec<Target> {
    let mut parts: Vec<&str> = import.specifier.split('.').filter(|p| !p.is_empty()).collect();
    if parts.last() == Some(&"*") {
        parts.pop();
    }
    // A package of one part says too little.
    while parts.len() >= 2 && parts.len() <= 12 {
        let path = parts.join("/");
        for extension in ["java", "kt", "scala", "groovy"] {
            if let Some((index, is_only)) = paths.by_suffix(&format!("{path}.{extension}"), source) {
                return vec![(index, if is_only { 0.9 } else { 0.6 })];
            }
        }
        let is_class = parts.last().is_some_and(|p| p.starts_with(|c: char| c.is_uppercase()));
        if !is_class && import.specifier.split('.').count() > parts.len() + 1 {
            break;
        }
        parts.pop();
    }
    Vec::new()
}
