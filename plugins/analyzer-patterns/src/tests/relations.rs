//! Imports find their files, in each language, and nothing finds itself.

use std::time::Instant;

use super::facts_of;
use crate::facts::FileFacts;
use crate::relate::relate;

/// Relations of files given as path and text, as `source > target`.
fn edges(files: &[(&str, &str)]) -> Vec<String> {
    let facts: Vec<FileFacts> = files
        .iter()
        .map(|(path, text)| FileFacts {
            path: (*path).to_owned(),
            language: String::new(),
            facts: facts_of("", path, text),
        })
        .collect();
    let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    relate(&facts, &paths, "").unwrap().into_iter().map(|r| format!("{} > {}", r.source, r.target)).collect()
}

#[test]
fn rust_modules_and_paths() {
    let found = edges(&[
        ("c/one-two/Cargo.toml", "[package]\nname = \"named-other\"\n"),
        ("c/one-two/src/lib.rs", "mod a;\nmod b;\n"),
        ("c/one-two/src/a.rs", "use crate::b::inner::Thing;\nuse super::b::Other;\nuse std::fmt;\n"),
        ("c/one-two/src/b/mod.rs", "pub mod inner;\n"),
        ("c/one-two/src/b/inner.rs", ""),
        ("d/src/main.rs", "use named_other::a::X;\nuse crate::Own;\n"),
    ]);
    assert_eq!(
        found,
        [
            "c/one-two/src/a.rs > c/one-two/src/b/inner.rs",
            "c/one-two/src/a.rs > c/one-two/src/b/mod.rs",
            "c/one-two/src/b/mod.rs > c/one-two/src/b/inner.rs",
            "c/one-two/src/lib.rs > c/one-two/src/a.rs",
            "c/one-two/src/lib.rs > c/one-two/src/b/mod.rs",
            "d/src/main.rs > c/one-two/src/a.rs",
        ]
    );
}

#[test]
fn python_absolute_relative_and_source_layout() {
    let found = edges(&[
        ("src/pkg/__init__.py", ""),
        ("src/pkg/a.py", "from . import b\nfrom .sub.c import D\nimport json\nfrom pkg.b import x\n"),
        ("src/pkg/b.py", "from ..missing import y\n"),
        ("src/pkg/sub/c.py", "from ..a import z\nimport pkg.b\n"),
        ("tests/test_a.py", "import pkg.a\n"),
    ]);
    assert_eq!(
        found,
        [
            "src/pkg/a.py > src/pkg/__init__.py",
            "src/pkg/a.py > src/pkg/b.py",
            "src/pkg/a.py > src/pkg/sub/c.py",
            "src/pkg/sub/c.py > src/pkg/a.py",
            "src/pkg/sub/c.py > src/pkg/b.py",
            "tests/test_a.py > src/pkg/a.py"
        ]
    );
}

#[test]
fn script_endings_index_files_and_workspace_packages() {
    let found = edges(&[
        ("packages/ui/package.json", "{\"name\": \"@acme/ui\"}"),
        ("packages/ui/src/index.ts", "export * from './button.js';\n"),
        ("packages/ui/src/button.tsx", "import React from 'react';\n"),
        (
            "web/src/main.ts",
            "import { B } from '@acme/ui';\nimport x from './lib';\nimport y from '@/lib/z';\nimport '../../out';\n",
        ),
        ("web/src/lib/index.js", ""),
        ("web/src/lib/z.ts", ""),
    ]);
    assert_eq!(
        found,
        [
            "packages/ui/src/index.ts > packages/ui/src/button.tsx",
            "web/src/main.ts > packages/ui/src/index.ts",
            "web/src/main.ts > web/src/lib/index.js",
            "web/src/main.ts > web/src/lib/z.ts"
        ]
    );
}

#[test]
fn go_packages_by_module() {
    let found = edges(&[
        ("go.mod", "module example.org/app\n\ngo 1.22\n"),
        ("main.go", "package main\nimport (\n\t\"fmt\"\n\t\"example.org/app/store\"\n)\n"),
        ("store/store.go", "package store\n"),
        ("store/other.go", "package store\n"),
        ("store/store_test.go", "package store\n"),
    ]);
    assert_eq!(found, ["main.go > store/store.go", "store/store.go > store/other.go"]);
}

#[test]
fn jvm_c_ruby_and_php() {
    assert_eq!(
        edges(&[
            ("a/src/main/java/com/x/A.java", "import com.x.y.B;\nimport java.util.List;\n"),
            ("b/src/main/kotlin/com/x/y/B.kt", "import com.x.A\n")
        ]),
        [
            "a/src/main/java/com/x/A.java > b/src/main/kotlin/com/x/y/B.kt",
            "b/src/main/kotlin/com/x/y/B.kt > a/src/main/java/com/x/A.java"
        ]
    );
    assert_eq!(
        edges(&[
            ("src/a.c", "#include \"a.h\"\n#include \"lib/b.h\"\n#include <stdio.h>\n"),
            ("src/a.h", ""),
            ("include/lib/b.h", "#include \"b.h\"\n"),
            ("x/stdio.h", "")
        ]),
        ["src/a.c > include/lib/b.h", "src/a.c > src/a.h"]
    );
    assert_eq!(
        edges(&[("lib/a.rb", "require_relative 'b/c'\nrequire 'b/c'\n"), ("lib/b/c.rb", "")]),
        ["lib/a.rb > lib/b/c.rb"]
    );
    assert_eq!(
        edges(&[
            ("app/a.php", "<?php\nuse App\\Models\\User;\nrequire __DIR__ . '/inc/x.php';\n"),
            ("src/Models/User.php", ""),
            ("app/inc/x.php", "")
        ]),
        ["app/a.php > app/inc/x.php", "app/a.php > src/Models/User.php"]
    );
}

#[test]
fn unresolved_imports_and_imports_of_oneself_give_nothing() {
    assert!(
        edges(&[("a.py", "import a\nimport missing\n"), ("b.ts", "import './b';\nimport './nothing';\n")]).is_empty()
    );
}

#[test]
fn relating_is_near_linear() {
    let cost = |count: usize| {
        let files: Vec<FileFacts> = (0..count)
            .map(|i| {
                let path = format!("src/p{}/m{i}.py", i % 50);
                let text = format!("from ..p{}.m{} import x\nimport missing.y\n", (i + 1) % 50, (i + 1) % count);
                FileFacts { facts: facts_of("python", &path, &text), path, language: "python".to_owned() }
            })
            .collect();
        let paths: Vec<String> =
            files.iter().map(|f| f.path.clone()).chain((0..count).map(|i| format!("j/{i}/a/B.java"))).collect();
        let start = Instant::now();
        assert!(!relate(&files, &paths, "").unwrap().is_empty());
        start.elapsed().as_secs_f64()
    };
    let small = cost(1_000).max(0.005);
    let large = cost(8_000);
    assert!(large < small * 30.0, "{small} s, then {large} s");
}
