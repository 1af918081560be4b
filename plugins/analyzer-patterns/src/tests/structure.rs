//! Imports, definitions, routes, suppressions, signals and the cutting into code, strings and comments.

use super::{facts_of, rules_of};
use crate::facts::Fact;

fn imports(language: &str, text: &str) -> Vec<String> {
    facts_of(language, "src/a", text)
        .into_iter()
        .filter_map(|f| match f {
            Fact::Import(i) => Some(i.specifier),
            _ => None,
        })
        .collect()
}

fn routes(language: &str, text: &str) -> Vec<(String, String, Option<String>)> {
    facts_of(language, "src/a", text)
        .into_iter()
        .filter_map(|f| match f {
            Fact::Route(r) => Some((r.method, r.path, r.handler)),
            _ => None,
        })
        .collect()
}

fn definitions(language: &str, text: &str) -> Vec<(String, bool, u32, u32)> {
    facts_of(language, "src/a", text)
        .into_iter()
        .filter_map(|f| match f {
            Fact::Definition(d) => Some((d.name, d.exported, d.span.start_line, d.span.end_line)),
            _ => None,
        })
        .collect()
}

fn metric(language: &str, text: &str, name: &str) -> Option<f64> {
    facts_of(language, "src/a", text).into_iter().find_map(|f| match f {
        Fact::Metric(m) if m.name == name => Some(m.value),
        _ => None,
    })
}

#[test]
fn imports_are_read_in_each_language() {
    assert_eq!(
        imports("rust", "mod x;\npub use crate::a::{b, c::{d, e as f}};\nuse std::fmt;\n// use z::y;\n"),
        ["x", "crate::a::b", "crate::a::c::d", "crate::a::c::e", "std::fmt"]
    );
    assert_eq!(
        imports("python", "import a.b, c as d\nfrom .x import (y,\n z)\n'''\nimport no\n'''\n"),
        ["a.b", "c", ".x"]
    );
    assert_eq!(
        imports(
            "typescript",
            "import a from './a';\nimport './b';\nexport * from \"../c.js\";\nconst d = require('d');\nawait import('./e');\n// import x from 'y'\n"
        ),
        ["./a", "./b", "../c.js", "d", "./e"]
    );
    assert_eq!(imports("go", "import \"fmt\"\nimport (\n\t\"a/b\" // x\n\tc \"d/e\"\n)\n"), ["fmt", "a/b", "d/e"]);
    assert_eq!(imports("java", "import a.b.C;\nimport static a.b.D.e;\n"), ["a.b.C", "a.b.D.e"]);
    assert_eq!(imports("c", "#include \"a/b.h\"\n# include <stdio.h>\n"), ["a/b.h", "stdio.h"]);
    assert_eq!(imports("ruby", "require_relative 'a/b'\nrequire \"c\"\n"), ["a/b", "c"]);
    assert_eq!(imports("php", "<?php\nuse A\\B\\C;\nrequire_once __DIR__ . '/x.php';\n"), ["A/B/C", "/x.php"]);
}

#[test]
fn routes_are_read_where_they_are_plain() {
    let route = |m: &str, p: &str, h: Option<&str>| (m.to_owned(), p.to_owned(), h.map(str::to_owned));
    assert_eq!(
        routes("javascript", "app.get('/a', list);\nmap.get('/b');\nrouter.post('/c', x.save)"),
        [route("GET", "/a", Some("list")), route("POST", "/c", Some("x.save"))]
    );
    assert_eq!(
        routes(
            "python",
            "@app.route('/a', methods=['POST'])\ndef a(): pass\n@router.get(\"/b\")\nasync def b(): pass\nd.get('/x')\n"
        ),
        [route("POST", "/a", Some("a")), route("GET", "/b", Some("b"))]
    );
    assert_eq!(
        routes("go", "http.HandleFunc(\"/a\", h)\nr.GET(\"/b\", api.List)\nhttp.Get(\"/c\")"),
        [route("*", "/a", Some("h")), route("GET", "/b", Some("api.List"))]
    );
    assert_eq!(routes("rust", "Router::new().route(\"/a\", get(list))"), [route("GET", "/a", Some("list"))]);
    assert_eq!(routes("java", "@GetMapping(\"/a\")\nvoid a() {}"), [route("GET", "/a", None)]);
    assert_eq!(routes("python", "if __name__ == '__main__':\n  run()\n"), [route("cli", "a", None)]);
}

#[test]
fn definitions_know_their_extent() {
    assert_eq!(
        definitions("rust", "pub fn a(x: [u8; 2]) {\n  if x {\n  }\n}\nstruct B;\nfn c() {\n}\n"),
        [("a".to_owned(), true, 1, 4), ("B".to_owned(), false, 5, 5), ("c".to_owned(), false, 6, 7)]
    );
    assert_eq!(
        definitions("python", "class A:\n    def b(self):\n        x\n\n    def c(self):\n        y\nz = 1\n"),
        [("A".to_owned(), true, 1, 6), ("b".to_owned(), false, 2, 3), ("c".to_owned(), false, 5, 6)]
    );
    assert_eq!(
        definitions("go", "func (s *S) Run() {\n}\nfunc run() {}\n"),
        [("Run".to_owned(), true, 1, 2), ("run".to_owned(), false, 3, 3)]
    );
}

#[test]
fn a_suppression_needs_a_reason_and_holds_for_its_line() {
    assert!(
        rules_of("python", "a.py", "eval(x)  # assize: ignore[code-injection] read from our own file\n").is_empty()
    );
    assert!(rules_of("python", "a.py", "# assize: ignore[calls/eval-dynamic] ours\neval(x)\n").is_empty());
    assert!(rules_of("python", "a.py", "eval(x)  # assize: ignore everything here is ours\n").is_empty());
    assert_eq!(rules_of("python", "a.py", "eval(x)  # assize: ignore[code-injection]\n").len(), 1, "no reason");
    assert_eq!(rules_of("python", "a.py", "eval(x)  # assize: ignore[other] reason\n").len(), 1, "other category");
    assert_eq!(rules_of("python", "a.py", "# assize: ignore[code-injection] a\nx\neval(x)\n").len(), 1, "another line");
    assert_eq!(rules_of("python", "a.py", "s = 'assize: ignore[code-injection] a'; eval(x)\n").len(), 1, "in a string");
}

#[test]
fn signals_and_lines_are_counted() {
    assert_eq!(metric("python", "import subprocess\nsubprocess.run(x)\n# subprocess\n", "sink/subprocess"), Some(2.0));
    assert_eq!(metric("rust", "unsafe { x() }\n// unsafe\n", "unsafe"), Some(1.0));
    assert_eq!(metric("rust", "// a\nfn b() {}\n\n/* c\n d */\n", "comment-lines"), Some(3.0));
    assert_eq!(metric("rust", "// a\nfn b() {}\n\n/* c\n d */\n", "code-lines"), Some(1.0));
}

#[test]
fn strings_and_comments_hide_calls_and_end_where_they_should() {
    let is_seen = |language: &str, text: &str| !rules_of(language, "src/a", text).is_empty();
    assert!(is_seen("javascript", "const r = /['\"]/; eval(x)"));
    assert!(is_seen("javascript", "const s = `a ${f({b: `c`})} d`; eval(x)"));
    assert!(is_seen("javascript", "`${eval(x)}`"));
    assert!(!is_seen("javascript", "const s = `\n eval(x)\n`;"));
    assert!(!is_seen("python", "'''\neval(x)\n'''"));
    assert!(is_seen("python", "a = 'it\\'s'; eval(x)"));
    assert!(is_seen("php", "<p>it's</p><?php eval($x);"));
    assert!(is_seen("c", "char c = '\"'; gets(b);"));
    assert!(!is_seen("cpp", "auto s = R\"x(gets(b);)x\";"));
    assert!(is_seen("shell", "cat <<EOF\nit's\nEOF\neval $x\n"));
    assert!(is_seen("go", "s := `a\\`; template.HTML(x)"));
    assert!(is_seen("csharp", "var s = @\"a\\\"; new BinaryFormatter()"));
}
