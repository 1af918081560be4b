//! Launches with the real binary as their container: whatever a program leaves behind is gone when its launch is.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(clippy::disallowed_methods, reason = "a test that kills a host has to start one")]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use assize::launch::{Cancel, LaunchHome, ProgramSpec, Urgency, cancellation, run_program};

/// Set for the process that plays a host; names the directory of its launch.
const HOST_DIR: &str = "ASSIZE_TEST_HOST_DIR";

/// A launch of `/bin/sh` with this script in this directory.
fn shell(dir: &Path, script: &str) -> ProgramSpec {
    ProgramSpec {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        stdin: None,
        cwd: dir.to_owned(),
        run_dir: dir.to_owned(),
        home: LaunchHome::Launch,
        stdout_file: dir.join("stdout.log"),
        stderr_file: dir.join("stderr.log"),
        results_file: dir.join("results.json"),
        output_cap: 1024 * 1024,
        timeout: Duration::from_secs(60),
        grace: Duration::from_secs(60),
        drain: Duration::from_millis(200),
        secrets: Vec::new(),
        container: Some(env!("CARGO_BIN_EXE_assize").into()),
    }
}

/// Descendants of every kind, each of which writes its number into a file and says when it is ready: a child that
/// keeps the pipe, one in a session of its own that hears no TERM, and a daemon whose parents are gone.
const FAMILY: &str = r#"
sleep 1000 & echo $! > pid.child
setsid sh -c 'trap "" TERM HUP INT; echo $$ > pid.session; while :; do sleep 1000; done' &
(setsid sh -c '(trap "" TERM; echo $$ > /dev/null; sh -c "echo \$PPID > pid.daemon"; exec sleep 1000) > /dev/null 2>&1 < /dev/null &' &)
while ! [ -s pid.session ] || ! [ -s pid.daemon ]; do sleep 0.01; done
echo ready
"#;

/// The processes of these files that are alive and no zombies.
fn alive(dir: &Path) -> Vec<String> {
    let mut alive = Vec::new();
    for entry in fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with("pid.") {
            let pid = fs::read_to_string(entry.path()).unwrap();
            // Whoever was killed between opening the file and writing to it has left it empty.
            let Ok(pid) = pid.trim().parse::<u32>() else { continue };
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            if !stat.is_empty() && !stat.contains(") Z ") {
                alive.push(name);
            }
        }
    }
    alive.sort();
    alive
}

fn family_is_complete(dir: &Path) {
    for name in ["pid.child", "pid.session", "pid.daemon"] {
        assert!(fs::read_to_string(dir.join(name)).unwrap().trim().parse::<u32>().is_ok(), "{name}");
    }
}

async fn until_ready(log: PathBuf) {
    while !fs::read_to_string(&log).unwrap_or_default().contains("ready") {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn code_signal_input_and_output_pass_through_the_container() {
    let dir = tempfile::tempdir().unwrap();
    let mut spec = shell(dir.path(), "cat; echo err >&2; exit 42");
    spec.stdin = Some(b"0123456789".repeat(1_000_000));
    spec.output_cap = 20_000_000;
    let input = spec.stdin.clone();
    let exited = run_program(spec, Cancel::never()).await.unwrap();
    assert_eq!((exited.code, exited.signal), (Some(42), None));
    assert_eq!(Some(exited.stdout), input);
    assert_eq!(exited.stderr, b"err\n");
    assert_eq!(exited.extra, []);
    for (signal, number) in [("SEGV", 11), ("PIPE", 13), ("KILL", 9), ("TERM", 15)] {
        let spec = shell(dir.path(), &format!("kill -{signal} $$"));
        let exited = run_program(spec, Cancel::never()).await.unwrap();
        assert_eq!((exited.code, exited.signal), (None, Some(number)));
        assert_eq!(exited.extra, []);
    }
}

#[tokio::test]
async fn an_input_that_is_not_read_is_no_error_and_none_is_empty() {
    let dir = tempfile::tempdir().unwrap();
    let mut spec = shell(dir.path(), "exit 3");
    spec.stdin = Some(vec![b'x'; 10_000_000]);
    assert_eq!(run_program(spec, Cancel::never()).await.unwrap().code, Some(3));
    for stdin in [None, Some(Vec::new())] {
        let mut spec = shell(dir.path(), "cat; echo end");
        spec.stdin = stdin;
        assert_eq!(run_program(spec, Cancel::never()).await.unwrap().stdout, b"end\n");
    }
}

#[tokio::test]
async fn what_the_container_cannot_start_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let mut spec = shell(dir.path(), "");
    spec.program = "/nowhere/tool".into();
    let error = run_program(spec, Cancel::never()).await.unwrap_err();
    assert_eq!((error.kind(), error.to_string()), ("not-found", "program /nowhere/tool is missing".to_owned()));
    let mut spec = shell(dir.path(), "");
    spec.args = vec!["y".repeat(100 * 1024); 60];
    let error = run_program(spec, Cancel::never()).await.unwrap_err();
    assert_eq!(error.kind(), "too-large");
    let mut spec = shell(dir.path(), "");
    spec.program = dir.path().to_owned();
    assert_eq!(run_program(spec, Cancel::never()).await.unwrap_err().kind(), "spawn");
}

#[tokio::test]
async fn nothing_is_left_of_a_program_that_ended() {
    let dir = tempfile::tempdir().unwrap();
    let exited = run_program(shell(dir.path(), FAMILY), Cancel::never()).await.unwrap();
    assert_eq!((exited.code, exited.stdout.as_slice()), (Some(0), &b"ready\n"[..]));
    assert_eq!(exited.extra, []);
    family_is_complete(dir.path());
    assert_eq!(alive(dir.path()), [""; 0]);
}

#[tokio::test]
async fn descendants_that_nobody_hears_are_not_waited_for() {
    let dir = tempfile::tempdir().unwrap();
    let script = "sh -c 'echo $$ > pid.child; exec sleep 1000' > /dev/null 2>&1 &
        while ! [ -s pid.child ]; do sleep 0.01; done";
    let mut spec = shell(dir.path(), script);
    spec.drain = Duration::from_secs(50);
    let begin = Instant::now();
    run_program(spec, Cancel::never()).await.unwrap();
    assert!(begin.elapsed() < Duration::from_secs(20));
    assert_eq!(alive(dir.path()), [""; 0]);
}

#[tokio::test]
async fn nothing_is_left_at_the_deadline_even_of_those_who_do_not_listen() {
    let dir = tempfile::tempdir().unwrap();
    let mut spec = shell(dir.path(), &format!("trap '' TERM; {FAMILY} while :; do sleep 1000; done"));
    spec.timeout = Duration::from_secs(3);
    spec.grace = Duration::from_millis(200);
    let exited = run_program(spec, Cancel::never()).await.unwrap();
    assert!(exited.timed_out);
    assert_eq!((exited.code, exited.signal), (None, Some(9)));
    assert_eq!(exited.extra, []);
    family_is_complete(dir.path());
    assert_eq!(alive(dir.path()), [""; 0]);
}

#[tokio::test]
async fn a_soft_cancel_reaches_the_whole_tree_and_a_hard_one_kills_it() {
    for (urgency, code, signal) in [(Urgency::Soft, Some(5), None), (Urgency::Hard, None, Some(9))] {
        let dir = tempfile::tempdir().unwrap();
        // The program itself ends only because its child, in another session, was asked to.
        let script = "trap : TERM; setsid sh -c 'trap \"exit 5\" TERM; echo $$ > pid.session; echo ready; while :; do sleep 0.01; done'; exit $?";
        let (source, cancel) = cancellation();
        let launch = run_program(shell(dir.path(), script), cancel);
        let log = dir.path().join("stdout.log");
        let (exited, ()) = tokio::join!(launch, async {
            until_ready(log).await;
            source.raise(urgency);
        });
        let exited = exited.unwrap();
        assert!(exited.interrupted && !exited.timed_out);
        assert_eq!((exited.code, exited.signal), (code, signal), "{urgency:?}");
        assert_eq!(alive(dir.path()), [""; 0]);
    }
}

#[tokio::test]
async fn a_program_that_forks_without_end_is_ended() {
    let dir = tempfile::tempdir().unwrap();
    // Each generation is a session of its own and its parent ends at once.
    let script = "cat > again <<'END'\necho $$ > pid.last; [ -e stop ] || setsid sh again & \nEND\nsh again; echo ready; sleep 1000";
    let (source, cancel) = cancellation();
    let log = dir.path().join("stdout.log");
    let launch = run_program(shell(dir.path(), script), cancel);
    let (exited, ()) = tokio::join!(launch, async {
        until_ready(log).await;
        source.raise(Urgency::Hard);
    });
    let exited = exited.unwrap();
    assert_eq!(exited.extra, []);
    let last = fs::read(dir.path().join("pid.last")).unwrap();
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    assert_eq!(fs::read(dir.path().join("pid.last")).unwrap(), last, "somebody still forks");
    fs::write(dir.path().join("stop"), "").unwrap();
}

#[tokio::test]
async fn a_program_that_kills_its_container_is_ended_all_the_same() {
    let slow = "setsid sleep 1000 & echo $! > pid.session; echo $$ > pid.child; kill -KILL $PPID; sleep 1000";
    // Faster, perhaps, than the container can tell that there is a program.
    let fast = "kill -KILL $PPID; echo $$ > pid.child; sleep 1000";
    for script in [slow].into_iter().chain([fast; 20]) {
        let dir = tempfile::tempdir().unwrap();
        let exited = run_program(shell(dir.path(), script), Cancel::never()).await.unwrap();
        assert_eq!(exited.extra, [("containment".to_owned(), "lost".to_owned())]);
        // The kill is sent by now; the kernel carries it out in its own time, and another process reaps.
        while !alive(dir.path()).is_empty() {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_launch_that_is_given_up_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("stdout.log");
    tokio::select! {
        _ = run_program(shell(dir.path(), &format!("{FAMILY} sleep 1000")), Cancel::never()) => panic!("it ended"),
        () = until_ready(log) => {}
    }
    family_is_complete(dir.path());
    while !alive(dir.path()).is_empty() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_program_has_no_terminal_no_control_socket_and_a_group_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let script = "ls -l /proc/self/fd | grep -c socket; (: < /dev/tty) 2>/dev/null && echo tty; ps -o pgid= -p $$ | tr -d ' '; echo $$";
    let exited = run_program(shell(dir.path(), script), Cancel::never()).await.unwrap();
    let stdout = String::from_utf8(exited.stdout).unwrap();
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!((lines.len(), lines[0]), (3, "0"), "{stdout}");
    assert_eq!(lines[1], lines[2], "{stdout}");
}

#[tokio::test]
async fn hundreds_of_launches_leave_no_process_no_group_and_no_descriptor() {
    let dir = tempfile::tempdir().unwrap();
    let descriptors = || fs::read_dir("/proc/self/fd").unwrap().count();
    run_program(shell(dir.path(), ":"), Cancel::never()).await.unwrap();
    let before = descriptors();
    for _ in 0..200 {
        let exited = run_program(shell(dir.path(), ":"), Cancel::never()).await.unwrap();
        assert_eq!((exited.code, exited.extra.len()), (Some(0), 0));
    }
    // Other tests of this process have launches of their own at the same time.
    assert!(descriptors() < before + 100);
}

/// Not a test by itself: the host that [`the_end_of_the_host_by_sigkill_leaves_nothing`] starts and kills.
#[tokio::test]
async fn plays_the_host() {
    let Some(dir) = std::env::var_os(HOST_DIR) else { return };
    let script = format!("{FAMILY} echo $$ > pid.program; echo $PPID > pid.container; sleep 1000");
    let _ = run_program(shell(Path::new(&dir), &script), Cancel::never()).await;
}

#[tokio::test]
async fn the_end_of_the_host_by_sigkill_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut host = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "plays_the_host", "--nocapture"])
        .env(HOST_DIR, dir.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while !fs::read_to_string(dir.path().join("pid.container")).unwrap_or_default().ends_with('\n') {
        assert!(host.try_wait().unwrap().is_none(), "the host ended by itself");
        tokio::task::yield_now().await;
    }
    family_is_complete(dir.path());
    assert_eq!(alive(dir.path()).len(), 5);
    host.kill().unwrap();
    assert_eq!(host.wait().unwrap().signal(), Some(9));
    while !alive(dir.path()).is_empty() {
        tokio::task::yield_now().await;
    }
}
