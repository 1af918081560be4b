//! `assize provider check` spends one request at most, and says what it spent.

use assize_tests::Ended;

use crate::scene::{KEY, Scene};

fn check(scene: &Scene, name: &str, model: &str) -> Ended {
    let args = ["provider", "check", name, "--model", model];
    scene.machine.assize(&args).args(["--json"]).env("ANTHROPIC_API_KEY", KEY).run()
}

#[test]
fn a_check_of_a_model_is_one_request_and_says_what_it_spent() {
    let scene = Scene::new(1).with_model("ok", "");
    let value = check(&scene, "anthropic", "claude-sonnet-5-5").exits(0).json();
    let asked = scene.asked();
    assert_eq!((asked.len(), asked[0].tasks), (1, 0), "{asked:#?}");
    let launch = &value["launch"];
    assert_eq!((&value["usable"], &launch["requests"]), (&true.into(), &1.into()), "{value:#}");
    assert_eq!(launch["input_tokens"].as_u64(), Some(asked[0].input_tokens), "{value:#}");
    assert!(!scene.machine.repo().join(".assize").exists(), "a check leaves no audit behind");
}

#[test]
fn a_program_that_wants_more_than_one_request_is_refused() {
    let scene = Scene::new(1).with_program("ok", "");
    let value = check(&scene, "claude-code", "burst-5").exits(0).json();
    assert_eq!(scene.asked().len(), 1, "{value:#}");
    assert_eq!(value["launch"]["requests"], 1, "{value:#}");
    let statuses = scene.statuses();
    assert_eq!(statuses.len(), 5);
    assert_eq!(statuses.iter().filter(|status| *status != "200").count(), 4, "{statuses:?}");
}

#[test]
fn a_check_without_a_launch_sends_nothing() {
    let scene = Scene::new(1).with_model("ok", "");
    let args = ["provider", "check", "anthropic", "--no-launch", "--json"];
    let value = scene.machine.assize(&args).env("ANTHROPIC_API_KEY", KEY).run().exits(0).json();
    assert_eq!((&value["usable"], scene.asked().len()), (&true.into(), 0), "{value:#}");
}

#[test]
fn a_key_that_is_not_accepted_makes_a_lane_unusable() {
    let scene = Scene::new(1).with_model("401", "");
    let value = check(&scene, "anthropic", "claude-sonnet-5-5").exits(3).json();
    assert_eq!(
        (&value["usable"], &value["launch"]["outcome"]),
        (&false.into(), &"unauthenticated".into()),
        "{value:#}"
    );
    assert_eq!(scene.asked().len(), 1);
}
