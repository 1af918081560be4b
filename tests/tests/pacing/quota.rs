//! `assize quota`, and the state that it shows.

use std::fs;

use crate::scene::Scene;

/// More tasks than a limit lets through until the deadline.
fn held_up() -> Scene {
    let scene = Scene::new(6).with_model("ok", "margin = 1.0\n[lanes.anthropic.limits]\nrequests_per_minute = 3");
    scene.by_model(&["--deadline", "3s"]).run().exits(4);
    scene
}

#[test]
fn why_names_the_window_that_a_launch_waited_for() {
    let scene = held_up();
    assert!(scene.asked().len() < 6);
    let rows = scene.machine.assize(&["quota", "why", "--json"]).run().exits(0).json();
    let rows = rows.as_array().unwrap();
    let waited = rows.iter().map(|row| &row["decision"]).find(|decision| {
        decision["admitted"] == false && decision["binding"].is_u64() && decision["fits_at_ms"].is_u64()
    });
    let waited = waited.unwrap_or_else(|| panic!("no decision names a window: {rows:#?}"));
    let binding = usize::try_from(waited["binding"].as_u64().unwrap()).unwrap();
    let window = &waited["windows"][binding];
    assert_eq!((&window["key"]["dimension"], &window["key"]["period_ms"]), (&"requests".into(), &60_000.into()));
    assert!(window["level"].as_f64().unwrap() < window["draw"].as_f64().unwrap(), "{window:#}");
    let told = scene.machine.assize(&["quota", "why"]).run().exits(0).stdout;
    assert!(told.contains("> requests of "), "{told}");
}

#[test]
fn reset_forgets_windows_and_lanes_and_keeps_the_usage() {
    let scene = held_up();
    assert!(!scene.windows().is_empty());
    let reset = scene.quota(&["reset", "--json"]).exits(0).json();
    assert!(reset["forgotten"].as_u64().unwrap() > 0);
    let after = scene.quota(&["show", "--json"]).exits(0).json();
    assert_eq!((&after["windows"], &after["lanes"]), (&serde_json::json!([]), &serde_json::json!([])));
    let usage = &after["usage"][0];
    assert_eq!(usage["requests"].as_u64(), Some(scene.asked().len() as u64), "{after:#}");
}

#[test]
fn a_window_outlives_the_run_that_drew_on_it() {
    let limits = "margin = 1.0\n[lanes.anthropic.limits]\nrequests_per_day = 3";
    let scene = Scene::new(6).with_model("ok", limits);
    scene.by_model(&["--max-launches", "2"]).run().exits(4);
    assert_eq!(scene.asked().len(), 2);
    scene.by_model(&["--deadline", "3s"]).run().exits(4);
    assert_eq!(scene.asked().len(), 3, "the second run has what the first one left");
}

#[test]
fn a_damaged_state_of_lanes_is_set_aside_and_the_run_goes_on() {
    let scene = Scene::new(2).with_model("ok", "");
    let file = scene.quota_file();
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, "this is no database").unwrap();
    scene.by_model(&[]).run().exits(0).says("was damaged");
    scene.machine.each_task_once();
    let kept = fs::read_dir(file.parent().unwrap()).unwrap().flatten().map(|entry| entry.path());
    let aside: Vec<_> = kept.filter(|path| fs::read(path).is_ok_and(|bytes| bytes == b"this is no database")).collect();
    assert!(aside.len() == 1 && aside[0] != file, "{aside:?}");
    assert!(!scene.windows().is_empty());
}
