//! Entries that are no plain files: links, pipes, sockets. None is followed and none blocks.

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use assize_tests::Machine;

use crate::audited::{audit, is_nowhere_in, put, with_key};

/// What stands outside the repository and must not be read.
const OUTSIDE: &str = "outside-canary-5b1d";

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn links_that_lead_out_or_in_circles_are_rows_and_nothing_more() {
    let machine = Machine::new();
    let outside = machine.at("data/outside");
    fs::create_dir_all(&outside).unwrap();
    let text = format!("# {OUTSIDE}\n{}", with_key());
    fs::write(outside.join("secret.py"), &text).unwrap();
    put(&machine, "src/ok.py", with_key());
    let repo = machine.repo();
    for (target, link) in [
        (outside.join("secret.py").to_str().unwrap(), "absolute.py"),
        ("../../data/outside/secret.py", "src/relative.py"),
        (outside.to_str().unwrap(), "folder"),
        ("/etc/passwd", "passwd.py"),
        ("/etc", "etc"),
        (".", "src/self"),
        ("..", "src/up"),
        ("one.py", "two.py"),
        ("two.py", "one.py"),
        ("nowhere.py", "broken.py"),
        ("src/ok.py", "inside.py"),
        ("/dev/zero", "zero.py"),
        ("/proc/self/environ", "environ.py"),
    ] {
        symlink(target, repo.join(link)).unwrap();
    }
    let audited = audit(&machine);
    assert_eq!(audited.auditable(), ["src/ok.py"]);
    let special = audited.rows.iter().filter(|(_, row)| row["status"] == "special").count();
    assert_eq!(special, 13, "{:#?}", audited.rows);
    for (_, row) in audited.rows.iter().filter(|(_, row)| row["status"] == "special") {
        assert!(row["digest"].is_null() && row["lines"].is_null(), "{row:#}");
    }
    assert_eq!(audited.places(), [("src/ok.py".to_owned(), 3)]);
    let state = repo.join(".assize");
    for secret in [OUTSIDE, "root:x:0"] {
        is_nowhere_in(&state, secret);
        assert!(!audited.document.to_string().contains(secret) && !audited.said.contains(secret));
    }
}

#[test]
fn rule_and_configuration_files_that_are_links_are_not_read_through() {
    let machine = Machine::new();
    let outside = machine.at("data/rules");
    fs::write(&outside, format!("*.py\n{OUTSIDE}\n")).unwrap();
    put(&machine, "src/ok.py", with_key());
    for name in [".gitignore", ".assizeignore", ".gitattributes", "assize.toml"] {
        symlink(&outside, machine.repo().join(name)).unwrap();
    }
    let audited = audit(&machine);
    assert_eq!(audited.auditable(), ["src/ok.py"]);
    assert!(!audited.said.contains(OUTSIDE), "{}", audited.said);
}

#[test]
fn a_state_directory_that_is_a_link_is_refused() {
    let machine = Machine::new();
    put(&machine, "ok.py", with_key());
    let outside = machine.at("data/elsewhere");
    fs::create_dir_all(&outside).unwrap();
    symlink(&outside, machine.repo().join(".assize")).unwrap();
    let end = machine.assize(&["run"]).run();
    assert_ne!(end.code, Some(0), "{}", end.stdout);
    assert!(end.stderr.contains(".assize"), "{}", end.stderr);
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0, "it wrote where the link led");
}

#[test]
fn pipes_and_sockets_never_block_wherever_they_lie() {
    let machine = Machine::new();
    let repo = machine.repo();
    put(&machine, "src/ok.py", with_key());
    fs::create_dir_all(repo.join("lib")).unwrap();
    for name in ["pipe.py", "lib/.gitignore", "lib/.gitattributes", ".assizeignore", "assize.toml", "Cargo.toml"] {
        fifo(&repo.join(name));
    }
    let _socket = UnixListener::bind(repo.join("socket.py")).unwrap();
    let audited = audit(&machine);
    assert_eq!(audited.auditable(), ["src/ok.py"]);
    audited.is("pipe.py", "special", "fifo");
    audited.is("assize.toml", "special", "fifo");
    audited.is("socket.py", "special", "socket");
    audited.key_found("src/ok.py", 3);
}

#[test]
fn pipes_in_place_of_git_files_never_block() {
    for name in ["HEAD", "index", "config", "shallow"] {
        let machine = Machine::new();
        put(&machine, "ok.py", with_key());
        crate::git::init(machine.repo());
        let file = machine.repo().join(".git").join(name);
        let _ = fs::remove_file(&file);
        fifo(&file);
        let audited = audit(&machine);
        assert!(audited.auditable().contains(&"ok.py"), "{name}: {:?}", audited.rows.keys());
    }
    let machine = Machine::new();
    put(&machine, "ok.py", with_key());
    fifo(&machine.repo().join(".git"));
    audit(&machine).key_found("ok.py", 3);
}
