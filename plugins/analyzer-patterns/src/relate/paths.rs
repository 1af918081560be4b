//! The paths of the inventory, ready for look-ups.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, DefaultHasher};

use crate::facts::{Fact, FileFacts};

/// Fixed keys: the same order on every run, and no random generator asked for by the component.
type Map<'a, V> = HashMap<&'a str, V, BuildHasherDefault<DefaultHasher>>;

/// Parts of a path that a suffix may have.
const LONGEST_SUFFIX: usize = 8;

/// Files that share a suffix beyond which it says nothing.
const MOST_ALIKE: usize = 16;

/// All paths of the inventory.
pub struct Paths<'a> {
    sorted: Vec<&'a str>,
    exact: Map<'a, u32>,
    /// Suffixes that begin at a part, sorted, with their file.
    suffixes: Vec<(&'a str, u32)>,
    /// Files of each directory that holds Go, without tests.
    go: Map<'a, Vec<u32>>,
    /// Directory suffixes of Go packages.
    go_suffixes: Vec<(&'a str, &'a str)>,
    /// Package names of manifests with their directories.
    packages: Map<'a, &'a str>,
    /// Crate names with their source directory.
    crates: HashMap<String, String, BuildHasherDefault<DefaultHasher>>,
    /// Module path and directory of each `go.mod`, longest module first.
    modules: Vec<(&'a str, &'a str)>,
}

impl<'a> Paths<'a> {
    /// Indexes the paths and the manifests' package names.
    pub fn new(paths: &'a [String], files: &'a [FileFacts]) -> Self {
        let mut sorted: Vec<&str> = paths.iter().map(String::as_str).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let mut index = Self {
            exact: Map::default(),
            suffixes: Vec::new(),
            go: Map::default(),
            go_suffixes: Vec::new(),
            packages: Map::default(),
            crates: HashMap::default(),
            modules: Vec::new(),
            sorted,
        };
        for (number, path) in index.sorted.iter().enumerate() {
            let number = u32::try_from(number).unwrap_or(u32::MAX);
            index.exact.insert(path, number);
            if is_found_by_suffix(path) {
                index.suffixes.extend(suffixes_of(path).map(|suffix| (suffix, number)));
            }
            if path.ends_with(".go") && !path.ends_with("_test.go") {
                index.go.entry(directory(path)).or_default().push(number);
            }
            if let Some(root) = path.strip_suffix("/src/lib.rs") {
                index.crates.insert(crate_name(root.rsplit('/').next().unwrap_or(root)), format!("{root}/src"));
            }
        }
        index.suffixes.sort_unstable();
        for directory in index.go.keys() {
            index.go_suffixes.extend(suffixes_of(directory).map(|suffix| (suffix, *directory)));
        }
        index.go_suffixes.sort_unstable();
        index.read_manifests(files);
        index
    }

    fn read_manifests(&mut self, files: &'a [FileFacts]) {
        for file in files {
            let name = file.path.rsplit('/').next().unwrap_or(&file.path);
            if !matches!(name, "Cargo.toml" | "package.json" | "go.mod") {
                continue;
            }
            let place = directory(&file.path);
            for fact in &file.facts {
                let Fact::Definition(definition) = fact else { continue };
                if definition.kind != "package" {
                    continue;
                }
                match name {
                    "Cargo.toml" => {
                        self.crates.insert(crate_name(&definition.name), join(place, "src"));
                    }
                    "package.json" => {
                        self.packages.insert(&definition.name, place);
                    }
                    _ => self.modules.push((&definition.name, place)),
                }
            }
        }
        self.modules.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then(a.cmp(b)));
        self.modules.truncate(200);
    }

    /// The number of a path.
    pub fn index(&self, path: &str) -> Option<u32> {
        self.exact.get(path).copied()
    }

    /// The path of a number.
    pub fn path(&self, index: u32) -> &'a str {
        self.sorted.get(index as usize).copied().unwrap_or("")
    }

    /// The file that ends in a suffix: the only one, or the one nearest to a file. Absent when none or too many do.
    pub fn by_suffix(&self, suffix: &str, near: &str) -> Option<(u32, bool)> {
        let from = self.suffixes.partition_point(|(s, _)| *s < suffix);
        let alike: Vec<u32> = self.suffixes[from..]
            .iter()
            .take_while(|(s, _)| *s == suffix)
            .take(MOST_ALIKE + 1)
            .map(|(_, i)| *i)
            .collect();
        match alike.as_slice() {
            [] => None,
            [one] => Some((*one, true)),
            many if many.len() > MOST_ALIKE => None,
            many => many
                .iter()
                .copied()
                .max_by_key(|i| (common(self.path(*i), near), std::cmp::Reverse(*i)))
                .map(|i| (i, false)),
        }
    }

    /// The directory of a Go package, by the modules of the repository, then by the longest suffix of at least two parts.
    pub fn go_package(&self, import: &str) -> Option<(&'a str, f32)> {
        for (module, place) in &self.modules {
            let Some(rest) = import.strip_prefix(module) else { continue };
            let inner = rest.trim_start_matches('/');
            if rest.is_empty() || rest.starts_with('/') {
                let target = join(place, inner);
                return self.go.get_key_value(target.as_str()).map(|(key, _)| (*key, 0.95));
            }
        }
        // Packages of the standard library and of others have no module here; a host name alone proves nothing.
        if !import.contains('.') {
            return None;
        }
        for suffix in suffixes_of(import).filter(|s| s.matches('/').count() >= 1) {
            let from = self.go_suffixes.partition_point(|(s, _)| *s < suffix);
            let mut alike = self.go_suffixes[from..].iter().take_while(|(s, _)| *s == suffix);
            if let Some((_, directory)) = alike.next() {
                return alike.next().is_none().then_some((*directory, 0.6));
            }
        }
        None
    }

    /// The file that stands for a Go package: the one of the directory's name, otherwise the first.
    pub fn representative(&self, directory: &str) -> Option<u32> {
        let files = self.go.get(directory)?;
        let name = directory.rsplit('/').next().unwrap_or(directory);
        let own = self.index(&join(directory, &format!("{name}.go")));
        own.or_else(|| files.first().copied())
    }

    /// The files of a Go package, without tests.
    pub fn package_files(&self, directory: &str) -> impl Iterator<Item = u32> {
        self.go.get(directory).map(Vec::as_slice).unwrap_or_default().iter().copied()
    }

    /// The directory of a package of the workspace.
    pub fn package(&self, name: &str) -> Option<&'a str> {
        self.packages.get(name).copied()
    }

    /// The source directory of a crate of the repository.
    pub fn crate_source(&self, name: &str) -> Option<&str> {
        self.crates.get(name).map(String::as_str)
    }
}

fn is_found_by_suffix(path: &str) -> bool {
    let extension = path.rsplit('.').next().unwrap_or("");
    matches!(
        extension,
        "java"
            | "kt"
            | "scala"
            | "groovy"
            | "php"
            | "inc"
            | "rb"
            | "h"
            | "hh"
            | "hpp"
            | "hxx"
            | "inl"
            | "c"
            | "cc"
            | "cpp"
            | "cuh"
    )
}

/// The path itself and its ends that begin at a part, longest first.
fn suffixes_of(path: &str) -> impl Iterator<Item = &str> {
    let starts = path.rmatch_indices('/').take(LONGEST_SUFFIX - 1).map(|(at, _)| at + 1);
    let mut starts: Vec<usize> = starts.collect();
    if starts.len() < LONGEST_SUFFIX - 1 {
        starts.push(0);
    }
    starts.reverse();
    starts.into_iter().map(move |at| &path[at..])
}

fn common(a: &str, b: &str) -> usize {
    a.split('/').zip(b.split('/')).take_while(|(x, y)| x == y).count()
}

fn crate_name(name: &str) -> String {
    name.replace('-', "_")
}

/// The directory of a path, without a slash at its end.
pub fn directory(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// A path below a directory.
pub fn join(directory: &str, rest: &str) -> String {
    match (directory.is_empty(), rest.is_empty()) {
        (true, _) => rest.to_owned(),
        (_, true) => directory.to_owned(),
        _ => format!("{directory}/{rest}"),
    }
}

/// A relative path from a directory, with `.` and `..` worked out. Absent when it leaves the repository.
pub fn normalise(directory: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = directory.split('/').filter(|p| !p.is_empty()).collect();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// The directory and its parents, nearest first, the root last; bounded.
pub fn ancestors(directory: &str) -> impl Iterator<Item = &str> {
    let mut next = Some(directory);
    std::iter::from_fn(move || {
        let current = next?;
        next = (!current.is_empty()).then(|| self::directory(current));
        Some(current)
    })
    .take(12)
}
