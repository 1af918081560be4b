//! Names: what shells, terminals, Markdown and JSON trip over.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;

use assize_tests::Machine;
use serde_json::Value;

use crate::audited::{audit, put, with_key};

/// Names that are text.
fn names() -> Vec<String> {
    let mut names: Vec<String> = [
        "line\nbreak.py",
        "\n# Heading.py",
        "quote\"'`.py",
        "-rf.py",
        "--json.py",
        "back\\slash.py",
        "$(touch made).py",
        "`touch made`.py",
        "; touch made;.py",
        "a b\tc.py",
        "\u{1b}[2J\u{7}.py",
        "\u{202e}yp.gnp.py",
        "<script>alert(1)</script>.py",
        "[link](http:x).py",
        "| cell |.py",
        "%2e%2e%2f.py",
        "*.py",
        "~.py",
        "Case.py",
        "case.py",
        "cafe\u{301}.py",
        "caf\u{e9}.py",
        "日本語.py",
        "\u{feff}mark.py",
    ]
    .map(str::to_owned)
    .to_vec();
    names.push(format!("{}.py", "n".repeat(200)));
    names
}

#[test]
fn strange_names_are_audited_reported_and_explained_exactly() {
    let machine = Machine::new();
    let names = names();
    for name in &names {
        put(&machine, name, with_key());
        put(&machine, &format!("deep {name}/{name}"), with_key());
    }
    let audited = audit(&machine);
    for name in &names {
        audited.key_found(name, 3);
        audited.key_found(&format!("deep {name}/{name}"), 3);
    }
    assert!(!machine.repo().join("made").exists() && !machine.at("made").exists());
    let controls = |text: &str| text.chars().any(|c| c.is_control() && c != '\n');
    assert!(!controls(&audited.said), "{:?}", audited.said);
    assert!(!controls(&audited.report), "control characters in the report");
    let heading = audited.report.lines().find(|line| line.starts_with("# Heading") || line.starts_with("<script>"));
    assert_eq!(heading, None, "a name became markup");

    for name in names.iter().filter(|name| !name.starts_with('-')) {
        let told = machine.assize(&["explain", "--json", name]).run().exits(0).json();
        assert_eq!((&told["kind"], &told["name"]), (&"file".into(), &Value::from(name.as_str())));
    }
    let told = machine.bare().args(["explain", "--json", "--", "-rf.py"]).args([machine.repo()]).run().exits(0).json();
    assert_eq!(told["name"], "-rf.py");
    let text = machine.assize(&["explain", "\u{1b}[2J\u{7}.py"]).run().exits(0);
    assert!(!controls(&text.stdout), "{:?}", text.stdout);
}

#[test]
fn sarif_names_files_by_uris_that_lead_to_them() {
    let machine = Machine::new();
    for name in names() {
        put(&machine, &name, with_key());
    }
    uris_lead_to_files(&machine);
}

#[test]
fn sarif_names_files_whose_names_are_no_text_by_uris_that_lead_to_them() {
    let machine = Machine::new();
    fs::write(machine.repo().join(OsStr::from_bytes(b"raw\xff\xe9.py")), with_key()).unwrap();
    uris_lead_to_files(&machine);
}

#[track_caller]
fn uris_lead_to_files(machine: &Machine) {
    let audited = audit(machine);
    let sarif = machine.assize(&["report", "--format", "sarif"]).run().exits(0).json();
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    assert_eq!(results.len(), audited.findings.len());
    for result in results {
        let uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
        assert!(uri.bytes().all(|byte| byte.is_ascii_graphic() && !b"<>\"\\^`{|}".contains(&byte)), "{uri}");
        let path = machine.repo().join(OsStr::from_bytes(&decoded(uri)));
        assert!(path.is_file(), "{uri} leads to {} which is no file", path.display());
    }
}

/// A percent-encoded path as bytes.
fn decoded(uri: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = uri.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        match (first, tail) {
            (b'%', [a, b, after @ ..]) => {
                let digits = [*a, *b];
                bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap());
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    bytes
}

#[test]
fn names_that_are_no_text_stay_apart_and_are_audited() {
    let machine = Machine::new();
    let raw: [&[u8]; 4] = [b"raw\xff.py", b"raw\xfe.py", b"raw\\xff.py", b"dir\xe9/in\xff.py"];
    for name in raw {
        let path = machine.repo().join(OsStr::from_bytes(name));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, with_key()).unwrap();
    }
    let audited = audit(&machine);
    assert_eq!(audited.auditable().len(), raw.len(), "{:?}", audited.rows.keys());
    let found: BTreeSet<String> = audited.places().into_iter().map(|(path, _)| path).collect();
    assert_eq!(found.len(), raw.len(), "{found:?}");
    let kept: BTreeSet<Vec<u8>> = audited
        .rows
        .values()
        .filter_map(|row| row["raw"].as_array())
        .map(|bytes| bytes.iter().map(|byte| byte.as_u64().unwrap() as u8).collect())
        .collect();
    let expected: BTreeSet<Vec<u8>> =
        raw.iter().filter(|name| std::str::from_utf8(name).is_err()).map(|name| name.to_vec()).collect();
    assert_eq!(kept, expected);
    for path in &found {
        machine.assize(&["explain", path]).run().exits(0);
    }
    // A second run knows them again.
    assert_eq!(machine.assize(&["run", "--json"]).run().exits(0).json()["launches"], 0);
}

#[test]
fn a_repository_in_a_folder_with_a_strange_name_is_audited() {
    let machine = Machine::named("$(touch made) \"q\"\n\\ é");
    put(&machine, "a.py", with_key());
    let audited = audit(&machine);
    audited.key_found("a.py", 3);
    assert_eq!(audited.report.lines().filter(|line| line.starts_with("# ")).count(), 1);
    assert!(!machine.at("made").exists() && !machine.repo().join("made").exists());
}
