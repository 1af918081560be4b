//! No content makes the analyzer panic, lie about places or take more than linear work.

use std::time::Instant;

use super::{assert_spans_agree, facts_of};
use crate::facts::{Error, Fact, SourceFile};
use crate::inspect::inspect;

const LANGUAGES: [&str; 22] = [
    "python",
    "typescript",
    "go",
    "rust",
    "java",
    "kotlin",
    "php",
    "ruby",
    "cpp",
    "csharp",
    "shell",
    "dockerfile",
    "yaml",
    "terraform",
    "json",
    "ini",
    "xml",
    "markdown",
    "sql",
    "css",
    "lua",
    "",
];

/// A small generator with a fixed seed.
fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

#[test]
fn random_bytes_and_random_pieces_never_panic_and_spans_agree() {
    let pieces: [&[u8]; 44] = [
        b"\"",
        b"'",
        b"`",
        b"${",
        b"}",
        b"{",
        b"(",
        b")",
        b"\n",
        b"\\",
        b"/*",
        b"*/",
        b"//",
        b"#",
        b"r#\"",
        b"R\"x(",
        b"<<EOF\n",
        b"EOF\n",
        b"<?php ",
        b"?>",
        b"--",
        b"=",
        b": ",
        b"password",
        b"eval(",
        b"os.system(",
        b"import ",
        b"from x import (",
        b"use a::{b, c};",
        b"mod x;",
        b"def f(",
        b"fn main()",
        b"async def g():\n  ",
        b"time.sleep(",
        b"except:",
        b"catch (e) {",
        b"://a:b@c",
        b"$2y$",
        b"-----BEGIN RSA PRIVATE KEY-----",
        b"-----END ",
        b"\xff\xfe",
        b"assize: ignore[x] y",
        b"SELECT a FROM b",
        b"chmod 777",
    ];
    let mut seed = 0x9e37_79b9_7f4a_7c15;
    for round in 0..120 {
        let mut content = Vec::new();
        for _ in 0..60 {
            if random(&mut seed).is_multiple_of(4) {
                content.push((random(&mut seed) >> 11) as u8);
            } else {
                content.extend_from_slice(pieces[(random(&mut seed) % pieces.len() as u64) as usize]);
            }
        }
        if content.starts_with(&[0xff, 0xfe]) || content.starts_with(&[0xfe, 0xff]) {
            continue;
        }
        let language = LANGUAGES[round % LANGUAGES.len()];
        let file = SourceFile { path: "src/settings.py".to_owned(), language: language.to_owned(), content };
        let facts = inspect(&file, "").unwrap();
        assert_spans_agree(&file.content, &facts);
        assert_eq!(facts, inspect(&file, "").unwrap(), "the same input gives the same facts");
    }
}

#[test]
fn hostile_text_takes_linear_work() {
    let pieces = [
        "eval(",
        "\"a\" ",
        "password='",
        "a:",
        "://x",
        "$2y$",
        "<<<<<<< ",
        "-----BEGIN RSA PRIVATE KEY-----",
        "catch (",
        "/",
        "${`",
        "assize: ignore[x] y ",
        "import {",
        "use a::{",
        "SELECT a FROM ",
        "eyJ",
        "ghp_",
        "{",
        "'''",
        "/*",
        "<<A\n",
        "time.sleep(\n ",
    ];
    for (number, piece) in pieces.iter().enumerate() {
        let language = ["python", "typescript", "rust", "ruby"][number % 4];
        let cost = |size: usize| {
            let content = piece.repeat(size / piece.len()).into_bytes();
            let file = SourceFile { path: "a".to_owned(), language: language.to_owned(), content };
            let start = Instant::now();
            inspect(&file, "").unwrap();
            start.elapsed().as_secs_f64()
        };
        let small = cost(20_000).max(0.01);
        let large = cost(160_000);
        // Eight times the text; a quadratic step would cost sixty-four times as much.
        assert!(large < small * 30.0, "{piece:?} in {language}: {small} s, then {large} s");
    }
}

#[test]
fn findings_are_capped_and_the_rest_is_counted() {
    let facts = facts_of("python", "src/a.py", &"eval(x)\n".repeat(700));
    let findings = facts.iter().filter(|f| matches!(f, Fact::Finding(_))).count();
    let rest = facts.iter().find_map(|f| match f {
        Fact::Metric(m) if m.name == "findings-capped" => Some(m.value),
        _ => None,
    });
    assert_eq!((findings, rest), (500, Some(200.0)));
}

#[test]
fn utf_16_is_decoded_and_said_so() {
    let mut content = vec![0xff, 0xfe];
    content.extend("eval(x)\n".encode_utf16().flat_map(u16::to_le_bytes));
    let file = SourceFile { path: "a.py".to_owned(), language: "python".to_owned(), content };
    let facts = inspect(&file, "").unwrap();
    assert!(facts.iter().any(|f| matches!(f, Fact::Finding(f) if f.quote == "eval(x)")));
    assert!(facts.iter().any(|f| matches!(f, Fact::Metric(m) if m.name == "decoded-utf16")));
}

#[test]
fn configuration_switches_rules_off_and_refuses_what_it_does_not_know() {
    let file = SourceFile { path: "a.py".to_owned(), language: "python".to_owned(), content: b"eval(x)".to_vec() };
    let findings = |config: &str| {
        inspect(&file, config).map(|facts| facts.iter().filter(|f| matches!(f, Fact::Finding(_))).count())
    };
    assert_eq!(findings("{}"), Ok(1));
    assert_eq!(findings(r#"{"disable": ["calls"]}"#), Ok(0));
    assert_eq!(findings(r#"{"disable": ["calls/eval-dynamic"], "entropy": 3}"#), Ok(0));
    assert_eq!(findings(r#"{"disable": ["call"]}"#), Ok(1));
    for bad in ["{", "[]", r#"{"entropy": 9}"#, r#"{"disable": "x"}"#, r#"{"x": 1}"#] {
        assert!(matches!(findings(bad), Err(Error::InvalidConfiguration(_))), "{bad}");
    }
}
