//! A machine whose reviewer is a model behind an API, and the server on the loopback interface that plays the API.

use std::fs;
use std::path::Path;
use std::time::Duration;

use assize_loopback::{Entry, LoopbackApi};
use assize_tests::{Assize, Ended, Machine};

/// A key that occurs nowhere by chance.
pub const KEY: &str = "sk-test-0123456789abcdef";

/// A provider that talks to an API.
#[derive(Clone, Copy)]
pub struct Service {
    /// Name of the provider.
    pub provider: &'static str,
    /// Variable that holds the key.
    pub key: &'static str,
    /// Model that is asked.
    pub model: &'static str,
}

/// The machine and the server.
pub struct Scene {
    pub machine: Machine,
    pub api: LoopbackApi,
    service: Service,
}

impl Scene {
    pub fn new(service: Service) -> Self {
        let machine = Machine::new();
        machine.write("src/first.ts", "export function f(input: string): number {\n  eval(input);\n  return 1;\n}\n");
        machine.write("app/second.py", "import os\n\n\ndef go(value):\n    os.system(value)\n    return value\n");
        Self { machine, api: LoopbackApi::start(0).expect("a port is free"), service }
    }

    /// A run against a scenario of the server, with the grants that it needs but without a key.
    pub fn call(&self, scenario: &str, more: &[&str]) -> Assize {
        let Service { provider, key, model } = self.service;
        let base = self.api.scenario(scenario);
        self.machine.configure(&format!("[providers.{provider}]\nbase_url = \"{base}\"\n"));
        let host = format!("{provider}:host={}", self.api.url().trim_start_matches("http://"));
        let secret = format!("{provider}:secret={key}");
        let mut args =
            vec!["run", "--json", "--no-deepening", "--workers", "1", "--provider", provider, "--model", model];
        args.extend(["--grant", &host, "--grant", &secret]);
        args.extend(more);
        self.machine.assize(&args)
    }

    pub fn run(&self, scenario: &str, more: &[&str]) -> Ended {
        self.call(scenario, more).env(self.service.key, KEY).run()
    }

    /// The scenario's answers complete the audit, each task once.
    pub fn completes(&self, scenario: &str) {
        self.run(scenario, &["--attempts", "1"]).exits(0);
        self.machine.each_task_once();
    }

    /// The scenario does no task, and the run says why.
    pub fn fails(&self, scenario: &str, reasons: &[&str]) {
        let mut end = self.run(scenario, &["--attempts", "1"]);
        for reason in reasons {
            end = end.says(reason);
        }
        assert_eq!(self.machine.status()["tasks"]["done"], 0);
    }

    /// The same, and a good answer completes the audit afterwards.
    pub fn fails_then_completes(&self, scenario: &str, reasons: &[&str]) {
        self.fails(scenario, reasons);
        self.run("ok", &[]).exits(0);
        self.machine.each_task_once();
    }

    /// Requests that asked the model, with the status of each.
    pub fn asked(&self) -> Vec<Entry> {
        self.api.requests().into_iter().filter(|entry| entry.method == "POST").collect()
    }
}

/// Asserts that no file below a folder holds the key, and that there are some.
pub fn holds_no_key(folder: &Path) {
    let (mut folders, mut files) = (vec![folder.to_owned()], 0);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder can be listed").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            let bytes = fs::read(&path).unwrap_or_default();
            let holds = bytes.windows(KEY.len()).any(|window| window == KEY.as_bytes());
            assert!(!holds, "{} holds the key", path.display());
        }
    }
    assert!(files > 5);
}

/// Time in which a run that was interrupted is over.
pub const SOON: Duration = Duration::from_secs(60);
