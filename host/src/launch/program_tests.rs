//! Programs run without a container: start, input, output, ends and errors. What needs the container is tested with the
//! real binary.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::super::cancel::{Urgency, cancellation};
use super::*;

struct Launch {
    dir: tempfile::TempDir,
    spec: ProgramSpec,
}

/// A launch of `/bin/sh` with this script.
fn shell(script: &str) -> Launch {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let spec = ProgramSpec {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        env: vec![("PATH".into(), "/usr/bin:/bin".into())],
        stdin: None,
        cwd: dir.path().to_owned(),
        run_dir: dir.path().to_owned(),
        home: LaunchHome::Launch,
        stdout_file: at("stdout.log"),
        stderr_file: at("stderr.log"),
        results_file: at("results.json"),
        output_cap: 1024 * 1024,
        timeout: Duration::from_secs(60),
        grace: Duration::from_secs(60),
        drain: Duration::from_secs(60),
        secrets: Vec::new(),
        container: None,
    };
    Launch { dir, spec }
}

async fn run(launch: &Launch) -> Exited {
    run_program(launch.spec.clone(), Cancel::never()).await.unwrap()
}

/// Whether a process with the number in this file is alive and no zombie.
#[cfg(target_os = "linux")]
fn is_alive(pid_file: &Path) -> bool {
    let pid = fs::read_to_string(pid_file).unwrap();
    fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn code_signal_outputs_and_results_are_told() {
    let launch = shell("echo out; echo err >&2; echo '[]' > results.json; exit 7");
    let exited = run(&launch).await;
    assert_eq!((exited.code, exited.signal), (Some(7), None));
    assert_eq!((exited.stdout.as_slice(), exited.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
    assert!(exited.results_written && !exited.timed_out && !exited.interrupted && exited.extra.is_empty());
    assert_eq!(fs::read_to_string(launch.dir.path().join("stdout.log")).unwrap(), "out\n");
    let exited = run(&shell("kill -SEGV $$")).await;
    assert_eq!((exited.code, exited.signal), (None, Some(11)));
}

#[tokio::test]
async fn a_link_or_an_empty_file_is_no_result() {
    assert!(!run(&shell("ln -s /etc/passwd results.json")).await.results_written);
    assert!(!run(&shell(": > results.json")).await.results_written);
}

#[tokio::test]
async fn a_long_input_is_written_while_the_echo_is_read() {
    let mut launch = shell("cat");
    launch.spec.output_cap = 20_000_000;
    launch.spec.stdin = Some(b"0123456789".repeat(1_000_000));
    let exited = run(&launch).await;
    assert_eq!(Some(exited.stdout), launch.spec.stdin);
}

#[tokio::test]
async fn an_input_that_is_not_read_is_no_error() {
    let mut launch = shell("exit 3");
    launch.spec.stdin = Some(vec![b'x'; 10_000_000]);
    assert_eq!(run(&launch).await.code, Some(3));
}

#[tokio::test]
async fn without_input_the_program_sees_its_end_at_once() {
    assert_eq!(run(&shell("cat; echo done")).await.stdout, b"done\n");
}

#[tokio::test]
async fn a_flood_costs_no_more_than_the_cap() {
    let mut launch = shell("echo first; head -c 268435456 /dev/zero; echo last");
    launch.spec.output_cap = 4096;
    let exited = run(&launch).await;
    assert_eq!(exited.stdout_dropped, 268_435_456 + 6 + 5 - 4096);
    assert!(exited.stdout.starts_with(b"first\n") && exited.stdout.ends_with(b"\0last\n"));
    assert_eq!(exited.stdout.len(), 4097);
    assert!(fs::metadata(launch.dir.path().join("stdout.log")).unwrap().len() < 4200);
}

#[tokio::test]
async fn a_program_that_hangs_is_asked_to_end_at_the_deadline() {
    let mut launch = shell("trap 'echo asked; exit 4' TERM; sleep 1000 & wait");
    launch.spec.timeout = Duration::from_millis(300);
    let exited = run(&launch).await;
    assert!(exited.timed_out && !exited.interrupted);
    assert_eq!((exited.code, exited.stdout.as_slice()), (Some(4), &b"asked\n"[..]));
    assert!(exited.wall_ms >= 300);
}

#[tokio::test]
async fn a_program_that_does_not_listen_is_killed_after_its_grace() {
    let mut launch = shell("trap '' TERM; while :; do sleep 1000; done");
    launch.spec.timeout = Duration::from_millis(200);
    launch.spec.grace = Duration::from_millis(200);
    let exited = run(&launch).await;
    assert!(exited.timed_out);
    assert_eq!((exited.code, exited.signal), (None, Some(9)));
}

#[tokio::test]
async fn a_soft_cancel_asks_and_a_hard_one_kills() {
    for (urgency, code, signal) in [(Urgency::Soft, Some(5), None), (Urgency::Hard, None, Some(9))] {
        let (source, cancel) = cancellation();
        let mut launch = shell("trap 'exit 5' TERM; echo ready; mkfifo f; read x < f");
        launch.spec.secrets = Vec::new();
        let log = launch.spec.stdout_file.clone();
        let raise = async {
            // The log is written as the program prints.
            while fs::read(&log).unwrap_or_default() != b"ready\n" {
                tokio::task::yield_now().await;
            }
            source.raise(urgency);
        };
        let (exited, ()) = tokio::join!(run_program(launch.spec.clone(), cancel), raise);
        let exited = exited.unwrap();
        assert!(exited.interrupted && !exited.timed_out);
        assert_eq!((exited.code, exited.signal), (code, signal), "{urgency:?}");
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_child_that_keeps_the_pipe_is_waited_for_no_longer_than_the_drain() {
    let mut launch = shell("sleep 1000 & echo $! > pid; echo said");
    launch.spec.drain = Duration::from_millis(100);
    let exited = run(&launch).await;
    assert_eq!((exited.code, exited.stdout.as_slice()), (Some(0), &b"said\n"[..]));
    // Without a container the kill is sent by now, and the kernel carries it out in its own time.
    while is_alive(&launch.dir.path().join("pid")) {
        tokio::task::yield_now().await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_launch_that_is_given_up_leaves_nothing() {
    let launch = shell("(trap '' TERM; echo $$ > pid; echo ready; sleep 1000); :");
    let log = launch.spec.stdout_file.clone();
    let ready = async {
        while fs::read(&log).unwrap_or_default() != b"ready\n" {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        _ = run_program(launch.spec.clone(), Cancel::never()) => panic!("it ended by itself"),
        () = ready => {}
    }
    // The kill is sent by now; the kernel carries it out in its own time.
    let pid = launch.dir.path().join("pid");
    while is_alive(&pid) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn secrets_are_in_neither_output_nor_log() {
    let mut launch = shell("echo \"key=$KEY\"; printf %s \"$KEY\" | od -An -tx1 | tr -d ' \\n' >&2");
    launch.spec.env.push(("KEY".into(), "sk-secret-123456".into()));
    launch.spec.secrets = vec!["sk-secret-123456".into()];
    let exited = run(&launch).await;
    assert_eq!((exited.stdout.as_slice(), exited.stderr.as_slice()), (&b"key=[redacted]\n"[..], &b"[redacted]"[..]));
    for log in [&launch.spec.stdout_file, &launch.spec.stderr_file] {
        assert!(fs::read_to_string(log).unwrap().contains("[redacted]"));
    }
}

#[tokio::test]
async fn the_environment_is_the_given_one_and_the_home_is_private() {
    use std::os::unix::fs::PermissionsExt;

    let launch = shell("env");
    let stdout = String::from_utf8(run(&launch).await.stdout).unwrap();
    let mut names: Vec<&str> = stdout.lines().filter_map(|line| line.split_once('=')).map(|(name, _)| name).collect();
    names.sort_unstable();
    // The shell itself sets the others.
    names.retain(|name| !["PWD", "OLDPWD", "SHLVL", "_"].contains(name));
    assert_eq!(names, ["PATH"]);
    for name in ["home", "tmp"] {
        let mode = fs::metadata(launch.dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    async fn refusal(change: impl FnOnce(&mut ProgramSpec)) -> (&'static str, String) {
        let mut launch = shell("exit 0");
        change(&mut launch.spec);
        let error = run_program(launch.spec, Cancel::never()).await.unwrap_err();
        (error.kind(), error.to_string())
    }
    let missing = refusal(|spec| spec.program = "/nowhere/tool".into()).await;
    assert_eq!(missing, ("not-found", "program /nowhere/tool is missing".into()));
    let (kind, message) = refusal(|spec| spec.cwd = "/nowhere".into()).await;
    assert_eq!((kind, message.as_str()), ("spawn", "working directory /nowhere cannot be used"));
    let (kind, message) = refusal(|spec| spec.args.push("x".repeat(ARGUMENT_CAP + 1))).await;
    assert!(kind == "too-large" && message.contains("argument 3") && !message.contains("xx"), "{message}");
    let (kind, message) = refusal(|spec| spec.args.extend(vec!["y".repeat(ARGUMENT_CAP); 60])).await;
    assert!(kind == "too-large" && message.contains("command line") && !message.contains("yy"), "{message}");
    assert_eq!(refusal(|spec| spec.args.push("a\0b".into())).await.0, "invalid");
    let (kind, message) = refusal(|spec| spec.container = Some("/nowhere/assize".into())).await;
    assert!(kind == "spawn" && message.contains("container /nowhere/assize"), "{message}");
    // A file that is no container ends before it has started anything.
    let (kind, message) = refusal(|spec| spec.container = Some("/bin/true".into())).await;
    assert!(kind == "spawn" && message.contains("container /bin/true"), "{message}");
}

#[tokio::test]
async fn a_script_without_its_interpreter_is_not_called_missing() {
    use std::os::unix::fs::PermissionsExt;

    let mut launch = shell("");
    let script: PathBuf = launch.dir.path().join("script");
    fs::write(&script, "#!/nowhere/interpreter\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    launch.spec.program = script;
    let error = run_program(launch.spec, Cancel::never()).await.unwrap_err();
    assert_eq!(error.kind(), "spawn");
}
