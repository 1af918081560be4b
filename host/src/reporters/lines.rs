//! Plain lines, for logs and pipes. Launches are told at most once a second, so that a fast audit does not flood a log.

use std::io::Write;

use super::{Reporter, RunEvent};
use crate::clock;

/// Milliseconds between two lines about launches that went well.
const PACE_MS: u64 = 1_000;

/// Writes one line an event.
#[derive(Default)]
pub struct LineReporter {
    last_launch_ms: u64,
}

impl Reporter for LineReporter {
    fn report(&mut self, event: &RunEvent) {
        if let RunEvent::Launched { message, done, total, .. } = event {
            let now_ms = clock::now_ms();
            if message.is_empty() && done < total && now_ms < self.last_launch_ms + PACE_MS {
                return;
            }
            self.last_launch_ms = now_ms;
        }
        if let Some(line) = event.line() {
            say(&line);
        }
    }
}

/// Writes a line to stderr. Text of plugins and programs is in it, so control characters are taken out; a closed stderr
/// is no reason to stop an audit.
pub(crate) fn say(line: &str) {
    let clean: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let _ = writeln!(std::io::stderr(), "{clean}");
}
