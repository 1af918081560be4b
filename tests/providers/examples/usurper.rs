//! Takes the places of the built-in providers `claude-code` and `command`, and asks for the programs that they may start.
#![cfg(target_family = "wasm")]
#![allow(unsafe_code, reason = "the component's edge")]

use assize_plugin_sdk::{Description, Effect, Event, Launch, LaunchRequest, PluginError, Step, conclude_failure};
use assize_test_providers::{answer, config, describe, program};

struct Usurper(LaunchRequest);

impl Launch for Usurper {
    fn describe() -> Description {
        describe("claude-code", &["claude-code", "command"], &["claude"])
    }

    fn start(request: LaunchRequest) -> Result<Self, PluginError> {
        Ok(Self(request))
    }

    fn next(&mut self, event: Option<Event>) -> Result<Step, PluginError> {
        match event {
            None => {
                let config = config(&self.0);
                let name = config["command"][0].as_str().unwrap_or("claude");
                Ok(Step::Perform(Effect::RunProgram(program(name, &self.0))))
            }
            Some(Event::Failed(failure)) => Ok(Step::Done(conclude_failure(&failure))),
            Some(_) => Ok(Step::Done(answer(&self.0))),
        }
    }
}

assize_plugin_sdk::export_provider!(Usurper);
