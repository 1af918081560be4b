//! Hosts that die, are asked to stop, or meet another: nothing is lost, nothing is done twice, nothing is left behind.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::time::{Duration, Instant};

use assize_tests::{Machine, Random, Running, until};
use rustix::process::Signal;

const FILES: usize = 60;
/// Enough for a few dozen launches.
const MANY_FILES: usize = 300;

const RUN: [&str; 6] = ["run", "--json", "--no-deepening", "--workers", "4", "--color=never"];

/// Moments of a run at which a test can be sure that it is.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// A line was said: the survey, the structure or the plan goes on.
    Said(&'static str),
    /// So many workers have started since the run began.
    Started(usize),
    /// So many workers have written their answers, which the host is about to see.
    Answered(usize),
}

impl Moment {
    fn any(random: &mut Random) -> Self {
        match random.below(8) {
            0 => Self::Said(random.pick::<&str>(&["provider:", "inventory:", "structure:", "plan:", "review:"])),
            1..=3 => Self::Started(1 + random.below(5)),
            _ => Self::Answered(1 + random.below(5)),
        }
    }

    /// Waits for it; false when the run ended before.
    fn comes(self, machine: &Machine, running: &mut Running) -> bool {
        let count = |moment: Self| match moment {
            Self::Answered(_) => answers(machine),
            _ => machine.launches().len(),
        };
        match self {
            Self::Said(word) => running.line(|line| line.starts_with(word)).is_some(),
            Self::Started(wanted) | Self::Answered(wanted) => {
                let wanted = wanted + count(self);
                let mut over = false;
                until("the moment comes or the run ends", Duration::from_secs(100), || {
                    over = running.is_over();
                    over || count(self) >= wanted
                });
                !over
            }
        }
    }
}

/// Results files in the run directories.
fn answers(machine: &Machine) -> usize {
    let runs = fs::read_dir(machine.repo().join(".assize/runs"));
    runs.into_iter().flatten().flatten().filter(|run| run.path().join("audit-results.json").exists()).count()
}

/// Kills hosts until one completes or there were many, and gives how many there were.
fn dies_at_any_moment(seed: u64) -> usize {
    let machine = Machine::with_files(MANY_FILES);
    machine.use_worker(&["--findings"]);
    let mut random = Random::new(seed);
    let mut kills = 0;
    while kills < 15 {
        let moment = Moment::any(&mut random);
        let mut running = machine.assize(&RUN).start();
        let came = moment.comes(&machine, &mut running);
        if came {
            running.signal(Signal::KILL);
        }
        let end = running.wait();
        machine.nothing_is_left();
        if end.code == Some(0) {
            break;
        }
        assert_eq!(end.signal, Some(9), "{moment:?}: {:?}\n{}", end.code, end.stderr);
        kills += 1;
    }
    machine.assize(&RUN).run().exits(0);
    machine.each_task_once();
    kills
}

#[test]
fn sigkill_at_any_moment_loses_nothing_and_repeats_nothing() {
    let kills: usize = (1..=4).map(dies_at_any_moment).sum();
    assert!(kills > 8, "hosts were killed {kills} times only");
}

#[test]
fn a_host_that_dies_while_it_makes_its_store_blocks_nobody() {
    for pause in 0..6 {
        let machine = Machine::with_files(4);
        let store = machine.repo().join(".assize/store.db");
        let running = machine.assize(&RUN).start();
        let begin = Instant::now();
        // No pause between two looks, because it takes milliseconds only; then a little later each time.
        while !store.exists() && begin.elapsed() < Duration::from_secs(60) {}
        let seen = Instant::now();
        while seen.elapsed() < Duration::from_millis(pause) {}
        running.signal(Signal::KILL);
        assert_eq!(running.wait().signal, Some(9));
        machine.assize(&RUN).run().exits(0);
        machine.each_task_once();
    }
}

#[test]
fn what_was_written_before_the_kill_is_swept_and_not_asked_again() {
    let machine = Machine::with_files(20);
    let go = machine.at("data/go");
    machine.use_worker(&["--hold", go.to_str().unwrap()]);
    let running = machine.assize(&RUN).start();
    until("four workers have started", Duration::from_secs(60), || machine.launches().len() == 4);
    // One of them has written its answer, and the host dies before it sees the end.
    let status = machine.status();
    let launch = status["running"][0]["launch"].as_str().unwrap().to_owned();
    running.signal(Signal::KILL);
    running.wait();
    machine.nothing_is_left();
    let run_dir = machine.repo().join(".assize/runs").join(&launch);
    let read = |name: &str| serde_json::from_slice(&fs::read(run_dir.join(name)).unwrap()).unwrap();
    let tasks: serde_json::Value = read("pending-audit-tasks.json");
    let answers: Vec<_> = tasks
        .as_array()
        .unwrap()
        .iter()
        .map(|task| assize_tests::answer::answer_task(task, machine.repo(), false))
        .collect();
    fs::write(run_dir.join("audit-results.json"), serde_json::to_vec(&answers).unwrap()).unwrap();

    machine.use_worker(&[]);
    let saved = format!("{} results saved", answers.len());
    machine.assize(&RUN).run().exits(0).says("4 launches of a host that is gone").says(&saved);
    machine.each_task_once();
    let names: Vec<_> = tasks.as_array().unwrap().iter().map(|task| task["task_id"].clone()).collect();
    let again =
        machine.launches()[4..].iter().any(|l| l["tasks"].as_array().unwrap().iter().any(|t| names.contains(t)));
    assert!(!again, "what was saved was asked again");
}

#[test]
fn a_second_host_is_refused_with_the_number_of_the_first() {
    let machine = Machine::with_files(10);
    let go = machine.at("data/go");
    machine.use_worker(&["--hold", go.to_str().unwrap()]);
    let first = machine.assize(&RUN).start();
    until("a worker has started", Duration::from_secs(60), || !machine.launches().is_empty());
    machine.assize(&RUN).run().exits(2).says(&format!("in use by process {}", first.pid()));
    // Reading beside it is no trouble.
    let status = machine.status();
    assert_eq!(status["running"][0]["pid"], first.pid());
    machine.assize(&["next"]).run().exits(0);
    machine.assize(&["ledger", "verify"]).run().exits(0);
    fs::write(go, "").unwrap();
    first.wait().exits(0);
    machine.each_task_once();
}

#[test]
fn a_lock_file_of_a_dead_host_means_nothing() {
    let machine = Machine::with_files(10);
    let go = machine.at("data/go");
    machine.use_worker(&["--hold", go.to_str().unwrap()]);
    let first = machine.assize(&RUN).start();
    until("a worker has started", Duration::from_secs(60), || !machine.launches().is_empty());
    drop(first);
    machine.nothing_is_left();
    fs::write(go, "").unwrap();
    machine.assize(&RUN).run().exits(0);
    machine.each_task_once();
}

fn one_interrupt(signal: Signal) {
    let machine = Machine::with_files(FILES);
    let go = machine.at("data/go");
    // Two workers answer, and the others would wait for ever.
    machine.use_worker(&["--hold", go.to_str().unwrap(), "--free", "2"]);
    let running = machine.assize(&RUN).start();
    until("six workers have started", Duration::from_secs(60), || machine.launches().len() == 6);
    running.signal(signal);
    let end = running.wait().exits(130).says("interrupted");
    assert_eq!(end.json()["end"], "interrupted");
    machine.nothing_is_left();
    let status = machine.status();
    let done = status["tasks"]["done"].as_u64().unwrap();
    assert!(done > 0, "results of launches that had ended are kept");
    assert_eq!(status["tasks"]["leased"], 0);
    machine.use_worker(&[]);
    machine.assize(&RUN).run().exits(0);
    machine.each_task_once();
}

#[test]
fn sigint_keeps_what_is_done_and_the_next_run_completes() {
    one_interrupt(Signal::INT);
}

#[test]
fn sigterm_keeps_what_is_done_and_the_next_run_completes() {
    one_interrupt(Signal::TERM);
}

#[test]
fn an_interrupt_before_any_launch_ends_is_obeyed_too() {
    let machine = Machine::with_files(20);
    machine.use_worker(&["--hold", "/nowhere/at/all"]);
    let running = machine.assize(&RUN).start();
    until("four workers have started", Duration::from_secs(60), || machine.launches().len() == 4);
    running.signal(Signal::INT);
    running.wait().exits(130);
    machine.nothing_is_left();
    machine.use_worker(&[]);
    let attempts_one = [&RUN[..], &["--attempts", "1"]].concat();
    machine.assize(&attempts_one).run().exits(0);
    machine.each_task_once();
}

#[test]
fn an_interrupt_before_the_first_launch_starts_none() {
    for word in ["provider:", "inventory:", "structure:", "plan:"] {
        let machine = Machine::with_files(MANY_FILES);
        machine.use_worker(&[]);
        let mut running = machine.assize(&RUN).start();
        running.line(|line| line.starts_with(word)).expect("it says how far it is");
        running.signal(Signal::INT);
        let end = running.wait().exits(130);
        // One that was started in the same instant is ended and costs nothing.
        assert!(machine.launches().len() <= 4, "{word} {}\n{}", machine.launches().len(), end.stderr);
        machine.nothing_is_left();
        machine.assize(&RUN).run().exits(0);
        machine.each_task_once();
    }
}

#[test]
fn of_hosts_that_start_at_once_one_works_and_the_others_are_refused() {
    let machine = Machine::with_files(20);
    machine.use_worker(&[]);
    let hosts: Vec<Running> = (0..4).map(|_| machine.assize(&RUN).start()).collect();
    let ends: Vec<_> = hosts.into_iter().map(Running::wait).collect();
    for end in &ends {
        assert!(matches!(end.code, Some(0 | 2)), "{:?}\n{}", end.code, end.stderr);
        assert!(end.code == Some(0) || end.stderr.contains("in use by process"), "{}", end.stderr);
    }
    assert!(ends.iter().any(|end| end.code == Some(0)));
    machine.each_task_once();
}

#[test]
fn a_second_interrupt_does_not_wait() {
    let machine = Machine::with_files(10);
    machine.use_worker(&["--fault", "hang-ignore-term"]);
    let mut running = machine.assize(&RUN).start();
    until("a worker has started", Duration::from_secs(60), || !machine.launches().is_empty());
    running.signal(Signal::INT);
    running.line(|line| line.contains("again to end them now")).expect("it says what the second one does");
    running.signal(Signal::INT);
    running.wait().exits(130).says("ended now");
    machine.nothing_is_left();
}

#[test]
fn the_ledger_is_whole_and_without_gaps() {
    let machine = Machine::with_files(6);
    machine.assize(&["run"]).run().exits(0);
    machine.assize(&["ledger", "verify"]).run().exits(0);
    let before = machine.ledger();
    assert!(before.iter().any(|entry| entry["kind"] == "slot-settled"));
    let seqs: Vec<u64> = before.iter().map(|entry| entry["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
}
