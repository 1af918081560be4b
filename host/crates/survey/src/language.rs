//! Which language a file is written in: by its name, its first line, its extension, then its content.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::ambiguity::choose;
use crate::language_table::{LANGUAGES, Language};

/// What the name alone says.
#[derive(Clone, Copy)]
pub(crate) enum ByName {
    /// The whole name is known; content cannot change it.
    Name(&'static Language),
    /// One language has this extension.
    Extension(&'static Language),
    /// Several languages share this extension.
    Shared(&'static str, &'static [&'static Language]),
    /// Nothing.
    Unknown,
}

struct Index {
    names: HashMap<&'static str, &'static Language>,
    extensions: HashMap<&'static str, Vec<&'static Language>>,
    interpreters: HashMap<&'static str, &'static Language>,
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let mut index = Index { names: HashMap::new(), extensions: HashMap::new(), interpreters: HashMap::new() };
    for language in LANGUAGES {
        index.names.extend(language.names.split_whitespace().map(|name| (name, language)));
        index.interpreters.extend(language.interpreters.split_whitespace().map(|name| (name, language)));
        for extension in language.extensions.split_whitespace() {
            index.extensions.entry(extension).or_default().push(language);
        }
    }
    index
});

/// What a file name (the last part of a path) says.
pub(crate) fn derive_by_name(name: &str) -> ByName {
    let lower = name.to_ascii_lowercase();
    if let Some(language) = INDEX.names.get(name).or_else(|| INDEX.names.get(lower.as_str())) {
        return ByName::Name(language);
    }
    if lower.starts_with(".env.") || (lower.starts_with("requirements") && lower.ends_with(".txt")) {
        let whole = if lower.starts_with('.') { ".env" } else { "requirements.txt" };
        return INDEX.names.get(whole).map_or(ByName::Unknown, |language| ByName::Name(language));
    }
    // `x.blade.php` has the extension `blade.php` before it has `php`.
    let mut rest = lower.as_str();
    while let Some((before, extension)) = rest.split_once('.') {
        let hidden = before.is_empty() && rest.len() == lower.len() && !extension.contains('.');
        rest = extension;
        if hidden {
            continue;
        }
        if let Some((known, languages)) = INDEX.extensions.get_key_value(extension) {
            return match languages.as_slice() {
                [language] => ByName::Extension(language),
                several => ByName::Shared(known, several),
            };
        }
    }
    derive_by_stem(&lower).map_or(ByName::Unknown, ByName::Name)
}

/// Names whose beginning counts when their extension says nothing: `Dockerfile.prod`, `Jenkinsfile-nightly`.
fn derive_by_stem(lower: &str) -> Option<&'static Language> {
    let stem = lower.split(['.', '-']).next().unwrap_or("");
    matches!(stem, "dockerfile" | "containerfile" | "jenkinsfile" | "makefile")
        .then(|| INDEX.names.get(stem).copied())
        .flatten()
}

/// The language, from what the name says and the first bytes as text.
pub(crate) fn derive_language(by_name: ByName, head: &str) -> Option<&'static Language> {
    if let ByName::Name(language) = by_name {
        return Some(language);
    }
    match (derive_by_first_line(head), by_name) {
        // `#!/usr/bin/env node` also starts what a loader translates first.
        (Some(run), ByName::Extension(language)) if run.name == "javascript" && language.name != "text" => {
            Some(language)
        }
        (Some(run), ByName::Shared("ts", languages)) if run.name == "javascript" => {
            languages.iter().copied().find(|language| language.name == "typescript")
        }
        (Some(run), _) => Some(run),
        (None, ByName::Extension(language)) => Some(language),
        (None, ByName::Shared(extension, languages)) => {
            let name = choose(extension, head);
            languages.iter().copied().find(|language| language.name == name).or(languages.first().copied())
        }
        (None, _) => derive_by_content(head),
    }
}

/// Whether a language that an earlier survey found can still be right for this name.
pub(crate) fn is_plausible(by_name: ByName, language: &str) -> bool {
    let runs = || LANGUAGES.iter().any(|known| known.name == language && !known.interpreters.is_empty());
    match by_name {
        ByName::Name(known) => known.name == language,
        ByName::Extension(known) => known.name == language || runs(),
        ByName::Shared(_, languages) => languages.iter().any(|known| known.name == language) || runs(),
        ByName::Unknown => language.is_empty() || by_known_name(language).is_some(),
    }
}

/// The language of a name of the inventory.
pub(crate) fn by_known_name(name: &str) -> Option<&'static Language> {
    LANGUAGES.iter().find(|language| language.name == name)
}

/// The interpreter of `#!`, with `env` and its options and assignments skipped.
fn derive_by_first_line(head: &str) -> Option<&'static Language> {
    let line = head.strip_prefix("#!")?.lines().next()?;
    let mut words = line.split_whitespace();
    let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_ascii_lowercase();
    let mut program = base(words.next()?);
    if program == "env" {
        program = base(words.find(|word| !word.starts_with('-') && !word.contains('='))?);
    }
    let index = &INDEX.interpreters;
    let plain = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    index.get(program.as_str()).or_else(|| index.get(plain)).copied()
}

fn derive_by_content(head: &str) -> Option<&'static Language> {
    let start = head.trim_start();
    let lower: String = start.chars().take(64).collect::<String>().to_ascii_lowercase();
    let name = if lower.starts_with("<?php") {
        "php"
    } else if lower.starts_with("<?xml") {
        "xml"
    } else if lower.starts_with("<!doctype html") || lower.starts_with("<html") {
        "html"
    } else if lower.starts_with("-----begin ") {
        "pem"
    } else {
        return None;
    };
    by_known_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn language(name: &str, head: &str) -> &'static str {
        derive_language(derive_by_name(name), head).map_or("", |language| language.name)
    }

    #[test]
    fn names_and_extensions_are_known() {
        for (name, wanted) in [
            ("main.rs", "rust"),
            ("a.cs", "csharp"),
            ("a.tsx", "typescript"),
            ("a.jsx", "javascript"),
            ("x.php", "php"),
            ("a.sql", "sql"),
            ("index.html", "html"),
            ("go.mod", "go-module"),
            ("Dockerfile", "dockerfile"),
            ("Dockerfile.prod", "dockerfile"),
            ("Makefile", "makefile"),
            ("CMakeLists.txt", "cmake"),
            ("requirements-ci.txt", "pip-requirements"),
            ("notes.txt", "text"),
            (".env", "dotenv"),
            (".env.staging", "dotenv"),
            ("build.gradle.kts", "gradle"),
            ("a.kts", "kotlin"),
            ("page.blade.php", "php"),
            (".gitignore", "git-config"),
            (".rs", ""),
            ("README", "markdown"),
            ("dockerfile_parser.py", "python"),
            ("Jenkinsfile-nightly", "groovy"),
            ("build", ""),
            ("BUILD", "bazel"),
            ("x.unheard", ""),
            ("MAIN.RS", "rust"),
            ("a.test.ts", "typescript"),
            ("id_rsa", "pem"),
        ] {
            assert_eq!(language(name, ""), wanted, "{name}");
        }
    }

    #[test]
    fn the_first_line_goes_before_the_extension() {
        assert_eq!(language("run", "#!/usr/bin/env -S python3.11 -u\n"), "python");
        assert_eq!(language("run.txt", "#!/bin/bash\n"), "shell");
        assert_eq!(language("cli.ts", "#!/usr/bin/env node\n"), "typescript");
        assert_eq!(language("run", "#!/usr/bin/env\n"), "");
    }

    #[test]
    fn content_decides_shared_extensions() {
        assert_eq!(language("a.h", "#pragma once\nnamespace x { class Y; }\n"), "cpp");
        assert_eq!(language("a.h", "struct y { int z; };\nint f(void);\n"), "c");
        assert_eq!(language("a.h", "@interface Foo : NSObject\n@end\n"), "objective-c");
        assert_eq!(language("a.ts", "<?xml version=\"1.0\"?>\n<!DOCTYPE TS>\n"), "qt-translation");
        assert_eq!(language("a.ts", "export const x = 1;\n"), "typescript");
        assert_eq!(language("a.m", "#import <Foo.h>\n"), "objective-c");
        assert_eq!(language("a.m", "function y = f(x)\n% doc\n"), "matlab");
        assert_eq!(language("a.pl", "use strict;\n"), "perl");
        assert_eq!(language("a.pl", "parent(a, b).\ngrand(X, Y) :- parent(X, Z).\n"), "prolog");
    }

    #[test]
    fn every_shared_extension_has_a_rule_that_names_one_of_its_languages() {
        for (extension, languages) in &INDEX.extensions {
            if languages.len() > 1 {
                let name = choose(extension, "");
                assert!(languages.iter().any(|language| language.name == name), "{extension}: {name}");
            }
        }
    }

    #[test]
    fn names_of_languages_are_unique_and_many() {
        let mut names: Vec<_> = LANGUAGES.iter().map(|language| language.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), LANGUAGES.len());
        assert!(names.len() >= 120);
    }
}
