//! What is sent stays under the limits, whoever sends it.

use std::fs;

use crate::scene::{KEY, Scene};

#[test]
fn headers_that_no_program_prints_reach_the_windows() {
    let scene = Scene::new(1).with_program("bucket-50-70000", "");
    scene.by_program(1, &[]).run().exits(0);
    scene.machine.each_task_once();
    let windows = scene.windows();
    for (dimension, limit) in [("requests", 50), ("tokens", 70_000)] {
        let known = |window: &&serde_json::Value| window["window"]["dimension"] == dimension;
        let window = windows.iter().find(known).unwrap_or_else(|| panic!("no window of {dimension}: {windows:#?}"));
        assert_eq!(window["state"]["read_limit"], limit, "{window:#}");
    }
}

#[test]
fn a_burst_stays_under_ten_requests_a_minute_that_are_configured() {
    let limits = "margin = 0.9\n[lanes.claude-code.limits]\nrequests_per_minute = 10";
    let scene = Scene::new(1).with_program("bucket-10-0", limits);
    scene.by_program(11, &[]).run().exits(0);
    assert_eq!((scene.asked().len(), scene.api.answered(429)), (11, 0));
    assert_eq!(scene.statuses(), vec!["200"; 11]);
}

#[test]
fn a_burst_stays_under_a_limit_that_an_earlier_response_told() {
    let scene = Scene::new(2).with_program("bucket-60-0", "margin = 0.95");
    scene.by_program(1, &["--max-launches", "1"]).run().exits(4);
    scene.by_program(62, &[]).run().exits(0);
    assert_eq!((scene.asked().len(), scene.api.answered(429)), (63, 0));
}

#[test]
fn bursts_of_several_launches_at_once_share_the_limit() {
    let limits = "margin = 0.95\nwidth = 4\n[lanes.claude-code.limits]\nrequests_per_minute = 60";
    let scene = Scene::new(4).with_program("bucket-60-0", limits);
    scene.by_program(16, &["--workers", "4"]).run().exits(0);
    assert_eq!((scene.asked().len(), scene.api.answered(429)), (64, 0));
    scene.machine.each_task_once();
}

#[test]
fn a_first_burst_against_unknown_limits_is_refused_once_at_most() {
    let scene = Scene::new(1).with_program("bucket-60-0", "margin = 0.95");
    scene.by_program(66, &[]).run().exits(0);
    assert!(scene.api.answered(429) <= 1, "{} requests were refused", scene.api.answered(429));
}

#[test]
fn runs_with_one_key_stay_under_its_limit_together() {
    let scene = Scene::new(32).with_model("bucket-60-0", "margin = 0.95\nwidth = 8");
    let other = scene.machine.at("other");
    copy_packages(&scene, &other);
    let runs = [scene.machine.repo(), &other].map(|repository| {
        let args =
            ["run", "--json", "-q", "--no-deepening", "--lens", "security", "--provider", "anthropic", "--model"];
        let call = scene.machine.bare().args(args).args(["claude-sonnet-5-5"]).args([repository]);
        call.env("ANTHROPIC_API_KEY", KEY).start()
    });
    for run in runs {
        run.wait().exits(0);
    }
    let asked = scene.asked();
    assert_eq!((asked.len(), scene.api.answered(429)), (64, 0), "{asked:#?}");
}

fn copy_packages(scene: &Scene, to: &std::path::Path) {
    for (path, bytes) in scene.machine.tree() {
        let target = to.join(path.strip_prefix(scene.machine.repo()).unwrap());
        fs::create_dir_all(target.parent().unwrap()).unwrap();
        fs::write(target, bytes).unwrap();
    }
}
