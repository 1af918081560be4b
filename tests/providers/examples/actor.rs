//! The provider `actor`: it does what `behaviour` of its section says, in launches with a file whose path holds `only`.
#![cfg(target_family = "wasm")]
#![allow(unsafe_code, reason = "the component's edge")]

use assize_plugin_sdk::{Description, Effect, Event, Launch, LaunchRequest, PluginError, Step, conclude_failure};
use assize_test_providers::{answer, config, describe, program};

struct Actor(LaunchRequest);

impl Launch for Actor {
    fn describe() -> Description {
        describe("actor", &["actor"], &["actor-tool"])
    }

    fn start(request: LaunchRequest) -> Result<Self, PluginError> {
        Ok(Self(request))
    }

    fn next(&mut self, event: Option<Event>) -> Result<Step, PluginError> {
        if let Some(Event::Failed(failure)) = &event {
            return Ok(Step::Done(conclude_failure(failure)));
        }
        let config = config(&self.0);
        let only = config["only"].as_str().unwrap_or_default();
        let hit = self.0.tasks.iter().flat_map(|task| &task.files).any(|file| file.path.contains(only));
        match config["behaviour"].as_str().filter(|_| hit && event.is_none()) {
            Some("trap") => panic!("on purpose"),
            Some("spin") => loop {
                core::hint::black_box(&self.0);
            },
            Some("refuse") => Err(PluginError::InvalidConfiguration("`behaviour` must not be refuse".to_owned())),
            Some("run") => Ok(Step::Perform(Effect::RunProgram(program("actor-tool", &self.0)))),
            _ => Ok(Step::Done(answer(&self.0))),
        }
    }
}

assize_plugin_sdk::export_provider!(Actor);
