//! Names, links, special files, and the rules about what is left out.

use std::os::unix::net::UnixListener;

use assize_core::inventory::FileStatus::{Auditable, Excluded, Special};
use assize_core::inventory::VcsKind;

use super::scratch::{Scratch, auditable, options, paths, reason, row};
use crate::{SurveyError, SurveyOptions, case_folds, fs_path, is_inside, survey};

#[test]
fn names_of_any_bytes_have_a_row_that_opens_the_right_file() {
    let scratch = Scratch::new();
    scratch.write_raw(b"bad\xff.rs", b"fn bad() {}\n");
    scratch.write_raw(b"bad\\xff.rs", b"fn good() {}\n");
    scratch.write_raw(b"d\xfe/in.rs", b"fn inner() {}\n");
    scratch.write("line\nbreak.rs", "fn a() {}\n");
    scratch.write("quo\"te'.rs", "fn b() {}\n");
    scratch.write("-rf.rs", "fn c() {}\n");
    let survey = scratch.survey();
    assert_eq!(
        paths(&survey),
        ["-rf.rs", "bad\\x0ff.rs", "bad\\xff.rs", "d\\xfe/in.rs", "line\nbreak.rs", "quo\"te'.rs"]
    );
    for (path, text) in
        [("bad\\x0ff.rs", "fn bad() {}\n"), ("bad\\xff.rs", "fn good() {}\n"), ("d\\xfe/in.rs", "fn inner() {}\n")]
    {
        let found = std::fs::read_to_string(fs_path(scratch.path(), row(&survey, path))).expect("file");
        assert_eq!(found, text);
    }
    assert_eq!(row(&survey, "bad\\x0ff.rs").raw.as_deref(), Some(&b"bad\xff.rs"[..]));
    assert!(survey.inventory.rows.iter().all(|row| row.status == Auditable && row.language == "rust"));
}

#[test]
fn names_that_differ_in_case_only_are_two_rows() {
    let scratch = Scratch::with(&[("a.rs", "x\n"), ("A.rs", "y\n")]);
    let wanted = if case_folds(scratch.path()) { 1 } else { 2 };
    assert_eq!(scratch.survey().inventory.rows.len(), wanted);
}

#[test]
fn links_are_told_apart_and_never_followed() {
    let scratch = Scratch::with(&[("a/real.rs", "fn a() {}\n")]);
    scratch.link("..", "a/up");
    scratch.link("a/up/a", "b");
    scratch.link("a/real.rs", "in.rs");
    scratch.link("/etc/passwd", "out.txt");
    scratch.link("/etc", "out");
    scratch.link("self", "self");
    scratch.link("nowhere", "broken");
    let survey = scratch.survey();
    for (path, wanted) in [
        ("a/up", "symlink-loop"),
        ("b", "symlink-inside"),
        ("in.rs", "symlink-inside"),
        ("out.txt", "symlink-escapes"),
        ("out", "symlink-escapes"),
        ("self", "symlink-loop"),
        ("broken", "symlink-broken"),
    ] {
        assert_eq!((row(&survey, path).status, reason(&survey, path)), (Special, wanted), "{path}");
        assert_eq!(row(&survey, path).digest, None);
    }
    assert_eq!(auditable(&survey), ["a/real.rs"]);
    assert_eq!(survey.inventory.rows.len(), 8);
}

#[test]
fn a_socket_has_a_row_and_is_not_opened() {
    let scratch = Scratch::new();
    let _socket = UnixListener::bind(scratch.path().join("s.rs")).expect("socket");
    let survey = scratch.survey();
    assert_eq!((row(&survey, "s.rs").status, reason(&survey, "s.rs")), (Special, "socket"));
    assert_eq!(survey.read, 0);
}

#[test]
fn nested_ignore_rules_are_matched_as_git_does() {
    let scratch = Scratch::with(&[
        (".gitignore", "*.log\n/build/\n!keep.log\nsecret*\n"),
        ("a.log", "x\n"),
        ("keep.log", "x\n"),
        ("build/a.rs", "x\n"),
        ("src/build/b.rs", "x\n"),
        ("src/.gitignore", "!secret.rs\n*.tmp.rs\n"),
        ("src/secret.rs", "x\n"),
        ("secret.rs", "x\n"),
        ("src/x.tmp.rs", "x\n"),
        ("x.tmp.rs", "x\n"),
        (".ignore", "*.rs\n"),
        (".assizeignore", "mine/\n!build/\n"),
        ("mine/a.rs", "x\n"),
    ]);
    scratch.git(&[]);
    scratch.write(".git/info/exclude", "private.rs\n");
    scratch.write("private.rs", "x\n");
    let survey = scratch.survey();
    for path in ["a.log", "secret.rs", "src/x.tmp.rs", "private.rs"] {
        assert_eq!((row(&survey, path).status, reason(&survey, path)), (Excluded, "vcs-ignored"), "{path}");
    }
    assert_eq!(reason(&survey, "keep.log"), "data");
    assert_eq!(reason(&survey, "mine/"), "user-ignored");
    assert_eq!(reason(&survey, ".git/"), "vcs-metadata");
    // `.ignore` is another tool's; `!build/` in the user's own file takes back what git ignores.
    assert_eq!(
        auditable(&survey),
        [
            ".assizeignore",
            ".gitignore",
            ".ignore",
            "build/a.rs",
            "src/.gitignore",
            "src/build/b.rs",
            "src/secret.rs",
            "x.tmp.rs"
        ]
    );
}

#[test]
fn an_ignored_directory_is_one_row_and_no_ignore_opens_it() {
    let scratch = Scratch::with(&[
        (".gitignore", "target\n"),
        ("target/a/b.rs", "x\n"),
        ("target/c.rs", "x\n"),
        ("main.rs", "x\n"),
    ]);
    let survey = scratch.survey();
    assert_eq!(paths(&survey), [".gitignore", "main.rs", "target/"]);
    let all = scratch.survey_with(&SurveyOptions { no_ignore: true, ..options() });
    assert_eq!(paths(&all), [".gitignore", "main.rs", "target/a/b.rs", "target/c.rs"]);
}

#[test]
fn options_leave_out_take_alone_and_spare_our_own_output() {
    let scratch = Scratch::with(&[
        ("src/a.rs", "x\n"),
        ("src/gen/b.rs", "x\n"),
        ("lib/c.py", "x\n"),
        ("out/state/store.db", "x\n"),
        (".assize/store.db", "x\n"),
        ("src/gen.rs", "x\n"),
    ]);
    let chosen = SurveyOptions {
        exclude: vec!["src/gen/".to_owned()],
        include: vec!["*.rs".to_owned()],
        state_dir: Some(scratch.path().join("out/state")),
        ..options()
    };
    let survey = scratch.survey_with(&chosen);
    assert_eq!(auditable(&survey), ["src/a.rs", "src/gen.rs"]);
    assert_eq!(reason(&survey, "src/gen/"), "user-ignored");
    assert_eq!(reason(&survey, "lib/c.py"), "not-included");
    assert_eq!(reason(&survey, "out/state/"), "own-output");
    assert_eq!(reason(&survey, ".assize/"), "own-output");
    let bad = SurveyOptions { exclude: vec!["a[".to_owned()], ..options() };
    assert!(matches!(survey_error(scratch.path(), &bad), SurveyError::BadGlob { .. }));
}

#[test]
fn a_root_that_cannot_be_surveyed_is_refused_with_the_reason() {
    let scratch = Scratch::with(&[("file", "x\n")]);
    assert!(matches!(survey_error(&scratch.path().join("nothing"), &options()), SurveyError::RootMissing { .. }));
    assert!(matches!(survey_error(&scratch.path().join("file"), &options()), SurveyError::RootNotDirectory { .. }));
    scratch.write("bare.git/HEAD", "ref: refs/heads/main\n");
    std::fs::create_dir_all(scratch.path().join("bare.git/objects")).expect("directory");
    std::fs::create_dir_all(scratch.path().join("bare.git/refs")).expect("directory");
    let bare = survey_error(&scratch.path().join("bare.git"), &options());
    assert!(
        matches!(bare, SurveyError::BareRepository { .. }) && bare.hint().is_some_and(|hint| hint.contains("worktree"))
    );
}

#[test]
fn a_directory_without_git_works_and_an_empty_one_has_no_rows() {
    let scratch = Scratch::new();
    let survey = scratch.survey();
    assert_eq!((survey.inventory.rows.len(), survey.inventory.vcs.kind), (0, VcsKind::None));
    assert!(survey.problems.is_empty());
}

#[test]
fn threads_do_not_show_in_the_result() {
    let scratch = Scratch::new();
    for at in 0..300 {
        scratch.write(format!("d{}/f{at}.rs", at % 7), format!("fn f{at}() {{}}\n").repeat(at % 40));
    }
    scratch.write_raw(b"d1/\xff.rs", b"x\n");
    let one = scratch.survey_with(&SurveyOptions { threads: 1, ..options() });
    for threads in [0, 2, 8] {
        assert_eq!(scratch.survey_with(&SurveyOptions { threads, ..options() }), one);
    }
    assert!(one.inventory.rows.is_sorted_by(|left, right| left.path.as_bytes() < right.path.as_bytes()));
}

#[test]
fn a_deep_tree_neither_overflows_nor_vanishes() {
    let scratch = Scratch::new();
    let deep = "d/".repeat(900);
    scratch.write(format!("{deep}end.rs"), "x\n");
    assert_eq!(auditable(&scratch.survey()), [format!("{deep}end.rs")]);
}

#[test]
fn confinement_follows_links_and_refuses_what_leaves() {
    let scratch = Scratch::with(&[("a/b.rs", "x\n")]);
    scratch.link("/etc", "out");
    scratch.link("a", "in");
    for (path, inside) in [
        ("a/b.rs", true),
        ("in/b.rs", true),
        ("a/new.rs", true),
        ("out/passwd", false),
        ("out/new", false),
        ("../x", false),
        ("a/../../x", false),
        ("/etc/passwd", false),
        ("nothing/../../x", false),
        (".", true),
    ] {
        assert_eq!(is_inside(scratch.path(), path.as_ref()), inside, "{path}");
    }
}

fn survey_error(root: &std::path::Path, options: &SurveyOptions) -> SurveyError {
    survey(root, options, &|_| None).expect_err("no survey")
}
