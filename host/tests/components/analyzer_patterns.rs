//! `analyzer-patterns`: facts of bytes, exact and the same whatever was looked at before, and relations made of them.

use assize_core::fact::{Fact, FileFacts, Relation, RuleFinding};
use assize_core::plugin::PluginError;
use assize_sandbox::{CallContext, CallError, Plugin};

use crate::catalog::{call, catalog};

/// The plugin.
pub fn analyzer() -> &'static Plugin {
    &catalog().by_name("analyzer-patterns").unwrap().plugin
}

/// The findings among facts.
pub fn findings(facts: Vec<Fact>) -> Vec<RuleFinding> {
    let finding = |fact| match fact {
        Fact::Finding(finding) => Some(finding),
        _ => None,
    };
    facts.into_iter().filter_map(finding).collect()
}

/// A key that no service gave out, put together here so that no scanner finds one in this file.
pub fn key() -> String {
    ["AK", "IAQ3EGUR7TNM5V2WXY"].concat()
}

async fn facts(path: &str, language: &str, content: &[u8]) -> Vec<Fact> {
    analyzer().inspect(path, language, content, "{}", &call()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_found_at_its_exact_bytes() {
    let key = key();
    for (before, line, column) in [
        (&b""[..], 1, 1),
        ("# ü, two bytes\r\nid = '".as_bytes(), 2, 7),
        (b"\xef\xbb\xbfid = \"", 1, 10),
        (b"id = '\xff\xfe' # no UTF-8\n\n\tother = '", 3, 11),
    ] {
        let content = [before, key.as_bytes(), b"'\nlast = 1\n"].concat();
        let found = findings(facts("app/settings.py", "python", &content).await);
        let [finding] = &found[..] else { panic!("{found:?}") };
        assert_eq!((finding.rule.as_str(), finding.lens.as_str()), ("secrets/aws-access-key", "security"));
        assert_eq!(finding.quote, key);
        let span = finding.span;
        assert_eq!((span.start_byte as usize, span.end_byte as usize), (before.len(), before.len() + key.len()));
        assert_eq!((span.start_line, span.start_column), (line, column), "{before:?}");
        assert_eq!((span.end_line, span.end_column), (line, column + key.len() as u32), "{before:?}");
        assert!(finding.extra.contains(&("secret".to_owned(), "true".to_owned())), "the host must know to mask it");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_time_nor_seed_changes_a_fact() {
    let text = format!("import os\nKEY = '{}'\n\ndef go(v):\n    os.system(v)\n", key());
    let first = facts("a.py", "python", text.as_bytes()).await;
    assert!(first.len() > 3, "{first:?}");
    for seed in 1..20 {
        let call = CallContext { now_ms: u64::from(seed) << 40, seed: [seed; 32], ..CallContext::default() };
        let again = analyzer().inspect("a.py", "python", text.as_bytes(), "{}", &call).await.unwrap();
        assert_eq!(again, first);
    }
}

/// Files of many kinds, more than one instance serves.
fn many() -> Vec<(String, &'static str, String)> {
    let file = |n: usize| match n % 5 {
        0 => (format!("r{n}.rs"), "rust", format!("mod m{n};\nuse crate::m{n}::T;\npub fn f{n}() {{}}\n")),
        1 => (format!("p{n}.py"), "python", format!("import m{n}\n\ndef f(v):\n    eval(v + '{n}')\n")),
        2 => (format!("t{n}.ts"), "typescript", format!("import x from './m{n}';\napp.get('/r{n}', go);\n")),
        3 => (format!("k{n}.env"), "", format!("{}ID={}\n", "\n".repeat(n), key())),
        _ => (format!("w{n}.md"), "markdown", "words ".repeat(n * 200)),
    };
    (0..150).map(file).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn facts_do_not_depend_on_the_files_before() {
    let files = many();
    let mut alone = Vec::new();
    for (path, language, text) in &files {
        alone.push(facts(path, language, text.as_bytes()).await);
    }
    assert!(alone.iter().flatten().any(|fact| matches!(fact, Fact::Finding(_))));
    assert!(alone.iter().flatten().any(|fact| matches!(fact, Fact::Import(_))));
    let forward: Vec<usize> = (0..files.len()).collect();
    let backward: Vec<usize> = forward.iter().rev().copied().collect();
    for order in [forward, backward] {
        let mut inspector = analyzer().inspector("{}", &call()).unwrap();
        for at in order {
            let (path, language, text) = &files[at];
            assert_eq!(inspector.inspect(path, language, text.as_bytes()).await.unwrap(), alone[at], "{path}");
        }
    }
}

async fn edges(files: &[(&str, &str, &str)]) -> Vec<String> {
    let mut inspected = Vec::new();
    for (path, language, text) in files {
        inspected.push(FileFacts {
            path: (*path).to_owned(),
            language: (*language).to_owned(),
            analyzer: "analyzer-patterns".to_owned(),
            facts: facts(path, language, text.as_bytes()).await,
        });
    }
    let paths: Vec<String> = files.iter().map(|(path, ..)| (*path).to_owned()).collect();
    let relations = analyzer().relate(&inspected, &paths, "{}", &call()).await.unwrap();
    let edge = |r: &Relation| {
        assert!(r.confidence > 0.5 && r.confidence <= 1.0, "{r:?}");
        format!("{} > {} at {}", r.source, r.target, r.span.start_line)
    };
    relations.iter().map(edge).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn imports_lead_to_their_files() {
    let rust = [
        ("src/lib.rs", "rust", "mod store;\nmod view;\n"),
        ("src/store.rs", "rust", "use std::fmt;\n"),
        ("src/view.rs", "rust", "\nuse crate::store::Row;\n"),
    ];
    let found = edges(&rust).await;
    assert_eq!(
        found,
        ["src/lib.rs > src/store.rs at 1", "src/lib.rs > src/view.rs at 2", "src/view.rs > src/store.rs at 2"]
    );
    let python = [
        ("pkg/__init__.py", "python", ""),
        ("pkg/store.py", "python", "import json\n"),
        ("pkg/view.py", "python", "import json\nfrom pkg.store import Row\n"),
    ];
    assert_eq!(edges(&python).await, ["pkg/view.py > pkg/store.py at 2"]);
    let script = [
        ("web/index.ts", "typescript", "import { go } from './go.js';\nimport React from 'react';\n"),
        ("web/go.ts", "typescript", "\n\nconst row = require('./lib');\n"),
        ("web/lib/index.js", "javascript", "module.exports = 1;\n"),
    ];
    assert_eq!(edges(&script).await, ["web/go.ts > web/lib/index.js at 3", "web/index.ts > web/go.ts at 1"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_cannot_be_used_is_named() {
    for (config, word) in [(r#"{"entropi": 3}"#, "entropi"), (r#"{"disable": 1}"#, "disable"), ("[", "JSON")] {
        let error = analyzer().inspect("a.py", "python", b"x", config, &call()).await.unwrap_err();
        let CallError::Plugin { error: PluginError::InvalidConfiguration(text), .. } = error else { panic!("{error}") };
        assert!(text.contains(word), "{text}");
    }
    let text = format!("k = '{}'\n", key());
    let silenced = analyzer().inspect("a.py", "python", text.as_bytes(), r#"{"disable": ["secrets"]}"#, &call()).await;
    assert!(findings(silenced.unwrap()).is_empty());
}
