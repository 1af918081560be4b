//! Trees as git sees them: ignore rules, submodules, worktrees, bare and broken repositories.

use std::fs;
use std::path::Path;
use std::process::Command;

use assize_tests::Machine;

use crate::audited::{audit, audit_with, put, with_key};

/// Runs git as somebody, without the configuration of whoever runs the test.
#[track_caller]
pub(crate) fn git(dir: &Path, args: &[&str]) -> String {
    let config = ["-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "protocol.file.allow=always"];
    let output = Command::new("git")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .args(config)
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Makes a repository of what is there, with one commit.
pub(crate) fn init(dir: &Path) {
    git(dir, &["init", "-q", "-b", "main"]);
    git(dir, &["add", "-A"]);
    git(dir, &["commit", "-q", "--allow-empty", "-m", "first"]);
}

#[test]
fn nested_ignore_rules_and_their_exceptions_are_gits() {
    let machine = Machine::new();
    let paths = [
        "a.log.py",
        "keep.gen.py",
        "drop.gen.py",
        "sub/x.gen.py",
        "sub/back.gen.py",
        "sub/deep/back.gen.py",
        "build/out.py",
        "sub/build/out.py",
        "data/in.py",
        "data/keep/in.py",
        "data/keep/not.py",
        "tracked.gen.py",
        "own.py",
        "kept_own.py",
        "info.py",
        "sp ace.py",
        "#hash.py",
        "!bang.py",
    ];
    for path in paths {
        put(&machine, path, with_key());
    }
    init(machine.repo());
    git(machine.repo(), &["rm", "-q", "-r", "--cached", "."]);
    git(machine.repo(), &["add", "-f", "tracked.gen.py"]);
    put(
        &machine,
        ".gitignore",
        "*.gen.py\n!keep.gen.py\n/build/\ndata/*\n!data/keep/\ndata/keep/*\n!data/keep/in.py\nsp\\ ace.py\n\\#hash.py\n\\!bang.py\n",
    );
    put(&machine, "sub/.gitignore", "!back.gen.py\n");
    put(&machine, "sub/deep/.gitignore", "back.*\n");
    put(&machine, ".assizeignore", "*own.py\n!kept_own.py\n");
    fs::write(machine.repo().join(".git/info/exclude"), "info.py\n").unwrap();
    let audited = audit(&machine);
    let wanted = [
        "a.log.py",
        "data/keep/in.py",
        "keep.gen.py",
        "kept_own.py",
        "sub/back.gen.py",
        "sub/build/out.py",
        "tracked.gen.py",
    ];
    let sources: Vec<&str> = audited.auditable().into_iter().filter(|path| path.ends_with(".py")).collect();
    assert_eq!(sources, wanted);
    // Git itself agrees, apart from what only the user's own file leaves out.
    let listed = git(machine.repo(), &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let mut by_git: Vec<&str> = listed.split('\0').filter(|path| path.ends_with(".py") && *path != "own.py").collect();
    by_git.sort_unstable();
    assert_eq!(sources, by_git);
    audited.is("drop.gen.py", "excluded", "vcs-ignored");
    audited.is("own.py", "excluded", "user-ignored");
    audited.is("build/", "excluded", "vcs-ignored");

    let all = audit_with(&machine, &["--no-ignore"]);
    let mut every: Vec<&str> = paths.to_vec();
    every.sort_unstable();
    assert_eq!(all.auditable().into_iter().filter(|path| path.ends_with(".py")).collect::<Vec<_>>(), every);
}

#[test]
fn submodules_and_nested_checkouts_are_named_and_not_entered() {
    let machine = Machine::new();
    let other = machine.at("data/other");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("theirs.py"), with_key()).unwrap();
    init(&other);
    put(&machine, "ours.py", with_key());
    init(machine.repo());
    git(machine.repo(), &["submodule", "--quiet", "add", other.to_str().unwrap(), "libs/sub"]);
    git(machine.repo(), &["clone", "-q", other.to_str().unwrap(), "clone"]);
    let audited = audit(&machine);
    audited.is("libs/sub/", "excluded", "submodule");
    audited.is("clone/", "excluded", "nested-repository");
    audited.key_found("ours.py", 3);
    assert!(!audited.rows.keys().any(|path| path.contains("theirs.py")));
    // Each can be audited for itself.
    for part in ["libs/sub", "clone"] {
        let state = machine.at("data/state").join(part.replace('/', "-"));
        let args = ["run", "--json", "--state-dir", state.to_str().unwrap()];
        let outcome = machine.bare().args(args).args([machine.repo().join(part)]).run().exits(0).json();
        assert_eq!(outcome["findings"]["high"], 1, "{outcome:#}");
    }
}

#[test]
fn a_linked_worktree_and_a_shallow_clone_are_audited_at_their_commit() {
    let machine = Machine::new();
    let origin = machine.at("data/origin");
    fs::create_dir_all(&origin).unwrap();
    fs::write(origin.join("old.py"), "a = 1\n").unwrap();
    init(&origin);
    fs::write(origin.join("new.py"), with_key()).unwrap();
    git(&origin, &["add", "-A"]);
    git(&origin, &["commit", "-q", "-m", "second"]);
    let head = git(&origin, &["rev-parse", "HEAD"]).trim().to_owned();
    let (tree, clone) = (machine.at("data/tree"), machine.at("data/clone"));
    git(&origin, &["worktree", "add", "-q", "--detach", tree.to_str().unwrap()]);
    let url = format!("file://{}", origin.display());
    git(&machine.at("data"), &["clone", "-q", "--depth", "1", &url, clone.to_str().unwrap()]);
    for place in [&tree, &clone] {
        let run = |command: &[&str]| machine.bare().args(command).args([place]).run().exits(0).json();
        let outcome = run(&["run", "--json"]);
        assert_eq!(outcome["findings"]["high"], 1, "{outcome:#}");
        let document = run(&["report", "--format", "findings"]);
        assert_eq!(document["x-assize"]["head"], head.as_str());
        assert_eq!(git(place, &["status", "--porcelain", "--untracked-files=all"]), "");
    }
}

#[test]
fn a_directory_without_git_is_audited() {
    let machine = Machine::new();
    put(&machine, "a.py", with_key());
    let audited = audit(&machine);
    audited.key_found("a.py", 3);
    assert!(audited.document["x-assize"]["head"].is_null());
    assert!(audited.report.contains("no commit"));
}

#[test]
fn a_bare_repository_is_refused_and_left_as_it_was() {
    let machine = Machine::new();
    let bare = machine.at("data/bare.git");
    fs::create_dir_all(&bare).unwrap();
    git(&bare, &["init", "-q", "--bare"]);
    let before = fs::read_dir(&bare).unwrap().count();
    for command in ["run", "plan"] {
        let end = machine.bare().args([command]).args([&bare]).run().exits(2).says("bare");
        assert!(end.stderr.contains("hint"), "it does not say what to do:\n{}", end.stderr);
    }
    assert_eq!(fs::read_dir(&bare).unwrap().count(), before, "a refusal left something in the repository");
}

#[test]
fn rules_that_are_not_applied_are_told_by_run_plan_and_report() {
    let machine = Machine::new();
    put(&machine, "ok.py", with_key());
    put(&machine, "private.py", with_key());
    put(&machine, "sub/.assizeignore", format!("private.py\n{}", "# A comment.\n".repeat(30_000)));
    let audited = audit(&machine);
    let plan = machine.assize(&["plan"]).run().exits(0).stderr;
    let silent: Vec<&str> = [("run", &audited.run_said), ("plan", &plan), ("report", &audited.report)]
        .into_iter()
        .filter(|(_, text)| !text.contains("rules not applied"))
        .map(|(what, _)| what)
        .collect();
    assert!(silent.is_empty(), "{silent:?}");
}

#[test]
fn git_status_stays_clean_and_the_git_directory_untouched() {
    let machine = Machine::with_files(20);
    init(machine.repo());
    let before = crate::traces::listing(machine.repo());
    audit(&machine);
    machine.assize(&["status"]).run().exits(0);
    assert_eq!(crate::traces::listing(machine.repo()), before);
    assert_eq!(git(machine.repo(), &["status", "--porcelain", "--untracked-files=all", "--ignored=no"]), "");
}

#[test]
fn a_part_of_a_repository_obeys_the_rules_of_the_whole() {
    let machine = Machine::new();
    put(&machine, "part/kept.py", with_key());
    put(&machine, "part/dropped.py", with_key());
    put(&machine, "other.py", with_key());
    put(&machine, ".gitignore", "part/dropped.py\n");
    init(machine.repo());
    let plan = machine.bare().args(["plan", "--json"]).args([machine.repo().join("part")]).run().exits(0).json();
    let rows: Vec<(&str, &str)> = plan["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| (row["path"].as_str().unwrap(), row["reason"].as_str().unwrap()))
        .filter(|(path, _)| path.ends_with(".py"))
        .collect();
    assert_eq!(rows, [("dropped.py", "vcs-ignored"), ("kept.py", "source")]);
    assert_eq!(git(machine.repo(), &["status", "--porcelain", "--untracked-files=all"]), "");
}
