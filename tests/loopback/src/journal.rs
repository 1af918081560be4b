//! What was asked of the server. No header values are kept, so that no credential can be.

use std::collections::VecDeque;

use serde_json::{Value, json};

/// Requests that are kept; older ones are forgotten.
const KEPT: usize = 10_000;

/// One request.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Number among all, from 1.
    pub number: u64,
    /// Milliseconds since the server started.
    pub at_ms: u64,
    /// Method.
    pub method: String,
    /// Path behind the scenario.
    pub path: String,
    /// Name of the scenario with its tag; empty when none was named.
    pub scenario: String,
    /// Status of the reply; none where nothing was said.
    pub status: Option<u16>,
    /// Whether a stream was asked for.
    pub stream: bool,
    /// Model that was asked.
    pub model: String,
    /// Bytes of the body.
    pub bytes: usize,
    /// Tasks of the audit prompt.
    pub tasks: usize,
    /// Whether a credential came with it.
    pub credential: bool,
}

impl Entry {
    fn render(&self) -> Value {
        json!({
            "number": self.number, "at_ms": self.at_ms, "method": self.method, "path": self.path,
            "scenario": self.scenario, "status": self.status, "stream": self.stream, "model": self.model,
            "bytes": self.bytes, "tasks": self.tasks, "credential": self.credential,
        })
    }
}

/// The last requests, oldest first.
#[derive(Clone, Debug, Default)]
pub struct Journal {
    entries: VecDeque<Entry>,
}

impl Journal {
    /// Adds a request.
    pub fn add(&mut self, entry: Entry) {
        if self.entries.len() == KEPT {
            self.entries.pop_front();
        }
        self.entries.push_back(entry);
    }

    /// All that are kept.
    pub fn entries(&self) -> Vec<Entry> {
        self.entries.iter().cloned().collect()
    }

    /// The same as JSON.
    pub fn render(&self) -> Value {
        Value::Array(self.entries.iter().map(Entry::render).collect())
    }
}
