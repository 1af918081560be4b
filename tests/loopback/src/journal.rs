//! What was asked of the server. No header values are kept, so that no credential can be.

use std::collections::VecDeque;

use serde_json::{Value, json};

/// Requests that are kept; older ones are forgotten.
const KEPT: usize = 100_000;

/// One request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// Number among all, from 1.
    pub number: u64,
    /// Milliseconds since the server started, when its body had arrived.
    pub at_ms: u64,
    /// The same, when the reply had been sent or was given up; none while it runs.
    pub end_ms: Option<u64>,
    /// Method.
    pub method: String,
    /// Path behind the scenario.
    pub path: String,
    /// Name of the protocol; empty for a request that speaks none.
    pub protocol: String,
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
    /// Tools that were offered.
    pub tools: usize,
    /// Tokens that the request was counted as.
    pub input_tokens: u64,
    /// Tokens of the answer; 0 for a refusal.
    pub output_tokens: u64,
    /// Whether a credential came with it.
    pub credential: bool,
    /// Tells credentials apart; the same for the same credential as long as the server lives. Empty where there is none.
    pub credential_digest: String,
}

impl Entry {
    fn render(&self) -> Value {
        json!({
            "number": self.number, "at_ms": self.at_ms, "end_ms": self.end_ms, "method": self.method, "path": self.path,
            "protocol": self.protocol, "scenario": self.scenario, "status": self.status, "stream": self.stream,
            "model": self.model, "bytes": self.bytes, "tasks": self.tasks, "tools": self.tools,
            "input_tokens": self.input_tokens, "output_tokens": self.output_tokens,
            "credential": self.credential, "credential_digest": self.credential_digest,
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

    /// Notes the end of a request, if it is still kept.
    pub fn end(&mut self, number: u64, at_ms: u64) {
        // Requests that run are among the last.
        if let Some(entry) = self.entries.iter_mut().rev().find(|entry| entry.number == number) {
            entry.end_ms = Some(at_ms);
        }
    }

    /// How many were replied to with a status.
    pub fn answered(&self, status: u16) -> usize {
        self.entries.iter().filter(|entry| entry.status == Some(status)).count()
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
