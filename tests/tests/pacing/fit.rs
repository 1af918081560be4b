//! What does not fit a model's context is cut before it is sent.

use crate::scene::Scene;

/// A file of some twenty thousand tokens.
fn large_file() -> String {
    (0..2_000).map(|line| format!("value_{line:04} = compute_{line:04}(value_before)\n")).collect()
}

#[test]
fn a_file_larger_than_the_context_is_reviewed_in_ranges() {
    let scene = Scene::new(0).with_model("ok", "context_tokens = 16000\noutput_tokens = 1000");
    scene.machine.write("large.py", &large_file());
    let outcome = scene.by_model(&[]).run().exits(0).json();
    assert_eq!((&outcome["end"], &outcome["parked"]), (&"complete".into(), &0.into()), "{outcome:#}");
    assert_eq!(outcome["pairs_reviewed"], outcome["pairs_required"]);
    scene.machine.each_task_once();
    let asked = scene.asked();
    assert!(asked.len() >= 2, "it was cut: {asked:#?}");
    assert!(asked.iter().all(|entry| entry.input_tokens <= 16_000), "{asked:#?}");
    scene.by_model(&[]).run().exits(0);
    assert_eq!(scene.asked().len(), asked.len(), "there is nothing left to do");
}

#[test]
fn a_lane_whose_context_holds_nothing_parks_what_it_cannot_take() {
    let scene = Scene::new(1).with_model("ok", "context_tokens = 1200\noutput_tokens = 1000");
    let outcome = scene.by_model(&[]).run().exits(3).json();
    assert!(outcome["parked"].as_u64().unwrap() > 0, "{outcome:#}");
    assert!(scene.asked().is_empty(), "what cannot fit is not sent");
}
