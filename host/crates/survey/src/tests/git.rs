//! Checkouts, worktrees, submodules, tracked files and attributes.

use assize_core::inventory::VcsKind;

use super::scratch::{COMMIT, Scratch, auditable, options, paths, reason};
use crate::survey;

#[test]
fn the_commit_is_read_from_loose_and_packed_refs_and_a_bare_head() {
    let scratch = Scratch::with(&[("a.rs", "x\n")]);
    scratch.git(&["a.rs"]);
    let vcs = scratch.survey().inventory.vcs;
    assert_eq!((vcs.kind, vcs.shallow, vcs.head.as_deref()), (VcsKind::Git, false, Some(COMMIT)));
    std::fs::remove_file(scratch.path().join(".git/refs/heads/main")).expect("ref");
    assert_eq!(scratch.survey().inventory.vcs.head, None);
    let packed =
        format!("# pack-refs with: peeled\n{} refs/heads/main-2\n{COMMIT} refs/heads/main\n", COMMIT.replace('0', "f"));
    scratch.write(".git/packed-refs", packed);
    assert_eq!(scratch.survey().inventory.vcs.head.as_deref(), Some(COMMIT));
    scratch.write(".git/HEAD", format!("{COMMIT}\n"));
    scratch.write(".git/shallow", format!("{COMMIT}\n"));
    let vcs = scratch.survey().inventory.vcs;
    assert_eq!((vcs.shallow, vcs.head.as_deref()), (true, Some(COMMIT)));
}

#[test]
fn a_head_that_names_files_outside_is_not_followed() {
    let scratch = Scratch::with(&[("a.rs", "x\n"), ("secret", COMMIT)]);
    scratch.git(&[]);
    scratch.write(".git/HEAD", "ref: refs/../../secret\n");
    let survey = scratch.survey();
    assert_eq!(survey.inventory.vcs.head, None);
    assert_eq!(survey.problems.len(), 1);
}

#[test]
fn a_linked_worktree_is_the_same_repository_with_its_own_head() {
    let scratch = Scratch::with(&[("main/a.rs", "x\n"), ("tree/a.rs", "x\n"), ("tree/hidden.rs", "x\n")]);
    scratch.write("main/.git/HEAD", "ref: refs/heads/main\n");
    scratch.write("main/.git/refs/heads/side", COMMIT);
    scratch.write("main/.git/info/exclude", "hidden.rs\n");
    scratch.write("main/.git/worktrees/tree/HEAD", "ref: refs/heads/side\n");
    scratch.write("main/.git/worktrees/tree/commondir", "../..\n");
    scratch.write("tree/.git", format!("gitdir: {}\n", scratch.path().join("main/.git/worktrees/tree").display()));
    let survey = survey(&scratch.path().join("tree"), &options(), &|_| None).expect("survey");
    assert_eq!((survey.inventory.vcs.kind, survey.inventory.vcs.head.as_deref()), (VcsKind::GitWorktree, Some(COMMIT)));
    assert_eq!(reason(&survey, ".git"), "vcs-metadata");
    assert_eq!(reason(&survey, "hidden.rs"), "vcs-ignored");
    assert_eq!(auditable(&survey), ["a.rs"]);
}

#[test]
fn submodules_are_one_row_from_outside_and_a_repository_from_inside() {
    let scratch = Scratch::with(&[
        ("a.rs", "x\n"),
        ("lib/b.rs", "x\n"),
        ("clone/c.rs", "x\n"),
        ("clone/.git/HEAD", "ref: refs/heads/x\n"),
    ]);
    scratch.git(&["a.rs", "lib/"]);
    scratch.write("lib/.git", "gitdir: ../.git/modules/lib\n");
    scratch.write(".git/modules/lib/HEAD", COMMIT);
    std::fs::create_dir(scratch.path().join("empty")).expect("directory");
    scratch.write(
        ".git/index",
        super::scratch::index_bytes(&[(0o100_644, "a.rs"), (0o160_000, "lib"), (0o160_000, "empty")]),
    );
    let outside = scratch.survey();
    assert_eq!(paths(&outside), [".git/", "a.rs", "clone/", "empty/", "lib/"]);
    assert_eq!(
        (reason(&outside, "lib/"), reason(&outside, "empty/"), reason(&outside, "clone/")),
        ("submodule", "submodule", "nested-repository")
    );
    let inside = survey(&scratch.path().join("lib"), &options(), &|_| None).expect("survey");
    assert_eq!(
        (inside.inventory.vcs.kind, inside.inventory.vcs.head.as_deref()),
        (VcsKind::GitSubmodule, Some(COMMIT))
    );
    assert_eq!(auditable(&inside), ["b.rs"]);
}

#[test]
fn a_stray_git_entry_does_not_hide_tracked_source() {
    let scratch = Scratch::with(&[
        ("src/evil.rs", "x\n"),
        ("src/.git", "gitdir: /nowhere\n"),
        ("odd/b.rs", "x\n"),
        ("odd/.git", ""),
    ]);
    scratch.git(&["src/evil.rs"]);
    assert_eq!(auditable(&scratch.survey()), ["odd/b.rs", "src/evil.rs"]);
}

#[test]
fn a_directory_of_checkouts_is_read_through() {
    let scratch = Scratch::with(&[
        ("one/a.rs", "x\n"),
        ("one/.git/HEAD", "ref: refs/heads/x\n"),
        ("one/.gitignore", "b.rs\n"),
        ("one/b.rs", "x\n"),
    ]);
    let survey = scratch.survey();
    assert_eq!(auditable(&survey), ["one/.gitignore", "one/a.rs"]);
    assert_eq!((reason(&survey, "one/.git/"), reason(&survey, "one/b.rs")), ("vcs-metadata", "vcs-ignored"));
}

#[test]
fn what_git_tracks_is_not_ignored() {
    let scratch = Scratch::with(&[
        (".gitignore", "build/\n*.gen.rs\n"),
        ("build/kept.rs", "x\n"),
        ("build/made.rs", "x\n"),
        ("build/sub/x.rs", "x\n"),
        ("a.gen.rs", "x\n"),
    ]);
    scratch.git(&["build/kept.rs", "a.gen.rs"]);
    let survey = scratch.survey();
    assert_eq!(auditable(&survey), [".gitignore", "a.gen.rs", "build/kept.rs"]);
    assert_eq!((reason(&survey, "build/made.rs"), reason(&survey, "build/sub/")), ("vcs-ignored", "vcs-ignored"));
}

#[test]
fn a_part_of_a_repository_obeys_the_rules_above_it() {
    let scratch = Scratch::with(&[
        (".gitignore", "*.log\n/part/only.rs\n"),
        ("part/.gitignore", "!keep.log\n"),
        ("part/a.log", "x\n"),
        ("part/keep.log", "x\n"),
        ("part/only.rs", "x\n"),
        ("part/in/only.rs", "x\n"),
        ("part/tracked.log", "x\n"),
    ]);
    scratch.git(&["part/tracked.log"]);
    let part = survey(&scratch.path().join("part"), &options(), &|_| None).expect("survey");
    assert_eq!((part.inventory.vcs.kind, part.inventory.vcs.head.as_deref()), (VcsKind::Git, Some(COMMIT)));
    assert_eq!(
        (reason(&part, "a.log"), reason(&part, "keep.log"), reason(&part, "tracked.log")),
        ("vcs-ignored", "data", "data")
    );
    assert_eq!((reason(&part, "only.rs"), reason(&part, "in/only.rs")), ("vcs-ignored", "source"));
    // Without a repository nothing above the root counts.
    std::fs::remove_dir_all(scratch.path().join(".git")).expect("git");
    let alone = survey(&scratch.path().join("part"), &options(), &|_| None).expect("survey");
    assert_eq!(
        (alone.inventory.vcs.kind, reason(&alone, "a.log"), reason(&alone, "only.rs")),
        (VcsKind::None, "data", "source")
    );
}

#[test]
fn attributes_mark_and_unmark() {
    let scratch = Scratch::with(&[
        (
            ".gitattributes",
            "api/*.rs linguist-generated\nlibs/** linguist-vendored=true\nvendor/ours/** -linguist-vendored\nreal.pb.go linguist-generated=false\n",
        ),
        ("api/a.rs", "x\n"),
        ("libs/deep/b.rs", "x\n"),
        ("vendor/ours/c.rs", "x\n"),
        ("vendor/theirs/d.rs", "x\n"),
        ("real.pb.go", "package a\n"),
        ("made.pb.go", "package a\n"),
        ("api/.gitattributes", "by-hand.rs -linguist-generated\n"),
        ("api/by-hand.rs", "x\n"),
    ]);
    let survey = scratch.survey();
    for (path, wanted) in [
        ("api/a.rs", "generated"),
        ("libs/deep/b.rs", "vendored"),
        ("vendor/ours/c.rs", "source"),
        ("vendor/theirs/d.rs", "vendored"),
        ("real.pb.go", "source"),
        ("made.pb.go", "generated"),
        ("api/by-hand.rs", "source"),
    ] {
        assert_eq!(reason(&survey, path), wanted, "{path}");
    }
}

#[test]
fn broken_git_files_are_said_and_do_not_stop_the_survey() {
    let scratch = Scratch::with(&[("a.rs", "x\n"), (".gitignore", "ok.rs\n[z-a\n"), ("ok.rs", "x\n")]);
    scratch.git(&[]);
    scratch.write(".git/index", "DIRCgarbage");
    let survey = scratch.survey();
    assert_eq!(auditable(&survey), [".gitignore", "a.rs"]);
    let about: Vec<_> = survey.problems.iter().map(|problem| problem.path.as_str()).collect();
    assert_eq!(about, ["", ".gitignore"]);
    scratch.write("lone/.git", "gitdir: /nowhere/worktrees/x\n");
    scratch.write("lone/b.rs", "x\n");
    let lone = crate::survey(&scratch.path().join("lone"), &options(), &|_| None).expect("survey");
    assert_eq!(
        (lone.inventory.vcs.kind, lone.inventory.vcs.head.is_none(), lone.problems.len()),
        (VcsKind::GitWorktree, true, 1)
    );
}
