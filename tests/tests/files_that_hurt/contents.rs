//! Contents: encodings, line ends, and what is no text at all.

use assize_tests::Machine;

use crate::audited::{KEY, audit, put, with_key};

fn utf16(text: &str, mark: bool, big: bool) -> Vec<u8> {
    let text = if mark { format!("\u{feff}{text}") } else { text.to_owned() };
    text.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
}

#[test]
fn a_key_is_found_in_every_encoding_at_its_line() {
    let machine = Machine::new();
    let text = with_key();
    put(&machine, "utf8.py", &text);
    put(&machine, "utf8_mark.py", [b"\xef\xbb\xbf", text.as_bytes()].concat());
    put(&machine, "mark_first_line.py", format!("\u{feff}KEY = \"{KEY}\"\n"));
    put(&machine, "latin1.py", [&b"# caf\xe9\n"[..], text.as_bytes()].concat());
    put(&machine, "le_mark.py", utf16(&text, true, false));
    put(&machine, "be_mark.py", utf16(&text, true, true));
    let audited = audit(&machine);
    for (path, line, encoding) in [
        ("utf8.py", 3, "utf8"),
        ("utf8_mark.py", 3, "utf8-bom"),
        ("mark_first_line.py", 1, "utf8-bom"),
        ("latin1.py", 4, "latin1"),
        ("le_mark.py", 3, "utf16-le"),
        ("be_mark.py", 3, "utf16-be"),
    ] {
        audited.is(path, "auditable", "source");
        assert_eq!(audited.row(path)["encoding"], encoding, "{path}");
        audited.key_found(path, line);
    }
}

#[test]
fn a_key_is_found_in_utf16_without_a_mark() {
    let machine = Machine::new();
    for (name, big, encoding) in [("le.py", false, "utf16-le"), ("be.py", true, "utf16-be")] {
        put(&machine, name, utf16(&with_key(), false, big));
        let audited = audit(&machine);
        assert_eq!(audited.row(name)["encoding"], encoding);
        audited.is(name, "auditable", "source");
        audited.key_found(name, 3);
    }
}

#[test]
fn line_ends_of_other_systems_shift_no_line_and_are_in_no_quote() {
    let machine = Machine::new();
    put(&machine, "crlf.py", with_key().replace('\n', "\r\n"));
    put(&machine, "mixed.py", format!("a = 1\r\nb = 2\n\r\nKEY = \"{KEY}\"\r\n"));
    put(&machine, "no_end.py", with_key().trim_end());
    put(&machine, "shell.py", "import os\r\n\r\n\r\ndef go(value):\r\n    os.system(value)\r\n    return value\r\n");
    let audited = audit(&machine);
    audited.key_found("crlf.py", 3);
    audited.key_found("mixed.py", 4);
    audited.key_found("no_end.py", 3);
    for (path, lines) in [("crlf.py", 3), ("mixed.py", 4), ("no_end.py", 3)] {
        assert_eq!(audited.row(path)["lines"], lines, "{path}");
    }
    assert!(audited.places().contains(&("shell.py".to_owned(), 5)), "{:?}", audited.places());
    for finding in &audited.findings {
        let quote = finding["x-assize"]["quote"].as_str().unwrap();
        assert!(!quote.contains('\r'), "{quote:?}");
    }
}

#[test]
fn what_is_empty_or_no_text_is_left_out_by_its_reason() {
    let machine = Machine::new();
    put(&machine, "ok.py", with_key());
    put(&machine, "empty.py", "");
    put(&machine, "blank.py", " \n\t\n\n");
    put(&machine, "zeros.py", [0_u8; 4096]);
    put(&machine, "program", [&b"\x7fELF\x02\x01\x01"[..], &[0; 64]].concat());
    put(&machine, "image.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    put(&machine, "LICENSE", "Permission is hereby granted to everybody.\n");
    put(&machine, "Cargo.lock", "version = 4\n");
    let audited = audit(&machine);
    for (path, reason) in [
        ("empty.py", "trivial"),
        ("blank.py", "trivial"),
        ("zeros.py", "binary"),
        ("program", "binary"),
        ("image.png", "binary"),
        ("LICENSE", "license"),
        ("Cargo.lock", "lock-file"),
    ] {
        audited.is(path, "excluded", reason);
        assert!(audited.report.contains(&format!("`{path}`: {reason}")), "the report does not name {path}");
    }
    assert_eq!(audited.auditable(), ["ok.py"]);
}

#[test]
fn broken_text_is_still_text() {
    let machine = Machine::new();
    // A cut character, a lone continuation byte, and an escape sequence for terminals in a comment.
    put(&machine, "broken.py", [&b"# \xe6\x97 \x80 \x1b[31m\n"[..], with_key().as_bytes()].concat());
    // Half a unit at the end of UTF-16, and half a surrogate pair in it.
    put(&machine, "half.py", [&utf16(&with_key(), true, false)[..], b"\x00\xd8a"].concat());
    let audited = audit(&machine);
    audited.key_found("broken.py", 4);
    audited.key_found("half.py", 3);
    assert!(!audited.report.contains('\u{1b}') && !audited.said.contains('\u{1b}'));
}
