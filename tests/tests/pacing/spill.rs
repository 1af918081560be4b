//! Work that one lane has no room for goes to the next.

use crate::scene::Scene;

#[test]
fn what_the_first_lane_has_no_room_for_goes_to_the_second() {
    let scene = Scene::new(8);
    let base = scene.api.scenario("ok");
    // The same service and key, but accounts of their own, so that the limit is the first lane's alone.
    scene.machine.configure(&format!(
        "[providers.anthropic]\nbase_url = \"{base}\"\n\n\
         [lanes.first]\nprovider = \"anthropic\"\nmodel = \"claude-first\"\naccount = \"first\"\nmargin = 1.0\n\
         limits = {{ requests_per_minute = 3 }}\n\n\
         [lanes.second]\nprovider = \"anthropic\"\nmodel = \"claude-second\"\naccount = \"second\"\n"
    ));
    scene.call(&["--provider", "first,second"]).run().exits(0);
    scene.machine.each_task_once();
    let by = |model: &str| scene.asked().iter().filter(|entry| entry.model == model).count();
    assert_eq!((by("claude-first"), by("claude-second")), (3, 5));
}

#[test]
fn a_lane_without_a_key_is_closed_and_the_other_does_the_work() {
    let scene = Scene::new(3);
    let base = scene.api.scenario("401");
    let good = scene.api.scenario("ok");
    scene.machine.configure(&format!(
        "[providers.anthropic]\nbase_url = \"{base}\"\nmodel = \"claude-sonnet-5-5\"\n\n\
         [providers.openai]\nbase_url = \"{good}/v1\"\nmodel = \"gpt-good\"\n\n\
         [lanes.anthropic]\nwidth = 1\nwidest = 1\n"
    ));
    let run = scene.call(&["--provider", "anthropic,openai"]).env("OPENAI_API_KEY", "sk-other-0123456789").run();
    run.exits(0).says("lane anthropic is closed");
    scene.machine.each_task_once();
    assert_eq!(scene.api.answered(401), 1, "a lane that is closed gets nothing more");
}
