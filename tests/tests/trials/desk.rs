//! A machine whose reviewer is a model behind an API that is played on the loopback interface.

use std::fs;
use std::path::{Path, PathBuf};

use assize_loopback::{Entry, LoopbackApi};
use assize_tests::{Assize, Ended, Machine, generate};
use serde_json::Value;

pub const KEY: &str = "sk-test-0123456789abcdef";

/// A context so small that a packet holds few files, so that there are many launches.
const SMALL: &str = "[lanes.openai]\ncontext_tokens = 12000\noutput_tokens = 4000\n";

/// Limits that nobody meets, told in the headers of every answer.
const PLENTY: &str = "+bucket-60000-900000000";

pub struct Desk {
    pub machine: Machine,
    pub api: LoopbackApi,
}

impl Desk {
    /// A generated repository of so many files, reviewed in many launches.
    pub fn new(files: usize) -> Self {
        Self { machine: Machine::with_files(files), api: LoopbackApi::start(0).unwrap() }
    }

    /// Makes the scenario what the model behind the API does.
    pub fn play(&self, scenario: &str) {
        self.play_with(scenario, SMALL);
    }

    /// The same, with more of the user's configuration in place of the small context.
    pub fn play_with(&self, scenario: &str, more: &str) {
        self.machine.configure(&format!("{}\n{more}", self.section(scenario)));
    }

    /// The provider's section for a scenario.
    pub fn section(&self, scenario: &str) -> String {
        let (parts, tag) = scenario.split_once('~').unwrap_or((scenario, "all"));
        let base = self.api.scenario(&format!("{parts}{PLENTY}~{tag}"));
        format!("[providers.openai]\nbase_url = \"{base}/v1\"\napi = \"chat\"\nmodel = \"m-1\"\n")
    }

    /// A run on the machine's repository.
    pub fn call(&self, more: &[&str]) -> Assize {
        self.call_on(self.machine.repo(), more)
    }

    /// A run on another repository of the same user.
    pub fn call_on(&self, repo: &Path, more: &[&str]) -> Assize {
        let args = ["run", "--json", "--no-deepening", "--color=never", "--provider", "openai"];
        self.machine.bare().args(args).args(more).args([repo]).env("OPENAI_API_KEY", KEY)
    }

    pub fn run(&self, more: &[&str]) -> Ended {
        self.call(more).run()
    }

    /// Another repository of the same user, of so many files.
    pub fn second_repo(&self, files: usize) -> PathBuf {
        let repo = self.machine.at("second");
        fs::create_dir_all(&repo).unwrap();
        generate(&repo, files, 2).unwrap();
        repo
    }

    /// Requests that were answered with a status.
    pub fn with_status(&self, status: u16) -> Vec<Entry> {
        self.api.requests().into_iter().filter(|entry| entry.status == Some(status)).collect()
    }

    /// `quota show`.
    pub fn quota(&self) -> Value {
        self.machine.bare().args(["quota", "show", "--json"]).run().exits(0).json()
    }
}

/// The most requests that ran at one time, those that began in the span of milliseconds given.
pub fn most_at_once(entries: &[Entry], from_ms: u64, to_ms: u64) -> usize {
    let inside = || entries.iter().filter(|entry| (from_ms..to_ms).contains(&entry.at_ms));
    let running = |at: u64| inside().filter(|e| e.at_ms <= at && e.end_ms.is_none_or(|end| end > at)).count();
    inside().map(|entry| running(entry.at_ms)).max().unwrap_or(0)
}

/// How often the ledger has a kind of entry.
pub fn count_of(ledger: &[Value], kind: &str) -> usize {
    ledger.iter().filter(|entry| entry["kind"] == kind).count()
}
