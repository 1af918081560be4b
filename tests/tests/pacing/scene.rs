//! A machine with a repository of small packages, each of them one task, and the service that its reviewers ask.

use std::path::PathBuf;

use assize_loopback::{Entry, LoopbackApi};
use assize_tests::{Assize, Ended, Machine, program};
use serde_json::Value;

/// A key that occurs nowhere by chance.
pub const KEY: &str = "sk-test-0123456789abcdef";

/// The machine and the service.
pub struct Scene {
    pub machine: Machine,
    pub api: LoopbackApi,
}

impl Scene {
    /// A repository of so many tasks.
    pub fn new(tasks: usize) -> Self {
        let machine = Machine::new();
        for number in 0..tasks {
            machine.write(&format!("p{number}/pyproject.toml"), &format!("[project]\nname = \"p{number}\"\n"));
            machine.write(&format!("p{number}/main.py"), &format!("def go(value):\n    return value + {number}\n"));
        }
        Self { machine, api: LoopbackApi::start(0).expect("a port is free") }
    }

    /// The model behind the API reviews, against a scenario of the service; `lane` is the rest of its lane's table.
    pub fn with_model(self, scenario: &str, lane: &str) -> Self {
        let base = self.api.scenario(scenario);
        let table = format!("[providers.anthropic]\nbase_url = \"{base}\"\n\n[lanes.anthropic]\n{lane}\n");
        self.machine.configure(&table);
        self
    }

    /// A program reviews that sends its requests in bursts; `lane` is the rest of its lane's table.
    pub fn with_program(self, scenario: &str, lane: &str) -> Self {
        self.machine.install(&program("fake-burst"), "claude");
        let base = self.api.scenario(scenario);
        let table = format!("[providers.claude-code]\nbase_url = \"{base}\"\n\n[lanes.claude-code]\n{lane}\n");
        self.machine.configure(&table);
        self
    }

    /// A run by the model.
    pub fn by_model(&self, more: &[&str]) -> Assize {
        self.call(&[&["--provider", "anthropic", "--model", "claude-sonnet-5-5"], more].concat())
    }

    /// A run by the program, which sends so many requests a launch.
    pub fn by_program(&self, requests: usize, more: &[&str]) -> Assize {
        self.call(&[&["--provider", "claude-code", "--model", &format!("burst-{requests}")], more].concat())
    }

    /// A run with a key.
    pub fn call(&self, more: &[&str]) -> Assize {
        let args = ["run", "--json", "--no-deepening", "--lens", "security"];
        self.machine.assize(&[&args, more].concat()).env("ANTHROPIC_API_KEY", KEY)
    }

    /// A command of `assize quota`.
    pub fn quota(&self, args: &[&str]) -> Ended {
        self.machine.bare().args(["quota"]).args(args).run()
    }

    /// The windows as `quota show` tells them.
    pub fn windows(&self) -> Vec<Value> {
        self.quota(&["show", "--json"]).exits(0).json()["windows"].as_array().expect("a list").clone()
    }

    /// Where the state of lanes is.
    pub fn quota_file(&self) -> PathBuf {
        self.machine.at("home/.local/state/assize/quota.db")
    }

    /// Requests that asked a model.
    pub fn asked(&self) -> Vec<Entry> {
        self.api.requests().into_iter().filter(|entry| entry.method == "POST").collect()
    }

    /// The statuses of the program's requests as it saw them.
    pub fn statuses(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.machine.at("bin/claude.statuses")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}
