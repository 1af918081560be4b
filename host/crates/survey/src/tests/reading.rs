//! Text of rows, and what is refused.

use assize_core::inventory::{Encoding, FileRow};

use super::scratch::{Scratch, row};
use crate::{ReadError, read_text};

#[test]
fn text_is_decoded_and_says_how() {
    let scratch = Scratch::new();
    scratch.write("bom.rs", b"\xef\xbb\xbffn a() {}\r\n");
    scratch.write("latin.py", b"# caf\xe9\n");
    scratch.write("wide.cs", "\u{feff}class Ä {}\n".encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
    scratch.write_raw(b"odd\xff.rs", b"fn odd() {}\n");
    scratch.write("vendor/a.c", "int a;\n");
    let survey = scratch.survey();
    for (path, text, encoding, verbatim) in [
        ("bom.rs", "fn a() {}\r\n", Encoding::Utf8Bom, false),
        ("latin.py", "# café\n", Encoding::Latin1, false),
        ("wide.cs", "class Ä {}\n", Encoding::Utf16Le, false),
        ("odd\\xff.rs", "fn odd() {}\n", Encoding::Utf8, true),
        ("vendor/a.c", "int a;\n", Encoding::Utf8, true),
    ] {
        let read = read_text(scratch.path(), row(&survey, path)).expect("text");
        assert_eq!(
            (read.text.as_str(), read.encoding, read.verbatim, read.lossy),
            (text, encoding, verbatim, false),
            "{path}"
        );
    }
}

#[test]
fn nothing_outside_is_read() {
    let scratch = Scratch::with(&[("a/b.rs", "fn b() {}\n"), ("c.rs", "fn c() {}\n")]);
    let outside = Scratch::with(&[("b.rs", "fn b() {}\n")]);
    let survey = scratch.survey();
    let inner = row(&survey, "a/b.rs").clone();
    std::fs::remove_dir_all(scratch.path().join("a")).expect("directory");
    scratch.link(&outside.path().display().to_string(), "a");
    assert!(matches!(read_text(scratch.path(), &inner), Err(ReadError::Outside { .. })));
    std::fs::remove_file(scratch.path().join("c.rs")).expect("file");
    scratch.link(&outside.path().join("b.rs").display().to_string(), "c.rs");
    assert!(matches!(read_text(scratch.path(), row(&survey, "c.rs")), Err(ReadError::NotAFile { .. })));
    for path in ["../b.rs", "/etc/passwd", "a/../../x", "", "."] {
        let forged = FileRow { path: path.to_owned(), ..inner.clone() };
        assert!(matches!(read_text(scratch.path(), &forged), Err(ReadError::Outside { .. })), "{path}");
    }
}

#[test]
fn what_changed_or_is_no_text_is_refused() {
    let scratch = Scratch::with(&[("a.rs", "fn a() {}\n"), ("b.rs", "fn b() {}\n")]);
    scratch.write("image.png", b"\x89PNG\0\0");
    let survey = scratch.survey();
    scratch.write("a.rs", "fn z() {}\n");
    scratch.write("b.rs", "fn b() {}\nfn more() {}\n");
    assert!(matches!(read_text(scratch.path(), row(&survey, "a.rs")), Err(ReadError::Changed { .. })));
    assert!(matches!(read_text(scratch.path(), row(&survey, "b.rs")), Err(ReadError::Changed { .. })));
    assert!(matches!(read_text(scratch.path(), row(&survey, "image.png")), Err(ReadError::NotText { .. })));
}
