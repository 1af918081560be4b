//! Models that refuse: it is written down with its reason, the rest goes on, and another lane is asked.

use crate::desk::{Desk, count_of};

const ANTHROPIC_KEY: &str = "sk-ant-test-0123456789abcdef";

#[test]
fn a_refusal_is_recorded_and_the_other_units_go_on() {
    let desk = Desk::new(24);
    for (scenario, tag) in [("refusal-times-2", "a"), ("content-filter-times-2", "b")] {
        let state = desk.machine.at(&format!("data/state-{tag}"));
        let state = state.to_str().unwrap();
        desk.play(&format!("{scenario}~{tag}"));
        let args = ["--workers", "1", "--attempts", "1", "--state-dir", state];
        let end = desk.run(&args).exits(3).says("refused");
        let outcome = end.json();
        assert!(outcome["parked"].as_u64().unwrap() > 0, "{scenario}");
        assert!(outcome["pairs_reviewed"].as_u64().unwrap() > 0, "{scenario}: the others were not asked");
        let report = std::fs::read_to_string(outcome["report"].as_str().unwrap()).unwrap();
        assert!(report.contains("refused"), "{scenario}: the report does not say it:\n{report}");
        let status = desk.machine.assize(&["status", "--json", "--state-dir", state]).run().exits(0).json();
        assert_eq!((&status["tasks"]["pending"], &status["tasks"]["leased"]), (&0.into(), &0.into()));

        // Another day the model may answer.
        desk.play("ok");
        desk.run(&["--state-dir", state]).exits(0);
    }
}

#[test]
fn what_one_model_refuses_another_is_asked() {
    let desk = Desk::new(12);
    let other = desk.api.scenario("ok~other");
    let more = format!("[providers.anthropic]\nbase_url = \"{other}\"\nmodel = \"claude-sonnet-4-5\"\n");
    desk.play_with("refusal~first", &more);
    let args = ["run", "--json", "--no-deepening", "--workers", "2", "--provider", "openai,anthropic"];
    let call = desk.machine.assize(&args).env("OPENAI_API_KEY", crate::desk::KEY);
    call.env("ANTHROPIC_API_KEY", ANTHROPIC_KEY).run().exits(0);
    desk.machine.each_task_once();
    let (first, second): (Vec<_>, Vec<_>) =
        desk.api.requests().into_iter().partition(|entry| entry.scenario.ends_with("~first"));
    assert!(!first.is_empty(), "the first one is asked first");
    let answered: usize = second.iter().map(|entry| entry.tasks).sum();
    assert_eq!(answered as u64, desk.machine.status()["tasks"]["done"].as_u64().unwrap());
    assert!(count_of(&desk.machine.ledger(), "task-requeued") > 0, "a refusal is written down");
}

#[test]
fn nobody_is_asked_again_and_again_for_what_he_refuses() {
    let desk = Desk::new(6);
    desk.play("refusal");
    desk.run(&["--attempts", "3", "--workers", "1"]).exits(3).says("refused");
    let status = desk.machine.status();
    let parked = status["tasks"]["parked"].as_u64().unwrap();
    assert_eq!(status["tasks"]["done"], 0);
    let asked: usize = desk.api.requests().iter().map(|entry| entry.tasks).sum();
    assert!(asked as u64 <= 3 * parked, "{asked} tasks were asked of {parked}");
}
