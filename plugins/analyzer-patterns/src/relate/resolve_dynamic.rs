//! Imports of Python, JavaScript and TypeScript, Ruby and PHP.

use super::Target;
use super::paths::{Paths, ancestors, directory, join, normalise};
use crate::facts::Import;

/// Endings tried for a specifier without one, in the order of the tools.
const ENDINGS: [&str; 12] =
    [".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".vue", ".svelte", ".json"];

/// Relative modules from the package, absolute ones from each directory above the file, its `src`, and the root.
pub fn python(paths: &Paths<'_>, source: &str, import: &Import) -> Vec<Target> {
    let names = import.extra.iter().find(|(key, _)| key == "names").map_or("", |(_, names)| names.as_str());
    let dots = import.specifier.bytes().take_while(|b| *b == b'.').count();
    let module = import.specifier[dots..].trim().replace('.', "/");
    let place = directory(source);
    if dots > 0 {
        let Some(base) = ancestors(place).nth(dots - 1) else { return Vec::new() };
        return python_at(paths, base, &module, names, 0.95);
    }
    if module.is_empty() || module.len() > 300 {
        return Vec::new();
    }
    // The root and `src` are on the path in most projects; a directory in between only when it is run from there.
    let mut bases = vec![(String::new(), 0.9), ("src".to_owned(), 0.9), ("lib".to_owned(), 0.8)];
    for base in ancestors(place) {
        bases.push((join(base, "src"), 0.85));
        bases.push((base.to_owned(), 0.7));
    }
    bases
        .into_iter()
        .map(|(base, confidence)| python_at(paths, &base, &module, names, confidence))
        .find(|found| !found.is_empty())
        .unwrap_or_default()
}

fn python_at(paths: &Paths<'_>, base: &str, module: &str, names: &str, confidence: f32) -> Vec<Target> {
    let place = join(base, module);
    let file = |path: &str| {
        paths
            .index(&format!("{path}.py"))
            .or_else(|| paths.index(&join(path, "__init__.py")))
            .or_else(|| paths.index(&format!("{path}.pyi")))
    };
    // `from package import module` names files of the package.
    let mut found: Vec<Target> = names
        .split(',')
        .filter(|n| !n.is_empty() && *n != "*")
        .take(200)
        .filter_map(|name| file(&join(&place, name)))
        .map(|i| (i, confidence))
        .collect();
    let own = if module.is_empty() { paths.index(&join(&place, "__init__.py")) } else { file(&place) };
    found.extend(own.map(|i| (i, confidence)));
    found
}

/// Relative specifiers with endings and index files, `@/` as the nearest `src`, and packages of the workspace.
pub fn script(paths: &Paths<'_>, source: &str, import: &Import) -> Vec<Target> {
    let specifier = import.specifier.split(['?', '#']).next().unwrap_or("");
    let place = directory(source);
    if specifier.starts_with('.') {
        return normalise(place, specifier)
            .and_then(|path| script_file(paths, &path))
            .map(|i| (i, 0.97))
            .into_iter()
            .collect();
    }
    if let Some(rest) = specifier.strip_prefix("@/").or_else(|| specifier.strip_prefix("~/")) {
        return ancestors(place)
            .flat_map(|base| [join(&join(base, "src"), rest), join(base, rest)])
            .find_map(|path| script_file(paths, &path))
            .map(|i| (i, 0.75))
            .into_iter()
            .collect();
    }
    let split = specifier.match_indices('/').nth(usize::from(specifier.starts_with('@'))).map(|(at, _)| at);
    let (name, rest) = split.map_or((specifier, ""), |at| (&specifier[..at], &specifier[at + 1..]));
    let Some(root) = paths.package(name) else { return Vec::new() };
    let candidates = if rest.is_empty() {
        vec![join(root, "src/index"), join(root, "index"), join(root, "src/main"), join(root, "lib/index")]
    } else {
        vec![join(root, rest), join(&join(root, "src"), rest)]
    };
    candidates.iter().find_map(|path| script_file(paths, path)).map(|i| (i, 0.8)).into_iter().collect()
}

fn script_file(paths: &Paths<'_>, path: &str) -> Option<u32> {
    if let Some(index) = paths.index(path) {
        return Some(index);
    }
    // TypeScript names the file that will be: `.js` for what is still `.ts`.
    for (written, meant) in
        [(".js", [".ts", ".tsx"]), (".jsx", [".tsx", ".ts"]), (".mjs", [".mts", ".ts"]), (".cjs", [".cts", ".ts"])]
    {
        if let Some(stem) = path.strip_suffix(written)
            && let Some(index) = meant.iter().find_map(|ending| paths.index(&format!("{stem}{ending}")))
        {
            return Some(index);
        }
    }
    ENDINGS
        .iter()
        .find_map(|ending| paths.index(&format!("{path}{ending}")))
        .or_else(|| ENDINGS.iter().find_map(|ending| paths.index(&join(path, &format!("index{ending}")))))
}

/// `require_relative` beside the file; `require` by the end of the path below `lib` or `app`.
pub fn ruby(paths: &Paths<'_>, source: &str, import: &Import) -> Vec<Target> {
    let with_ending =
        if import.specifier.ends_with(".rb") { import.specifier.clone() } else { format!("{}.rb", import.specifier) };
    if import.kind == "require_relative" || with_ending.starts_with('.') {
        return normalise(directory(source), &with_ending)
            .and_then(|path| paths.index(&path))
            .map(|i| (i, 0.98))
            .into_iter()
            .collect();
    }
    ancestors(directory(source))
        .find_map(|base| paths.index(&join(&join(base, "lib"), &with_ending)))
        .map(|i| (i, 0.85))
        .or_else(|| {
            with_ending
                .contains('/')
                .then(|| paths.by_suffix(&with_ending, source))
                .flatten()
                .map(|(i, is_only)| (i, if is_only { 0.7 } else { 0.45 }))
        })
        .into_iter()
        .collect()
}

/// `require` beside the file or from the root, `use` by the end of the path: name spaces mostly mirror directories.
pub fn php(paths: &Paths<'_>, source: &str, import: &Import) -> Vec<Target> {
    if import.kind == "require" {
        let relative = import.specifier.trim_start_matches('/');
        return normalise(directory(source), relative)
            .and_then(|path| paths.index(&path))
            .map(|i| (i, 0.95))
            .or_else(|| paths.index(relative).map(|i| (i, 0.8)))
            .or_else(|| paths.by_suffix(relative, source).filter(|(_, is_only)| *is_only).map(|(i, _)| (i, 0.6)))
            .into_iter()
            .collect();
    }
    let path = format!("{}.php", import.specifier.trim_start_matches('/'));
    // The first parts of a name space are often mapped to a directory such as `src`.
    let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1)).take(8);
    for (dropped, start) in starts.enumerate() {
        let suffix = &path[start..];
        if dropped > 0 && !suffix.contains('/') && path.matches('/').count() > 1 {
            break;
        }
        if let Some((index, is_only)) = paths.by_suffix(suffix, source) {
            return vec![(index, if is_only { 0.8 } else { 0.5 })];
        }
    }
    Vec::new()
}
