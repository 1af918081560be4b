//! Units: packages first, then directories, then connected parts of what is still too large.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};

use crate::id::UnitId;
use crate::inventory::Inventory;

use super::graph::Graph;
use super::groups::{Bounds, Weight, cut_stably};
use super::table::{FileTable, directory_of, name_of};
use super::work;

/// Most files of a unit: what one person can hold in mind as one thing.
pub const MAX_UNIT_FILES: usize = 60;
/// Most lines of a unit; a single longer file is a unit of its own.
pub const MAX_UNIT_LINES: u64 = 12_000;
/// A directory with fewer files is reviewed with its parent: a unit of one file has no context.
const SMALL_DIRECTORY: usize = 4;

/// What holds a unit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnitKind {
    /// A manifest.
    Package,
    /// A directory.
    Directory,
    /// Edges between files of a directory that is too large.
    Part,
}

/// Files that are reviewed together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// The directory; `.` for the root; `<directory>@<first file>` for a part. Depends on paths only, never on a number.
    pub id: UnitId,
    /// For people: the last part of the directory, or the repository's name.
    pub name: String,
    /// What holds it together.
    pub kind: UnitKind,
    /// Paths, sorted.
    pub files: Vec<String>,
    /// Lines of all files whose count is known.
    pub lines: u64,
    /// The manifest of its package.
    pub manifest: Option<String>,
}

/// Puts every file of the table into exactly one unit, sorted by id.
pub(super) fn derive_units(inventory: &Inventory, table: &FileTable<'_>, graph: &Graph<'_>) -> Vec<Unit> {
    let manifests = manifests_by_directory(inventory);
    let mut found = Vec::new();
    for (directory, files) in files_by_package(table, &manifests) {
        let manifest = manifests.get(directory).copied();
        divide_package(&Package { directory, manifest }, files, table, graph, &mut found);
    }
    let mut units: Vec<Unit> = found.into_iter().map(|group| group.into_unit(inventory, table)).collect();
    units.sort_by(|a, b| a.id.cmp(&b.id));
    units
}

/// Manifest of each directory that has one; the first by path where there are several.
fn manifests_by_directory(inventory: &Inventory) -> HashMap<&str, &str> {
    let mut manifests: HashMap<&str, &str> = HashMap::new();
    for row in &inventory.rows {
        work::tick();
        if is_manifest(name_of(&row.path)) {
            let known = manifests.entry(directory_of(&row.path)).or_insert(&row.path);
            *known = (*known).min(&row.path);
        }
    }
    manifests
}

fn is_manifest(name: &str) -> bool {
    const NAMES: [&str; 22] = [
        "BUILD",
        "BUILD.bazel",
        "CMakeLists.txt",
        "Cargo.toml",
        "Gemfile",
        "Package.swift",
        "Pipfile",
        "build.gradle",
        "build.gradle.kts",
        "build.sbt",
        "build.zig",
        "composer.json",
        "deno.json",
        "dune-project",
        "go.mod",
        "mix.exs",
        "package.json",
        "pom.xml",
        "pubspec.yaml",
        "pyproject.toml",
        "setup.cfg",
        "setup.py",
    ];
    const ENDINGS: [&str; 6] = [".csproj", ".fsproj", ".vbproj", ".gemspec", ".cabal", ".podspec"];
    NAMES.binary_search(&name).is_ok() || ENDINGS.iter().any(|ending| name.ends_with(ending))
}

/// Files by the nearest directory above them that has a manifest; the root where there is none.
fn files_by_package<'a>(table: &FileTable<'a>, manifests: &HashMap<&str, &str>) -> BTreeMap<&'a str, Vec<u32>> {
    let mut package_of: HashMap<&str, &str> = HashMap::new();
    let mut packages: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for file in table.numbers() {
        let (mut directory, mut passed) = (directory_of(table.path(file)), Vec::new());
        let package = loop {
            work::tick();
            if let Some(known) = package_of.get(directory) {
                break *known;
            }
            passed.push(directory);
            if directory.is_empty() || manifests.contains_key(directory) {
                break directory;
            }
            directory = directory_of(directory);
        };
        package_of.extend(passed.into_iter().map(|directory| (directory, package)));
        packages.entry(package).or_default().push(file);
    }
    packages
}

struct Package<'a> {
    directory: &'a str,
    manifest: Option<&'a str>,
}

/// A unit before it is named.
struct Group<'a> {
    directory: &'a str,
    part: Option<u32>,
    files: Vec<u32>,
    kind: UnitKind,
    manifest: Option<&'a str>,
}

impl Group<'_> {
    fn into_unit(self, inventory: &Inventory, table: &FileTable<'_>) -> Unit {
        let shown = if self.directory.is_empty() { "." } else { self.directory };
        let id = match self.part {
            Some(first) => format!("{shown}@{}", below(self.directory, table.path(first))),
            None => shown.to_owned(),
        };
        let name = if self.directory.is_empty() { inventory.name.as_str() } else { name_of(self.directory) };
        Unit {
            id: UnitId::new(id),
            name: name.to_owned(),
            kind: self.kind,
            lines: self.files.iter().filter_map(|file| table.row(*file).lines).fold(0, u64::saturating_add),
            files: self.files.iter().map(|file| table.path(*file).to_owned()).collect(),
            manifest: self.manifest.map(str::to_owned),
        }
    }
}

/// The path as seen from a directory above it.
fn below<'p>(directory: &str, path: &'p str) -> &'p str {
    path.strip_prefix(directory).map_or(path, |rest| rest.trim_start_matches('/'))
}

/// A directory of one package.
struct Node<'a> {
    path: &'a str,
    parent: Option<usize>,
    children: Vec<usize>,
    direct: Vec<u32>,
    files: usize,
    lines: u64,
}

impl Node<'_> {
    fn fits(&self) -> bool {
        self.files <= MAX_UNIT_FILES && self.lines <= MAX_UNIT_LINES
    }
}

/// Walks down from the package's directory; what fits is a unit, what does not is looked into.
fn divide_package<'a>(
    package: &Package<'a>,
    files: Vec<u32>,
    table: &FileTable<'a>,
    graph: &Graph<'_>,
    found: &mut Vec<Group<'a>>,
) {
    let nodes = directory_tree(package.directory, files, table);
    let mut open = vec![0];
    while let Some(at) = open.pop() {
        let node = &nodes[at];
        let mut files = node.direct.clone();
        if node.fits() {
            node.children.iter().for_each(|child| gather(&nodes, *child, &mut files));
        } else {
            for &child in &node.children {
                if nodes[child].files < SMALL_DIRECTORY && nodes[child].fits() {
                    gather(&nodes, child, &mut files);
                } else {
                    open.push(child);
                }
            }
        }
        if files.is_empty() {
            continue;
        }
        files.sort_unstable();
        let kind = if at == 0 && package.manifest.is_some() { UnitKind::Package } else { UnitKind::Directory };
        let whole = Group { directory: node.path, part: None, files, kind, manifest: package.manifest };
        split_group(whole, table, graph, found);
    }
}

fn directory_tree<'a>(root: &'a str, files: Vec<u32>, table: &FileTable<'a>) -> Vec<Node<'a>> {
    let node = |path, parent| Node { path, parent, children: Vec::new(), direct: Vec::new(), files: 0, lines: 0 };
    let mut nodes = vec![node(root, None)];
    let mut known: HashMap<&str, usize> = HashMap::from([(root, 0)]);
    for file in files {
        let (mut directory, mut missing) = (directory_of(table.path(file)), Vec::new());
        let mut at = loop {
            work::tick();
            match known.get(directory) {
                Some(at) => break *at,
                None => missing.push(directory),
            }
            directory = directory_of(directory);
        };
        for directory in missing.into_iter().rev() {
            nodes.push(node(directory, Some(at)));
            let child = nodes.len() - 1;
            nodes[at].children.push(child);
            known.insert(directory, child);
            at = child;
        }
        nodes[at].direct.push(file);
        nodes[at].files += 1;
        nodes[at].lines = nodes[at].lines.saturating_add(table.row(file).lines.unwrap_or(0));
    }
    // Children were made after their parents, so that one pass from the end sums all of them up.
    for at in (1..nodes.len()).rev() {
        let (files, lines, parent) = (nodes[at].files, nodes[at].lines, nodes[at].parent);
        if let Some(parent) = parent {
            nodes[parent].files += files;
            nodes[parent].lines = nodes[parent].lines.saturating_add(lines);
        }
    }
    nodes
}

/// All files at and below a node.
fn gather(nodes: &[Node<'_>], from: usize, files: &mut Vec<u32>) {
    let mut open = vec![from];
    while let Some(at) = open.pop() {
        work::tick();
        files.extend(&nodes[at].direct);
        open.extend(&nodes[at].children);
    }
}

/// Leaves a group that fits alone; orders one that does not by connected components and cuts it.
fn split_group<'a>(whole: Group<'a>, table: &FileTable<'a>, graph: &Graph<'_>, found: &mut Vec<Group<'a>>) {
    let lines = whole.files.iter().filter_map(|file| table.row(*file).lines).fold(0, u64::saturating_add);
    if whole.files.len() <= MAX_UNIT_FILES && lines <= MAX_UNIT_LINES || whole.files.len() == 1 {
        found.push(whole);
        return;
    }
    let bounds = Bounds { files: MAX_UNIT_FILES, lines: MAX_UNIT_LINES, bytes: u64::MAX };
    let ordered = by_component(&whole.files, graph);
    let parts = cut_stably(&ordered, bounds, |file| {
        let row = table.row(file);
        Weight { path: &row.path, lines: row.lines.unwrap_or(0), bytes: 0 }
    });
    for mut files in parts {
        files.sort_unstable();
        let part = files.first().copied();
        found.push(Group { directory: whole.directory, part, files, kind: UnitKind::Part, manifest: whole.manifest });
    }
}

/// The files with connected ones side by side; components by their first path.
fn by_component(files: &[u32], graph: &Graph<'_>) -> Vec<u32> {
    let place: HashMap<u32, usize> = files.iter().enumerate().map(|(at, file)| (*file, at)).collect();
    let mut root: Vec<usize> = (0..files.len()).collect();
    for (at, file) in files.iter().enumerate() {
        for edge in graph.outgoing(*file) {
            work::tick();
            if let Some(other) = place.get(&edge.target) {
                let (a, b) = (find_root(&mut root, at), find_root(&mut root, *other));
                // The smaller position stays root: it is the component's first path.
                root[a.max(b)] = a.min(b);
            }
        }
    }
    let mut keyed: Vec<(usize, u32)> =
        files.iter().enumerate().map(|(at, file)| (find_root(&mut root, at), *file)).collect();
    keyed.sort_unstable();
    keyed.into_iter().map(|(_, file)| file).collect()
}

fn find_root(root: &mut [usize], mut at: usize) -> usize {
    while root[at] != at {
        root[at] = root[root[at]];
        at = root[at];
    }
    at
}
